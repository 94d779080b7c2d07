package dump_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// everyType has a column of most builtin types: name, type, expression of g.
const everyType = `CREATE TYPE mood AS ENUM ('sad', 'it''s ok', 'größe'); CREATE DOMAIN small AS int CHECK (VALUE < 100000); CREATE TYPE pair AS (a int, b text);
CREATE TABLE every (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, gone int, c_bool bool, c_int2 int2, c_int4 int, c_float4 float4, c_float8 float8, c_numeric numeric, c_num52 numeric(12,2), c_text text, c_varchar varchar(20), c_char char(7), c_char1 "char", c_name name,
 c_bytea bytea, c_date date, c_time time, c_timetz timetz, c_ts timestamp, c_tstz timestamptz(3), c_interval interval, c_uuid uuid, c_inet inet, c_cidr cidr, c_mac macaddr, c_bit bit(5), c_varbit varbit, c_point point, c_box box, c_path path, c_json json, c_jsonb jsonb, c_xml xml, c_tsv tsvector,
 c_lsn pg_lsn, c_oid oid, c_xid xid, c_tid tid, c_range int4range, c_mrange nummultirange, c_ints int[], c_texts text[][], c_mood mood, c_small small, c_pair pair, twice bigint GENERATED ALWAYS AS (c_int4 * 2::bigint) STORED, c_wide text);
ALTER TABLE every DROP gone; ALTER TABLE every ALTER c_wide SET STORAGE EXTERNAL; ALTER TABLE every ADD c_late int DEFAULT 7;
INSERT INTO every (c_bool, c_int2, c_int4, c_float4, c_float8, c_numeric, c_num52, c_text, c_varchar, c_char, c_char1, c_name, c_bytea, c_date, c_time, c_timetz, c_ts, c_tstz, c_interval, c_uuid, c_inet, c_cidr, c_mac, c_bit, c_varbit, c_point, c_box, c_path, c_json, c_jsonb, c_xml, c_tsv,
 c_lsn, c_oid, c_xid, c_tid, c_range, c_mrange, c_ints, c_texts, c_mood, c_small, c_pair, c_wide)
SELECT g % 2 = 0, g, g * 1000, g / 3.0, 'NaN', g / 7.0, g, E'tab\tnewline\nö€ \\N' || g, '', 'x', chr(1 + g % 120)::"char", 'n' || g, sha256(g::text::bytea), '2009-08-10'::date + g, '24:00', '13:14+05:30', 'infinity', '1970-01-01'::timestamptz + g * interval '1 ms', make_interval(months => g, secs => g / 1000.0),
 md5(g::text)::uuid, '10.0.0.1/8', '::/0', '08:00:2b:01:02:03', B'10110', B'', point(g, -g), box(point(0,0), point(g,1)), '((0,0),(1,1))', '{"a": [1,null]}', jsonb_build_object('g', g), '<a>ö</a>', to_tsvector('simple', 'a b ' || g), '16/B374D848', 4294967295, '7', '(1,2)',
 int4range(g, NULL), '{[1,2],(5,9)}', ARRAY[g, NULL], '{{a,b},{NULL,""}}', (enum_range(NULL::mood))[1 + g % 3], g, ROW(g, 'x')::pair, CASE WHEN g % 50 = 0 THEN repeat(md5(g::text), 3000) END FROM generate_series(1, 3000) g;
INSERT INTO every DEFAULT VALUES; DELETE FROM every WHERE id % 17 = 0; UPDATE every SET c_late = NULL WHERE id % 5 = 0;`

