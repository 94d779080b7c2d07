package format

import (
	"encoding/binary"
	"errors"
	"io"
	"iter"
)

// Row is one row of a COPY stream: int16 field count, then each field's int32 length and bytes. A Row that [Reader.Next] returned is well formed.
type Row []byte

// Fields yields each field's index, from 0, and bytes; nil is NULL. The bytes are part of the row.
func (r Row) Fields() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		rest := r[2:]
		for i := range int(binary.BigEndian.Uint16(r)) {
			var f []byte
			f, rest = cutField(rest)
			if !yield(i, f) {
				return
			}
		}
	}
}

// AppendFields appends each field's bytes to dst; nil is NULL. The bytes are part of the row.
func (r Row) AppendFields(dst [][]byte) [][]byte {
	for _, f := range r.Fields() {
		dst = append(dst, f)
	}
	return dst
}

func cutField(p []byte) (field, rest []byte) {
	n := int32(binary.BigEndian.Uint32(p))
	p = p[4:]
	if n < 0 {
		return nil, p
	}
	return p[:n:n], p[n:]
}

// rowLen returns the length in bytes of the row that p starts with.
func rowLen(p []byte) int {
	n := 2
	for range binary.BigEndian.Uint16(p) {
		n += 4 + max(0, int(int32(binary.BigEndian.Uint32(p[n:]))))
	}
	return n
}

// nextBlock is the length in bytes of the buffer of [Reader.Next], unless a row needs more.
const nextBlock = 256 << 10

// rowReader is the state of [Reader.Next].
type rowReader struct {
	walker *Walker
	block  []byte // what was read
	whole  []byte // whole rows that were walked and not returned yet
	rest   []byte // the start of a row, behind them
}

// Next returns the next row, valid until the following call, or io.EOF at the end, when everything has been checked, the totals too.
// It must not be mixed with ReadBlock.
func (r *Reader) Next() (Row, error) {
	s := &r.rows
	if s.walker == nil {
		s.walker = r.Walker()
	}
	for len(s.whole) == 0 {
		if err := r.fillRows(); err != nil {
			return nil, err
		}
	}
	n := rowLen(s.whole)
	row := s.whole[:n:n]
	s.whole = s.whole[n:]
	return Row(row), nil
}

// fillRows reads and walks more bytes.
func (r *Reader) fillRows() error {
	s := &r.rows
	if r.err != nil {
		return r.err
	}
	if r.compressed {
		p, err := r.ReadBlock(s.block)
		if err != nil {
			return r.endRows(err)
		}
		s.block = p
	} else {
		// Keep the start of a row. Need is only a claim: grow with what has come.
		kept := len(s.rest)
		size := max(nextBlock, min(s.walker.Need(), 2*kept))
		if cap(s.block) < size {
			s.block = append(make([]byte, 0, size), s.rest...)
		} else {
			s.block = append(s.block[:0], s.rest...)
		}
		p, err := r.ReadBlock(s.block[kept:cap(s.block)])
		if err != nil {
			return r.endRows(err)
		}
		s.block = s.block[:kept+len(p)]
	}
	n, err := s.walker.Walk(s.block)
	s.whole, s.rest = s.block[:n], s.block[n:]
	if s.walker.Ended() && n > 0 {
		s.whole = s.whole[:n-trailerLen]
	}
	if err != nil {
		r.err = withFile(err, r.file) // after the rows before it
		return nil
	}
	if r.compressed && len(s.rest) > 0 {
		return r.stick(&Error{Offset: r.hlen + s.walker.Totals().Length, Decoded: true, Row: s.walker.Totals().Rows + 1, Kind: ErrFrame, Err: errors.New("a frame ends within a row")})
	}
	return nil
}

// endRows checks what can be checked at the end.
func (r *Reader) endRows(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	if err := r.rows.walker.Close(); err != nil {
		return r.stick(err)
	}
	if err := r.Finish(r.rows.walker.Totals()); err != nil {
		return r.stick(err)
	}
	return io.EOF
}

func (r *Reader) stick(err error) error {
	r.err = withFile(err, r.file)
	return r.err
}
