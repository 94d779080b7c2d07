package rowtext

import "math"

// The geometric types are float8 in their forms; see src/backend/utils/adt/geo_ops.c.

func (c *cursor) float() float64 { return math.Float64frombits(c.uint64()) }

func appendPoint(dst []byte, c *cursor) []byte {
	dst = appendFloat(append(dst, '('), c.float(), 64)
	return append(appendFloat(append(dst, ','), c.float(), 64), ')')
}

func pointText(dst, src []byte) ([]byte, error) {
	c := cursor{rest: src}
	return appendPoint(dst, &c), c.end()
}

func lsegText(dst, src []byte) ([]byte, error) {
	c := cursor{rest: src}
	dst = appendPoint(append(dst, '['), &c)
	return append(appendPoint(append(dst, ','), &c), ']'), c.end()
}

func boxText(dst, src []byte) ([]byte, error) {
	c := cursor{rest: src}
	dst = appendPoint(dst, &c)
	return appendPoint(append(dst, ','), &c), c.end()
}

func lineText(dst, src []byte) ([]byte, error) {
	c := cursor{rest: src}
	dst = append(dst, '{')
	for i := range 3 {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendFloat(dst, c.float(), 64)
	}
	return append(dst, '}'), c.end()
}

func circleText(dst, src []byte) ([]byte, error) {
	c := cursor{rest: src}
	dst = appendPoint(append(dst, '<'), &c)
	return append(appendFloat(append(dst, ','), c.float(), 64), '>'), c.end()
}

func pathText(dst, src []byte) ([]byte, error) {
	c := cursor{rest: src}
	if c.uint8() != 0 {
		return appendPoints(dst, &c, '(', ')')
	}
	return appendPoints(dst, &c, '[', ']')
}

func polygonText(dst, src []byte) ([]byte, error) {
	return appendPoints(dst, &cursor{rest: src}, '(', ')')
}

func appendPoints(dst []byte, c *cursor, first, last byte) ([]byte, error) {
	n := int(c.int32())
	if c.bad || n < 0 || n != len(c.rest)/16 {
		return dst, errValue
	}
	dst = append(dst, first)
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendPoint(dst, c)
	}
	return append(dst, last), c.end()
}
