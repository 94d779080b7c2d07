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
// of each next block: a row of 500 MB must not be copied 500 times, be it one field or a thousand.
const longCarry = pipeline.Headroom

// Process implements [pipeline.Stage].
func (p *Parse) Process(b *pipeline.Block, out *pipeline.Out) error {
	if len(p.carry) > longCarry {
		return p.collect(b, out)
	}
	if len(p.carry) > 0 {
		b.Prepend(p.carry)
		p.carry = p.carry[:0]
	}
	before := p.Walker.Totals().Rows
	n, err := p.Walker.Walk(b.Data)
	if err != nil {
		b.Release()
		return err
	}
	p.carry = append(p.carry, b.Data[n:]...)
	b.Data = b.Data[:n]
	return p.send(b, int(p.Walker.Totals().Rows-before), out)
}

// collect adds a block to the unfinished row, and sends what is whole then: the row's own buffer takes the place of the block's, for there is not room for
// two of the longest. Looking at an unfinished row costs time by its fields, not by its bytes.
func (p *Parse) collect(b *pipeline.Block, out *pipeline.Out) error {
	if missing := len(p.carry) + len(b.Data) - cap(p.carry); missing > 0 {
		p.carry = slices.Grow(p.carry, p.growth(len(b.Data)))
	}
	p.carry = append(p.carry, b.Data...)
	before := p.Walker.Totals().Rows
	n, err := p.Walker.Walk(p.carry)
	if n == 0 || err != nil {
		b.Release()
		return err
	}
	rest := slices.Clone(p.carry[n:])
	b.Data, p.carry = p.carry[:n:n], rest // the long buffer goes with the block
	return p.send(b, int(p.Walker.Totals().Rows-before), out)
}

// growth is by how much the buffer of an unfinished row grows for n bytes more. What the row needs is known up to its present field only, and
// it comes from the data, so the buffer at most doubles at a time.
func (p *Parse) growth(n int) int {
	if need := p.Walker.Need() - len(p.carry); need > n {
		return max(n, min(need, len(p.carry)))
	}
	return max(n, len(p.carry)/2)
}

// send passes on a block of whole rows.
func (p *Parse) send(b *pipeline.Block, rows int, out *pipeline.Out) error {
	if len(b.Data) == 0 {
		b.Release()
		return nil
	}
	b.Raw, b.Rows = len(b.Data), rows
	if p.Count != nil {
		p.Count.Add(int64(rows), int64(len(b.Data)))
	}
	return out.Send(b)
}

// Finish implements [pipeline.Stage]: a stream without trailer is cut off.
func (p *Parse) Finish(*pipeline.Out) error { return p.Walker.Close() }

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
