package salvage

import (
	"errors"
	"io"
	"slices"
	"sort"
)

// sector is the unit in which a failing disk loses bytes.
const sector = 4096

// sectors reads a file of a failing disk: what can't be read is zeros, and remembered.
type sectors struct {
	r    io.ReaderAt
	size int64
	bad  []span // in order, apart from each other
}

// span is a range of bytes: from ≤ offset < to.
type span struct{ from, to int64 }

// ReadAt implements [io.ReaderAt]. The only error is io.EOF.
func (s *sectors) ReadAt(p []byte, at int64) (int, error) {
	want := max(0, min(int64(len(p)), s.size-at))
	n, err := s.r.ReadAt(p[:want], at)
	if err != nil && !errors.Is(err, io.EOF) {
		s.bySector(p[:want], at)
		n = int(want)
	}
	if n < int(want) { // the file has become shorter
		s.lose(at+int64(n), at+want)
		clear(p[n:want])
	}
	if int(want) < len(p) {
		return int(want), io.EOF
	}
	return int(want), nil
}

func (s *sectors) bySector(p []byte, at int64) {
	for len(p) > 0 {
		n := min(len(p), int(sector-at%sector))
		if got, err := s.r.ReadAt(p[:n], at); got < n && err != nil {
			clear(p[:n])
			s.lose(at, at+int64(n))
		}
		p, at = p[n:], at+int64(n)
	}
}

// lose takes note of what can't be read. A disk may lose a million sectors: what adjoins is one span.
func (s *sectors) lose(from, to int64) {
	i := s.behind(from - 1) // what ends at from adjoins
	j := i
	for ; j < len(s.bad) && s.bad[j].from <= to; j++ {
		from, to = min(from, s.bad[j].from), max(to, s.bad[j].to)
	}
	s.bad = slices.Replace(s.bad, i, j, span{from, to})
}

// behind gives the first of the lost ranges that ends behind an offset.
func (s *sectors) behind(at int64) int {
	return sort.Search(len(s.bad), func(i int) bool { return s.bad[i].to > at })
}

// lost tells whether a byte of the range could not be read.
func (s *sectors) lost(from, to int64) bool {
	i := s.behind(from)
	return i < len(s.bad) && s.bad[i].from < to
}

// window reads a file in pieces that follow what is asked for.
type window struct {
	src  *sectors
	buf  []byte
	from int64
}

// windowSize is how many bytes a window reads at least.
const windowSize = 256 << 10

// at returns n bytes at an offset, valid until the next call, or nil where the file has not so many.
func (w *window) at(off int64, n int) []byte {
	if off < w.from || off+int64(n) > w.from+int64(len(w.buf)) {
		if off+int64(n) > w.src.size {
			return nil
		}
		size := min(int64(max(n, windowSize)), w.src.size-off)
		if int64(cap(w.buf)) < size {
			w.buf = make([]byte, size)
		}
		w.buf, w.from = w.buf[:size], off
		got, _ := w.src.ReadAt(w.buf, off) // io.EOF alone, and then there is less
		w.buf = w.buf[:got]
		if got < n {
			return nil
		}
	}
	i := off - w.from
	return w.buf[i : i+int64(n)]
}
