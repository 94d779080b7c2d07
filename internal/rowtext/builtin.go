package rowtext

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"strconv"
)

// builtin finds the codec of a base type of pg_catalog by its name.
func (d *decoder) builtin(name string) codec {
	switch name {
	case "text", "varchar", "bpchar", "name", "xml", "unknown", "refcursor", "cstring":
		return d.textCodec()
	case "json":
		return d.jsonCodec()
	case "jsonb":
		return d.versioned(true)
	case "jsonpath":
		return d.versioned(false)
	case "tsvector":
		return d.tsvector()
	case "date", "timestamp", "timestamptz", "time", "timetz", "interval":
		if d.floats {
			return hexCodec()
		}
		return d.dateTime(name)
	}
	if k, ok := fixed[name]; ok {
		return k
	}
	return hexCodec()
}

// fixed are the types whose form depends on nothing.
var fixed = map[string]codec{
	"bool": {text: boolText, json: boolJSON},
	"int2": number(2, func(dst []byte, p []byte) []byte {
		return strconv.AppendInt(dst, int64(int16(binary.BigEndian.Uint16(p))), 10)
	}),
	"int4": number(4, func(dst []byte, p []byte) []byte {
		return strconv.AppendInt(dst, int64(int32(binary.BigEndian.Uint32(p))), 10)
	}),
	"int8": number(8, func(dst []byte, p []byte) []byte {
		return strconv.AppendInt(dst, int64(binary.BigEndian.Uint64(p)), 10)
	}),
	"oid":    number(4, appendUint32),
	"xid":    number(4, appendUint32),
	"cid":    number(4, appendUint32),
	"xid8":   number(8, func(dst []byte, p []byte) []byte { return strconv.AppendUint(dst, binary.BigEndian.Uint64(p), 10) }),
	"float4": {text: float4Text, json: jsonNumber(float4Text)},
	"float8": {text: float8Text, json: jsonNumber(float8Text)},

	"numeric":       {text: numericText, json: jsonNumber(numericText)},
	"bytea":         {text: func(dst, src []byte) ([]byte, error) { return appendHex(dst, src), nil }},
	"char":          {text: charText},
	"uuid":          {text: uuidText},
	"bit":           {text: bitText},
	"varbit":        {text: bitText},
	"inet":          {text: inetText},
	"cidr":          {text: inetText},
	"macaddr":       {text: macText(6)},
	"macaddr8":      {text: macText(8)},
	"pg_lsn":        {text: lsnText},
	"tid":           {text: tidText},
	"pg_snapshot":   {text: snapshotText},
	"txid_snapshot": {text: snapshotText},
	"point":         {text: pointText},
	"lseg":          {text: lsegText},
	"box":           {text: boxText, delim: ';'},
	"path":          {text: pathText},
	"polygon":       {text: polygonText},
	"line":          {text: lineText},
	"circle":        {text: circleText},
}

// number is a codec of values of a fixed width that are numbers in JSON too.
func number(width int, app func(dst, p []byte) []byte) codec {
	f := func(dst, src []byte) ([]byte, error) {
		if len(src) != width {
			return dst, errValue
		}
		return app(dst, src), nil
	}
	return codec{text: f, json: f}
}

func appendUint32(dst, p []byte) []byte {
	return strconv.AppendUint(dst, uint64(binary.BigEndian.Uint32(p)), 10)
}

// jsonNumber writes what is finite as a number and the rest as a string.
func jsonNumber(text func(dst, src []byte) ([]byte, error)) func(dst, src []byte) ([]byte, error) {
	return func(dst, src []byte) ([]byte, error) {
		at := len(dst)
		out, err := text(dst, src)
		if err != nil {
			return dst, err
		}
		if last := out[len(out)-1]; last >= '0' && last <= '9' {
			return out, nil
		}
		word := string(out[at:])
		return appendString(out[:at], []byte(word)), nil
	}
}

