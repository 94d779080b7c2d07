package flow

import (
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pipeline"
)

// Compress is the stage of a dump that makes a zstd frame of each block. A dump without compression has no such stage.
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
