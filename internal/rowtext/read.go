package rowtext

import "encoding/binary"

// cursor cuts a value into pieces. After one that is not there, bad is set and all further ones are empty.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) bytes(n int) []byte {
	if n < 0 || n > len(c.rest) {
		c.bad, c.rest = true, nil
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cursor) uint8() byte {
	if b := c.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) uint16() uint16 {
	if b := c.bytes(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) uint32() uint32 {
	if b := c.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) int32() int32 { return int32(c.uint32()) }

func (c *cursor) uint64() uint64 {
	if b := c.bytes(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// field is an int32 length with so many bytes behind it; nil is NULL.
func (c *cursor) field() []byte {
	n := c.int32()
	if n == -1 || c.bad {
		return nil
	}
	if b := c.bytes(int(n)); b != nil {
		return b
	}
	return []byte{}
}

// end is nil when all was there and nothing is left.
func (c *cursor) end() error {
	if c.bad || len(c.rest) > 0 {
		return errValue
	}
	return nil
}
