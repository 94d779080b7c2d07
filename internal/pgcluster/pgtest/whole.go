package pgtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Stock returns what the pg_dump of the folder binDir makes of a database, line by line, without the key that it draws for every run.
func Stock(t testing.TB, binDir, dsn string, args ...string) []string {
	t.Helper()
	cmd := exec.Command(filepath.Join(binDir, "pg_dump"), append(args, "-d", dsn)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pg_dump: %v: %s", err, stderr.Bytes())
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, `\restrict `) && !strings.HasPrefix(line, `\unrestrict `) {
			lines = append(lines, line)
		}
	}
	return lines
}

// contents are queries over everything that a database holds besides its definitions. Columns go by name: an attached child has them in its own order,
// one that pg_dump makes with INHERITS in its parent's. A hash of an enum's label is that of its OID, which differs from database to database: rows hashed
// by it (in partitions named by_enum_…) are compared at their root.
var contents = []string{
	`SELECT format('SELECT %L, count(*), md5(string_agg(r, chr(10) ORDER BY r COLLATE "C")) FROM (SELECT ROW(%s)::text AS r FROM %s %s) x', c.oid::regclass,
 (SELECT coalesce(string_agg(quote_ident(attname), ', ' ORDER BY attname), '') FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped), CASE relkind WHEN 'r' THEN 'ONLY' ELSE '' END, c.oid::regclass)
 FROM pg_class c WHERE relkind IN ('r', 'p', 'm') AND relispopulated AND relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) AND relname !~ '^by_enum_' ORDER BY c.oid::regclass::text COLLATE "C" \gexec`,
	// log_cnt is left out: how many values are logged ahead is not a part of the state.
	`SELECT format('SELECT %L, last_value, is_called FROM %s', oid::regclass, oid::regclass) FROM pg_class WHERE relkind = 'S' ORDER BY oid::regclass::text COLLATE "C" \gexec`,
	`SELECT oid::regclass::text COLLATE "C", relispopulated FROM pg_class WHERE relkind = 'm' ORDER BY 1`,
	`SELECT oid, lomowner::regrole, lomacl, obj_description(oid, 'pg_largeobject'), md5(lo_get(oid)) FROM pg_largeobject_metadata ORDER BY 1`,
	`SELECT indexrelid::regclass::text COLLATE "C", indisvalid, indisready FROM pg_index WHERE indexrelid >= 16384 AND indexrelid::regclass::text !~ '^pg_toast' ORDER BY 1`,
}

// Contents returns what a database holds besides its definitions, line by line: a digest of each relation's rows, the states of sequences, large
// objects, and whether materialized views are populated and indexes valid.
func Contents(t testing.TB, dsn string) []string {
	t.Helper()
	var lines []string
	for _, query := range contents {
		lines = append(lines, strings.Split(SQL(t, dsn, "SET search_path = ''; "+query), "\n")...)
	}
	return lines
}

// Datasets are the public sample databases that [Dataset] knows.
var Datasets = []string{"pagila", "chinook", "northwind"}

// ofOtherDatabases are the lines of a script that would leave the database that it is loaded into.
var ofOtherDatabases = regexp.MustCompile(`(?m)^(DROP DATABASE|CREATE DATABASE|\\c ).*$`)

// Dataset returns the SQL script of a public sample database, a folder of its own in the folder that PGHAUL_DATASETS names, else beside the
// checkout. They are no part of the project: the test is skipped where they are missing.
func Dataset(t testing.TB, name string) string {
	t.Helper()
	folder := os.Getenv("PGHAUL_DATASETS")
	if folder == "" {
		folder = filepath.Join(checkout(t), "..", "shared", "datasets")
	}
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("no sample databases (%s): %v; PGHAUL_DATASETS names their folder", strings.Join(Datasets, ", "), err)
	}
	scripts, err := filepath.Glob(filepath.Join(folder, name, "*.sql"))
	if err != nil || len(scripts) != 1 {
		t.Fatalf("scripts %v, error %v", scripts, err)
	}
	sql, err := os.ReadFile(scripts[0])
	if err != nil {
		t.Fatal(err)
	}
	return ofOtherDatabases.ReplaceAllString(string(sql), "")
}

// checkout is the folder of go.mod, above that of the package under test.
func checkout(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = above
	}
}
