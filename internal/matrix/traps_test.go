package matrix_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/convert"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// wantedWhere gives the pairs that meet a condition on their majors, at least one.
func wantedWhere(t *testing.T, condition func(from, to int) bool) []pair {
	t.Helper()
	var list []pair
	for _, p := range wanted(t) {
		if condition(actual(p.from), actual(p.to)) {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		t.Fatal("no pair crosses this border: pairs lacks one")
	}
	return list
}

// refused is a value that the target cannot mean, of a type, behind a good one.
type refused struct{ typ, good, bad string }

// refusedValues restores tables whose rows 3 have values in column v that the target cannot mean, and demands errors that say where, and empty tables.
func refusedValues(t *testing.T, p pair, types string, values []refused, want error, words ...string) {
	t.Helper()
	filled, empty := types, strangers+types
	for i, v := range values {
		filled += fmt.Sprintf(`CREATE TABLE a%d (id int, v %s); INSERT INTO a%d VALUES (1, NULL), (2, %s), (3, %s);`, i, v.typ, i, v.good, v.bad)
		empty += fmt.Sprintf(`CREATE TABLE a%d (id int, v %s);`, i, strings.Replace(v.typ, "interval(3)", "interval", 1))
	}
	source, target := database(t, p.from, filled), database(t, p.to, empty)
	dir, _ := takeDump(t, source)
	for i, v := range values {
		o := options(t, dir, target)
		o.Tables, o.NoJournal = []string{fmt.Sprintf("a%d", i)}, true
		_, err := restore.Run(t.Context(), o)
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s, %s: error %v, want %v%s", v.typ, v.bad, err, want, findings(err))
		}
		for _, w := range append([]string{fmt.Sprintf("public.a%d", i), "row 3", `"v"`}, words...) {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s, %s: error %v does not name %s", v.typ, v.bad, err, w)
			}
		}
		if got := pgtest.SQL(t, target, fmt.Sprintf(`SELECT count(*) FROM a%d`, i)); got != "0" {
			t.Errorf("%s, %s: %s rows arrived", v.typ, v.bad, got)
		}
	}
}

const nested = `CREATE DOMAIN d AS interval; CREATE DOMAIN n AS numeric; CREATE TYPE c AS (a int, i d, n n); CREATE TYPE r AS RANGE (subtype = interval); CREATE TYPE rc AS RANGE (subtype = c);`

func TestNumericInfinity(t *testing.T) {
	for _, p := range wantedWhere(t, func(from, to int) bool { return from >= 14 && to < 14 }) {
		t.Run(p.String(), func(t *testing.T) {
			refusedValues(t, p, nested, []refused{{"numeric", "'1'", "'Infinity'"}, {"numeric[]", "'{1,NULL}'", "'{1,-Infinity}'"}, {"c", "ROW(1, NULL, 1)", "ROW(1, NULL, '-Infinity')"},
				{"numrange[]", `'{"[1,2]"}'`, `'{"[1,Infinity]"}'`}}, convert.ErrInfinity)
		})
	}
}

func TestIntervalInfinity(t *testing.T) {
	for _, p := range wantedWhere(t, func(from, to int) bool { return from >= 17 && to < 17 }) {
		t.Run(p.String(), func(t *testing.T) {
			values := []refused{{"interval", "'1 day'", "'infinity'"}, {"interval(3)", "'1 day'", "'-infinity'"}, {"r", "'[1 day,2 days]'", "'[1 day,infinity]'"}, {"rc", "'empty'", `'["(1,infinity,)",)'`}}
			if actual(p.to) >= 11 { // which has arrays of domains
				values = append(values, refused{"d[]", "'{1 day}'", "'{1 day,infinity}'"})
			}
			refusedValues(t, p, nested, values, convert.ErrInfinity)
		})
	}
}

// TestLargestInterval: what was the largest interval is infinity since 17.
func TestLargestInterval(t *testing.T) {
	largest := "make_interval(years => 178956970, months => 7, days => 2147483647) + '1281023894 hours 27.387903 s' + '1281023894 hours 27.387904 s'"
	for _, p := range wantedWhere(t, func(from, to int) bool { return from < 17 && to >= 17 }) {
		t.Run(p.String(), func(t *testing.T) {
			refusedValues(t, p, nested, []refused{{"interval", "'178956970 years 7 mons'", largest}, {"interval[]", "'{}'", "ARRAY[" + largest + "]"}}, convert.ErrLargest)
		})
	}
}

// TestJSONPathMethods: the server refuses a method that it does not know; the rows before it do not stay.
func TestJSONPathMethods(t *testing.T) {
	for _, p := range wantedWhere(t, func(from, to int) bool { return from >= 17 && to >= 12 && to < 17 }) {
		t.Run(p.String(), func(t *testing.T) {
			refusedValues(t, p, "", []refused{{"jsonpath", "'$.a'", "'$.a.bigint()'"}}, nil, "42601")
		})
	}
}

