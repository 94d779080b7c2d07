package rowtext_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/internal/rowtext"
)

func TestMain(m *testing.M) { pgtest.Run(m) }

// values are literals by type; every one of them must come out as the server writes it.
var values = map[string][]string{
	"bool": {"t", "f"}, "int2": {"-32768", "0", "32767"}, "int4": {"-2147483648", "7"}, "int8": {"-9223372036854775808", "9223372036854775807"},
	"oid": {"0", "4294967295"}, "xid": {"4294967295"}, "xid8": {"18446744073709551615"},
	"float4": {"0", "-0", "1e6", "123456", "1234567", "1e-5", "0.0001", "3.14159", "NaN", "-Infinity", "1e-40"},
	"float8": {"0", "-0", "1e15", "123456789012345", "123456789012345678", "1e-5", "0.0001", "0.1", "1e22", "Infinity", "NaN", "4.9e-324", "2.5e100"},
	"numeric": {"0", "0.00", "-0.00001", "10000", "12345678901234567890.0123456789", "1e100", "1e-50", "NaN", "Infinity", "-Infinity", "9999.9999", "-12.30", "100000000",
		"0.5", "0.0000", "1.10"},
	"numeric(12,3)": {"1", "123456.789"},
	"text":          {"", "plain", "a,b", `say "hi"`, "line\nbreak", "cr\rhere", "größe 日本 🐘", " space ", `\.`, `back\slash`, "NULL", "tab\there"},
	"varchar(20)":   {"", "abc"}, "char(5)": {"ab", ""}, "name": {"pg_class"}, `"char"`: {"a", "", `\351`},
	"bytea": {`\x`, `\x00ff10`},
	"date":  {"2026-11-30", "0001-01-01", "0001-01-01 BC", "4713-01-01 BC", "5874897-12-31", "infinity", "-infinity", "1999-12-31", "2000-02-29"},
	"timestamp": {"2026-11-30 17:00:00", "1999-12-31 23:59:59.999999", "0044-03-15 12:00:00.5 BC", "infinity", "-infinity", "294276-12-31 23:59:59.999999",
		"4713-01-01 00:00:00 BC", "2000-01-01 00:00:00.000001"},
	"timestamptz": {"2026-11-30 17:00:00+05:30", "0044-03-15 12:00:00+00 BC", "infinity", "1969-12-31 23:59:59.1+00"},
	"time":        {"00:00:00", "24:00:00", "12:34:56.789", "23:59:59.999999"},
	"timetz":      {"12:00:00+05:30", "00:00:00-08", "24:00:00+15:59:59", "01:02:03.4-00:00:01", "12:00:00+00"},
	"interval": {"0", "1 year 2 mons 3 days 04:05:06.5", "-1 year -2 mons +3 days -04:05:06", "1 day", "-1 day 2 hours", "-1 days", "1 mon -1 day", "-13 mons",
		"2562047788:00:54.775807", "-00:00:00.000001", "100:00:00", "1 year -00:00:01", "-1 year 1 day", "178956970 years 7 mons 2147483647 days"},
	"uuid": {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}, "bit(9)": {"101010101"}, "varbit": {"", "1", "11111111"},
	"json": {`{"a": [1, 2],  "a": null}`, "null", `"x\ny"`}, "jsonb": {`{"b": 1, "a": [true, null, "\u00e9"]}`, "1.50", "[]"}, "jsonpath": {"$.a[*] ? (@ > 1)"},
	"xml":  {"<a>&lt;b</a>"},
	"inet": {"10.0.0.1", "10.0.0.0/8", "::1", "::", "fe80::1/64", "::ffff:1.2.3.4", "::1.2.3.4", "2001:db8:0:0:1:0:0:1"}, "cidr": {"10.0.0.0/8", "1.2.3.4/32", "2001:db8::/32"},
	"macaddr": {"08:00:2b:01:02:03"}, "macaddr8": {"08:00:2b:01:02:03:04:05"}, "pg_lsn": {"16/B374D848", "0/0"}, "tid": {"(0,1)", "(4294967295,65535)"},
	"pg_snapshot": {"10:20:10,14,15", "1:1:"}, "txid_snapshot": {"10:20:10,14"},
	"point": {"(1,2.5)", "(-0,1e300)"}, "lseg": {"[(1,2),(3,4)]"}, "box": {"(3,4),(1,2)"}, "path": {"((1,2),(3,4))", "[(1,2),(3,4)]"}, "polygon": {"((1,2),(3,4),(5,6))"},
	"line": {"{1,-1,0}"}, "circle": {"<(1,2),3>"},
	"tsvector": {"", "'a':1A,2B,3C,4 'it''s' 'back\\\\slash':16383"},
	"int4[]":   {"{}", "{1,NULL,3}", "{{1,2},{3,4}}", "[2:3]={5,6}", "[-1:0][1:2]={{1,2},{3,4}}", "{{{1},{2}}}"},
	"text[]":   {`{"",NULL,"NULL","null",a b,"a,b","q\"q","b\\s","{x}"}`, `{größe}`},
	"box[]":    {"{(3,4),(1,2);(1,1),(0,0)}"}, "float8[]": {"{1.5,NaN,1e20}"}, "timestamptz[]": {`{"2026-11-30 17:00:00+00",infinity}`}, "jsonb[]": {`{"{\"a\": 1}",null}`},
	"bytea[]":   {`{"\\x00ff"}`},
	"int4range": {"empty", "[1,5)", "(,5)", "[1,)", "(,)"}, "tstzrange": {"[2026-01-01 00:00+00,2026-02-01 00:00+00)"}, "numrange": {"(1.50,2.75]"},
	"int4multirange": {"{}", "{[1,3),[5,7)}"}, "daterange[]": {"{\"[2026-01-01,2026-02-01)\",empty}"},
	"int8multirange": {"{(,1),[5,)}"},
	"mood":           {"sad", "so so", "größe"}, "mood[]": {"{sad,\"so so\"}"}, "positive": {"7"}, "positive[]": {"{1,2}"},
	"pair": {`(1,"a b")`, `(,)`, `(1,"")`, `(2,"q""q")`, `(3,"b\\s")`}, "pair[]": {`{"(1,x)","(2,\"y z\")",NULL}`}, "textrange": {`["a","z\"z")`, `["",b]`, `(,"x y"]`},
	"nest": {`("(1,\"a b\")","{sad,\"so so\"}",5)`},
}

