package rowtext

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"github.com/bytehaul/pghaul/format"
)

// maxDims is PostgreSQL's MAXDIM.
const maxDims = 6

const spaces = " \t\n\r\v\f"

// arrayValue is an array taken apart.
type arrayValue struct {
	size, low []int32
	elements  [][]byte // nil is NULL
}

func parseArray(src []byte) (a arrayValue, err error) {
	c := cursor{rest: src}
	dims := int(c.int32())
	c.int32() // says whether there are NULLs
	c.uint32()
	if c.bad || dims < 0 || dims > maxDims {
		return a, errValue
	}
	n := int64(1)
	for range dims {
		size, low := c.int32(), c.int32()
		if size < 0 {
			return a, errValue
		}
		a.size, a.low = append(a.size, size), append(a.low, low)
		if n *= int64(size); n > int64(len(src)) { // each element takes four bytes at least
			return a, errValue
		}
	}
	if dims == 0 {
		n = 0
	}
	for range n {
		a.elements = append(a.elements, c.field())
	}
	return a, c.end()
}

// maxText is how many bytes the text of a container may have beside four for each byte of its value. Every level of quotes doubles those inside of it, and
// a numeric of six bytes can have 130,000 digits, so that a small value may have no text that memory could hold.
const maxText = 64 << 20

// bounded refuses a text that has grown out of all proportion to its value.
func bounded(text int, value []byte) error {
	if text > maxText+4*len(value) {
		return errTooLong
	}
	return nil
}

// array is the codec of an array; see array_out in src/backend/utils/adt/arrayfuncs.c.
func array(element codec) codec {
	delim := element.delim
	if delim == 0 {
		delim = ','
	}
	if element.hex {
		return hexCodec()
	}
	k := codec{delim: element.delim}
	k.text = func(dst, src []byte) ([]byte, error) {
		a, err := parseArray(src)
		if err != nil {
			return dst, err
		}
		if len(a.elements) == 0 {
			return append(dst, "{}"...), nil
		}
		start := len(dst)
		dst = appendBounds(dst, &a)
		var scratch []byte
		dst, _, err = a.nest(dst, 0, a.elements, '{', '}', delim, func(dst, e []byte) ([]byte, error) {
			if e == nil {
				return append(dst, "NULL"...), nil
			}
			if scratch, err = element.text(scratch[:0], e); err == nil {
				err = bounded(len(dst)-start+2*len(scratch), src)
			}
			if err != nil {
				return dst, err
			}
			if len(scratch) == 0 || strings.EqualFold(string(scratch), "null") || bytes.ContainsAny(scratch, `"\{}`+spaces) || bytes.IndexByte(scratch, delim) >= 0 {
				return appendQuoted(dst, scratch, '\\'), nil
			}
			return append(dst, scratch...), nil
		})
		return dst, err
	}
	k.json = func(dst, src []byte) ([]byte, error) {
		a, err := parseArray(src)
		if err != nil {
			return dst, err
		}
		if len(a.elements) == 0 {
			return append(dst, "[]"...), nil
		}
		start := len(dst)
		var scratch []byte
		dst, _, err = a.nest(dst, 0, a.elements, '[', ']', ',', func(dst, e []byte) ([]byte, error) {
			if e == nil {
				return append(dst, "null"...), nil
			}
			if dst, err = element.appendJSON(dst, e, &scratch); err == nil {
				err = bounded(len(dst)-start, src)
			}
			return dst, err
		})
		return dst, err
	}
	return k
}

// appendBounds writes [2:3]= before an array whose subscripts do not start at 1.
func appendBounds(dst []byte, a *arrayValue) []byte {
	plain := true
	for _, l := range a.low {
		plain = plain && l == 1
	}
	if plain {
		return dst
	}
	for i, l := range a.low {
		dst = strconv.AppendInt(append(dst, '['), int64(l), 10)
		dst = strconv.AppendInt(append(dst, ':'), int64(l)+int64(a.size[i])-1, 10)
		dst = append(dst, ']')
	}
	return append(dst, '=')
}

// nest writes the elements of one dimension and those below it, and returns the elements that are left.
func (a *arrayValue) nest(dst []byte, dim int, rest [][]byte, first, last, delim byte, one func(dst, e []byte) ([]byte, error)) ([]byte, [][]byte, error) {
	dst = append(dst, first)
	var err error
	for i := range a.size[dim] {
		if i > 0 {
			dst = append(dst, delim)
		}
		if dim+1 < len(a.size) {
			dst, rest, err = a.nest(dst, dim+1, rest, first, last, delim, one)
		} else {
			dst, err = one(dst, rest[0])
			rest = rest[1:]
		}
		if err != nil {
			return dst, rest, err
		}
	}
	return append(dst, last), rest, nil
}

// appendQuoted puts text into double quotes. Quotes and backslashes get escape before them; 0: they are doubled.
func appendQuoted(dst, text []byte, escape byte) []byte {
	dst = append(dst, '"')
	for _, b := range text {
		if b == '"' || b == '\\' {
			if escape != 0 {
				dst = append(dst, escape)
			} else {
				dst = append(dst, b)
			}
		}
		dst = append(dst, b)
	}
	return append(dst, '"')
}

// appendPart writes a field of a composite or a bound of a range, which double what they quote.
func appendPart(dst, text []byte, special string) []byte {
	if len(text) == 0 || bytes.ContainsAny(text, special+spaces) {
		return appendQuoted(dst, text, 0)
	}
	return append(dst, text...)
}