// TestContent: what stock tools make of the files is what the tables hold, row for row.
func TestContent(t *testing.T) {
	noLeak(t)
	names := []string{`Sel"ect`, `$1 %s %`, "line\nbreak", "größe €", strings.Repeat("n", 63), "UPPER", `back\slash`, "a/../b", " space ", "'quote'"}
	var odd strings.Builder
	for i, n := range names {
		fmt.Fprintf(&odd, "CREATE TABLE %s (%s int, \"b\" text); INSERT INTO %s SELECT g, 'v' FROM generate_series(1, %d) g;", pg.QuoteIdent(n), pg.QuoteIdent(n), pg.QuoteIdent(n), i+1)
	}
	columns := make([]string, 1600)
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d bool", i)
	}
	source := pgtest.DB(t, everyType, odd.String(), `CREATE TABLE wide (`+strings.Join(columns, ",")+`); INSERT INTO wide (c0, c1599) SELECT g % 2 = 0, true FROM generate_series(1, 20) g;
CREATE TABLE nothing (); INSERT INTO nothing SELECT FROM generate_series(1, 3); CREATE TABLE empty (a int, b text); CREATE TABLE generated_only (a int GENERATED ALWAYS AS (1) STORED); INSERT INTO generated_only DEFAULT VALUES;
CREATE TABLE parent (a int); CREATE TABLE child (b int) INHERITS (parent); INSERT INTO parent VALUES (1), (2); INSERT INTO child VALUES (3, 4), (5, 6), (7, 8);
CREATE TABLE parted (k int, v text, w int) PARTITION BY LIST (k); CREATE TABLE p1 (w int, gone int, v text, k int); ALTER TABLE p1 DROP gone; ALTER TABLE parted ATTACH PARTITION p1 FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF parted FOR VALUES IN (2) PARTITION BY RANGE (w); CREATE TABLE p2a PARTITION OF p2 DEFAULT; INSERT INTO parted SELECT 1 + g % 2, 'v' || g, g FROM generate_series(1, 1000) g;
CREATE UNLOGGED TABLE unlogged (a int); INSERT INTO unlogged SELECT generate_series(1, 10);`)
	target := pgtest.DB(t)
	for _, level := range []int{0, 1} {
		o := options(t, source)
		o.Compression.Level, o.SegmentSize = level, 256<<10
		sum := run(t, o)
		m := manifest(t, o.Dir)
		if level == 0 {
			script := tool(t, "", nil, pgTool(t, "pg_restore"), "-f", "-", "--section=pre-data", filepath.Join(o.Dir, format.SchemaName))
			pgtest.SQL(t, target, script)
		}
		tool(t, o.Dir, nil, "xxh128sum", "-c", "--quiet", format.ChecksumName)
		if toc := tool(t, o.Dir, nil, pgTool(t, "pg_restore"), "-l", format.SchemaName); strings.Contains(toc, "TABLE DATA") || !strings.Contains(toc, "TABLE public every") {
			t.Errorf("schema archive: %s", toc)
		}
		if got := len(table(t, m, "public.every").Segments); got < 3 {
			t.Errorf("%d segments of every, want several", got)
		}
		if p1 := table(t, m, "public.p1"); p1.Root == nil || p1.Root.Name != "parted" || p1.Columns[0].Name != "k" || p1.Columns[2].Name != "w" {
			t.Errorf("partition with another order of columns: %+v", p1)
		}
		var rows int64
		for i := range m.Tables {
			compare(t, o, source, target, &m.Tables[i])
			rows += m.Tables[i].Rows
		}
		if rows != sum.Rows || len(m.Tables) != len(names)+10 {
			t.Errorf("%d rows in %d tables, the summary says %d: %s", rows, len(m.Tables), sum.Rows, tableNames(m))
		}
	}
}

// compare loads a table's files by zstd and psql and looks for rows that one side alone has.
func compare(t *testing.T, o dump.Options, source, target string, k *format.ManifestTable) {
	t.Helper()
	name := pg.QuoteName(k.Schema, k.Name)
	pgtest.SQL(t, target, "TRUNCATE ONLY "+name)
	load(t, o, target, k)
	if n := pgtest.SQL(t, source, "SELECT count(*) FROM ONLY "+name); n != strconv.FormatInt(k.Rows, 10) {
		t.Errorf("%s: the manifest counts %d rows, the server %s", name, k.Rows, n)
	}
	sql := "COPY (SELECT x::text FROM ONLY " + name + " x) TO STDOUT"
	want, got := strings.Split(pgtest.SQL(t, source, sql), "\n"), strings.Split(pgtest.SQL(t, target, sql), "\n")
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("%s: %d rows at the source, %d loaded, and they differ", name, len(want), len(got))
	}
}

// load loads a table's files by zstd and psql.
func load(t *testing.T, o dump.Options, target string, k *format.ManifestTable) {
	t.Helper()
	name := pg.QuoteName(k.Schema, k.Name)
	var list []string
	for _, c := range k.Columns {
		list = append(list, pg.QuoteIdent(c.Name))
	}
	columns := ""
	if len(list) > 0 {
		columns = " (" + strings.Join(list, ", ") + ")"
	}
	for _, s := range k.Segments {
		file := filepath.Join(o.Dir, s.Path)
		stream, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if o.Compression.Level > 0 {
			stream = []byte(tool(t, "", nil, "zstd", "-dcq", file))
		}
		loaded := tool(t, "", stream, pgTool(t, "psql"), "-XAt", "-v", "ON_ERROR_STOP=1", "-d", target, "-c", "COPY "+name+columns+" FROM STDIN (FORMAT binary)")
		if want := fmt.Sprintf("COPY %d\n", s.Rows); loaded != want {
			t.Errorf("%s: %q, want %q", s.Path, loaded, want)
		}
	}
}

