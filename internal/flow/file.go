package flow

import (
	"context"
	"errors"
	"io"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pipeline"
)

// FileSource reads the rows of a file, decompressed. It has checked the container when it ends; the rows are Parse's to check.
type FileSource struct {
	Reader *format.Reader
}

// Run implements [pipeline.Source].
func (s *FileSource) Run(_ context.Context, out *pipeline.Out) error {
	for {
		b, err := out.Get()
		if err != nil {
			return err
		}
		data, err := s.Reader.ReadBlock(b.Data)
		if err != nil {
			b.Release()
			return endOf(err)
		}
		b.Data = data
		if err := out.Send(b); err != nil {
			return err
		}
	}
}

// FileSink writes blocks to a file in the making: rows for a plain one, frames for a compressed one. Commit is the caller's.
type FileSink struct {
	Writer interface {
		WriteStored(stored []byte, raw int) error
	}
}

// Run implements [pipeline.Sink].
func (s *FileSink) Run(_ context.Context, in *pipeline.In) error {
	for {
		b, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = s.Writer.WriteStored(b.Data, b.Raw)
		b.Release()
		if err != nil {
			return err
		}
	}
}
