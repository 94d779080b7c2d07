package restore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// gapy is a database of which some things cannot be made elsewhere, each for a reason of its own.
const gapy = `
CREATE SCHEMA lib;
CREATE FUNCTION lib.part(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION public.bucket(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
CREATE TABLE dup (id int, v int); INSERT INTO dup SELECT g, g FROM generate_series(1, 50) g;
CREATE UNIQUE INDEX dup_bucket ON dup (bucket(v));
CREATE OR REPLACE FUNCTION public.bucket(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 / 10; END';
CREATE TABLE team (id int PRIMARY KEY); INSERT INTO team VALUES (1);
CREATE TABLE player (id int PRIMARY KEY, team int CONSTRAINT plays_for REFERENCES team); INSERT INTO player VALUES (1, 1);
SET session_replication_role = replica; INSERT INTO player VALUES (2, 99); RESET session_replication_role;
CREATE VIEW parts AS SELECT lib.part(id) FROM dup;
CREATE SCHEMA app; CREATE TABLE app.rate (v int); INSERT INTO app.rate VALUES (3);
CREATE FUNCTION app.rated(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 * (SELECT v FROM rate); END';
SET search_path = app, public;
CREATE INDEX rated ON dup (rated(v));
CREATE INDEX plain ON dup (v);
CREATE MATERIALIZED VIEW app.rates AS SELECT rated(2) AS v;
CREATE TABLE public.lost (id int); ALTER TABLE public.lost OWNER TO gap_owner; GRANT SELECT ON dup TO gap_owner;
`

// TestGaps: each thing that cannot be made is named with its SQLSTATE, all others arrive, and once its cause is gone --resume makes it, and nothing twice.
func TestGaps(t *testing.T) {
	admin := pgtest.Cluster(t).DSN("postgres")
	pgtest.SQL(t, admin, `CREATE ROLE gap_owner`)
	source := pgtest.DB(t, gapy)
	dir := takeDump(t, source)
	pgtest.SQL(t, source, `DROP OWNED BY gap_owner`)
	pgtest.SQL(t, admin, `DROP ROLE gap_owner`)
	target := pgtest.DB(t)
	o := options(t, dir, target)
	o.ExcludeSchemas = []string{"lib"}
	sum := mustRestore(t, o)
	wantGaps(t, sum, "VIEW public.parts 3F000", "TABLE public.lost 42704", "ACL public.TABLE dup 42704", "INDEX public.dup_bucket 23505", "FK CONSTRAINT public.player plays_for 23503",
		"INDEX public.rated 42P01", "MATERIALIZED VIEW DATA app.rates 42P01")
	if !restore.NeedsSearchPath(sum.Gaps) {
		t.Error("no word of a search path")
	}
	if text := strings.Join(sum.Warnings, "\n"); !strings.Contains(text, "role gap_owner") {
		t.Errorf("warnings %q", text)
	}
	for _, table := range []string{"dup", "team", "player", "app.rate", "lost"} {
		if got := pgtest.SQL(t, target, "SELECT count(*) FROM "+table); got == "0" && table != "lost" {
			t.Errorf("%s is empty", table)
		}
	}
	if got := pgtest.SQL(t, target, `SELECT count(*) FROM pg_class WHERE relname IN ('plain', 'team_pkey', 'player_pkey', 'rates')`); got != "4" {
		t.Errorf("%s of 4 other things are there", got)
	}

	o.Resume = true
	again := mustRestore(t, o)
	if len(again.Gaps) != len(sum.Gaps) || again.Rows != sum.Rows {
		t.Errorf("nothing was mended: gaps %+v", again.Gaps)
	}
	o.SearchPath = "app"
	wantGaps(t, mustRestore(t, o), "VIEW public.parts 3F000", "TABLE public.lost 42704", "ACL public.TABLE dup 42704", "INDEX public.dup_bucket 23505", "FK CONSTRAINT public.player plays_for 23503")
	o.SearchPath = ""
	pgtest.SQL(t, target, `CREATE ROLE gap_owner; CREATE SCHEMA lib; CREATE FUNCTION lib.part(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1'; DELETE FROM player WHERE team = 99`)
	t.Cleanup(func() { pgtest.SQL(t, target, `DROP OWNED BY gap_owner; DROP ROLE gap_owner`) })
	wantGaps(t, mustRestore(t, o), "INDEX public.dup_bucket 23505")
	pgtest.SQL(t, target, `CREATE OR REPLACE FUNCTION public.bucket(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END'`)
	wantGaps(t, mustRestore(t, o))
	for _, query := range []string{`SELECT indexname FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`, `SELECT conname, convalidated FROM pg_constraint WHERE contype = 'f'`,
		`SELECT * FROM app.rates`, `SELECT count(*), sum(part) FROM parts`, `SELECT count(*) FROM dup`} {
		same(t, source, target, query)
	}
	if got := pgtest.SQL(t, target, `SELECT relowner::regrole, has_table_privilege('gap_owner', 'dup', 'SELECT') FROM pg_class WHERE relname = 'lost'`); got != "gap_owner|t" {
		t.Errorf("owner and privilege %s", got)
	}
	untouched(t, target)
}

