package pg

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/format"
)

// literal is a value to sample, and the first major (as server_version_num) that knows it.
type literal struct {
	text  string
	since int
}

func lits(texts ...string) []literal {
	list := make([]literal, len(texts))
	for i, t := range texts {
		list[i] = literal{text: t}
	}
	return list
}

// builtinLiterals are chosen to tell meanings apart: byte order, epoch, integer or float timestamps, locale, encoding, infinities.
var builtinLiterals = map[format.Name][]literal{
	"bool": lits("t", "f"), "int2": lits("258", "-32768"), "int4": lits("16909060", "-2147483648"), "int8": lits("72623859790382856", "-9223372036854775808"),
	"float4": lits("1.5", "-0", "NaN", "Infinity"), "float8": lits("3.125", "-0", "NaN", "-Infinity"),
	"numeric": append(lits("12345678901234567890.0123456789", "-0.00001", "0", "NaN"), literal{"Infinity", 140000}, literal{"-Infinity", 140000}),
	"text":    lits("", "naïve 'quoted' \\ tab\t.", "plain"), "varchar": lits("", "naïve", "plain"), "bpchar": lits("naïve", "plain "), "name": lits("plain_name"), "char": lits("a", ""),
	"bytea": lits(`\x00ff5c27`, `\x`), "date": lits("2009-08-10", "0044-03-15 BC", "infinity", "-infinity"),
	"time": lits("23:59:59.999999", "24:00:00"), "timetz": lits("13:14:15.161718+05:30"),
	"timestamp":   lits("2009-08-10 11:12:13.141516", "2000-01-01 00:00:00", "4713-01-01 00:00:00 BC", "infinity"),
	"timestamptz": lits("2009-08-10 11:12:13.141516+00", "1901-12-13 20:45:52+00", "-infinity"),
	"interval":    append(lits("1 year 2 mons 3 days 04:05:06.789", "-1 mons +2 days -00:00:00.000001"), literal{"infinity", 170000}, literal{"-infinity", 170000}),
	"uuid":        lits("00112233-4455-6677-8899-aabbccddeeff"), "inet": lits("192.168.100.128/25", "2001:db8::1"), "cidr": lits("10.1.0.0/16", "2001:db8::/32"),
	"macaddr": lits("08:00:2b:01:02:03"), "macaddr8": lits("08:00:2b:01:02:03:04:05"), "bit": lits("10110001"), "varbit": lits("101", ""),
	"point": lits("(1.5,-2)"), "line": lits("{1,-1,0}"), "lseg": lits("[(0,0),(1,2)]"), "box": lits("(2,3),(0,1)"), "path": lits("((0,0),(1,1),(2,0))", "[(0,0),(1,1)]"),
	"polygon": lits("((0,0),(1,1),(2,0))"), "circle": lits("<(1,2),3>"),
	"json": lits(`{"a": [1, 2.50, "naïve", null]}`, "[]"), "jsonb": lits(`{"a": [1, 2.50, "naïve", null]}`, "[]"), "jsonpath": {{`$."a"[*]?(@ > 1)`, 120000}},
	"xml": lits("<a>naïve</a>", "text only"), "tsvector": lits("'fat':2A 'rat':3,5"), "pg_lsn": lits("16/B374D848"), "oid": lits("4294967295"), "xid": lits("4294967295"),
	"xid8": {{"18446744073709551615", 130000}}, "cid": lits("7"), "tid": lits("(4294967294,65535)"), "txid_snapshot": lits("10:20:10,14,15"), "pg_snapshot": {{"10:20:10,14,15", 130000}},
	"money": lits("1.23", "-1.00"), "tsquery": lits("'fat' & ( 'rat' | 'cat' )", ""), "int2vector": lits("1 -2", ""), "oidvector": lits("1 2", ""),
	"refcursor": lits("cursor"), "int4range": lits("[1,10)", "empty", "(,5)"), "int8range": lits("[1,10)", "empty"), "numrange": lits("[1.5,2.5]", "empty"),
	"tsrange": lits(`["2009-08-10 11:12:13","2009-08-11 00:00:00")`), "tstzrange": lits(`["2009-08-10 11:12:13+00",infinity)`), "daterange": lits("[2009-08-10,2009-08-12)"),
	"int4multirange": {{"{[1,3),[5,7)}", 140000}}, "int8multirange": {{"{[1,3),[5,7)}", 140000}}, "nummultirange": {{"{[1.5,2.5]}", 140000}},
	"datemultirange": {{"{[2009-08-10,2009-08-12)}", 140000}}, "tsmultirange": {{`{["2009-08-10 11:12:13","2009-08-11 00:00:00")}`, 140000}}, "tstzmultirange": {{`{["2009-08-10 11:12:13+00",)}`, 140000}},
}

