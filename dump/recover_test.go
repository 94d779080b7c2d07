package dump_test

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// The recipe of docs/recover-without-pghaul.md is what users have when there is no pghaul: it must work as it stands there.
func TestRecoverWithStockTools(t *testing.T) {
	source := pgtest.DB(t, `CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy'); CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE SEQUENCE never; CREATE SEQUENCE "odd ' Seq";
CREATE TABLE "Odd ""Name" (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "Select" text, m mood, p positive, twice int GENERATED ALWAYS AS (p * 2) STORED, b bytea);
INSERT INTO "Odd ""Name" ("Select", m, p, b) SELECT repeat(md5(g::text), 10), (enum_range(NULL::mood))[1 + g % 3], g, sha256(g::text::bytea) FROM generate_series(1, 30000) g;
CREATE TABLE parts (k int, v text) PARTITION BY RANGE (k); CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (500); CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (500) TO (1000);
INSERT INTO parts SELECT g, 'v' || g FROM generate_series(0, 999) g;
CREATE MATERIALIZED VIEW moods AS SELECT m, count(*) FROM "Odd ""Name" GROUP BY m;
CREATE TABLE child (o bigint REFERENCES "Odd ""Name"); INSERT INTO child SELECT generate_series(1, 100);
SELECT setval('"odd '' Seq"', 42), lo_from_bytea(0, 'large object');`)
	for _, c := range []format.Compression{{}, {Level: 1}} {
		o := options(t, source)
		o.Compression, o.SegmentSize = c, 4<<20
		if _, err := dump.Run(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		target := pgtest.DB(t)
		runRecipe(t, o.Dir, target)
		for _, sql := range []string{
			`SELECT count(*), md5(string_agg(x::text, ',' ORDER BY id)) FROM "Odd ""Name" x`, `SELECT tableoid::regclass, count(*), sum(k) FROM parts GROUP BY 1 ORDER BY 1`,
			`SELECT * FROM moods ORDER BY m`, `SELECT count(*) FROM child`, `SELECT last_value, is_called FROM "odd ' Seq"`, `SELECT last_value, is_called FROM never`,
			`SELECT last_value FROM "Odd ""Name_id_seq"`, `SELECT convert_from(lo_get(oid), 'UTF8') FROM pg_largeobject_metadata`, `SELECT count(*) FROM pg_constraint WHERE contype IN ('p', 'f')`,
		} {
			if want, got := pgtest.SQL(t, source, sql), pgtest.SQL(t, target, sql); got != want {
				t.Errorf("%s: %s: source %q, recovered %q", c, sql, want, got)
			}
		}
	}
}

// runRecipe runs the sh blocks of the document, in order, in one shell.
func runRecipe(t *testing.T, dir, target string) {
	t.Helper()
	doc, err := os.ReadFile("../docs/recover-without-pghaul.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(doc), -1)
	if len(blocks) != 6 {
		t.Fatalf("%d sh blocks in the recipe, want 6", len(blocks))
	}
	var script strings.Builder
	script.WriteString("set -eu\n")
	for _, b := range blocks {
		script.WriteString(b[1])
	}
	cmd := exec.Command("sh", "-c", script.String())
	cmd.Env = append(os.Environ(), "DUMP="+dir, "TARGET="+target, "PATH="+pgtest.Cluster(t).BinDir()+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("recipe: %v\n%s", err, out)
	}
}