// wantGaps demands exactly these gaps: kind, name, SQLSTATE.
func wantGaps(t *testing.T, sum *restore.Summary, want ...string) {
	t.Helper()
	var got []string
	for _, g := range sum.Gaps {
		got = append(got, g.Kind+" "+g.Name+" "+g.SQLState)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("gaps\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestSearchPathFromTheStart: with the path there is no gap in the first place.
func TestSearchPathFromTheStart(t *testing.T) {
	source := pgtest.DB(t, `CREATE SCHEMA "App, 1"; CREATE TABLE "App, 1".rate (v int); INSERT INTO "App, 1".rate VALUES (3); CREATE TABLE a (v int); INSERT INTO a VALUES (1), (2);
CREATE FUNCTION rated(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 * (SELECT v FROM rate); END'; SET search_path = public, "App, 1"; CREATE INDEX rated ON a (rated(v));
CREATE MATERIALIZED VIEW m AS SELECT rated(2) AS v; CREATE MATERIALIZED VIEW n AS SELECT rated(3) AS v`)
	dir := takeDump(t, source)
	target := pgtest.DB(t)
	o := options(t, dir, target)
	o.SearchPath = `public, "App, 1"`
	wantGaps(t, mustRestore(t, o))
	same(t, source, target, `SELECT m.v, n.v FROM m, n`)
	same(t, source, target, `SELECT indexdef FROM pg_indexes WHERE indexname = 'rated'`)
	o.SearchPath = "a; DROP TABLE x"
	if _, err := restore.Run(context.Background(), o); err == nil || errors.As(err, new(*restore.Failed)) {
		t.Errorf("error %v", err)
	}
}

// TestCheckThatNeedsASearchPath: rows that a CHECK lets in only with a search_path stay out whole, and the way to mend it leads to the end.
func TestCheckThatNeedsASearchPath(t *testing.T) {
	source := pgtest.DB(t, `CREATE SCHEMA aaa; CREATE SCHEMA zzz; SET search_path = zzz; CREATE TABLE zzz.room (name text PRIMARY KEY);
CREATE FUNCTION zzz.known(text) RETURNS bool LANGUAGE sql STABLE AS 'SELECT EXISTS (SELECT 1 FROM room WHERE name = $1) OR NOT EXISTS (SELECT 1 FROM room)';
CREATE TABLE aaa.booking (id int PRIMARY KEY, room text NOT NULL CHECK (zzz.known(room))); INSERT INTO zzz.room VALUES ('blue'), ('green'); INSERT INTO aaa.booking VALUES (1, 'blue'), (2, 'green')`)
	dir := takeDump(t, source)
	target := pgtest.DB(t)
	o := options(t, dir, target)
	_, err := restore.Run(context.Background(), o)
	var failed *restore.Failed
	if !errors.As(err, &failed) || failed.Phase != restore.PhaseData || !strings.Contains(err.Error(), "aaa.booking") || !strings.Contains(err.Error(), "42P01") {
		t.Fatalf("error %v", err)
	}
	if h := failed.Hint(); !strings.Contains(h, "ALTER FUNCTION … SET search_path") || !strings.Contains(h, "--resume") {
		t.Errorf("hint %q", h)
	}
	if got := pgtest.SQL(t, target, `SELECT count(*) FROM aaa.booking`); got != "0" {
		t.Errorf("%s rows got in", got)
	}
	pgtest.SQL(t, target, `ALTER FUNCTION zzz.known SET search_path = zzz`)
	o.Resume = true
	wantGaps(t, mustRestore(t, o))
	same(t, source, target, `SELECT * FROM aaa.booking ORDER BY 1`)
	untouched(t, target)
}