// typeSQL gives a type's quoted name for the session: by OID where the session's encoding is none that a Go string holds.
func (c *Conn) typeSQL(ctx context.Context, t format.Type) (string, error) {
	switch c.PgConn().ParameterStatus("client_encoding") {
	case "UTF8", "SQL_ASCII":
		return QuoteName(t.Schema, t.Name), nil
	}
	if t.OID < firstUserOID {
		return QuoteName(t.Schema, t.Name), nil
	}
	var name string
	err := c.QueryRow(ctx, `SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(t.typname)
 FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = $1`, t.OID).Scan(&name)
	return name, err
}

// namedTypeSQL is typeSQL for a type of another server: found by its name.
func (c *Conn) namedTypeSQL(ctx context.Context, t format.Type) (string, error) {
	switch c.PgConn().ParameterStatus("client_encoding") {
	case "UTF8", "SQL_ASCII":
		return QuoteName(t.Schema, t.Name), nil
	}
	if t.Schema == "pg_catalog" || c.Encoding == "SQL_ASCII" {
		return QuoteName(t.Schema, t.Name), nil
	}
	var name string
	err := c.QueryRow(ctx, `SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(t.typname)
 FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
 WHERE pg_catalog.convert_to(n.nspname::text, 'UTF8') = $1 AND pg_catalog.convert_to(t.typname::text, 'UTF8') = $2`, []byte(t.Schema), []byte(t.Name)).Scan(&name)
	if errors.Is(err, pgx.ErrNoRows) {
		return QuoteName(t.Schema, t.Name), nil // the server says that there is none
	}
	return name, err
}

// SampleMismatch is a sample that the session's server reads as something else, or not at all.
type SampleMismatch struct {
	Sample format.Sample
	Text   string // what the server makes of the bytes
	Bytes  []byte
	Err    error // the server's refusal
}

// CheckSamples sends the bytes of samples through the receive function of the type of the same name and compares what comes back, as text
// and as bytes. It works in a transaction of its own, which it rolls back. The session must be one for data in the samples' encoding.
func (c *Conn) CheckSamples(ctx context.Context, t format.Type, samples []format.Sample) (bad []SampleMismatch, err error) {
	for _, s := range samples {
		got, err := c.receive(ctx, t, s.Bytes)
		switch {
		case err != nil && State(err) == "":
			return nil, Wrap(err, "sample of type %s.%s", t.Schema, t.Name)
		case err != nil:
			bad = append(bad, SampleMismatch{Sample: s, Err: err})
		case t.Schema != "pg_catalog" && c.converts() && samePieces(got.Text, s.Text):
		case got.Text != s.Text && c.Encoding != "SQL_ASCII" || !bytes.Equal(got.Bytes, s.Bytes):
			bad = append(bad, SampleMismatch{Sample: s, Text: got.Text, Bytes: got.Bytes})
		}
	}
	return bad, nil
}

