package restore_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// fidelityRoles are the roles that testdata/fidelity.sql names.
const fidelityRoles = `CREATE ROLE fid_owner; CREATE ROLE fid_app; CREATE ROLE fid_reader`

// databaseNames are the databases' names in a pg_dump -s -C, which must differ between source and target.
var databaseNames = regexp.MustCompile(`\bfid_(source|target_\w+)\b`)

// unordered is a table whose columns pg_dump's own definition gives in another order: an attached child has them in its own, one made with
// INHERITS in its parent's.
var unordered = regexp.MustCompile(`(?s)CREATE TABLE main\.late_child \(\n(.*?)\n    CONSTRAINT`)

// definitions gives what pg_dump -s says of a database, line by line.
func definitions(t *testing.T, cluster *pgcluster.Cluster, dsn string) []string {
	t.Helper()
	text := strings.Join(pgtest.Stock(t, cluster.BinDir(), dsn, "-s", "-C"), "")
	if !databaseNames.MatchString(text) {
		t.Errorf("no name of a database: %s finds nothing", databaseNames)
	}
	text = databaseNames.ReplaceAllString(text, "DATABASE")
	columns := unordered.FindStringSubmatchIndex(text)
	if columns == nil {
		t.Fatal("no main.late_child")
	}
	lines := strings.Split(text[columns[2]:columns[3]], "\n")
	slices.Sort(lines)
	return strings.Split(text[:columns[2]]+strings.Join(lines, "\n")+text[columns[3]:], "\n")
}

// TestFidelity carries a database with something of everything there; pg_dump must not see a difference, and every row, sequence and large object
// must be the same.
func TestFidelity(t *testing.T) {
	cluster := pgtest.Own(t, pgcluster.Options{Settings: map[string]string{"wal_level": "logical"}})
	admin, source := cluster.DSN("postgres"), cluster.DSN("fid_source")
	pgtest.SQL(t, admin, fidelityRoles)
	pgtest.SQL(t, admin, `CREATE DATABASE fid_source TEMPLATE template0`)
	pgtest.SQL(t, source, `\i testdata/fidelity.sql`)
	want := definitions(t, cluster, source)
	for name, change := range map[string]func(*dump.Options){
		"whole":    func(*dump.Options) {},
		"segments": func(o *dump.Options) { o.Compression.Level, o.SegmentSize, o.Jobs = 0, 64<<10, 4 },
	} {
		t.Run(name, func(t *testing.T) {
			dir := takeDump(t, source, change)
			target := cluster.DSN("fid_target_" + name)
			o := options(t, dir, target)
			o.Create, o.Jobs = true, 4
			sum := mustRestore(t, o)
			for _, g := range sum.Gaps {
				t.Errorf("gap: %+v", g)
			}
			if len(sum.Unproven) > 0 || sum.Proven != len(sum.Manifest.Tables) {
				t.Errorf("proven %d of %d tables; not proven: %v", sum.Proven, len(sum.Manifest.Tables), sum.Unproven)
			}
			if d := cmp.Diff(want, definitions(t, cluster, target)); d != "" {
				t.Errorf("pg_dump -s of source and target differ:\n%s", d)
			}
			of, on := pgtest.Contents(t, source), pgtest.Contents(t, target)
			if d := cmp.Diff(of, on); d != "" || len(of) < 100 {
				t.Errorf("%d lines, source and target differ:\n%s", len(of), d)
			}
		})
	}
}

// TestCreateWithICU: a database made by --create sorts as the source does, whatever library does it.
func TestCreateWithICU(t *testing.T) {
	cluster := pgtest.Cluster(t)
	admin, source, target := cluster.DSN("postgres"), cluster.DSN("icu_source"), cluster.DSN("icu_target")
	drop := `DROP DATABASE IF EXISTS icu_source WITH (FORCE); DROP DATABASE IF EXISTS icu_target WITH (FORCE)`
	t.Cleanup(func() { pgtest.SQL(t, admin, drop) })
	locale, sorts := `LOCALE_PROVIDER icu ICU_LOCALE 'de-u-kn-true'`, `datlocprovider, daticulocale`
	if pgtest.Version(t) < 150000 { // databases have no ICU locale there: the C library's two, one of them another than the cluster's
		locale, sorts = `LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'`, `datcollate, datctype`
	}
	pgtest.SQL(t, admin, `CREATE DATABASE icu_source TEMPLATE template0 `+locale)
	pgtest.SQL(t, source, `CREATE TABLE a (v text); INSERT INTO a VALUES ('10'), ('9'), ('ä'), ('z'); CREATE ROLE icu_role; ALTER ROLE icu_role IN DATABASE icu_source SET work_mem = '3MB'; COMMENT ON DATABASE icu_source IS 'naïve'`)
	dir := takeDump(t, source)
	pgtest.SQL(t, admin, `DROP ROLE icu_role`)
	o := options(t, dir, target)
	o.Create = true
	sum := mustRestore(t, o)
	wantGaps(t, sum, "DATABASE PROPERTIES icu_target 42704")
	if text := strings.Join(sum.Warnings, "\n"); !strings.Contains(text, "role icu_role") {
		t.Errorf("warnings %q lack the role", text)
	}
	for _, query := range []string{`SELECT ` + sorts + `, shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = current_database()`, `SELECT string_agg(v, ' ' ORDER BY v) FROM a`} {
		same(t, source, target, query)
	}
	pgtest.SQL(t, admin, `CREATE ROLE icu_role`)
	t.Cleanup(func() { pgtest.SQL(t, admin, drop); pgtest.SQL(t, admin, `DROP ROLE icu_role`) })
	o.Resume = true
	wantGaps(t, mustRestore(t, o))
	if got := pgtest.SQL(t, admin, `SELECT setconfig FROM pg_db_role_setting WHERE setrole = 'icu_role'::regrole`); got != "{work_mem=3MB}" {
		t.Errorf("setting of the role: %s", got)
	}
}
