package restore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// drifted is a dump's side of all that a comparison tells apart.
const drifted = `CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TYPE pair AS (a int, m mood); CREATE DOMAIN pos AS int CHECK (VALUE > 0);
CREATE TABLE plain (id int, v text); CREATE TABLE gone (id int);
CREATE TABLE drift (id int, wide int, r regclass, n numeric(7,2), ts timestamp, left_out text, m mood, p pair);
CREATE TABLE parts (k text, v int) PARTITION BY HASH (k); CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO plain VALUES (1, 'x'); INSERT INTO parts VALUES ('a', 1);`

func diff(t *testing.T, dir, dsn string, change ...func(*restore.DiffOptions)) *restore.DiffReport {
	t.Helper()
	o := restore.DiffOptions{Dir: dir, DSN: parse(t, dsn)}
	for _, f := range change {
		f(&o)
	}
	r, err := restore.Diff(context.Background(), o)
	if err != nil {
		t.Fatalf("diff: %v", err)
	}
	return r
}

// verdicts are the columns of a table as "name verdict", with "!" where it would be refused.
func verdicts(r *restore.DiffReport, table string) (list []string) {
	for _, d := range r.Tables {
		if string(d.Name) != table {
			continue
		}
		if d.Missing {
			return []string{"missing"}
		}
		for _, c := range d.Columns {
			mark := ""
			if c.Refused {
				mark = "!"
			}
			list = append(list, fmt.Sprintf("%s %s%s", c.Name, c.Verdict, mark))
		}
	}
	return list
}

func TestDiff(t *testing.T) {
	source := pgtest.DB(t, drifted)
	dir := takeDump(t, source)
	t.Run("equal", func(t *testing.T) {
		r := diff(t, dir, pgtest.DB(t, drifted))
		if !r.OK() || len(r.Types)+len(r.Findings) > 0 || len(r.Tables) != 4 {
			t.Errorf("%+v", r)
		}
		if got := verdicts(r, "drift"); !slices.Contains(got, "r staged") || !slices.Contains(got, "m same") {
			t.Errorf("drift: %q", got)
		}
		if d := r.Tables[slices.IndexFunc(r.Tables, func(d restore.DiffTable) bool { return d.Name == "parts_0" })]; d.Into != "public.parts" || d.Refused {
			t.Errorf("parts_0: %+v", d)
		}
	})
	target := pgtest.DB(t, `CREATE TYPE mood AS ENUM ('ok'); CREATE TYPE pair AS (a int8, m mood); CREATE TABLE plain (v text, id int);
CREATE TABLE drift (p pair, m mood, extra int DEFAULT 7, id date, wide int8, r regclass, n numeric(5,1), ts timestamptz);
CREATE TABLE parts (k text, v int, needed int NOT NULL); INSERT INTO plain VALUES (2, 2)`)
	t.Run("drift", func(t *testing.T) {
		r := diff(t, dir, target)
		want := []string{"id refused!", "wide converts", "r staged", "n castable!", "ts castable!", "left_out refused!", "m same", "p same", "extra filled"}
		if got := verdicts(r, "drift"); !slices.Equal(got, want) {
			t.Errorf("drift: got %q, want %q", got, want)
		}
		if got := verdicts(r, "gone"); !slices.Equal(got, []string{"missing"}) {
			t.Errorf("gone: %q", got)
		}
		if got := verdicts(r, "parts_0"); !slices.Equal(got, []string{"k same", "v same", "needed refused!"}) {
			t.Errorf("parts_0: %q", got)
		}
		if got := verdicts(r, "plain"); r.OK() || !slices.Equal(got, []string{"id same", "v same"}) {
			t.Errorf("plain: %q, fits: %t", got, r.OK())
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{`"object":"type public.mood","dump":"has label \"sad\""`, `"object":"type public.pair"`, `"dump":"timestamp without time zone","target":"timestamp with time zone"`,
			`"name":"gone"`, "cannot cast type integer to date"} {
			if !strings.Contains(strings.ReplaceAll(string(text), `\\\"`, `\"`), part) && !strings.Contains(string(text), part) {
				t.Errorf("%s is not in %s", part, text)
			}
		}
	})
	t.Run("loosened", func(t *testing.T) {
		r := diff(t, dir, target, func(o *restore.DiffOptions) {
			o.AllowCast, o.DropColumns, o.Tables = true, []string{"public.drift.left_out"}, []string{"drift"}
		})
		want := []string{"id refused!", "wide converts", "r staged", "n castable", "ts castable", "left_out dropped", "m same", "p same", "extra filled"}
		if got := verdicts(r, "drift"); len(r.Tables) != 1 || !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("chosen", func(t *testing.T) {
		if r := diff(t, dir, target, func(o *restore.DiffOptions) { o.Tables = []string{"plain"} }); !r.OK() || len(r.Tables) != 1 || !r.Tables[0].Same() {
			t.Errorf("%+v", r)
		}
	})
	t.Run("whole tables", func(t *testing.T) {
		r := diff(t, dir, pgtest.DB(t, `CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TYPE pair AS (a int, m mood); CREATE VIEW plain AS SELECT 1 AS id, 'x'::text AS v;
CREATE TABLE drift (id int, wide int, r regclass, n numeric(7,2), ts timestamp, left_out text, m mood, p pair); CREATE RULE away AS ON INSERT TO drift DO INSTEAD NOTHING;`),
			func(o *restore.DiffOptions) { o.Tables = []string{"plain", "drift"} })
		text := fmt.Sprint(r.Findings)
		if r.OK() || !strings.Contains(text, "another kind") || !strings.Contains(text, "rule away") {
			t.Errorf("findings %s", text)
		}
		for _, d := range r.Tables {
			if !d.Refused {
				t.Errorf("table %s is not refused", d.Name)
			}
		}
	})
	t.Run("misspelt", func(t *testing.T) {
		if r := diff(t, dir, pgtest.DB(t, drifted), func(o *restore.DiffOptions) { o.DropColumns = []string{"public.drift.nope"} }); r.OK() || len(r.Findings) != 1 {
			t.Errorf("%+v", r.Findings)
		}
		o := restore.DiffOptions{Dir: dir, DSN: parse(t, target), Choice: restore.Choice{Tables: []string{"nope"}}}
		if _, err := restore.Diff(context.Background(), o); err == nil || !strings.Contains(err.Error(), "nope") {
			t.Errorf("error %v", err)
		}
		o = restore.DiffOptions{Dir: t.TempDir(), DSN: parse(t, target)}
		if _, err := restore.Diff(context.Background(), o); !errors.Is(err, format.ErrUnfinished) {
			t.Errorf("error %v", err)
		}
	})
}