// TestManifestObjects: sequences, views, large objects, roles and settings.
func TestManifestObjects(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE SEQUENCE never START 5; CREATE SEQUENCE used; SELECT setval('used', 42); CREATE TABLE t (a serial); INSERT INTO t DEFAULT VALUES;
CREATE MATERIALIZED VIEW z AS SELECT a FROM t; CREATE MATERIALIZED VIEW a AS SELECT a FROM z; CREATE MATERIALIZED VIEW u AS SELECT 1 AS x WITH NO DATA; SELECT lo_from_bytea(0, 'x'), lo_from_bytea(0, 'y'); CREATE EXTENSION hstore;`)
	o := options(t, dsn)
	run(t, o)
	m := manifest(t, o.Dir)
	if want := []format.Sequence{{Schema: "public", Name: "never", LastValue: 5}, {Schema: "public", Name: "t_a_seq", LastValue: 1, IsCalled: true, Owner: &format.SequenceOwner{Schema: "public", Table: "t", Column: "a"}},
		{Schema: "public", Name: "used", LastValue: 42, IsCalled: true}}; !reflect.DeepEqual(m.Sequences, want) {
		t.Errorf("sequences %+v", m.Sequences)
	}
	if want := []format.MatView{{Schema: "public", Name: "u"}, {Schema: "public", Name: "z", Populated: true}, {Schema: "public", Name: "a", Populated: true}}; !slices.Equal(m.MatViews, want) {
		t.Errorf("materialized views %+v", m.MatViews)
	}
	if m.LargeObjects != 2 || len(m.Extensions) != 1 || m.Extensions[0].Name != "hstore" || m.Source.Server.Encoding != "UTF8" || m.Source.Snapshot.LSN == "" {
		t.Errorf("%d large objects, extensions %+v, source %+v", m.LargeObjects, m.Extensions, m.Source)
	}
	if toc := tool(t, o.Dir, nil, pgTool(t, "pg_restore"), "-l", format.SchemaName); !strings.Contains(toc, "BLOBS") || strings.Contains(toc, "SEQUENCE SET") {
		t.Errorf("archive: %s", toc)
	}
}

// TestEncodings: databases of other encodings, with names and conditions outside of ASCII.
func TestEncodings(t *testing.T) {
	c := pgtest.Cluster(t)
	for _, encoding := range []string{"LATIN1", "SQL_ASCII", "EUC_JP"} {
		for _, db := range []string{"dump_source_", "dump_target_"} {
			name := db + strings.ToLower(encoding)
			pgtest.SQL(t, c.DSN("postgres"), `CREATE DATABASE `+name+` TEMPLATE template0 ENCODING '`+encoding+`' LC_COLLATE 'C' LC_CTYPE 'C'`)
			t.Cleanup(func() { pgtest.SQL(t, c.DSN("postgres"), `DROP DATABASE `+name+` WITH (FORCE)`) })
		}
		source, target := c.DSN("dump_source_"+strings.ToLower(encoding)), c.DSN("dump_target_"+strings.ToLower(encoding))
		pgtest.SQL(t, source, `SET client_encoding = 'UTF8'; CREATE EXTENSION hstore; CREATE SCHEMA "Süß"; CREATE TYPE "Süß"."möd" AS ENUM ('größe', 'klein'); CREATE TABLE "Süß"."Tür $1" ("größe" text, h hstore, m "Süß"."möd", b int);
INSERT INTO "Süß"."Tür $1" SELECT 'Größe ' || g, hstore('schlüssel', 'süß'), 'größe', g FROM generate_series(1, 2000) g; CREATE SEQUENCE "Süß"."zähler"; SELECT nextval('"Süß"."zähler"')`)
		if encoding == "SQL_ASCII" {
			pgtest.SQL(t, source, `INSERT INTO "S`+"\xc3\xbc\xc3\x9f"+`"."T`+"\xc3\xbc"+`r $1" VALUES (E'\xe9\xff', NULL, NULL, 0)`)
		}
		o := options(t, source)
		o.SegmentSize = 64 << 10
		run(t, o)
		m := manifest(t, o.Dir)
		k := table(t, m, "Süß.Tür $1")
		if m.Source.Server.Encoding != encoding || len(m.Sequences) != 1 || m.Sequences[0].Name != "zähler" || len(k.Segments) < 2 || k.Columns[0].Name != "größe" {
			t.Errorf("%s: %+v", encoding, m)
		}
		pgtest.SQL(t, target, tool(t, "", nil, pgTool(t, "pg_restore"), "-f", "-", "--section=pre-data", filepath.Join(o.Dir, format.SchemaName)))
		// The rows speak the file's encoding and the names do not: a view with a plain name takes the rows in.
		pgtest.SQL(t, target, `SET client_encoding = 'UTF8'; CREATE VIEW way AS SELECT * FROM "Süß"."Tür $1"`)
		for _, s := range k.Segments {
			stream := tool(t, "", nil, "zstd", "-dcq", filepath.Join(o.Dir, s.Path))
			tool(t, "", []byte(stream), pgTool(t, "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", target, "-c", "SET client_encoding = '"+encoding+"'", "-c", "CREATE TEMP TABLE rows (LIKE way)", "-c", "COPY rows FROM STDIN (FORMAT binary)",
				"-c", "INSERT INTO way SELECT * FROM rows")
		}
		same := `SET client_encoding = 'SQL_ASCII'; SELECT md5(string_agg(x::text, '|' ORDER BY b)) FROM "S` + "\xc3\xbc\xc3\x9f" + `"."T` + "\xc3\xbc" + `r $1" x`
		if encoding != "SQL_ASCII" {
			same = `SET client_encoding = 'UTF8'; SELECT md5(string_agg(x::text, '|' ORDER BY b)) FROM "Süß"."Tür $1" x`
		}
		if want, got := pgtest.SQL(t, source, same), pgtest.SQL(t, target, same); want != got {
			t.Errorf("%s: rows differ: %s, want %s", encoding, got, want)
		}
		// A condition of the user's speaks UTF-8; the session of the rows does not.
		o = options(t, source)
		o.Where = map[string]string{`"Süß".*`: `"größe" < 'Größe 2' AND b <> 7 -- ö`}
		run(t, o)
		want := pgtest.SQL(t, source, `SET client_encoding = 'UTF8'; SELECT count(*) FROM "Süß"."Tür $1" WHERE "größe" < 'Größe 2' AND b <> 7`)
		if k := table(t, manifest(t, o.Dir), "Süß.Tür $1"); strconv.FormatInt(k.Rows, 10) != want || k.Where == "" || len(k.Segments) != 1 {
			t.Errorf("%s: %d rows by a condition, want %s", encoding, k.Rows, want)
		}
	}
}

// TestSingleFile: one table as a file or a stream.
func TestSingleFile(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE t (a int, b text); INSERT INTO t SELECT g, 'x' FROM generate_series(1, 5000) g; CREATE TABLE u (a int); CREATE TABLE copied (a int, b text)`)
	dir := t.TempDir()
	o := options(t, dsn)
	o.Dir, o.File, o.Tables = "", filepath.Join(dir, "t.pgcopy.zst"), []string{"t"}
	if sum := run(t, o); sum.Rows != 5000 || sum.Files != 1 {
		t.Errorf("%+v", sum)
	}
	tool(t, "", []byte(tool(t, "", nil, "zstd", "-dcq", o.File)), pgTool(t, "psql"), "-X", "-d", dsn, "-c", "COPY copied FROM STDIN (FORMAT binary)")
	var stream strings.Builder
	o.File, o.Out, o.Compression.Level = "", &stream, 0
	run(t, o)
	tool(t, "", []byte(stream.String()), pgTool(t, "psql"), "-X", "-d", dsn, "-c", "COPY copied FROM STDIN (FORMAT binary)")
	if n := pgtest.SQL(t, dsn, "SELECT count(*), count(DISTINCT a) FROM copied"); n != "10000|5000" {
		t.Errorf("loaded %s", n)
	}
	o.Tables = []string{"t", "u"}
	if _, err := dump.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "public.t, public.u") {
		t.Errorf("two tables into a stream: %v", err)
	}
	o.Out, o.File, o.Tables = nil, filepath.Join(dir, "t.pgcopy.zst"), []string{"t"}
	if _, err := dump.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "t.pgcopy.zst") {
		t.Errorf("a file that is there: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
}
