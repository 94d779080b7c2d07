package rowtext

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/bytehaul/pghaul/format"
)

// everyType is a file with a column of every type that is known, and of what is made of them.
func everyType(encoding string) *format.Meta {
	m := &format.Meta{Server: format.Server{VersionNum: 170000, Encoding: encoding, IntegerDatetimes: true}}
	add := func(t format.Type) uint32 {
		t.OID = uint32(len(m.Types) + 1)
		m.Types = append(m.Types, t)
		m.Columns = append(m.Columns, format.Column{Name: t.Name, OID: t.OID})
		return t.OID
	}
	names := []format.Name{"text", "json", "jsonb", "jsonpath", "tsvector", "date", "timestamp", "timestamptz", "time", "timetz", "interval", "no such type"}
	for name := range fixed {
		names = append(names, format.Name(name))
	}
	var all []uint32
	for _, n := range names {
		all = append(all, add(format.Type{Schema: "pg_catalog", Name: n, Kind: format.KindBase}))
	}
	for _, of := range all {
		add(format.Type{Schema: "pg_catalog", Name: "_x", Kind: format.KindArray, Element: of})
		r := add(format.Type{Name: "r", Kind: format.KindRange, Element: of})
		add(format.Type{Name: "m", Kind: format.KindMultirange, Element: r})
		add(format.Type{Name: "c", Kind: format.KindComposite, Fields: []format.TypeField{{Name: "f", OID: of}, {Name: "g", OID: r}}})
	}
	contrib := &format.Extension{Name: "x", Version: "1"}
	for _, n := range []format.Name{"hstore", "ltree", "citext", "other"} {
		add(format.Type{Name: n, Kind: format.KindBase, Extension: contrib})
	}
	round := add(format.Type{Name: "round", Kind: format.KindArray})
	m.Types[round-1].Element = round
	return m
}

// Whatever the bytes, every column writes valid UTF-8 and valid JSON of a length that the value's own length bounds.
func FuzzColumns(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 1})
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 7})
	f.Add([]byte{0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 23, 127, 255, 255, 255, 0, 0, 0, 1, 127, 255, 255, 255, 0, 0, 0, 1})
	f.Add([]byte("\x00\x00\x00\x01lex\x00\x00\x01\xff\xff"))
	f.Add([]byte{0, 1, 127, 255, 0, 0, 63, 255, 0, 1})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255})
	f.Add([]byte("\x01{\"a\": [1, 2]}"))
	columns, _ := Columns(everyType("UTF8"))
	f.Fuzz(func(t *testing.T, value []byte) {
		for i := range columns {
			c := &columns[i]
			text := c.AppendText(nil, value)
			// The longest is a numeric: 6 bytes may say 131,072 digits before the point and 16,383 behind it.
			if limit := 200_000 * (1 + len(value)); !utf8.Valid(text) || len(text) > limit {
				t.Errorf("%s: %d bytes of text: %.100q", c.Name, len(text), text)
			}
			if doc := c.AppendJSON(nil, value); !json.Valid(doc) || bytes.ContainsAny(doc, "\n\r\x1b") {
				t.Errorf("%s: bad JSON %.100q", c.Name, doc)
			}
		}
	})
}

func TestEncodings(t *testing.T) {
	for _, c := range []struct{ encoding, in, want string }{
		{"UTF8", "é", "é"}, {"UTF8", "caf\xe9", `caf\xe9`}, {"SQL_ASCII", "\xff", `\xff`}, {"LATIN1", "caf\xe9", "café"}, {"WIN1252", "\x80", "€"},
		{"EUC_JP", "\xc6\xfc\xcb\xdc", "日本"}, {"KOI8R", "\xcd\xc9\xd2", "мир"}, {"MULE_INTERNAL", "abc", `\x616263`}, {"EUC_TW", "a", `\x61`},
	} {
		m := &format.Meta{Server: format.Server{Encoding: c.encoding, IntegerDatetimes: true}, Types: []format.Type{{OID: 25, Schema: "pg_catalog", Name: "text", Kind: format.KindBase}},
			Columns: []format.Column{{Name: "t", OID: 25, Carried: format.CarriedBinary}, {Name: "carried", OID: 99, Carried: format.CarriedText}}}
		columns, hex := Columns(m)
		for i := range columns {
			if got := string(columns[i].AppendText(nil, []byte(c.in))); got != c.want {
				t.Errorf("%s %q, column %s: got %q, want %q", c.encoding, c.in, columns[i].Name, got, c.want)
			}
		}
		if want := c.encoding == "MULE_INTERNAL" || c.encoding == "EUC_TW"; hex != want {
			t.Errorf("%s: hex %v", c.encoding, hex)
		}
	}
}

func TestUnknownTypesAreHex(t *testing.T) {
	m := &format.Meta{Server: format.Server{Encoding: "UTF8"}, Columns: []format.Column{{Name: "a", OID: 12345}}}
	columns, _ := Columns(m)
	if got := string(columns[0].AppendText(nil, []byte{0, 255})); got != `\x00ff` || !columns[0].Hex {
		t.Errorf("got %q, hex %v", got, columns[0].Hex)
	}
	if got := string(columns[0].AppendJSON(nil, []byte{0, 255})); got != `"\\x00ff"` {
		t.Errorf("got %q", got)
	}
}

// nested is a file with one column of a type that holds itself twice, so many levels deep, around a text.
func nested(levels int, kind format.TypeKind) *format.Meta {
	m := &format.Meta{Server: format.Server{VersionNum: 170000, Encoding: "UTF8", IntegerDatetimes: true}}
	m.Types = []format.Type{{OID: 25, Schema: "pg_catalog", Name: "text", Kind: format.KindBase}}
	below := uint32(25)
	for i := range levels {
		oid := uint32(20000 + i)
		t := format.Type{OID: oid, Name: "t", Kind: kind, Element: below}
		if kind == format.KindComposite {
			t.Element, t.Fields = 0, []format.TypeField{{Name: "a", OID: below}, {Name: "b", OID: below}}
		}
		m.Types, below = append(m.Types, t), oid
	}
	m.Columns = []format.Column{{Name: "c", OID: below}}
	return m
}

// TestManyPathsFewTypes: a graph of 30 types has 2^30 paths; the codec is made type by type.
func TestManyPathsFewTypes(t *testing.T) {
	if columns, _ := Columns(nested(30, format.KindComposite)); len(columns) != 1 {
		t.Errorf("%d columns", len(columns))
	}
}

// TestQuotesWithinQuotes: each level of a composite doubles the quotes of the one below. What would become too long is written as hex.
func TestQuotesWithinQuotes(t *testing.T) {
	const levels = 30
	value := []byte(`"`)
	for range levels {
		v := []byte{0, 0, 0, 2, 0, 0, 0, 25, 0, 0, byte(len(value) >> 8), byte(len(value))}
		value = append(append(v, value...), 0, 0, 0, 25, 0xff, 0xff, 0xff, 0xff)
	}
	columns, _ := Columns(nested(levels, format.KindComposite))
	if got, want := columns[0].AppendText(nil, value), appendHex(nil, value); !bytes.Equal(got, want) {
		t.Errorf("%d bytes: %.100q, want hex", len(got), got)
	}
	if got := columns[0].AppendJSON(nil, value); !json.Valid(got) || len(got) > 100*len(value) {
		t.Errorf("%d bytes of JSON", len(got))
	}
}
