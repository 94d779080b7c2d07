package convert

import (
	"encoding/binary"
	"math"

	"github.com/bytehaul/pghaul/format"
)

// Widening is a conversion of one value that no value of the narrower type can fail, and that changes the meaning of none: what the server's own cast
// makes of it, to the byte. The zero value is Keep.
type Widening uint8

// Widenings, each a row of the table below. Types with the same bytes (varchar and text, say) need none.
const (
	Keep Widening = iota
	Int2ToInt4
	Int2ToInt8
	Int4ToInt8
	Int2ToNumeric
	Int4ToNumeric
	Int8ToNumeric
	Int2ToFloat4
	Int2ToFloat8
	Int4ToFloat8
	Float4ToFloat8
)

// widenings are what there is between builtin types. Missing are those that would round: int4 to float4, int8 to float8.
var widenings = [...]struct {
	from, to format.Name
	size     int                            // of a value of from, in bytes
	append   func(dst, value []byte) []byte // the length and the bytes of the wider value
}{
	Int2ToInt4:     {"int2", "int4", 2, func(dst, v []byte) []byte { return append4(dst, uint32(fromInt2(v))) }},
	Int2ToInt8:     {"int2", "int8", 2, func(dst, v []byte) []byte { return append8(dst, uint64(fromInt2(v))) }},
	Int4ToInt8:     {"int4", "int8", 4, func(dst, v []byte) []byte { return append8(dst, uint64(fromInt4(v))) }},
	Int2ToNumeric:  {"int2", "numeric", 2, func(dst, v []byte) []byte { return appendNumeric(dst, fromInt2(v)) }},
	Int4ToNumeric:  {"int4", "numeric", 4, func(dst, v []byte) []byte { return appendNumeric(dst, fromInt4(v)) }},
	Int8ToNumeric:  {"int8", "numeric", 8, func(dst, v []byte) []byte { return appendNumeric(dst, int64(binary.BigEndian.Uint64(v))) }},
	Int2ToFloat4:   {"int2", "float4", 2, func(dst, v []byte) []byte { return append4(dst, math.Float32bits(float32(fromInt2(v)))) }},
	Int2ToFloat8:   {"int2", "float8", 2, func(dst, v []byte) []byte { return append8(dst, math.Float64bits(float64(fromInt2(v)))) }},
	Int4ToFloat8:   {"int4", "float8", 4, func(dst, v []byte) []byte { return append8(dst, math.Float64bits(float64(fromInt4(v)))) }},
	Float4ToFloat8: {"float4", "float8", 4, func(dst, v []byte) []byte { return append8(dst, math.Float64bits(float64(fromFloat4(v)))) }},
}

// WideningOf finds the widening between two types of pg_catalog; Keep when there is none. Whether the target's modifier leaves room is not its business.
func WideningOf(from, to format.Name) Widening {
	for w := Keep + 1; int(w) < len(widenings); w++ {
		if widenings[w].from == from && widenings[w].to == to {
			return w
		}
	}
	return Keep
}

// append appends the wider value with its length.
func (w Widening) append(dst, value []byte) ([]byte, error) {
	way := &widenings[w]
	if len(value) != way.size {
		return dst, malformed("%d bytes, expected %d", len(value), way.size)
	}
	return way.append(dst, value), nil
}

func fromInt2(v []byte) int64     { return int64(int16(binary.BigEndian.Uint16(v))) }
func fromInt4(v []byte) int64     { return int64(int32(binary.BigEndian.Uint32(v))) }
func fromFloat4(v []byte) float32 { return math.Float32frombits(binary.BigEndian.Uint32(v)) }

// append4 and append8 append a value of four or eight bytes with its length.
func append4(dst []byte, v uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0, 0, 0, 4), v)
}

func append8(dst []byte, v uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, 0, 0, 0, 8), v)
}

// A numeric on the wire: the number of digits, the weight of the first, the sign and the scale, two bytes each, then the digits, each of four decimal ones;
// see numeric_send in src/backend/utils/adt/numeric.c.
const (
	numericBase     = 10000
	numericHead     = 8
	numericNegative = 0x4000
	int8Digits      = 5 // of the base, in the largest int8
)

// appendNumeric appends a whole number with its length as int64_to_numeric makes it: scale 0, no zeros in front nor at the end.
func appendNumeric(dst []byte, n int64) []byte {
	sign, rest := uint16(0), uint64(n)
	if n < 0 {
		sign, rest = numericNegative, -rest
	}
	var digits [int8Digits]uint16
	first, end := len(digits), len(digits)
	for ; rest > 0; rest /= numericBase {
		first--
		digits[first] = uint16(rest % numericBase)
	}
	weight := max(0, end-first-1)
	for end > first && digits[end-1] == 0 {
		end--
	}
	count := end - first
	dst = binary.BigEndian.AppendUint32(dst, uint32(numericHead+2*count))
	dst = binary.BigEndian.AppendUint16(dst, uint16(count))
	dst = binary.BigEndian.AppendUint16(dst, uint16(weight))
	dst = binary.BigEndian.AppendUint16(dst, sign)
	dst = append(dst, 0, 0)
	for _, d := range digits[first:end] {
		dst = binary.BigEndian.AppendUint16(dst, d)
	}
	return dst
}
