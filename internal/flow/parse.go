package flow

import (
	"context"
	"slices"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pipeline"
)

// Counter is told of the rows that passed, once per block.
type Counter interface{ Add(rows, bytes int64) }

// Parse is the stage that cuts rows: it counts and digests them, and passes on whole rows. Totals are in Walker at the end.
type Parse struct {
	Walker *format.Walker
	Count  Counter // or nil

	carry []byte // the beginning of a row whose end has not come yet
}

// longCarry is the size from which the start of an unfinished row is collected in a buffer of its own instead of being copied in front
// of each next block: a row of 500 MB must not be copied 500 times.
const longCarry = pipeline.Headroom

// Process implements [pipeline.Stage].
func (p *Parse) Process(b *pipeline.Block, out *pipeline.Out) error {
	if len(p.carry) > 0 {
		if need := p.Walker.Need(); len(p.carry) > longCarry && len(p.carry)+len(b.Data) < need {
			p.collect(b.Data, need)
			b.Release()
			return nil
		}
		b.Prepend(p.carry)
		p.carry = p.carry[:0]
		if cap(p.carry) > 4*longCarry {
			p.carry = nil
		}
	}
	before := p.Walker.Totals().Rows
	n, err := p.Walker.Walk(b.Data)
	if err != nil {
		b.Release()
		return err
	}
	p.carry = append(p.carry, b.Data[n:]...)
	b.Data, b.Raw, b.Rows = b.Data[:n], n, int(p.Walker.Totals().Rows-before)
	if n == 0 {
		b.Release()
		return nil
	}
	if p.Count != nil {
		p.Count.Add(int64(b.Rows), int64(n))
	}
	return out.Send(b)
}

// collect appends to the unfinished row. need comes from the data, so the buffer at most doubles at a time.
func (p *Parse) collect(data []byte, need int) {
	if missing := len(p.carry) + len(data) - cap(p.carry); missing > 0 {
		p.carry = slices.Grow(p.carry, min(need-len(p.carry), len(p.carry)+len(data)))
	}
	p.carry = append(p.carry, data...)
}

// Finish implements [pipeline.Stage]: a stream without trailer is cut off.
func (p *Parse) Finish(*pipeline.Out) error { return p.Walker.Close() }

// Compress is the convert stage of a dump: each block becomes one zstd frame.
type Compress struct {
	encoder *format.Encoder
	pool    *pipeline.Pool
}

// compressBlocks is how many frames of a lane exist at a time: one being made, one waiting, one being written.
const compressBlocks = 3

// NewCompress makes a compressor for one lane at a time; it can be used for the next lane when that has ended.
func NewCompress(level int) (*Compress, error) {
	encoder, err := format.NewEncoder(level)
	if err != nil {
		return nil, err
	}
	return &Compress{encoder: encoder, pool: pipeline.NewPool(compressBlocks, pipeline.BlockSize)}, nil
}

// Process implements [pipeline.Stage].
func (c *Compress) Process(b *pipeline.Block, out *pipeline.Out) error {
	frame, err := out.GetFrom(c.pool)
	if err != nil {
		b.Release()
		return err
	}
	frame.Data = c.encoder.AppendFrame(frame.Data, b.Data)
	frame.Raw, frame.Rows = b.Raw, b.Rows
	b.Release()
	return out.Send(frame)
}

// Finish implements [pipeline.Stage].
func (c *Compress) Finish(*pipeline.Out) error { return nil }

// Discard is the sink of jobs that only look: verify and the proof.
type Discard struct{}

// Run implements [pipeline.Sink].
func (Discard) Run(_ context.Context, in *pipeline.In) error {
	for {
		b, err := in.Next()
		if err != nil {
			return endOf(err)
		}
		b.Release()
	}
}
