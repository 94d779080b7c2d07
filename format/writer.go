package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/zeebo/xxh3"
)

// ErrClosed is returned for writes to a [Writer] after Close.
var ErrClosed = errors.New("writer is closed")

// Writer writes one file or stream. Errors stick. It is not safe for concurrent use.
type Writer struct {
	w       io.Writer
	file    io.WriteSeeker // nil in a stream
	h       Header
	c       Compression
	enc     *Encoder // made by the first WriteBlock
	buf     []byte
	sum     *xxh3.Hasher128 // of the stored bytes behind the header
	stored  int64
	raw     int64
	hlen    int
	entries []byte // of the seek table
	err     error
}

// NewWriter returns a writer of a file, which must be empty. It leaves room for the header, which Close writes last.
// Totals, Stored and the version of h are ignored; h itself is not kept. If f is an [io.ReaderAt] too, Close reads the header back.
func NewWriter(f io.WriteSeeker, h *Header, c Compression) (*Writer, error) {
	w := newWriter(f, h, c)
	w.file = f
	w.h.TotalsKnown, w.h.Stored = true, &StoredSum{}
	p, err := w.header()
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(int64(len(p)), io.SeekStart); err != nil {
		return nil, err
	}
	return w, nil
}

// NewStreamWriter returns a writer of a stream and writes the header, in which the totals are unknown. A compressed stream holds them at its end, a plain one does not.
func NewStreamWriter(out io.Writer, h *Header, c Compression) (*Writer, error) {
	w := newWriter(out, h, c)
	p, err := w.header()
	if err != nil {
		return nil, err
	}
	if _, err := out.Write(p); err != nil {
		return nil, err
	}
	return w, nil
}

func newWriter(out io.Writer, h *Header, c Compression) *Writer {
	w := &Writer{w: out, c: c, sum: xxh3.New128(), h: *h}
	w.h.Major, w.h.Minor = Major, Minor
	w.h.Totals, w.h.TotalsKnown, w.h.Stored = Totals{}, false, nil
	return w
}

// header returns the stored form of the header as it is now. Its length never changes.
func (w *Writer) header() ([]byte, error) {
	p, err := w.h.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	w.hlen = len(p)
	if w.c.Level > 0 {
		p = appendHeaderFrame(make([]byte, 0, headerFrameLen(len(p))), p)
	}
	if w.c.Level > 0 && w.entries == nil {
		w.entries = appendSeekEntry(nil, len(p), w.hlen)
	}
	return p, nil
}

// WriteBlock writes whole rows, as they are or as one frame. The last block ends with the trailer. It does not keep the slice. An empty block writes nothing.
func (w *Writer) WriteBlock(rows []byte) error {
	if w.err != nil || len(rows) == 0 {
		return w.err
	}
	if w.c.Level == 0 {
		return w.WriteStored(rows, len(rows))
	}
	if w.enc == nil {
		if w.enc, w.err = NewEncoder(w.c.Level); w.err != nil {
			return w.err
		}
	}
	w.buf = w.enc.AppendFrame(w.buf[:0], rows)
	return w.WriteStored(w.buf, len(rows))
}

// WriteStored writes a block that an [Encoder] made into a frame, of raw bytes before that; in a plain file stored are the rows themselves.
// It does not keep the slice.
func (w *Writer) WriteStored(stored []byte, raw int) error {
	if w.err != nil || raw == 0 && len(stored) == 0 {
		return w.err
	}
	switch {
	case w.c.Level == 0 && raw != len(stored):
		w.err = fmt.Errorf("block of %d bytes is said to be %d bytes before compression, but the file is plain", len(stored), raw)
	case w.c.Level > 0 && (raw < trailerLen || raw > maxFrameRaw || len(stored) > maxFrameStored(raw)):
		w.err = fmt.Errorf("frame of %d bytes for %d bytes of rows is beyond the limits", len(stored), raw)
	case len(w.entries)/seekEntry >= maxFrames:
		w.err = fmt.Errorf("more than %d frames", maxFrames)
	}
	if w.err != nil {
		return w.err
	}
	if w.c.Level > 0 {
		w.entries = appendSeekEntry(w.entries, len(stored), raw)
	}
	w.raw += int64(raw)
	return w.write(stored)
}

// write writes bytes behind the header.
func (w *Writer) write(p []byte) error {
	_, w.err = w.w.Write(p)
	if w.err != nil {
		return w.err
	}
	_, w.err = w.sum.Write(p)
	w.stored += int64(len(p))
	return w.err
}

// Close ends the file: seek table, then the header with the totals. It does not close what lies below, and does not sync it.
func (w *Writer) Close(t Totals) error {
	if err := w.finish(t); err != nil {
		return err
	}
	if w.file != nil {
		if err := w.writeHeader(); err != nil {
			return err
		}
	}
	w.err = ErrClosed
	return nil
}

// finish writes what stands behind the rows.
func (w *Writer) finish(t Totals) error {
	switch {
	case w.err != nil:
		return w.err
	case t.Length != w.raw:
		w.err = fmt.Errorf("totals speak of %d bytes of rows, %d were written", t.Length, w.raw)
		return w.err
	}
	w.h.Totals, w.h.TotalsKnown = t, true
	if w.c.Level > 0 {
		if w.file == nil {
			if err := w.write(appendSummary(nil, t, w.storedSum())); err != nil {
				return err
			}
		}
		n := len(w.entries) / seekEntry
		table := appendSeekHead(make([]byte, 0, skippableHead+len(w.entries)+seekFooter), n)
		table = append(table, w.entries...)
		if err := w.write(appendSeekFooter(table, n)); err != nil {
			return err
		}
	}
	sum := w.storedSum()
	w.h.Stored = &sum
	return nil
}

// bodyOffset returns where the stored bytes behind the header start.
func (w *Writer) bodyOffset() int64 {
	if w.c.Level > 0 {
		return int64(headerFrameLen(w.hlen))
	}
	return int64(w.hlen)
}

func (w *Writer) storedSum() StoredSum {
	return StoredSum{Length: w.stored, XXH128: w.sum.Sum128().Bytes()}
}

// writeHeader writes the header in its place and reads it back.
func (w *Writer) writeHeader() error {
	p, err := w.header()
	if err == nil {
		_, err = w.file.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = w.file.Write(p)
	}
	if r, ok := w.file.(io.ReaderAt); ok && err == nil {
		err = readBack(r, p)
	}
	w.err = err
	return err
}

// readBack compares the start of a file with what was written there.
func readBack(r io.ReaderAt, want []byte) error {
	got := make([]byte, len(want))
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, math.MaxInt64), got); err != nil {
		return fmt.Errorf("reading the header back: %w", err)
	}
	if !bytes.Equal(got, want) {
		return errors.New("the header reads back other than it was written")
	}
	return nil
}
