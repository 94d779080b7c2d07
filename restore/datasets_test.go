package restore_test

import (
	"slices"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// stockDump is what PostgreSQL's own pg_dump makes of a database, without the key that it draws for every run.
func stockDump(t *testing.T, dsn string, args ...string) []string {
	t.Helper()
	bin, err := pgcluster.FindBinDir()
	if err != nil {
		t.Fatal(err)
	}
	return pgtest.Stock(t, bin, dsn, args...)
}

// TestDatasets: databases that people know come back the same, to pg_dump's eyes.
func TestDatasets(t *testing.T) {
	for _, name := range pgtest.Datasets {
		t.Run(name, func(t *testing.T) {
			source, target := pgtest.DB(t, pgtest.Dataset(t, name)), pgtest.DB(t)
			dir := takeDump(t, source, func(o *dump.Options) { o.SegmentSize = 256 << 10 })
			sum := mustRestore(t, options(t, dir, target))
			if len(sum.Gaps) > 0 || sum.Proven != len(sum.Manifest.Tables) || sum.Rows < 3000 {
				t.Errorf("%d rows, %d of %d tables proven, gaps %+v", sum.Rows, sum.Proven, len(sum.Manifest.Tables), sum.Gaps)
			}
			if !slices.Equal(stockDump(t, source, "--schema-only"), stockDump(t, target, "--schema-only")) {
				t.Error("the definitions differ")
			}
			rows := func(dsn string) []string {
				lines := stockDump(t, dsn, "--data-only", "--inserts")
				slices.Sort(lines)
				return lines
			}
			want, got := rows(source), rows(target)
			if len(want) < 3000 || !slices.Equal(want, got) {
				t.Errorf("the rows differ: %d lines, %d on the target", len(want), len(got))
			}
		})
	}
}

// shapes are the tables that the benchmark measures, in small: one narrow column, many, wide rows with text, the same without, and tiny rows in an
// unlogged table.
const shapes = `CREATE TABLE test_one_int AS SELECT g AS a FROM generate_series(1, 100000) g;
DO $$ BEGIN EXECUTE 'CREATE TABLE test_many_ints AS SELECT ' || (SELECT string_agg(format('g + %s AS %s', i, chr(96 + i)), ', ') FROM generate_series(1, 26) i) || ' FROM generate_series(1, 10000) g'; END $$;
CREATE TABLE annonces AS SELECT g AS id, (g % 30000)::smallint AS kind, g % 3 = 0 AS sold, g % 5 = 0 AS seen, date '2009-08-01' + g % 100 AS listed, timestamp '2009-08-01' + g * interval '1 second' AS changed,
 NULLIF(g % 7, 0) AS rooms, NULLIF(g % 11, 0)::smallint AS floor, repeat('annonce ' || g, 20) AS description FROM generate_series(1, 20000) g;
CREATE TABLE archive_data AS SELECT id, kind, sold, seen, listed, changed, rooms, floor FROM annonces; ALTER TABLE archive_data ADD PRIMARY KEY (id);
CREATE UNLOGGED TABLE citydata AS SELECT (g % 1000)::int2 AS city, (g % 80)::int2 AS temp FROM generate_series(1, 100000) g;`

func TestShapes(t *testing.T) {
	source := pgtest.DB(t, shapes)
	for name, change := range map[string]func(*dump.Options){"compressed": func(*dump.Options) {}, "plain segments": func(o *dump.Options) { o.Compression.Level, o.SegmentSize = 0, 256<<10 }} {
		t.Run(name, func(t *testing.T) {
			target := pgtest.DB(t)
			sum := mustRestore(t, options(t, takeDump(t, source, change), target))
			if sum.Proven != 5 || sum.Rows != 250_000 {
				t.Errorf("%d tables proven, %d rows", sum.Proven, sum.Rows)
			}
			for _, table := range []string{"test_one_int", "test_many_ints", "annonces", "archive_data", "citydata"} {
				same(t, source, target, `SELECT count(*), sum(hashtextextended(x::text, 0)) FROM `+table+` x`)
			}
		})
	}
}
