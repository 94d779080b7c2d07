package convert

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bytehaul/pghaul/format"
)

// maxDepth bounds the nesting of types, which the server bounds by its stack. A graph deeper than that, or with a cycle that
// this package cannot follow, is refused when the plan is made.
const maxDepth = 64

// node is what is to be done inside values of one type. A nil node: nothing.
type node struct {
	kind     format.TypeKind
	check    check
	element  *node   // array, range (subtype), multirange (range)
	from, to uint32  // array: OID of the element on both sides
	fields   []field // composite
}

type field struct {
	from, to uint32
	node     *node
}

// check refuses values of a base type that the target cannot mean.
type check uint8

const (
	noCheck            check = iota
	noIntervalInfinity       // servers before 17 read them as 178956970 years, silently
	noLargestInterval        // servers from 17 on read what was the largest interval before as infinity, silently
	noNumericInfinity        // servers before 14 refuse them with an error that names no column
)

// Errors of values.
var (
	ErrMalformed = errors.New("malformed value")
	ErrInfinity  = errors.New("infinity, which the target's version does not know")
	ErrLargest   = errors.New("the largest interval, which the target's version takes for infinity")
)

func malformed(what string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(what, args...))
}

// rewrite changes the OIDs inside p in place: lengths stay as they are. It allocates nothing unless it fails.
func (n *node) rewrite(p []byte) error {
	switch n.kind {
	case format.KindArray:
		return n.array(p)
	case format.KindComposite:
		return n.composite(p)
	case format.KindRange:
		return n.ranged(p)
	case format.KindMultirange:
		return n.multirange(p)
	}
	return n.check.value(p)
}

// Flags of a range on the wire; see range_send in src/backend/utils/adt/rangetypes.c.
const (
	rangeEmpty    = 0x01
	rangeLowerInf = 0x08
	rangeUpperInf = 0x10
	rangeKnown    = 0x1f // the bits that range_send sends
)

// maxDimensions is the server's MAXDIM.
const maxDimensions = 6

// array walks int32 dimensions, int32 flags, uint32 element OID, per dimension int32 length and int32 lower bound, then the elements;
// see array_send in src/backend/utils/adt/arrayfuncs.c.
func (n *node) array(p []byte) error {
	if len(p) < 12 {
		return malformed("array of %d bytes", len(p))
	}
	dims := int32(binary.BigEndian.Uint32(p))
	if dims < 0 || dims > maxDimensions {
		return malformed("array of %d dimensions", dims)
	}
	if oid := binary.BigEndian.Uint32(p[8:]); oid != n.from {
		return malformed("array of type %d, expected %d", oid, n.from)
	}
	binary.BigEndian.PutUint32(p[8:], n.to)
	head := 12 + 8*int(dims)
	if len(p) < head {
		return malformed("array of %d bytes with %d dimensions", len(p), dims)
	}
	count := int64(1)
	if dims == 0 {
		count = 0
	}
	for d := range int(dims) {
		size := int32(binary.BigEndian.Uint32(p[12+8*d:]))
		if size < 0 {
			return malformed("array dimension of %d elements", size)
		}
		if count *= int64(size); count > int64(len(p)) { // an element takes 4 bytes at least
			return malformed("array of %d elements in %d bytes", count, len(p))
		}
	}
	rest := p[head:]
	for i := range count {
		value, after, err := next(rest)
		if err != nil {
			return fmt.Errorf("element %d: %w", i+1, err)
		}
		if value != nil && n.element != nil {
			if err := n.element.rewrite(value); err != nil {
				return fmt.Errorf("element %d: %w", i+1, err)
			}
		}
		rest = after
	}
	if len(rest) > 0 {
		return malformed("%d bytes after the last element", len(rest))
	}
	return nil
}

// composite walks int32 count, then per field uint32 type OID and the value; see record_send in src/backend/utils/adt/rowtypes.c.
func (n *node) composite(p []byte) error {
	if len(p) < 4 {
		return malformed("composite of %d bytes", len(p))
	}
	if count := int32(binary.BigEndian.Uint32(p)); int(count) != len(n.fields) {
		return malformed("composite of %d fields, expected %d", count, len(n.fields))
	}
	rest := p[4:]
	for i := range n.fields {
		f := &n.fields[i]
		if len(rest) < 4 {
			return malformed("composite ends in field %d", i+1)
		}
		if oid := binary.BigEndian.Uint32(rest); oid != f.from {
			return malformed("field %d is of type %d, expected %d", i+1, oid, f.from)
		}
		binary.BigEndian.PutUint32(rest, f.to)
		value, after, err := next(rest[4:])
		if err != nil {
			return fmt.Errorf("field %d: %w", i+1, err)
		}
		if value != nil && f.node != nil {
			if err := f.node.rewrite(value); err != nil {
				return fmt.Errorf("field %d: %w", i+1, err)
			}
		}
		rest = after
	}
	if len(rest) > 0 {
		return malformed("%d bytes after the last field", len(rest))
	}
	return nil
}

