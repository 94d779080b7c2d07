package rowtext

import "strconv"

// The signs of numeric; see numeric_send in src/backend/utils/adt/numeric.c.
const (
	numericNegative = 0x4000
	numericNaN      = 0xC000
	numericInf      = 0xD000
	numericNegInf   = 0xF000
)

// maxScale is the largest number of decimal places (NUMERIC_DSCALE_MASK).
const maxScale = 0x3FFF

// numericText writes a numeric with as many decimal places as its scale says.
func numericText(dst, src []byte) ([]byte, error) {
	c := cursor{rest: src}
	n, weight, sign, scale := int(c.uint16()), int(int16(c.uint16())), c.uint16(), int(c.uint16())
	if c.bad || len(c.rest) != 2*n || scale > maxScale {
		return dst, errValue
	}
	switch sign {
	case numericNaN:
		return append(dst, "NaN"...), nil
	case numericInf:
		return append(dst, "Infinity"...), nil
	case numericNegInf:
		return append(dst, "-Infinity"...), nil
	case numericNegative:
		dst = append(dst, '-')
	case 0:
	default:
		return dst, errValue
	}
	digits := make([]uint16, n)
	for i := range digits {
		if digits[i] = c.uint16(); digits[i] > 9999 {
			return dst, errValue
		}
	}
	at := func(i int) uint64 { // the group of four digits that is worth 10000^(weight-i)
		if i < 0 || i >= n {
			return 0
		}
		return uint64(digits[i])
	}
	if weight < 0 {
		dst = append(dst, '0')
	} else {
		first := 0
		for first < weight && at(first) == 0 { // the server never sends such zeros
			first++
		}
		dst = strconv.AppendUint(dst, at(first), 10)
		for i := first + 1; i <= weight; i++ {
			dst = appendPadded(dst, at(i), 4)
		}
	}
	if scale == 0 {
		return dst, nil
	}
	dst = append(dst, '.')
	end := len(dst) + scale
	for i := weight + 1; len(dst) < end; i++ {
		dst = appendPadded(dst, at(i), 4)
	}
	return dst[:end], nil
}

// appendPadded writes a number with zeros before it, so that it has a width.
func appendPadded(dst []byte, v uint64, width int) []byte {
	limit := uint64(1)
	for range width - 1 {
		limit *= 10
	}
	for ; limit > v && limit > 1; limit /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendUint(dst, v, 10)
}
