package flow

import (
	"errors"

	"github.com/bytehaul/pghaul/internal/convert"
	"github.com/bytehaul/pghaul/internal/pipeline"
)

// Convert is the convert stage of a restore, a migrate and a proof: values become what the other side means by them. A plan without work needs no stage.
type Convert struct {
	Plan *convert.Plan

	pool *pipeline.Pool // for rows that change their length
	rows int64          // that have passed
}

// convertBlocks is how many converted blocks of a lane exist at a time: one being made, one waiting, one being sent.
const convertBlocks = 3

// Process implements [pipeline.Stage]. Its errors are [*convert.Error], whose rows count from the start of the file.
func (c *Convert) Process(b *pipeline.Block, out *pipeline.Out) error {
	if c.Plan.InPlace() {
		err := c.Plan.Rewrite(b.Data)
		if err != nil {
			b.Release()
			return c.locate(err)
		}
		c.rows += int64(b.Rows)
		return out.Send(b)
	}
	if c.pool == nil {
		c.pool = pipeline.NewPool(convertBlocks, pipeline.BlockSize)
	}
	to, err := out.GetFrom(c.pool)
	if err != nil {
		b.Release()
		return err
	}
	to.Grow(len(b.Data))
	to.Data, err = c.Plan.Append(to.Data, b.Data)
	to.Raw, to.Rows = b.Raw, b.Rows
	b.Release()
	if err != nil {
		to.Release()
		return c.locate(err)
	}
	c.rows += int64(to.Rows)
	return out.Send(to)
}

// locate counts the row from the start of the file.
func (c *Convert) locate(err error) error {
	var at *convert.Error
	if !errors.As(err, &at) {
		return err
	}
	at.Row += c.rows
	return at
}

// Finish implements [pipeline.Stage].
func (c *Convert) Finish(*pipeline.Out) error { return nil }