// ranged walks a byte of flags and the bounds that are there.
func (n *node) ranged(p []byte) error {
	if len(p) < 1 {
		return malformed("range of no bytes")
	}
	flags, rest := p[0], p[1:]
	if flags&^rangeKnown != 0 {
		return malformed("range with flags %#x", flags)
	}
	if flags&rangeEmpty == 0 {
		for _, infinite := range [2]byte{rangeLowerInf, rangeUpperInf} {
			if flags&infinite != 0 {
				continue
			}
			value, after, err := next(rest)
			if err != nil {
				return fmt.Errorf("bound: %w", err)
			}
			if value == nil {
				return malformed("range with a NULL bound")
			}
			if n.element != nil {
				if err := n.element.rewrite(value); err != nil {
					return fmt.Errorf("bound: %w", err)
				}
			}
			rest = after
		}
	}
	if len(rest) > 0 {
		return malformed("%d bytes after the range", len(rest))
	}
	return nil
}

// multirange walks int32 count, then the ranges, each with its length.
func (n *node) multirange(p []byte) error {
	if len(p) < 4 {
		return malformed("multirange of %d bytes", len(p))
	}
	count, rest := int32(binary.BigEndian.Uint32(p)), p[4:]
	if count < 0 || int64(count)*5 > int64(len(rest)) { // a range takes a length and its flags
		return malformed("multirange of %d ranges in %d bytes", count, len(p))
	}
	for i := range count {
		value, after, err := next(rest)
		if err != nil {
			return fmt.Errorf("range %d: %w", i+1, err)
		}
		if value == nil {
			return malformed("range %d is NULL", i+1)
		}
		if n.element != nil {
			if err := n.element.rewrite(value); err != nil {
				return fmt.Errorf("range %d: %w", i+1, err)
			}
		}
		rest = after
	}
	if len(rest) > 0 {
		return malformed("%d bytes after the last range", len(rest))
	}
	return nil
}

// next takes an int32 length and so many bytes off the front of p; -1 is NULL, a nil value. An empty value is not nil.
func next(p []byte) (value, rest []byte, err error) {
	if len(p) < 4 {
		return nil, nil, malformed("%d bytes where a length goes", len(p))
	}
	size := int32(binary.BigEndian.Uint32(p))
	switch {
	case size == -1:
		return nil, p[4:], nil
	case size < 0 || int64(size) > int64(len(p)-4):
		return nil, nil, malformed("length %d with %d bytes left", size, len(p)-4)
	}
	return p[4 : 4+size : 4+size], p[4+size:], nil
}

// value refuses what the target cannot mean. Malformed values are the target's to refuse: their receive functions do.
func (c check) value(p []byte) error {
	switch c {
	case noLargestInterval:
		if len(p) == 16 && isInfinite(p) {
			return ErrLargest
		}
	case noIntervalInfinity:
		if len(p) == 16 && isInfinite(p) {
			return ErrInfinity
		}
	case noNumericInfinity:
		// numeric_send: int16 digits, int16 weight, uint16 sign, int16 scale; signs 0xD000 and 0xF000 are the infinities.
		if len(p) >= 6 {
			if sign := binary.BigEndian.Uint16(p[4:]); sign == 0xD000 || sign == 0xF000 {
				return ErrInfinity
			}
		}
	}
	return nil
}

// isInfinite tells whether an interval is one of 17's infinities: all three parts at their largest, or all at their smallest.
func isInfinite(p []byte) bool {
	micros, days, months := binary.BigEndian.Uint64(p), binary.BigEndian.Uint32(p[8:]), binary.BigEndian.Uint32(p[12:])
	return micros == 1<<63-1 && days == 1<<31-1 && months == 1<<31-1 || micros == 1<<63 && days == 1<<31 && months == 1<<31
}
