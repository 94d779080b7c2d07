package salvage

import (
	"encoding/binary"

	"github.com/bytehaul/pghaul/format"
)

const trailerLen = 2

// shape is what all rows of a table have in common: a field for each column, whose length is known where its type has but one; 0 where it has not.
type shape []int32

// lengths are those that the send functions of types of fixed length give; see src/backend/utils/adt of PostgreSQL.
var lengths = map[format.Name]int32{
	"bool": 1, "char": 1, "int2": 2, "int4": 4, "int8": 8, "float4": 4, "float8": 8, "oid": 4, "xid": 4, "xid8": 8, "cid": 4, "tid": 6, "pg_lsn": 8,
	"date": 4, "time": 8, "timetz": 12, "timestamp": 8, "timestamptz": 8, "interval": 16, "uuid": 16, "money": 8, "macaddr": 6, "macaddr8": 8, "point": 16,
}

func shapeOf(m *format.Meta) shape {
	s := shape{}
	for i := range m.Columns {
		c := &m.Columns[i]
		switch {
		case c.Generated != "":
		case c.Carried == format.CarriedBinary && c.TypeSchema == "pg_catalog":
			s = append(s, lengths[c.TypeName])
		default:
			s = append(s, 0)
		}
	}
	return s
}

// verdict is what stands at an offset where a row should.
type verdict int

const (
	aRow    verdict = iota
	trailer         // the field count -1
	noCount         // another field count than the table's
	noField         // a field of a length that it can't have
	cutOff          // the file ends within
)

// Weights, in bits, of what speaks for a row: how improbable it is that bytes at random look like it.
const (
	bitsCount = 16 // the field count
	bitsExact = 32 // a length that is the only one possible, or NULL
	bitsShort = 16 // a length below 64 KiB
	bitsEmpty = 8
)

// row looks at the row at an offset, and returns where it ends and what speaks for it.
func (s shape) row(w *window, off int64) (end int64, bits int, v verdict) {
	p := w.at(off, 2)
	if p == nil {
		return off, 0, cutOff
	}
	switch count := int16(binary.BigEndian.Uint16(p)); {
	case count == -1:
		return off, 0, trailer
	case int(count) != len(s):
		return off, 0, noCount
	}
	bits = bitsCount
	q := off + 2
	for _, want := range s {
		if p = w.at(q, 4); p == nil {
			return off, 0, cutOff
		}
		n := int32(binary.BigEndian.Uint32(p))
		switch {
		case n == -1 || n == want && want > 0:
			bits += bitsExact
		case n < 0 || n > format.MaxField || want > 0:
			return off, 0, noField
		case n == 0:
			bits += bitsEmpty
		case n < 1<<16:
			bits += bitsShort
		}
		q += 4 + int64(max(n, 0))
		switch {
		case q > w.src.size:
			return off, 0, cutOff
		case q-off > format.MaxRow:
			return off, 0, noField
		}
	}
	return q, bits, aRow
}
