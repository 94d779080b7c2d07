package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// nasty is a name that PostgreSQL takes, and that ends a string, an identifier, a line and a terminal's good behaviour.
const nasty = "x\"; DROP TABLE y; --'; \\\x1b[31m\u009b\u202e\n%s"

// nastyObjects are objects of all kinds with such names. NAME stands for the name, 'NAME' for the literal.
const nastyObjects = `CREATE TABLE y (a int); INSERT INTO y VALUES (1);
CREATE SCHEMA NAME; CREATE TYPE NAME.NAME AS ENUM ('NAME', 'ok'); CREATE TYPE NAME.pair AS (NAME NAME.NAME, n int); CREATE DOMAIN NAME.dom AS text COLLATE "C" CONSTRAINT NAME CHECK (VALUE <> '');
CREATE SEQUENCE NAME.seq; CREATE FUNCTION NAME.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TABLE NAME.tab (NAME int CONSTRAINT NAME PRIMARY KEY, e NAME.NAME, p NAME.pair, d NAME.dom, a NAME.NAME[], r regclass, cash money);
INSERT INTO NAME.tab SELECT g, 'NAME', ROW('NAME', g)::NAME.pair, 'NAME', ARRAY['NAME', NULL]::NAME.NAME[], 'NAME.seq'::regclass, 1 FROM generate_series(1, 100) g;
CREATE INDEX ON NAME.tab (d); CREATE VIEW NAME.vw AS SELECT * FROM NAME.tab; CREATE MATERIALIZED VIEW NAME.mv AS SELECT * FROM NAME.vw; SELECT nextval('NAME.seq');
CREATE TRIGGER NAME BEFORE INSERT ON NAME.tab FOR EACH ROW EXECUTE FUNCTION NAME.f(); COMMENT ON TABLE NAME.tab IS 'NAME'; COMMENT ON COLUMN NAME.tab.NAME IS 'NAME';
CREATE TABLE NAME.root (NAME text) PARTITION BY LIST (NAME); CREATE TABLE NAME.leaf PARTITION OF NAME.root FOR VALUES IN ('NAME'); INSERT INTO NAME.root VALUES ('NAME');
CREATE TABLE NAME.other (a int REFERENCES NAME.tab); INSERT INTO NAME.other VALUES (1); CREATE RULE NAME AS ON DELETE TO NAME.other DO INSTEAD NOTHING;
ALTER TABLE NAME.other ENABLE ROW LEVEL SECURITY; CREATE POLICY NAME ON NAME.other USING (true);`

// nastySQL puts the name in.
func nastySQL() string {
	ident, literal := pg.QuoteIdent(nasty), pg.QuoteLiteral(nasty)
	sql := strings.ReplaceAll(nastyObjects, "'NAME.seq'", pg.QuoteLiteral(ident+".seq"))
	return strings.ReplaceAll(strings.ReplaceAll(sql, "'NAME'", literal), "NAME", ident)
}

// TestNastyNames: a database full of such names goes to and fro whole, no name of it becomes SQL, and none reaches a terminal raw.
func TestNastyNames(t *testing.T) {
	b := &battlefield{program: built(t), env: withServerEnv(t), dump: filepath.Join(t.TempDir(), "dump")}
	source, target, rows := pgtest.DB(t, nastySQL()), pgtest.DB(t), pgtest.DB(t)
	log := filepath.Join(t.TempDir(), "log")
	command := func(code int, args ...string) ran {
		t.Helper()
		r := b.run(t, append(args, "--log-file", log)...)
		harmless(t, args[0]+": standard output", r.stdout)
		harmless(t, args[0]+": standard error", r.stderr)
		if r.code != code {
			t.Fatalf("%q ends with %d, want %d: %s%s", args, r.code, code, r.stdout, r.stderr)
		}
		return r
	}
	command(0, "dump", databaseOf(t, source), "-f", b.dump, "-v", "--progress", "json")
	command(0, "verify", b.dump, "--progress", "json")
	command(0, "verify", b.dump, "--against", databaseOf(t, target), "-v", "--rehearse", "--dry-load")
	command(3, "diff", b.dump, databaseOf(t, target), "-v") // no table is there
	command(0, "inspect", b.dump)
	if r := command(0, "inspect", b.dump, "--json"); !json.Valid(r.stdout) {
		t.Errorf("no JSON: %s", r.stdout)
	}
	command(0, "restore", b.dump, databaseOf(t, target), "-v", "--progress", "json")
	command(0, "diff", b.dump, databaseOf(t, target), "-v")
	command(0, "restore", b.dump, databaseOf(t, rows), "--schema-only", "--progress", "plain")
	command(0, "restore", b.dump, databaseOf(t, rows), "--data-only", "--disable-triggers", "-v", "--json")
	command(3, "restore", b.dump, databaseOf(t, target), "-v") // all is there
	for _, file := range dataFiles(t, b.dump) {
		command(0, "inspect", file)
		command(0, "inspect", file, "--json")
		command(0, "cat", file, "--json-lines")
		command(2, "cat", file, "--columns", "no such")
	}
	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	harmless(t, "the log", content)
	ident := pg.QuoteIdent(nasty)
	for _, query := range []string{`SELECT * FROM y`, `SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM ` + ident + `.tab t`, `SELECT * FROM ` + ident + `.root`, `SELECT * FROM ` + ident + `.other`,
		`SELECT last_value, is_called FROM ` + ident + `.seq`, `SELECT count(*) FROM ` + ident + `.mv`, `SELECT md5(string_agg(relname::text || relkind::text, ',' ORDER BY relname)) FROM pg_class WHERE relnamespace = ` + pg.QuoteLiteral(ident) + `::regnamespace`} {
		want := pgtest.SQL(t, source, query)
		for _, dsn := range []string{target, rows} {
			if got := pgtest.SQL(t, dsn, query); got != want {
				t.Errorf("%s: %s, want %s", query, got, want)
			}
		}
	}
}