// The flags of a range; see src/include/utils/rangetypes.h.
const (
	rangeEmpty = 1 << iota
	rangeLowInclusive
	rangeHighInclusive
	rangeLowInfinite
	rangeHighInfinite
)

// rangeCodec is the codec of a range; see range_deparse in src/backend/utils/adt/rangetypes.c.
func rangeCodec(bound codec) codec {
	if bound.hex {
		return hexCodec()
	}
	return codec{text: func(dst, src []byte) ([]byte, error) {
		c := cursor{rest: src}
		flags := c.uint8()
		if flags&rangeEmpty != 0 {
			return append(dst, "empty"...), c.end()
		}
		part := func() (err error) {
			text, err := bound.text(nil, c.field())
			if err = cmp.Or(err, bounded(2*len(text), src)); err == nil {
				dst = appendPart(dst, text, `"\()[],`)
			}
			return err
		}
		if flags&rangeLowInclusive != 0 {
			dst = append(dst, '[')
		} else {
			dst = append(dst, '(')
		}
		if flags&rangeLowInfinite == 0 {
			if err := part(); err != nil {
				return dst, err
			}
		}
		dst = append(dst, ',')
		if flags&rangeHighInfinite == 0 {
			if err := part(); err != nil {
				return dst, err
			}
		}
		if flags&rangeHighInclusive != 0 {
			return append(dst, ']'), c.end()
		}
		return append(dst, ')'), c.end()
	}}
}

// multirange is the codec of a multirange of a range.
func multirange(one codec) codec {
	if one.hex {
		return hexCodec()
	}
	return codec{text: func(dst, src []byte) ([]byte, error) {
		c := cursor{rest: src}
		n := int(c.int32())
		if c.bad || n < 0 || n > len(c.rest)/4 {
			return dst, errValue
		}
		start := len(dst)
		dst = append(dst, '{')
		for i := range n {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = one.text(dst, c.field()); err == nil {
				err = bounded(len(dst)-start, src)
			}
			if err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), c.end()
	}}
}

// record writes values of a composite type.
type record struct {
	fields []codec
	names  [][]byte // as JSON
}

// composite is the codec of a composite type; see record_out in src/backend/utils/adt/rowtypes.c.
func (d *decoder) composite(t *format.Type, depth int) codec {
	r := &record{fields: make([]codec, len(t.Fields)), names: make([][]byte, len(t.Fields))}
	hex := false
	for i, f := range t.Fields {
		r.fields[i] = d.codec(f.OID, depth+1)
		r.names[i] = appendString(nil, appendValid(nil, []byte(f.Name)))
		hex = hex || r.fields[i].hex
	}
	return codec{text: r.text, json: r.json, hex: hex}
}

// each calls f for every field of a value; nil is NULL.
func (r *record) each(src []byte, f func(i int, value []byte) error) error {
	c := cursor{rest: src}
	if n := int(c.int32()); n != len(r.fields) {
		return errValue
	}
	for i := range r.fields {
		c.uint32()
		value := c.field()
		if c.bad {
			return errValue
		}
		if err := f(i, value); err != nil {
			return err
		}
	}
	return c.end()
}

func (r *record) text(dst, src []byte) ([]byte, error) {
	start := len(dst)
	dst = append(dst, '(')
	err := r.each(src, func(i int, value []byte) error {
		if i > 0 {
			dst = append(dst, ',')
		}
		if value == nil {
			return nil
		}
		text, err := r.fields[i].text(nil, value)
		if err = cmp.Or(err, bounded(len(dst)-start+2*len(text), src)); err == nil {
			dst = appendPart(dst, text, `"\(),`)
		}
		return err
	})
	return append(dst, ')'), err
}

func (r *record) json(dst, src []byte) ([]byte, error) {
	start := len(dst)
	dst = append(dst, '{')
	err := r.each(src, func(i int, value []byte) (err error) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, r.names[i]...), ':')
		if value == nil {
			dst = append(dst, "null"...)
			return nil
		}
		var scratch []byte
		if dst, err = r.fields[i].appendJSON(dst, value, &scratch); err == nil {
			err = bounded(len(dst)-start, src)
		}
		return err
	})
	return append(dst, '}'), err
}

// hstore is the codec of the extension's type; see contrib/hstore/hstore_io.c.
func (d *decoder) hstore() codec {
	if d.convert == nil {
		return hexCodec()
	}
	pairs := func(src []byte, f func(i int, key, value []byte)) error {
		c := cursor{rest: src}
		n := int(c.int32())
		if c.bad || n < 0 || n > len(c.rest)/8 {
			return errValue
		}
		for i := range n {
			key, value := c.field(), c.field()
			if c.bad || key == nil {
				return errValue
			}
			if value != nil {
				value = d.convert([]byte{}, value)
			}
			f(i, d.convert(nil, key), value)
		}
		return c.end()
	}
	return codec{
		text: func(dst, src []byte) ([]byte, error) {
			err := pairs(src, func(i int, key, value []byte) {
				if i > 0 {
					dst = append(dst, ", "...)
				}
				dst = append(appendQuoted(dst, key, '\\'), "=>"...)
				if value == nil {
					dst = append(dst, "NULL"...)
				} else {
					dst = appendQuoted(dst, value, '\\')
				}
			})
			return dst, err
		},
		json: func(dst, src []byte) ([]byte, error) {
			dst = append(dst, '{')
			err := pairs(src, func(i int, key, value []byte) {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = append(appendString(dst, key), ':')
				if value == nil {
					dst = append(dst, "null"...)
				} else {
					dst = appendString(dst, value)
				}
			})
			return append(dst, '}'), err
		},
	}
}
