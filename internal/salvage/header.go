package salvage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/hint"
)

// Where META comes from.
const (
	headerOwn   = "own"
	headerFound = "found"
	headerOther = "other"
)

// findHeader reads the header, or what is left of it, or that of another file.
func (d *damaged) findHeader() error {
	r, err := format.NewReader(io.NewSectionReader(d.src, 0, d.size))
	if err == nil {
		d.header, d.compressed, d.start, d.certain = r.Header(), r.Compressed(), r.Stored(), true
		d.note.Header = headerOwn
		return nil
	}
	var e *format.Error
	if errors.As(err, &e) && e.Kind == format.ErrVersion {
		return err
	}
	d.compressed = d.looksCompressed()
	front := make([]byte, min(d.size, format.MaxHeader))
	n, _ := d.src.ReadAt(front, 0) // io.EOF alone
	front = front[:n]
	if d.compressed {
		front = format.Unframe(front)
	}
	if h, end, ok := format.FindHeader(front); ok {
		d.header, d.note.Header = h, headerFound
		d.say("the header is damaged: %v", err)
		if !d.compressed {
			d.start = int64(end)
		}
		return nil
	}
	if d.o.HeaderFrom == "" {
		return hint.With(err, "what the rows are stands in the header, which is damaged or missing: give a whole file of the same table with --header-from FILE (another "+
			"segment, or one that \"pghaul dump -t TABLE --where 'TABLE:false' -f FILE.pgcopy\" makes)")
	}
	d.note.Header, d.note.HeaderFrom = headerOther, filepath.Base(d.o.HeaderFrom)
	d.say("the header can't be read, and %s gave its own: %v", format.Printable(d.note.HeaderFrom), err)
	d.header, err = otherHeader(d.o.HeaderFrom)
	return err
}

// otherHeader reads the header of another file of the same table.
func otherHeader(path string) (*format.Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	r, err := format.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("option --header-from: %w", err)
	}
	h := &format.Header{Major: format.Major, Minor: format.Minor}
	m := r.Header().Meta
	m.Segment = format.SegmentRef{I: 1, N: 1} // which one of them this is, nobody knows
	h.SetMeta(m)
	return h, nil
}

// looksCompressed tells what a file is whose header can't be read.
func (d *damaged) looksCompressed() bool {
	var magic [len(format.FrameMagic)]byte
	_, _ = d.src.ReadAt(magic[:], 0) // io.EOF alone
	switch {
	case string(magic[:]) == format.FrameMagic:
		return true
	case string(magic[:]) == format.Signature[:len(magic)]:
		return false
	}
	if _, _, err := format.ReadSeekTable(d.src, d.size); err == nil {
		return true
	}
	return strings.HasSuffix(strings.TrimSuffix(d.o.Path, format.PartSuffix), format.ExtZstd)
}