// TestLackingReceive: the source sends what the target cannot receive; this is found before the first row, for empty tables too.
func TestLackingReceive(t *testing.T) {
	for _, p := range wantedWhere(t, func(from, to int) bool { return from >= 14 && to < 14 || from >= 13 && to < 13 }) {
		t.Run(p.String(), func(t *testing.T) {
			ext, value := "cube", "'(1,2)'"
			if actual(p.to) < 13 {
				ext, value = "ltree", "'a.b'"
			}
			types := `CREATE EXTENSION ` + ext + `; CREATE TYPE c AS (a int, b ` + ext + `); CREATE TABLE other (a int); CREATE TABLE a (v ` + ext + `); CREATE TABLE b (v ` + ext + `[]); CREATE TABLE d (v c);`
			source := database(t, p.from, types+`INSERT INTO other SELECT generate_series(1, 100);`+`INSERT INTO b VALUES (ARRAY[`+value+`::`+ext+`])`)
			target := database(t, p.to, strangers+types)
			dir, _ := takeDump(t, source)
			_, err := restore.Run(t.Context(), options(t, dir, target))
			var refused *restore.Refused
			if !errors.As(err, &refused) || !strings.Contains(findings(err), "type public."+ext+": goes as bytes | takes in text only") {
				t.Errorf("error %v, want a refusal that names the type%s", err, findings(err))
			}
			if got := pgtest.SQL(t, target, `SELECT (SELECT count(*) FROM other) + (SELECT count(*) FROM b)`); got != "0" {
				t.Errorf("%s rows arrived", got)
			}
		})
	}
}

// TestGenerated: virtual columns of 18 have no values to dump, stored ones none to restore.
func TestGenerated(t *testing.T) {
	for _, p := range wantedWhere(t, func(from, to int) bool { return from >= 12 && to >= 12 && (from >= 18) != (to >= 18) }) {
		t.Run(p.String(), func(t *testing.T) {
			create := func(major int) string {
				if actual(major) >= 18 {
					return `CREATE TABLE a (g int GENERATED ALWAYS AS (v * 2) VIRTUAL, v int)`
				}
				return `CREATE TABLE a (g int GENERATED ALWAYS AS (v * 2) STORED, v int)`
			}
			source, target := database(t, p.from, create(p.from), `INSERT INTO a (v) SELECT generate_series(1, 10)`), database(t, p.to, create(p.to))
			dir, _ := takeDump(t, source)
			sum, err := restore.Run(t.Context(), options(t, dir, target))
			if err != nil || sum.Proven != 1 {
				t.Fatalf("error %v, summary %+v%s", err, sum, findings(err))
			}
			same(t, source, target, `SELECT sum(g), sum(v), count(*) FROM a`)
		})
	}
}

// TestRowOIDs: the hidden numbers of rows are named as left out.
func TestRowOIDs(t *testing.T) {
	for _, p := range wantedWhere(t, func(from, to int) bool { return from < 12 && to >= 12 }) {
		t.Run(p.String(), func(t *testing.T) {
			source, target := database(t, p.from, `CREATE TABLE a (v int) WITH OIDS; INSERT INTO a VALUES (1), (2)`), database(t, p.to, `CREATE TABLE a (v int)`)
			dir, dumped := takeDump(t, source)
			if len(dumped.Manifest.LeftOut) != 2 || dumped.Manifest.LeftOut[0].Kind != "row OIDs" || dumped.Manifest.LeftOut[0].Name != "a" || len(dumped.Warnings) != 1 {
				t.Errorf("left out %+v, warnings %q", dumped.Manifest.LeftOut, dumped.Warnings)
			}
			if _, err := restore.Run(t.Context(), options(t, dir, target)); err != nil {
				t.Fatal(err)
			}
			same(t, source, target, `SELECT sum(v), count(*) FROM a`)
		})
	}
}

// TestWithDefinitions: the local pg_dump reads the definitions of older servers too.
func TestWithDefinitions(t *testing.T) {
	for _, p := range wantedWhere(t, func(from, to int) bool { return to == actual(local) && from < to }) {
		t.Run(p.String(), func(t *testing.T) {
			common := actual(p.from)
			source := database(t, p.from, userTypes(common)+structures(common)+table("made", common, made)+table("plain", common, plain)+structureRows(common))
			target := database(t, p.to, strangers)
			dir, dumped := takeDump(t, source, func(o *dump.Options) { o.DataOnly = false })
			o := options(t, dir, target)
			o.DataOnly = false
			sum, err := restore.Run(t.Context(), o)
			if err != nil {
				t.Fatalf("restore: %v%s", err, findings(err))
			}
			if len(sum.Gaps) > 0 || sum.Proven != len(dumped.Manifest.Tables) {
				t.Errorf("proven %d of %d, not proven %q, gaps %v", sum.Proven, len(dumped.Manifest.Tables), sum.Unproven, sum.Gaps)
			}
			for _, query := range structureQueries(common) {
				same(t, source, target, query)
			}
		})
	}
}
