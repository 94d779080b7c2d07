package pipeline

import (
	"context"
	"errors"
	"io"
	"sync"
)

var (
	// ErrUnread is what Run returns when a sink returned nil although blocks
	// were left for it.
	ErrUnread = errors.New("sink ended before the end of its input")

	// ErrStagePool is what Out.Get returns in a stage: a stage that waits for
	// the source's blocks while it holds one stops the lane for good.
	ErrStagePool = errors.New("a stage takes blocks from a pool of its own")

	errAfterEnd = errors.New("lane has ended")
)

// upstreamError is a failure that has io.EOF in its chain (a server that went
// away, say). A sink that looks for the clean end with errors.Is must not find
// it here; everything else of the chain is found as usual.
type upstreamError struct{ err error }

func (e *upstreamError) Error() string        { return e.err.Error() }
func (e *upstreamError) As(target any) bool   { return errors.As(e.err, target) }
func (e *upstreamError) Is(target error) bool { return target != io.EOF && errors.Is(e.err, target) }

// cause is why the lane was cancelled, as a reader of the lane may see it.
func cause(ctx context.Context) error {
	err := context.Cause(ctx)
	if errors.Is(err, io.EOF) {
		return &upstreamError{err}
	}
	return err
}

// link is the queue between two neighbours. Its sender sets err and then closes
// ch; the receiver reads err only after it saw the close.
type link struct {
	ch  chan *Block
	err error
}

// drain releases what nobody will read any more. All goroutines have ended.
func (l *link) drain() {
	for b := range l.ch {
		b.Release()
	}
}

// Out is what a source and a stage write to. It belongs to the goroutine that
// runs them.
type Out struct {
	ctx    context.Context
	to     *link
	pool   *Pool                       // nil in a stage
	hold   func(context.Context) error // or nil
	clock  clock
	source bool
}

// Context ends when the lane ends early; its cause is the lane's error.
func (o *Out) Context() context.Context { return o.ctx }

// Meter is the meter of this place, or nil.
func (o *Out) Meter() *Meter { return o.clock.m }

// Get takes a block from the lane's pool, for a source, when the lane's Hold
// lets it. The time waited for a block counts as blocked. When the lane ends early it returns the lane's error. In a stage
// it returns ErrStagePool.
func (o *Out) Get() (*Block, error) {
	if o.pool == nil {
		return nil, ErrStagePool
	}
	if o.hold != nil {
		if err := o.hold(o.ctx); err != nil {
			return nil, err
		}
	}
	return o.GetFrom(o.pool)
}

// GetFrom is Get from another pool: a stage's own.
func (o *Out) GetFrom(p *Pool) (*Block, error) {
	if b := p.tryGet(); b != nil {
		return b, nil
	}
	before := o.clock.enter(blocked)
	b, err := p.Get(o.ctx)
	o.clock.enter(before)
	return b, err
}

// Send passes b and its ownership on. The time waited counts as blocked. When
// the lane has been cancelled it releases b and returns the lane's error. A
// source's block with Raw 0 gets the length of Data as Raw.
func (o *Out) Send(b *Block) error {
	if o.ctx.Err() != nil {
		b.Release()
		return context.Cause(o.ctx)
	}
	if o.source && b.Raw == 0 {
		b.Raw = len(b.Data)
	}
	if m := o.clock.m; m != nil {
		m.bytesOut.Add(int64(len(b.Data)))
		m.passed(b)
	}
	select {
	case o.to.ch <- b:
		return nil
	default:
	}
	before := o.clock.enter(blocked)
	defer o.clock.enter(before)
	select {
	case o.to.ch <- b:
		return nil
	case <-o.ctx.Done():
		b.Release()
		return context.Cause(o.ctx)
	}
}

// ServerBegin lets the time from now on count as the server's, until
// ServerEnd. Waits in Get and Send are still counted as blocked.
func (o *Out) ServerBegin() { o.clock.enter(server) }

// ServerEnd ends what ServerBegin began: the time is busy again.
func (o *Out) ServerEnd() { o.clock.enter(busy) }

// In is what a sink (and, inside the engine, a stage) reads. One call of Next
// at a time; the goroutine may be another than the sink's, and a call that
// comes after the lane's end (from a driver that keeps the reader it was given)
// gets an error.
type In struct {
	ctx   context.Context
	from  *link
	clock *clock
	sink  bool

	mu  sync.Mutex
	err error // sticky
}

// Meter is the meter of this place, or nil.
func (i *In) Meter() *Meter { return i.clock.m }

// Next waits for the next block and makes the caller its owner. The time waited
// counts as starved. At the clean end it returns io.EOF; when the lane ends
// early, upstream or elsewhere, the lane's error, never io.EOF.
func (i *In) Next() (*Block, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err != nil {
		return nil, i.err
	}
	b, err := i.receive()
	if err != nil {
		i.err = err
		return nil, err
	}
	if m := i.clock.m; m != nil {
		m.bytesIn.Add(int64(len(b.Data)))
		if i.sink {
			m.passed(b)
		}
	}
	return b, nil
}

// ServerBegin lets the time from now on count as the server's, until
// ServerEnd. Waits in Next are still counted as starved: a sink may call
// ServerBegin once around a whole COPY whose driver reads through Next.
func (i *In) ServerBegin() { i.clock.enter(server) }

// ServerEnd ends what ServerBegin began: the time is busy again.
func (i *In) ServerEnd() { i.clock.enter(busy) }

func (i *In) receive() (*Block, error) {
	if i.ctx.Err() != nil {
		return nil, cause(i.ctx)
	}
	select {
	case b, ok := <-i.from.ch:
		return i.got(b, ok)
	default:
	}
	before := i.clock.enter(starved)
	defer i.clock.enter(before)
	select {
	case b, ok := <-i.from.ch:
		return i.got(b, ok)
	case <-i.ctx.Done():
		return nil, cause(i.ctx)
	}
}

// got tells a block, the clean end and a failed upstream apart. A lane that was
// cancelled while its last block was under way has no clean end.
func (i *In) got(b *Block, ok bool) (*Block, error) {
	switch {
	case ok:
		return b, nil
	case i.from.err != nil:
		return nil, i.from.err
	case i.ctx.Err() != nil:
		return nil, cause(i.ctx)
	}
	return nil, io.EOF
}

// finish is called when the sink has returned nil: it must have read all.
func (i *In) finish() error {
	b, err := i.Next()
	switch {
	case err == nil:
		b.Release()
		return ErrUnread
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// end makes later calls of Next fail.
func (i *In) end() {
	i.mu.Lock()
	i.err = errAfterEnd
	i.mu.Unlock()
}