const typesSQL = `CREATE TYPE mood AS ENUM ('sad', 'so so', 'größe');
	CREATE DOMAIN positive AS int4 CHECK (VALUE > 0);
	CREATE TYPE pair AS (n int4, t text);
	CREATE TYPE nest AS (p pair, m mood[], d positive);
	CREATE TYPE textrange AS RANGE (subtype = text, collation = "C");
`

// pour makes a table with a row for every value, and one with a NULL in each column.
func pour(t *testing.T) (sql string, types []string) {
	var names, rows []string
	for name := range values {
		types = append(types, name)
	}
	for i, name := range types {
		names = append(names, "c"+string(rune('a'+i/26))+string(rune('a'+i%26))+" "+name)
	}
	for i, name := range types {
		column := strings.Fields(names[i])[0]
		for _, v := range values[name] {
			rows = append(rows, "INSERT INTO v("+column+") VALUES ('"+strings.ReplaceAll(v, "'", "''")+"');")
		}
	}
	return typesSQL + "CREATE TABLE v (" + strings.Join(names, ", ") + ");" + strings.Join(rows, "\n"), types
}

// read opens the only data file of a fresh dump of a database.
func read(t *testing.T, dsn string) *format.Reader {
	t.Helper()
	parsed, err := pg.ParseDSN(dsn, pg.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "dump")
	sum, err := dump.Run(context.Background(), dump.Options{DSN: parsed, Dir: dir, Tables: []string{"v"}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(sum.Manifest.Tables[0].Segments[0].Path)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	r, err := format.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// eachRow calls f with the fields of every row.
func eachRow(t *testing.T, r *format.Reader, f func(fields [][]byte)) {
	t.Helper()
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		f(row.AppendFields(nil))
	}
}

func TestCSVEqualsTheServers(t *testing.T) {
	sql, types := pour(t)
	dsn := pgtest.DB(t, sql)
	want := pgtest.SQL(t, dsn, `SET TimeZone = 'UTC'; COPY v TO STDOUT (FORMAT csv)`)
	r := read(t, dsn)
	columns, hex := rowtext.Columns(&r.Header().Meta)
	if hex {
		t.Error("UTF8 is not known")
	}
	var got []string
	eachRow(t, r, func(fields [][]byte) {
		var line []byte
		for i, f := range fields {
			if i > 0 {
				line = append(line, ',')
			}
			if f != nil {
				line = rowtext.AppendCSV(line, columns[i].AppendText(nil, f), len(fields) == 1)
			}
		}
		got = append(got, string(line))
	})
	for i, c := range columns {
		if c.Hex {
			t.Errorf("type %s is not known", types[i])
		}
	}
	if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
		t.Error(diff)
	}
}

// likeTheServer are the types whose values are no strings in JSON, or the same ones.
func TestJSONEqualsTheServers(t *testing.T) {
	dsn := pgtest.DB(t, typesSQL+`CREATE TABLE v (a int4, b numeric, c float8, d bool, e json, f jsonb, g text, h int4[], i text[], j pair, k mood[], l nest, m int8, n bytea, o jsonb[], p positive);
		INSERT INTO v VALUES (1, 1.50, 1e20, true, '{"a":  [1,
			2]}', '{"b": null}', E'q"\\ \n\r\t\x01ü\u009b\u2028', '{{1,2},{NULL,4}}', '{"",NULL,a}', '(1,"x y")', '{sad,NULL}', '("(1,z)",{},5)', 9007199254740993, '\x00', '{"1",null}', 3),
		('-5', 'NaN', 'Infinity', false, 'null', '"x"', '', '{}', '{}', '(,)', '{}', NULL, 0, '', '{}', NULL);`)
	want := pgtest.SQL(t, dsn, `SELECT json_agg(v) FROM v`)
	r := read(t, dsn)
	columns, _ := rowtext.Columns(&r.Header().Meta)
	var lines []string
	eachRow(t, r, func(fields [][]byte) {
		line := []byte("{")
		for i, f := range fields {
			if i > 0 {
				line = append(line, ',')
			}
			line = append(rowtext.AppendJSONString(line, []byte(columns[i].Name)), ':')
			if f == nil {
				line = append(line, "null"...)
			} else {
				line = columns[i].AppendJSON(line, f)
			}
		}
		lines = append(lines, string(line)+"}")
	})
	for _, l := range lines {
		if strings.ContainsAny(l, "\n\r\x01\u009b\u2028") {
			t.Errorf("control characters in %q", l)
		}
	}
	if diff := cmp.Diff(parse(t, want), parse(t, "["+strings.Join(lines, ",")+"]")); diff != "" {
		t.Error(diff)
	}
}

func parse(t *testing.T, s string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, s)
	}
	return v
}
