package matrix_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// groups are the tables of types that both sides of a pair have, by name.
func groups(p pair) map[string][]column {
	common := min(actual(p.from), actual(p.to))
	g := map[string][]column{"plain": plain, "made": made, "astext": asText}
	for since, columns := range bySource {
		if actual(p.from) < since || actual(p.to) >= since { // else the target cannot read what the source sends: see TestLackingReceive
			g[fmt.Sprintf("since%d", since)] = columns
		}
	}
	for name, columns := range g {
		g[name] = there(common, columns)
	}
	return g
}

// build makes the source and the target of a pair: the same tables, with rows on the source, and other OIDs on the target.
func build(t *testing.T, p pair) (source, target string) {
	t.Helper()
	common := min(actual(p.from), actual(p.to))
	types, tables := userTypes(common), structures(common)
	var filled, empty strings.Builder
	for name, columns := range groups(p) {
		sql := table(name, common, columns)
		create, _, _ := strings.Cut(sql, "\n")
		filled.WriteString(sql)
		empty.WriteString(create)
	}
	source = database(t, p.from, types+tables+filled.String()+structureRows(common))
	target = database(t, p.to, strangers+types+tables+empty.String())
	return source, target
}

func TestPairs(t *testing.T) {
	for _, p := range wanted(t) {
		t.Run(p.String(), func(t *testing.T) {
			source, target := build(t, p)
			dir, dumped := takeDump(t, source)
			for _, e := range dumped.Manifest.Tables {
				if several := len(e.Segments) > 1; e.Name == "big" && several != (actual(p.from) >= 14) {
					t.Errorf("%s has %d segments", e.Name, len(e.Segments))
				}
				if e.Name == "parts_2b" && (e.Root == nil || e.Root.Name != "parts") {
					t.Errorf("%s has the root %+v", e.Name, e.Root)
				}
			}
			sum, err := restore.Run(t.Context(), options(t, dir, target))
			if err != nil {
				t.Fatalf("restore: %v%s", err, findings(err))
			}
			if len(sum.Unproven) > 0 || sum.Proven != len(dumped.Manifest.Tables) || len(sum.Gaps) > 0 {
				t.Errorf("proven %d of %d, not proven %q, gaps %v", sum.Proven, len(dumped.Manifest.Tables), sum.Unproven, sum.Gaps)
			}
			compare(t, p, source, target)
		})
	}
}

// compare compares every column and every structure.
func compare(t *testing.T, p pair, source, target string) {
	t.Helper()
	common := min(actual(p.from), actual(p.to))
	for name, columns := range groups(p) {
		for _, c := range columns {
			same(t, source, target, fmt.Sprintf(`SET search_path = public; SET extra_float_digits = 0; SELECT '%s.%s', id, coalesce(%s, 'NULL') FROM %s ORDER BY id`, name, c.name, c.compared(), name))
		}
	}
	for _, query := range structureQueries(common) {
		same(t, source, target, query)
	}
}

// findings shows what a refusal says.
func findings(err error) string {
	refused, ok := err.(*restore.Refused)
	if !ok {
		return ""
	}
	var b strings.Builder
	for _, f := range refused.Findings {
		fmt.Fprintf(&b, "\n%s: %s: %s | %s | %s", f.Severity, f.Object, f.Dump, f.Target, f.Hint)
	}
	return b.String()
}

// TestNames: reg columns point to the objects of the same names, whatever their numbers are.
func TestNames(t *testing.T) {
	list := wanted(t)
	p := list[slices.IndexFunc(list, func(p pair) bool { return p.from == oldest && p.to == newest })]
	source := database(t, p.from, `CREATE TABLE a (c regconfig); INSERT INTO a VALUES ('english'), ('swedish')`)
	target := database(t, p.to, strangers+`CREATE TABLE a (c regconfig)`)
	dir, _ := takeDump(t, source)
	if _, err := restore.Run(t.Context(), options(t, dir, target)); err != nil {
		t.Fatal(err)
	}
	if got := pgtest.SQL(t, target, `SELECT string_agg(c::text, ' ' ORDER BY c::text) FROM a`); got != "english swedish" {
		t.Errorf("got %q", got)
	}
	if from, to := pgtest.SQL(t, source, `SELECT 'english'::regconfig::oid`), pgtest.SQL(t, target, `SELECT 'english'::regconfig::oid`); from == to {
		t.Error("both servers give english the same number: nothing was tested")
	}
}
