package matrix_test

import (
	"errors"
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
	g := map[string][]column{"plain": plain, "made": made, "astext": asText, "floats": floats}
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
			unproven := otherForms(p)
			if sum.Proven+len(sum.Unproven) != len(dumped.Manifest.Tables) || len(sum.Unproven) != len(unproven) || len(sum.Gaps) > 0 {
				t.Errorf("proven %d of %d, not proven %q, want %q, gaps %v", sum.Proven, len(dumped.Manifest.Tables), sum.Unproven, unproven, sum.Gaps)
			}
			for _, name := range unproven {
				if !slices.ContainsFunc(sum.Unproven, func(s string) bool { return strings.HasPrefix(s, "public."+name+": ") }) {
					t.Errorf("not proven %q, want %s among them", sum.Unproven, name)
				}
			}
			compare(t, p, source, target)
		})
	}
}

// otherForms names the tables whose text forms differ between the servers of a pair: those with floats as text, when one shows the shortest form and the other 17 digits.
func otherForms(p pair) []string {
	if (actual(p.from) < 12) == (actual(p.to) < 12) {
		return nil
	}
	list := []string{"floats"}
	if actual(p.from) < 14 {
		list = append(list, "since14")
	}
	return list
}

// compare compares every column and every structure.
func compare(t *testing.T, p pair, source, target string) {
	t.Helper()
	common := min(actual(p.from), actual(p.to))
	var sql strings.Builder
	sql.WriteString("SET search_path = public; SET extra_float_digits = 0;\n")
	shown := 0
	for name, columns := range groups(p) {
		for _, c := range columns {
			shown++
			fmt.Fprintf(&sql, "SELECT '%s.%s', string_agg(coalesce(%s, 'NULL'), ' | ' ORDER BY id) FROM %s;\n", name, c.name, c.compared(), name)
		}
	}
	for _, query := range structureQueries(common) {
		shown++
		fmt.Fprintf(&sql, "SELECT $q$%s$q$; %s;\n", query, query)
	}
	want, got := strings.Split(pgtest.SQL(t, source, sql.String()), "\n"), strings.Split(pgtest.SQL(t, target, sql.String()), "\n")
	if len(want) < shown || len(want) != len(got) {
		t.Fatalf("%d lines on the source, %d on the target, of %d queries", len(want), len(got), shown)
	}
	for i := range want {
		if want[i] != got[i] {
			t.Errorf("source: %s\ntarget: %s", want[i], got[i])
		}
	}
}

// findings shows what a refusal says.
func findings(err error) string {
	var refused *restore.Refused
	if !errors.As(err, &refused) {
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
