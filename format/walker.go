package format

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/zeebo/xxh3"
)

// trailerLen is the length in bytes of the field count -1 that ends a stream.
const trailerLen = 2

// Walker cuts a stream of COPY rows: it finds where rows end, counts and digests them. Its methods allocate nothing.
// It never needs more of a row than is there to say what is wrong with it. It is not safe for concurrent use.
type Walker struct {
	columns int
	shape   []fieldShape // of the last row
	base    int64        // offset of the first row in the file
	decoded bool
	totals  Totals
	need    int
	ended   bool
	err     error
}

// fieldShape is the length of a field: as it is stored, and in bytes with the four of the length itself.
type fieldShape struct {
	stored uint32 // as load32 gives it
	width  int32
}

// NewWalker returns a walker over rows of so many fields. Offsets in its errors count from the first row; see [Reader.Walker].
func NewWalker(columns int) *Walker {
	w := &Walker{columns: columns, shape: make([]fieldShape, columns)}
	for i := range w.shape {
		w.shape[i].width = 4 // no bytes
	}
	return w
}

// Walk consumes as many whole rows, and the trailer, as p holds, and returns how many bytes that were. Pass p[n:] again with more bytes behind it;
// [Walker.Need] says how many. Errors are [*Error] and stick; rows before the damage have been counted and n is where it starts.
func (w *Walker) Walk(p []byte) (n int, err error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.ended {
		return 0, w.trailing(p)
	}
	w.need = 0
	rows, digest := w.totals.Rows, w.totals.Digest
	at := 0
	for at+2 <= len(p) {
		if count := int(int16(binary.BigEndian.Uint16(p[at:]))); count != w.columns {
			w.countMismatch(p[at:], at, rows, count)
			break
		}
		var q, left int
		if w.columns < 4 {
			q, left = chain(p, at+2, w.columns)
		} else {
			q, left = w.fields(p, at+2)
		}
		if left > 0 || q > len(p) || q-at > MaxRow {
			w.unfinished(p, at, q, left, rows)
			break
		}
		h := xxh3.Hash128(p[at:q])
		digest.Lo += h.Lo
		digest.Hi += h.Hi
		rows++
		at = q
	}
	if w.ended {
		at += trailerLen
	} else if w.need == 0 && w.err == nil && at < len(p) {
		w.need = 2 // one byte of a field count
	}
	w.totals.Rows, w.totals.Digest = rows, digest
	w.totals.Length += int64(at)
	if w.ended && at < len(p) {
		return at, w.trailing(p[at:])
	}
	return at, w.err
}

// fields follows the fields of a row from q, and returns where it came to and how many are left. Where a field starts depends on the length of the one before it,
// and that chain of loads is what walking costs. So four fields at a time are taken to be as long as those of the row before, which can be
// looked at side by side, and are followed one by one only where that is wrong. Where an int has 32 bits, guesses of a gigabyte may add up to less than nothing,
// which is out of bounds as an unsigned number.
func (w *Walker) fields(p []byte, q int) (end, left int) {
	left = w.columns
	for shape := w.shape; len(shape) >= 4; shape = shape[4:] {
		s := (*[4]fieldShape)(shape)
		q1 := q + int(s[0].width)
		q2 := q1 + int(s[1].width)
		q3 := q2 + int(s[2].width)
		if uint(q3)+4 <= uint(len(p)) && (load32(p, q)^s[0].stored)|(load32(p, q1)^s[1].stored)|(load32(p, q2)^s[2].stored)|(load32(p, q3)^s[3].stored) == 0 {
			q = q3 + int(s[3].width)
			left -= 4
			continue
		}
		for i := range s {
			at, missing := chain(p, q, 1)
			if missing > 0 {
				return q, left
			}
			s[i] = fieldShape{load32(p, q), int32(at - q)}
			q = at
			left--
		}
	}
	return chain(p, q, left)
}

// chain follows so many fields one by one.
func chain(p []byte, q, left int) (end, n int) {
	for left > 0 && q+4 <= len(p) {
		size := int32(binary.BigEndian.Uint32(p[q:]))
		if uint32(size)+1 > MaxField+1 { // -1 becomes 0, all other negative ones become large
			break
		}
		q += 4 + int(size&^(size>>31)) // NULL has no bytes; without a branch, for NULLs are hard to predict
		left--
	}
	return q, left
}

// countMismatch looks at a field count that is not the number of columns: the trailer, or damage.
func (w *Walker) countMismatch(p []byte, at int, rows int64, count int) {
	if count == -1 {
		w.ended = true
		return
	}
	w.err = &Error{
		Offset: w.offset(at), Decoded: w.decoded, Row: rows + 1, Kind: ErrFieldCount,
		Err: fmt.Errorf("row has %d fields, the file has %d columns", count, w.columns),
	}
}

// unfinished looks at a row from at whose fields could be followed to q, with so many left: it is cut off by the end of p, too long, or damaged.
func (w *Walker) unfinished(p []byte, at, q, left int, rows int64) {
	damage := func(kind Kind, column int, form string, args ...any) {
		w.err = &Error{Offset: w.offset(q), Decoded: w.decoded, Row: rows + 1, Column: column, Kind: kind, Err: fmt.Errorf(form, args...)}
	}
	need := q - at + 4*left
	switch {
	case left > 0 && q+4 <= len(p):
		damage(ErrFieldLength, w.columns-left+1, "field of %d bytes", int32(binary.BigEndian.Uint32(p[q:])))
	case need > MaxRow:
		damage(ErrLimit, w.columns-left, "a row of at least %d bytes, more than %d", need, MaxRow)
	default:
		w.need = need
	}
}

func (w *Walker) offset(at int) int64 { return w.base + w.totals.Length + int64(at) }

// trailing refuses bytes after the trailer.
func (w *Walker) trailing(p []byte) error {
	if len(p) > 0 {
		w.err = &Error{Offset: w.offset(0), Decoded: w.decoded, Kind: ErrTrailing, Err: fmt.Errorf("at least %d bytes after the trailer", len(p))}
	}
	return w.err
}

// Need returns how many bytes the unfinished row at p[n:] of the last Walk has in all, as far as is known by now (at most [MaxRow]); 0 at a boundary.
// It comes from the input: let a buffer grow with what really arrives.
func (w *Walker) Need() int { return w.need }

// Ended says whether the trailer was seen.
func (w *Walker) Ended() bool { return w.ended }

// Totals returns the totals of what was consumed.
func (w *Walker) Totals() Totals { return w.totals }

// Close returns an error of kind [ErrTruncated] when there was no trailer, or the error that stuck.
func (w *Walker) Close() error {
	if w.err == nil && !w.ended {
		w.err = &Error{Offset: w.offset(0), Decoded: w.decoded, Row: w.totals.Rows + 1, Kind: ErrTruncated, Err: fmt.Errorf("the rows end without a trailer, after row %d", w.totals.Rows)}
	}
	return w.err
}

// load32 reads four bytes of p, in the machine's order. The caller has seen to it that 0 <= at and at+4 <= len(p).
func load32(p []byte, at int) uint32 {
	return *(*uint32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(p)), at))
}