func boolText(dst, src []byte) ([]byte, error) {
	if len(src) != 1 {
		return dst, errValue
	}
	if src[0] != 0 {
		return append(dst, 't'), nil
	}
	return append(dst, 'f'), nil
}

func boolJSON(dst, src []byte) ([]byte, error) {
	if len(src) != 1 {
		return dst, errValue
	}
	return strconv.AppendBool(dst, src[0] != 0), nil
}

func float8Text(dst, src []byte) ([]byte, error) {
	if len(src) != 8 {
		return dst, errValue
	}
	return appendFloat(dst, math.Float64frombits(binary.BigEndian.Uint64(src)), 64), nil
}

func float4Text(dst, src []byte) ([]byte, error) {
	if len(src) != 4 {
		return dst, errValue
	}
	return appendFloat(dst, float64(math.Float32frombits(binary.BigEndian.Uint32(src))), 32), nil
}

// appendFloat writes the shortest form that reads back the same, with an exponent from 1e15 (float4: 1e6) on, and below 1e-4: see
// double_to_shortest_decimal_bufn in src/common/d2s.c.
func appendFloat(dst []byte, v float64, bits int) []byte {
	limit := 15
	if bits == 32 {
		limit = 6
	}
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	case v == 0:
		return strconv.AppendFloat(dst, v, 'f', -1, bits)
	}
	at := len(dst)
	dst = strconv.AppendFloat(dst, v, 'e', -1, bits)
	exponent, err := strconv.Atoi(string(dst[bytes.LastIndexByte(dst, 'e')+1:]))
	if err != nil || exponent < -4 || exponent >= limit {
		return dst
	}
	return strconv.AppendFloat(dst[:at], v, 'f', -1, bits)
}

// charText writes "char", one byte; see charout in src/backend/utils/adt/char.c.
func charText(dst, src []byte) ([]byte, error) {
	switch {
	case len(src) != 1:
		return dst, errValue
	case src[0] == 0:
		return dst, nil
	case src[0] >= 0x80:
		return fmt.Appendf(dst, `\%03o`, src[0]), nil
	}
	return append(dst, src[0]), nil
}

func uuidText(dst, src []byte) ([]byte, error) {
	if len(src) != 16 {
		return dst, errValue
	}
	for i, part := range [][]byte{src[:4], src[4:6], src[6:8], src[8:10], src[10:]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return dst, nil
}

func bitText(dst, src []byte) ([]byte, error) {
	c := cursor{rest: src}
	n := int(c.int32())
	if c.bad || n < 0 || (n+7)/8 != len(c.rest) {
		return dst, errValue
	}
	for i := range n {
		dst = append(dst, '0'+c.rest[i/8]>>(7-i%8)&1)
	}
	return dst, nil
}

func inetText(dst, src []byte) ([]byte, error) {
	c := cursor{rest: src}
	c.uint8() // the family: the length says the same
	bits, isCIDR, n := int(c.uint8()), c.uint8() != 0, int(c.uint8())
	addr, ok := netip.AddrFromSlice(c.bytes(n))
	if err := c.end(); err != nil || !ok || bits > addr.BitLen() {
		return dst, errValue
	}
	b := addr.AsSlice()
	if n == 16 && bytes.Equal(b[:12], make([]byte, 12)) && (b[12] != 0 || b[13] != 0) {
		dst = append(dst, "::"...) // an address that is compatible with IPv4
		dst = netip.AddrFrom4([4]byte(b[12:])).AppendTo(dst)
	} else {
		dst = addr.AppendTo(dst)
	}
	if isCIDR || bits != addr.BitLen() {
		dst = append(dst, '/')
		dst = strconv.AppendInt(dst, int64(bits), 10)
	}
	return dst, nil
}

func macText(width int) func(dst, src []byte) ([]byte, error) {
	return func(dst, src []byte) ([]byte, error) {
		if len(src) != width {
			return dst, errValue
		}
		for i := range src {
			if i > 0 {
				dst = append(dst, ':')
			}
			dst = hex.AppendEncode(dst, src[i:i+1])
		}
		return dst, nil
	}
}

func lsnText(dst, src []byte) ([]byte, error) {
	c := cursor{rest: src}
	high, low := c.uint32(), c.uint32()
	return fmt.Appendf(dst, "%X/%X", high, low), c.end()
}

func tidText(dst, src []byte) ([]byte, error) {
	c := cursor{rest: src}
	block, offset := c.uint32(), c.uint16()
	return fmt.Appendf(dst, "(%d,%d)", block, offset), c.end()
}

func snapshotText(dst, src []byte) ([]byte, error) {
	c := cursor{rest: src}
	n, low, high := int(c.int32()), c.uint64(), c.uint64()
	if c.bad || n < 0 || n != len(c.rest)/8 {
		return dst, errValue
	}
	dst = fmt.Appendf(dst, "%d:%d:", low, high)
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, c.uint64(), 10)
	}
	return dst, c.end()
}

