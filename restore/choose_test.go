package restore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

const chosenFrom = `CREATE EXTENSION hstore; CREATE EXTENSION citext; CREATE SCHEMA s; CREATE TABLE s.a (id int PRIMARY KEY, v text); CREATE TABLE s.b (id int); CREATE INDEX a_v ON s.a (v);
INSERT INTO s.a SELECT g, 'v' || g FROM generate_series(1, 100) g; INSERT INTO s.b VALUES (1);
CREATE FUNCTION s.f(int) RETURNS int LANGUAGE sql AS 'SELECT $1'; CREATE FUNCTION s.f(text) RETURNS int LANGUAGE sql AS 'SELECT 1'; COMMENT ON FUNCTION s.f(int) IS 'an f';
CREATE FUNCTION s.t() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER audit BEFORE UPDATE ON s.a FOR EACH ROW EXECUTE FUNCTION s.t();
CREATE VIEW s.w AS SELECT 1 AS one; CREATE SEQUENCE s.q; SELECT setval('s.q', 9); CREATE MATERIALIZED VIEW s.m AS SELECT count(*) FROM s.a; SELECT lo_from_bytea(4712, '\x01')`

// things lists what a database holds, for comparison.
const things = `SELECT coalesce(string_agg(x, ' ' ORDER BY x), '') FROM (
SELECT extname::text FROM pg_extension WHERE extname <> 'plpgsql' UNION ALL
SELECT c.relname || CASE relkind WHEN 'r' THEN (xpath('/row/n/text()', query_to_xml('SELECT count(*) AS n FROM s.' || quote_ident(c.relname), false, true, '')))[1]::text WHEN 'm' THEN relispopulated::text ELSE '' END
 FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 's' AND relkind <> 'i' OR relname = 'a_v' UNION ALL
SELECT proname || '(' || pg_get_function_arguments(p.oid) || ')' FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = 's' UNION ALL
SELECT tgname::text FROM pg_trigger WHERE NOT tgisinternal UNION ALL SELECT conname::text FROM pg_constraint c JOIN pg_namespace n ON n.oid = connamespace WHERE nspname = 's' UNION ALL
SELECT 'lo' FROM pg_largeobject_metadata) l (x)`

func TestChoice(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, chosenFrom))
	with, without := true, false
	for what, c := range map[string]struct {
		set   func(*restore.Options)
		setup string
		want  string
	}{
		"-e":                     {func(o *restore.Options) { o.Extensions = []string{"hst*"} }, "", "a100 a_pkey a_v audit b1 f(integer) f(text) hstore mtrue q t() w"},
		"--exclude-extension":    {func(o *restore.Options) { o.ExcludeExtensions = []string{"citext"} }, "", "a100 a_pkey a_v audit b1 f(integer) f(text) hstore lo mtrue q t() w"},
		"-e -t":                  {func(o *restore.Options) { o.Extensions, o.Tables = []string{"citext"}, []string{"s.b"} }, "", "b1 citext"},
		"-n":                     {func(o *restore.Options) { o.Schemas = []string{"s"} }, "", "a100 a_pkey a_v audit b1 f(integer) f(text) mtrue q t() w"},
		"-n, large objects":      {func(o *restore.Options) { o.Schemas, o.LargeObjects = []string{"s"}, &with }, "", "a100 a_pkey a_v audit b1 f(integer) f(text) lo mtrue q t() w"},
		"-t, large objects":      {func(o *restore.Options) { o.Tables, o.LargeObjects = []string{"b"}, &with }, "", "b1 lo"},
		"no large objects":       {func(o *restore.Options) { o.LargeObjects = &without }, "", "a100 a_pkey a_v audit b1 citext f(integer) f(text) hstore mtrue q t() w"},
		"no rows of a":           {func(o *restore.Options) { o.ExcludeTableData, o.Tables = []string{"s.a"}, []string{"a", "b"} }, "", "a0 a_pkey a_v audit b1 t()"},
		"a view":                 {func(o *restore.Options) { o.Tables = []string{"w"} }, "", "w"},
		"a function":             {func(o *restore.Options) { o.Functions = []string{"f(integer)"} }, "", "f(integer)"},
		"functions":              {func(o *restore.Options) { o.Functions = []string{"f"} }, "", "f(integer) f(text)"},
		"an index, a trigger":    {func(o *restore.Options) { o.Indexes, o.Triggers = []string{"s.a_v"}, []string{"audit"} }, `CREATE SCHEMA s; CREATE TABLE s.a (id int, v text); CREATE FUNCTION s.t() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`, "a0 a_v audit t()"},
		"a trigger by its table": {func(o *restore.Options) { o.Triggers = []string{"a audit"} }, `CREATE SCHEMA s; CREATE TABLE s.a (id int, v text); CREATE FUNCTION s.t() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`, "a0 audit t()"},
	} {
		target := pgtest.DB(t)
		if c.setup != "" {
			pgtest.SQL(t, target, c.setup)
		}
		o := options(t, dir, target)
		c.set(&o)
		if sum := mustRestore(t, o); len(sum.Gaps) > 0 {
			t.Errorf("%s: gaps %+v", what, sum.Gaps)
		}
		if got := pgtest.SQL(t, target, things); got != c.want {
			t.Errorf("%s: %s\nwant %s", what, got, c.want)
		}
		untouched(t, target)
	}
	for want, set := range map[string]func(*restore.Options){
		"named by nosuch": func(o *restore.Options) { o.Extensions = []string{"nosuch"} },
		"named by f(int)": func(o *restore.Options) { o.Functions = []string{"f(int)"} },
		"named by x, y": func(o *restore.Options) {
			o.Tables, o.ExcludeTables, o.StrictNames = []string{"a", "x"}, []string{"y", "b"}, true
		},
		"named by z": func(o *restore.Options) { o.ExcludeTableData, o.DataOnly, o.StrictNames = []string{"z"}, true, true },
	} {
		o := options(t, dir, pgtest.DB(t))
		set(&o)
		if _, err := restore.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestSections: the sections of a restore, one after the other, come to the whole of it.
func TestSections(t *testing.T) {
	source := pgtest.DB(t, chosenFrom)
	dir := takeDump(t, source)
	target := pgtest.DB(t)
	for i, c := range []struct {
		sections []string
		want     string
	}{
		{[]string{restore.SectionPreData}, "a0 b0 citext f(integer) f(text) hstore mfalse q t() w"},
		{[]string{restore.SectionData}, "a100 b1 citext f(integer) f(text) hstore lo mtrue q t() w"},
		{[]string{restore.SectionPostData}, "a100 a_pkey a_v audit b1 citext f(integer) f(text) hstore lo mtrue q t() w"},
	} {
		o := options(t, dir, target)
		o.Sections = c.sections
		if sum := mustRestore(t, o); len(sum.Gaps) > 0 {
			t.Errorf("%v: gaps %+v", c.sections, sum.Gaps)
		}
		if got := pgtest.SQL(t, target, things); got != c.want {
			t.Errorf("%d, %v: %s\nwant %s", i, c.sections, got, c.want)
		}
	}
	// For a cut-over: only the sequences, and nothing else.
	pgtest.SQL(t, target, `SELECT setval('s.q', 1000); DELETE FROM s.b`)
	o := options(t, dir, target)
	o.Sections = []string{restore.SectionSequences}
	sum := mustRestore(t, o)
	if got := pgtest.SQL(t, target, `SELECT last_value, count(b.*) FROM s.q LEFT JOIN s.b ON true GROUP BY 1`); got != "9|0" || sum.Proven != 0 {
		t.Errorf("%s, %+v", got, sum)
	}
	target = pgtest.DB(t)
	o = options(t, dir, target)
	o.Sections = []string{restore.SectionPreData}
	mustRestore(t, o)
	o.Sections = []string{restore.SectionData, restore.SectionPostData}
	if sum := mustRestore(t, o); sum.Rows != 101 || sum.Proven != 2 {
		t.Errorf("%+v", sum)
	}
	same(t, source, target, things)
	o.Sections = []string{"dat"}
	if _, err := restore.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), `"dat" is none of`) {
		t.Error(err)
	}
}