// dataFiles are the data files of a dump.
func dataFiles(t *testing.T, dir string) (list []string) {
	t.Helper()
	f := &forged{t: t, dir: dir}
	p, err := os.ReadFile(f.path(format.ManifestName))
	f.check(err)
	m, err := format.ParseManifest(p)
	f.check(err)
	for _, file := range m.Files() {
		if file.Path != format.SchemaName {
			list = append(list, f.path(file.Path))
		}
	}
	return list
}

// TestNastyDatabase: the properties that --create takes from a dump become literals and identifiers, or are refused by name, and nothing else of the server changes.
func TestNastyDatabase(t *testing.T) {
	b := &battlefield{program: built(t), env: withServerEnv(t), dump: filepath.Join(t.TempDir(), "dump")}
	source := pgtest.DB(t, `CREATE TABLE y (a int); INSERT INTO y VALUES (1)`)
	if r := b.run(t, "dump", databaseOf(t, source), "-f", b.dump, "-q"); r.code != 0 {
		t.Fatalf("%s", r.stderr)
	}
	cluster := pgtest.Cluster(t).DSN("postgres")
	const name = "nasty_copy"
	t.Cleanup(func() { pgtest.SQL(t, cluster, `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`) })
	roles := pgtest.SQL(t, cluster, `SELECT string_agg(rolname || rolsuper, ',' ORDER BY oid) FROM pg_roles`)
	f := forge(t, b.dump)
	s := &f.m.Source
	s.Owner, s.Comment = nasty, nasty
	s.Settings = []format.DatabaseSetting{{Name: "work_mem TO '1MB'; DROP TABLE y; --", Value: "1"}, {Name: "search_path", Value: nasty}, {Name: "search_path", Value: `"$user", ` + nasty + `", x`},
		{Name: "application_name", Value: nasty}, {Name: "my.x", Value: nasty, Role: nasty}}
	s.ACL = []format.Grant{{Grantee: nasty, Privilege: "CONNECT"}, {Grantee: "", Privilege: "ALL ON DATABASE postgres TO PUBLIC; --"}, {Grantee: "postgres", Privilege: "CONNECT"}}
	f.seal()
	r := b.run(t, "restore", f.dir, name, "--create", "-v", "--progress", "json")
	harmless(t, "standard output", r.stdout)
	harmless(t, "standard error", r.stderr)
	if r.code != 4 {
		t.Errorf("ends with %d: %s%s", r.code, r.stdout, r.stderr)
	}
	for _, gap := range []string{"is not a name", "is no privilege on a database"} {
		if !strings.Contains(string(r.stdout), gap) {
			t.Errorf("no gap says %q: %s", gap, r.stdout)
		}
	}
	made := pgtest.Cluster(t).DSN(name)
	if got := pgtest.SQL(t, made, `SELECT a FROM public.y`); got != "1" {
		t.Errorf("the table holds %q", got)
	}
	if got := pgtest.SQL(t, made, `SELECT pg_catalog.shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = current_database()`); got != nasty {
		t.Errorf("the comment is %q", got)
	}
	if got := pgtest.SQL(t, cluster, `SELECT string_agg(rolname || rolsuper, ',' ORDER BY oid) FROM pg_roles`); got != roles {
		t.Errorf("roles are %s, and were %s", got, roles)
	}
	for field, change := range map[string]func(s *format.Server){"encoding": func(s *format.Server) { s.Encoding = nasty }, "collate": func(s *format.Server) { s.Collate = nasty }, "provider": func(s *format.Server) { s.Provider = nasty }} {
		f := forge(t, b.dump)
		change(&f.m.Source.Server)
		f.seal()
		r := b.run(t, "restore", f.dir, name+"_2", "--create", "-v", "--progress", "json")
		harmless(t, field+": standard error", r.stderr)
		if r.code == 0 && field != "provider" { // another provider is a warning
			t.Errorf("%s: a database was made: %s", field, r.stdout)
		}
		pgtest.SQL(t, cluster, `DROP DATABASE IF EXISTS `+name+`_2 WITH (FORCE)`)
	}
}
