// Package rowtext writes the fields of data files as text: in the words of PostgreSQL's own output functions, or as JSON.
//
// It knows the binary form of the builtin types, and of what is made of them by the type graph of a file: enums, domains, arrays, composites,
// ranges. What it does not know it writes as \x and hex digits. All text comes out as UTF-8: other encodings are converted, and bytes that are
// not valid in the file's encoding are written as \xNN.
package rowtext

import (
	"encoding/hex"
	"errors"

	"github.com/bytehaul/pghaul/format"
)

// errValue is a value that is not of the form that its type has.
var errValue = errors.New("value is not of its type's form")

// errTooLong is a value whose text would be out of all proportion to it.
var errTooLong = errors.New("the text of the value is too long")

// maxDepth ends a type graph that goes round in circles.
const maxDepth = 32

// codec writes one type. Its functions append to dst and keep neither slice.
type codec struct {
	text  func(dst, src []byte) ([]byte, error)
	json  func(dst, src []byte) ([]byte, error) // nil: a string with the text
	delim byte                                  // between elements of an array, 0: a comma
	hex   bool                                  // the type is not known
}

// Column writes the values of one column. It is not safe for concurrent use.
type Column struct {
	Name    string // in UTF-8
	Hex     bool   // of a type that is not known
	codec   codec
	scratch []byte
}

// Columns returns a writer for each column of a file. hexEncoding says that the file's encoding cannot be converted here, so that texts are
// written as hex too.
func Columns(m *format.Meta) (columns []Column, hexEncoding bool) {
	d := newDecoder(m)
	for _, c := range m.Columns {
		k := d.codec(c.OID, 0)
		if c.Carried == format.CarriedText {
			k = d.textCodec()
		}
		columns = append(columns, Column{Name: string(appendValid(nil, []byte(c.Name))), codec: k, Hex: k.hex})
	}
	return columns, d.convert == nil
}

// AppendText appends a value that is not NULL as the server would print it.
func (c *Column) AppendText(dst, value []byte) []byte {
	out, err := c.codec.text(dst, value)
	if err != nil {
		return appendHex(dst, value)
	}
	return out
}

// AppendJSON appends a value that is not NULL as JSON: numbers, booleans, arrays, objects and JSON as such, the rest as strings.
func (c *Column) AppendJSON(dst, value []byte) []byte {
	out, err := c.codec.appendJSON(dst, value, &c.scratch)
	if err != nil {
		return appendString(dst, appendHex(nil, value))
	}
	return out
}

func (k *codec) appendJSON(dst, src []byte, scratch *[]byte) ([]byte, error) {
	if k.json != nil {
		return k.json(dst, src)
	}
	text, err := k.text((*scratch)[:0], src)
	*scratch = text
	if err != nil {
		return dst, err
	}
	return appendString(dst, text), nil
}

func appendHex(dst, src []byte) []byte {
	dst = append(dst, '\\', 'x')
	return hex.AppendEncode(dst, src)
}

// decoder makes codecs out of a file's type graph.
type decoder struct {
	byOID   map[uint32]*format.Type
	version int // of the server
	floats  bool
	convert func(dst, src []byte) []byte // from the file's encoding to UTF-8; nil: unknown
	known   map[uint32]codec             // that are made already: a graph has far more paths than types
}

func newDecoder(m *format.Meta) *decoder {
	d := &decoder{byOID: map[uint32]*format.Type{}, version: m.Server.VersionNum, floats: !m.Server.IntegerDatetimes, convert: converter(m.Server.Encoding), known: map[uint32]codec{}}
	for i := range m.Types {
		d.byOID[m.Types[i].OID] = &m.Types[i]
	}
	return d
}

func hexCodec() codec {
	return codec{hex: true, text: func(dst, src []byte) ([]byte, error) { return appendHex(dst, src), nil }}
}

// textCodec is that of types whose binary form is their text.
func (d *decoder) textCodec() codec {
	if d.convert == nil {
		return hexCodec()
	}
	return codec{text: func(dst, src []byte) ([]byte, error) { return d.convert(dst, src), nil }}
}

// codec finds the codec of a type.
func (d *decoder) codec(oid uint32, depth int) codec {
	t := d.byOID[oid]
	if t == nil || depth > maxDepth {
		return hexCodec()
	}
	k, ok := d.known[oid]
	if !ok {
		k = d.make(t, depth)
		d.known[oid] = k
	}
	return k
}

// make puts a codec together.
func (d *decoder) make(t *format.Type, depth int) codec {
	switch t.Kind {
	case format.KindBase:
		return d.base(t)
	case format.KindEnum:
		return d.textCodec()
	case format.KindDomain:
		return d.codec(t.Element, depth+1)
	case format.KindArray:
		return array(d.codec(t.Element, depth+1))
	case format.KindRange:
		return rangeCodec(d.codec(t.Element, depth+1))
	case format.KindMultirange:
		return multirange(d.codec(t.Element, depth+1))
	case format.KindComposite:
		return d.composite(t, depth)
	}
	return hexCodec()
}

// base finds the codec of a base type: a builtin one, or one of the extensions that come with PostgreSQL.
func (d *decoder) base(t *format.Type) codec {
	switch {
	case t.Schema == "pg_catalog":
		return d.builtin(string(t.Name))
	case t.Extension == nil:
		return hexCodec()
	case t.Name == "citext":
		return d.textCodec()
	case t.Name == "hstore":
		return d.hstore()
	case t.Name == "ltree", t.Name == "lquery", t.Name == "ltxtquery":
		return d.versioned(false)
	}
	return hexCodec()
}
