package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// DefaultDepth is the length of a queue between neighbours when Lane.Depth is 0.
const DefaultDepth = 2

// Source makes the blocks of a lane.
type Source interface {
	// Run sends blocks until its data ends, then returns nil. It returns early
	// when ctx ends or Out gives an error.
	Run(ctx context.Context, out *Out) error
}

// Stage works on blocks between the source and the sink.
type Stage interface {
	// Process owns b: it sends it on, or releases it, on errors too. It may
	// send none, one or several blocks; those of its own come from a pool of
	// its own (Out.GetFrom), never from the source's.
	Process(b *Block, out *Out) error
	// Finish is called once at the clean end, to send what was kept back.
	Finish(out *Out) error
}

// Aborter is a Stage that keeps blocks between calls. Abort is called instead
// of Finish, or after a failed Finish, when the lane ends early; it releases
// them.
type Aborter interface {
	Abort()
}

// Sink takes the blocks of a lane.
type Sink interface {
	// Run reads until io.EOF and then returns nil; it owns what it reads. Any
	// other error of In.Next means that the data is not whole. It returns early
	// when ctx ends.
	Run(ctx context.Context, in *In) error
}

// Lane is one source with its stages and its sink; they belong to this lane
// alone, whereas Pool and Meters may be shared with others.
type Lane struct {
	Source Source
	Stages []Stage
	Sink   Sink
	Pool   *Pool
	Meters []*Meter // len(Stages)+2, or none: nothing is measured then
	Depth  int      // blocks that a queue holds (DefaultDepth when 0)

	// Hold is asked before the source gets a block: it returns when the lane may
	// go on, or an error, which then is Out.Get's. nil: always.
	Hold func(context.Context) error
}

// Panic is the value of the panic that Run raises when a source, stage or sink
// has panicked: in the caller's goroutine, after the others have ended.
type Panic struct {
	Value any    // what was panicked with
	Stack []byte // of the goroutine where it happened
}

// Error shows the value and the stack.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap is the value if it was an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Run runs a lane and returns when all its goroutines have ended: nil when the
// sink has read everything up to the clean end and nothing failed. Otherwise
// the first error of a source, stage or sink, or the cause of ctx, whichever
// came first; the cancellations that followed from it are not errors. Every
// block that was in a queue is back in its pool then.
func Run(ctx context.Context, l Lane) error {
	if err := l.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{ctx: ctx, cancel: cancel}

	depth := l.Depth
	if depth == 0 {
		depth = DefaultDepth
	}
	links := make([]*link, len(l.Stages)+1)
	for i := range links {
		links[i] = &link{ch: make(chan *Block, depth)}
	}

	out := &Out{ctx: ctx, to: links[0], pool: l.Pool, hold: l.Hold, clock: clock{m: l.meter(0)}, source: true}
	r.start(&out.clock, links[0], func() error { return l.Source.Run(ctx, out) })
	for i, s := range l.Stages {
		out := &Out{ctx: ctx, to: links[i+1], clock: clock{m: l.meter(i + 1)}}
		in := &In{ctx: ctx, from: links[i], clock: &out.clock}
		r.start(&out.clock, links[i+1], func() error { return process(s, in, out) })
	}
	in := &In{ctx: ctx, from: links[len(l.Stages)], clock: &clock{m: l.meter(len(l.Stages) + 1)}, sink: true}
	r.start(in.clock, nil, func() error {
		if err := l.Sink.Run(ctx, in); err != nil {
			return err
		}
		return in.finish()
	})

	r.wg.Wait()
	in.end()
	for _, l := range links {
		l.drain()
	}
	if p := r.panicked.Load(); p != nil {
		panic(p)
	}
	if r.failed.Load() {
		return context.Cause(ctx)
	}
	return nil
}

func (l Lane) check() error {
	switch {
	case l.Source == nil || l.Sink == nil || l.Pool == nil:
		return errors.New("lane needs a source, a sink and a pool")
	case len(l.Meters) != 0 && len(l.Meters) != len(l.Stages)+2:
		return fmt.Errorf("lane has %d meters for %d places", len(l.Meters), len(l.Stages)+2)
	case l.Depth < 0:
		return fmt.Errorf("lane has a depth of %d", l.Depth)
	}
	return nil
}

func (l Lane) meter(i int) *Meter {
	if len(l.Meters) == 0 {
		return nil
	}
	return l.Meters[i]
}

// process feeds a stage until the end of its input.
func process(s Stage, in *In, out *Out) (err error) {
	clean := false
	defer func() {
		if a, ok := s.(Aborter); ok && !clean {
			a.Abort()
		}
	}()
	for {
		b, err := in.Next()
		if errors.Is(err, io.EOF) {
			if err := s.Finish(out); err != nil {
				return err
			}
			clean = true
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Process(b, out); err != nil {
			return err
		}
	}
}

// run is a lane under way.
type run struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	wg       sync.WaitGroup
	failed   atomic.Bool
	panicked atomic.Pointer[Panic]
}

// start runs f on a goroutine of its own. When f ends, in whatever way, the
// lane is told: an error cancels it, and the queue behind f is closed with the
// reason.
func (r *run) start(c *clock, to *link, f func() error) {
	r.wg.Add(1)
	go func() {
		defer r.wg.Done()
		err := errors.New("goroutine of the lane exited") // runtime.Goexit
		returned := false
		defer func() {
			if !returned {
				if v := recover(); v != nil {
					p := &Panic{Value: v, Stack: debug.Stack()}
					r.panicked.CompareAndSwap(nil, p)
					err = p
				}
			}
			c.end()
			if err != nil {
				r.failed.Store(true)
				r.cancel(err)
			}
			if to != nil {
				if r.ctx.Err() != nil {
					to.err = cause(r.ctx)
				}
				close(to.ch)
			}
		}()
		c.start()
		err = f()
		returned = true
	}()
}