// receive lets the server read bytes as COPY does: by the type's receive function, into a temporary table.
func (c *Conn) receive(ctx context.Context, t format.Type, value []byte) (got format.Sample, err error) {
	name, err := c.namedTypeSQL(ctx, t)
	if err != nil {
		return got, err
	}
	if err := c.Exec(ctx, "BEGIN; CREATE TEMP TABLE pghaul_sample (v "+name+") ON COMMIT DROP"); err != nil {
		_ = c.Exec(ctx, "ROLLBACK") // the first error is the one to tell
		return got, err
	}
	defer func() {
		if e := c.Exec(ctx, "ROLLBACK"); err == nil {
			err = e
		}
	}()
	if _, err := c.PgConn().CopyFrom(ctx, bytes.NewReader(copyOfOneValue(value)), "COPY pg_temp.pghaul_sample FROM STDIN (FORMAT binary)"); err != nil {
		return got, err
	}
	to := "UTF8"
	if c.Encoding == "SQL_ASCII" {
		to = c.Encoding // its texts are bytes of any encoding
	}
	err = c.sample(ctx, &got, `SELECT v, pg_catalog.convert_to(v::text, '`+to+`') FROM pg_temp.pghaul_sample`)
	return got, err
}

// copyOfOneValue is a whole COPY stream of one row with one field.
func copyOfOneValue(value []byte) []byte {
	b := append([]byte(format.Signature), 0, 0, 0, 0, 0, 0, 0, 0)
	b = append(b, 0, 1, byte(len(value)>>24), byte(len(value)>>16), byte(len(value)>>8), byte(len(value)))
	b = append(b, value...)
	return append(b, 0xff, 0xff)
}

// CheckTextSamples sends the text of samples through the casts that a staged load uses, and compares what the same casts give back. typ is quoted.
func (c *Conn) CheckTextSamples(ctx context.Context, typ, cast string, array bool, samples []format.Sample) (bad []SampleMismatch, err error) {
	encoding := "UTF8"
	if c.Encoding == "SQL_ASCII" {
		encoding = c.Encoding
	}
	in := "pg_catalog.convert_from($1::pg_catalog.bytea, '" + encoding + "')::pg_catalog.text"
	for _, s := range samples {
		var got []byte
		err := c.QueryRow(ctx, "SELECT pg_catalog.convert_to("+OutSQL("("+InSQL(in, cast, typ, array)+")", cast, array)+", 'UTF8')", []byte(s.Text)).Scan(&got)
		switch {
		case err != nil && State(err) == "":
			return nil, Wrap(err, "sample of type %s", typ)
		case err != nil:
			bad = append(bad, SampleMismatch{Sample: s, Err: err})
		case string(got) != s.Text && !(cast == CastNumeric && sameNumber(string(got), s.Text)) && !sameFloats(string(got), s.Text) && !(c.converts() && samePieces(string(got), s.Text)):
			bad = append(bad, SampleMismatch{Sample: s, Text: string(got), Bytes: got})
		}
	}
	return bad, nil
}

// converts tells that texts change their bytes between the database and the session. Types that send lengths of texts, as hstore does, then send wrong ones,
// though they receive them right; and what they sort by its bytes can stand in another order.
func (c *Conn) converts() bool {
	client := c.PgConn().ParameterStatus("client_encoding")
	return client != c.Encoding && client != "SQL_ASCII" && c.Encoding != "SQL_ASCII"
}

// samePieces tells whether two texts have the same characters, in whatever order.
func samePieces(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	x, y := []rune(a), []rune(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// floats are numbers with a fraction or an exponent, as floats are shown.
var floats = regexp.MustCompile(`[0-9]*\.?[0-9]+(?:e[-+]?[0-9]+)?`)

// sameFloats tells whether two texts differ in the digits of their floats alone: up to 11 a server shows 0.1 as 0.10000000000000001.
func sameFloats(a, b string) bool {
	x, y := floats.FindAllString(a, -1), floats.FindAllString(b, -1)
	if len(x) != len(y) || floats.ReplaceAllLiteralString(a, "") != floats.ReplaceAllLiteralString(b, "") {
		return false
	}
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		if !strings.ContainsAny(x[i]+y[i], ".e") {
			return false
		}
		m, err := strconv.ParseFloat(x[i], 64)
		n, err2 := strconv.ParseFloat(y[i], 64)
		if err != nil || err2 != nil || m != n {
			return false
		}
	}
	return true
}

// sameNumber tells whether two numbers differ in trailing zeros of their fraction alone: money has as many as its locale wants.
func sameNumber(a, b string) bool {
	trim := func(s string) string {
		if strings.ContainsRune(s, '.') {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return s
	}
	return trim(a) == trim(b)
}