// jsonCodec is that of json: its text, and as such where JSON is asked for, in one line.
func (d *decoder) jsonCodec() codec {
	k := d.textCodec()
	if k.hex {
		return k
	}
	k.json = func(dst, src []byte) ([]byte, error) { return appendDocument(dst, d.convert(nil, src)), nil }
	return k
}

// appendDocument appends JSON text in one line, or as a string where it is none.
func appendDocument(dst, text []byte) []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return appendString(dst, text)
	}
	return append(dst, b.Bytes()...)
}

// versioned is the codec of types whose binary form is the version 1 and their text.
func (d *decoder) versioned(isJSON bool) codec {
	k := d.textCodec()
	if k.hex {
		return k
	}
	cut := func(f func(dst, text []byte) []byte) func(dst, src []byte) ([]byte, error) {
		return func(dst, src []byte) ([]byte, error) {
			if len(src) == 0 || src[0] != 1 {
				return dst, errValue
			}
			return f(dst, src[1:]), nil
		}
	}
	k.text = cut(d.convert)
	if isJSON {
		k.json = cut(func(dst, text []byte) []byte { return appendDocument(dst, d.convert(nil, text)) })
	}
	return k
}

// tsvector writes lexemes with their positions; see tsvectorsend and tsvectorout in src/backend/utils/adt/tsvector.c.
func (d *decoder) tsvector() codec {
	if d.convert == nil {
		return hexCodec()
	}
	quote := bytes.NewBuffer(nil)
	return codec{text: func(dst, src []byte) ([]byte, error) {
		c := cursor{rest: src}
		n := int(c.int32())
		if n < 0 || n > len(c.rest)/3 {
			return dst, errValue
		}
		for i := range n {
			end := bytes.IndexByte(c.rest, 0)
			lexeme := c.bytes(end)
			c.uint8()
			if c.bad {
				return dst, errValue
			}
			if i > 0 {
				dst = append(dst, ' ')
			}
			quote.Reset()
			for _, b := range d.convert(nil, lexeme) {
				if b == '\'' || b == '\\' {
					quote.WriteByte(b)
				}
				quote.WriteByte(b)
			}
			dst = append(append(append(dst, '\''), quote.Bytes()...), '\'')
			for p := range int(c.uint16()) {
				dst = appendPosition(dst, c.uint16(), p == 0)
				if c.bad {
					return dst, errValue
				}
			}
		}
		return dst, c.end()
	}}
}

func appendPosition(dst []byte, p uint16, first bool) []byte {
	sep := byte(',')
	if first {
		sep = ':'
	}
	dst = strconv.AppendInt(append(dst, sep), int64(p&0x3fff), 10)
	if weight := p >> 14; weight > 0 {
		dst = append(dst, " CBA"[weight])
	}
	return dst
}