// TestSectionsResumed: an interrupted restore of a section goes on as such, and not as another one.
func TestSectionsResumed(t *testing.T) {
	source := pgtest.DB(t, chosenFrom)
	dir := takeDump(t, source)
	target := pgtest.DB(t, `CREATE SCHEMA s; CREATE TABLE s.a (id int, v text); CREATE TABLE s.b (id int)`)
	o := options(t, dir, target)
	o.Sections, o.StopAfter, o.Tables = []string{restore.SectionData, restore.SectionPostData}, restore.PhaseProof, []string{"s.a", "s.b"}
	mustRestore(t, o)
	o.StopAfter, o.Resume, o.Sections = "", true, []string{restore.SectionData}
	_, err := restore.Run(context.Background(), o)
	var refused *restore.Refused
	if !errors.As(err, &refused) || !slices.ContainsFunc(refused.Findings, func(f restore.Finding) bool { return strings.Contains(f.Dump, "sections=data post-data") }) {
		t.Fatalf("%v", err)
	}
	o.Sections = []string{restore.SectionData, restore.SectionPostData}
	mustRestore(t, o)
	if got := pgtest.SQL(t, target, `SELECT count(*) FROM pg_constraint WHERE conname = 'a_pkey'`); got != "1" {
		t.Error("no primary key")
	}
}

func TestRole(t *testing.T) {
	admin := pgtest.Cluster(t).DSN("postgres")
	pgtest.SQL(t, admin, `CREATE ROLE re_role`)
	source := pgtest.DB(t, `CREATE TABLE a AS SELECT 1 AS x`)
	dir := takeDump(t, source)
	target := pgtest.DB(t)
	pgtest.SQL(t, target, `GRANT ALL ON SCHEMA public TO re_role; DO $$ BEGIN EXECUTE format('GRANT ALL ON DATABASE %I TO re_role', current_database()); END $$`)
	t.Cleanup(func() {
		pgtest.SQL(t, target, `DROP OWNED BY re_role`)
		pgtest.SQL(t, admin, `DROP ROLE re_role`)
	})
	o := options(t, dir, target)
	o.Role, o.NoOwner = "re_role", true
	mustRestore(t, o)
	if got := pgtest.SQL(t, target, `SELECT pg_get_userbyid(relowner) FROM pg_class WHERE relname = 'a'`); got != "re_role" {
		t.Errorf("the table belongs to %s", got)
	}
}
