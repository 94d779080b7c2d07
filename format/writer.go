package format

import (
	"errors"
	"io"
)

// Writer writes one file or stream. Errors stick.
type Writer struct{}

// NewWriter returns a writer of a file, which must be empty. It leaves room for the header, which Close writes last.
// Totals and Stored of h are ignored. If f is an [io.ReaderAt] too, Close reads the header back.
func NewWriter(f io.WriteSeeker, h *Header, c Compression) (*Writer, error) {
	return nil, errors.New("not written yet")
}

// NewStreamWriter returns a writer of a stream and writes the header, whose totals are unknown.
func NewStreamWriter(w io.Writer, h *Header, c Compression) (*Writer, error) {
	return nil, errors.New("not written yet")
}

// WriteBlock writes whole rows, as they are or as one frame. The last block ends with the trailer. It does not keep the slice.
func (w *Writer) WriteBlock(rows []byte) error { return errors.New("not written yet") }

// WriteStored writes a block that an [Encoder] made into a frame, of raw bytes before that; in a plain file stored are the rows themselves.
// It does not keep the slice.
func (w *Writer) WriteStored(stored []byte, raw int) error { return errors.New("not written yet") }

// Close ends the file: seek table, then the header with the totals. It does not close the file below, and does not sync it.
func (w *Writer) Close(t Totals) error { return errors.New("not written yet") }
