package salvage

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/bytehaul/pghaul/format"
)

// frameScan is a walk over the frames of a compressed file.
type frameScan struct {
	*damaged
	starts []int64 // of frames, as an intact seek table has them, and its own
	table  int64   // where the seek table is; -1: there is none
	buf    []byte
}

// scanFrames walks over a compressed file.
func (d *damaged) scanFrames(ctx context.Context) error {
	s := &frameScan{damaged: d, table: -1}
	s.seekTable()
	off, err := s.firstFrame(ctx)
	if err != nil {
		return err
	}
	for !s.trailer && off < s.size && off != s.table {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if t, n, err := d.frames.Totals(d.src, off); err == nil {
			s.setTotals(t)
			off += int64(n)
			continue
		}
		p, damage := s.frame(off)
		if damage == nil {
			s.add(p)
			off += p.stored
			continue
		}
		next, how, err := s.next(ctx, off)
		if err != nil {
			return err
		}
		l := format.Lost{Offset: off, Bytes: s.size - off, Why: damage.Error()}
		if next >= 0 {
			l.Bytes, l.Resumed = next-off, how
		}
		s.lose(l)
		if next < 0 {
			return nil
		}
		off = next
	}
	s.tail(off)
	return nil
}

// setTotals takes the totals at the end of a stream, whose header does not know them.
func (s *frameScan) setTotals(t format.Totals) {
	if !s.header.TotalsKnown {
		s.header.Totals, s.header.TotalsKnown = t, true
	}
}

// seekTable reads the seek table, and believes it where it describes all of the file.
func (s *frameScan) seekTable() {
	entries, at, err := format.ReadSeekTable(s.src, s.size)
	if err != nil {
		s.say("the seek table is damaged or missing: %s", reason(err))
		return
	}
	s.table = at
	off := int64(0)
	var starts []int64
	for _, e := range entries {
		starts = append(starts, off)
		off += int64(e.Stored)
	}
	if _, n, err := s.frames.Totals(s.src, off); err == nil {
		off += int64(n)
	}
	if len(starts) > 0 && off == at {
		s.starts = append(starts, off)
		return
	}
	s.say("the seek table speaks of frames of %d bytes, but %d stand before it: bytes were put in, or are missing", off, at)
}

// firstFrame finds the first frame of rows, in a file whose header may be damaged.
func (s *frameScan) firstFrame(ctx context.Context) (int64, error) {
	switch {
	case s.certain:
		return s.start, nil
	case len(s.starts) > 1:
		return s.starts[1], nil
	}
	at, err := s.search(ctx, 0)
	if err != nil {
		return 0, err
	}
	if at < 0 {
		s.lose(format.Lost{Bytes: s.size, Why: "no frame of rows is found"})
		return s.size, nil
	}
	s.unsure = true
	s.say("the first frame was searched for and found at offset %d; whether one stood before it can't be told", at)
	return at, nil
}

// frame reads a frame, and returns what is wrong with it.
func (s *frameScan) frame(off int64) (piece, error) {
	rows, stored, err := s.frames.Read(s.src, off, s.buf)
	s.buf = rows
	if err != nil {
		return piece{}, errors.New(reason(err))
	}
	if s.src.lost(off, off+int64(stored)) {
		return piece{}, errors.New("a frame that can't be read from the disk")
	}
	w := format.NewWalker(len(s.shape))
	n, err := w.Walk(rows)
	switch {
	case err != nil:
		return piece{}, fmt.Errorf("a frame that holds other things than rows of this table: %s", reason(err))
	case n < len(rows):
		return piece{}, errors.New("a frame that ends within a row")
	}
	p := piece{at: off, stored: int64(stored), raw: int64(len(rows)), end: w.Ended()}
	if p.end {
		p.raw -= trailerLen
	}
	return p, nil
}

// add keeps the frame that was just read.
func (s *frameScan) add(p piece) {
	w := format.NewWalker(len(s.shape))
	_, _ = w.Walk(s.buf[:p.raw]) // whole rows: it was walked before
	s.totals = s.totals.Add(w.Totals())
	s.pieces = append(s.pieces, p)
	s.trailer = p.end
}

// next finds the frame behind a damaged one, and says how.
func (s *frameScan) next(ctx context.Context, off int64) (at int64, how string, err error) {
	for i, at := range s.starts {
		switch {
		case at > off && i == len(s.starts)-1:
			return at, "", nil // the end
		case at > off:
			return at, "as the seek table says", nil
		}
	}
	if at, err = s.search(ctx, off+1); at >= 0 && err == nil {
		how = "searched for: the next frame with a right checksum that holds rows of this table"
	}
	return at, how, err
}

// search finds the next frame of rows whose checksum is right.
func (s *frameScan) search(ctx context.Context, from int64) (int64, error) {
	w := window{src: s.src}
	const magic = len(format.FrameMagic)
	for from+int64(magic) <= s.size {
		if ctx.Err() != nil {
			return -1, context.Cause(ctx)
		}
		p := w.at(from, int(min(windowSize, s.size-from)))
		i := bytes.Index(p, []byte(format.FrameMagic))
		if i < 0 {
			from += int64(len(p) - magic + 1)
			continue
		}
		from += int64(i)
		if _, err := s.frame(from); err == nil {
			return from, nil
		}
		from++
	}
	return -1, nil
}

// tail looks at what stands behind the last row.
func (s *frameScan) tail(off int64) {
	if !s.trailer {
		if n := len(s.note.Lost); n == 0 || s.note.Lost[n-1].Offset+s.note.Lost[n-1].Bytes != off {
			s.lose(format.Lost{Offset: off, Why: "the rows end without a trailer: the file was cut off, or not written to its end"})
		}
		return
	}
	t, n, err := s.frames.Totals(s.src, off)
	if err == nil {
		s.setTotals(t)
		off += int64(n)
	}
	if s.table >= 0 && off != s.table {
		s.say("%d bytes between the last row and the seek table are not known", s.table-off)
	}
}

// reason is what is wrong, without the place: that is told apart.
func reason(err error) string {
	var e *format.Error
	if errors.As(err, &e) {
		if e.Err == nil {
			return e.Kind.String()
		}
		return e.Kind.String() + ": " + e.Err.Error()
	}
	return err.Error()
}
