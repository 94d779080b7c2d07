package restore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/restore"
)

func checkOptions(t *testing.T, dir, dsn string, change ...func(*restore.CheckOptions)) restore.CheckOptions {
	t.Helper()
	o := restore.CheckOptions{Options: options(t, dir, dsn)}
	o.Tracker = progress.New("verify", "read", "parse", "convert", "check")
	for _, f := range change {
		f(&o)
	}
	return o
}

func check(t *testing.T, o restore.CheckOptions) *restore.CheckReport {
	t.Helper()
	r, err := restore.Check(context.Background(), o)
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	return r
}

// speaks demands that the errors (or warnings) of a check speak of all the words.
func speaks(t *testing.T, r *restore.CheckReport, s restore.Severity, words ...string) {
	t.Helper()
	text := ""
	for _, f := range r.Findings {
		if f.Severity == s {
			text += f.Object + ": " + f.Dump + " | " + f.Target + " | " + f.Hint + "\n"
		}
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("no %s speaks of %q:\n%s", s, w, text)
		}
	}
	if s == restore.SeverityError && r.OK() == (text != "") {
		t.Errorf("OK is %t with\n%s", r.OK(), text)
	}
}

// fingerprint is what a check must leave as it was.
func fingerprint(t *testing.T, dsn string) string {
	t.Helper()
	return pgtest.SQL(t, dsn, `SELECT 'relation', n.nspname, relname, relfilenode::text FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_toast'
UNION ALL SELECT 'schema', nspname, '', '' FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp_' UNION ALL SELECT 'sequence', schemaname, sequencename, coalesce(last_value::text, '-') FROM pg_sequences
UNION ALL SELECT 'database', datname, '', '' FROM pg_database WHERE datname ~ '^pghaul' ORDER BY 1, 2, 3`)
}

func dataOnly(o *restore.CheckOptions) { o.DataOnly = true }
func dry(o *restore.CheckOptions)      { o.DryLoad = true }
func rehearse(o *restore.CheckOptions) { o.Rehearse = true }

func TestCheck(t *testing.T) {
	source := pgtest.DB(t, varied)
	dir := takeDump(t, source)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("empty target", func(t *testing.T) {
		target := pgtest.DB(t)
		before := fingerprint(t, target)
		r := check(t, checkOptions(t, dir, target))
		speaks(t, r, restore.SeverityError)
		if r.As != "restore" || r.Files.Rows == 0 || r.DryLoad != nil || r.Rehearsed {
			t.Errorf("%+v", r)
		}
		if after := fingerprint(t, target); after != before {
			t.Errorf("before: %s\nafter: %s", before, after)
		}
		mustRestore(t, options(t, dir, target)) // as it was said
		r = check(t, checkOptions(t, dir, target))
		speaks(t, r, restore.SeverityError, "shop.orders:", "holds rows already", "trigger tr")
		if r.As != "restore --data-only" {
			t.Errorf("checked as %q", r.As)
		}
	})
	t.Run("all but the database", func(t *testing.T) {
		target := pgtest.Cluster(t).DSN("still_to_be_made")
		r := check(t, checkOptions(t, dir, target, func(o *restore.CheckOptions) { o.Create = true }))
		if speaks(t, r, restore.SeverityError); r.As != "restore --create" {
			t.Errorf("checked as %q", r.As)
		}
		if _, err := restore.Check(context.Background(), checkOptions(t, dir, target)); err == nil || !strings.Contains(err.Error(), "still_to_be_made") {
			t.Errorf("error %v", err)
		}
		r = check(t, checkOptions(t, dir, pgtest.DB(t), func(o *restore.CheckOptions) { o.Create = true }))
		speaks(t, r, restore.SeverityError, "exists already")
	})
	t.Run("damaged", func(t *testing.T) {
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(copied, "data", "*orders*", "*"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		if err := os.Truncate(files[0], 5000); err != nil {
			t.Fatal(err)
		}
		r := check(t, checkOptions(t, copied, pgtest.DB(t)))
		if r.OK() || len(r.Files.Findings) != 1 || len(r.Findings) != 0 {
			t.Errorf("%+v, files %+v", r, r.Files)
		}
		if err := os.Remove(filepath.Join(copied, format.ManifestName)); err != nil {
			t.Fatal(err)
		}
		if r := check(t, checkOptions(t, copied, pgtest.DB(t))); r.OK() || r.Files.Findings[0].Kind != "unfinished" && r.Files.Findings[1].Kind != "unfinished" {
			t.Errorf("files %+v", r.Files.Findings)
		}
	})
}

func TestCheckDrift(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, threeTables))
	t.Run("some tables", func(t *testing.T) {
		target := pgtest.DB(t, `CREATE TYPE mood AS ENUM ('ok'); CREATE TABLE a (id date, v text, m mood); CREATE TABLE c (id int8)`)
		before := fingerprint(t, target)
		r := check(t, checkOptions(t, dir, target))
		speaks(t, r, restore.SeverityError, "public.a.id", "type date", "type public.mood", `"sad"`, "public.b:", "no such table", "ADD VALUE")
		if after := fingerprint(t, target); after != before {
			t.Errorf("before: %s\nafter: %s", before, after)
		}
	})
	t.Run("missing extension and role", func(t *testing.T) {
		dir := takeDump(t, pgtest.DB(t, threeTables))
		editManifest(t, dir, func(m *format.Manifest) {
			m.Extensions = append(m.Extensions, format.Extension{Name: "no_such_extension", Version: "1"})
			m.Roles = append(m.Roles, "nobody_here")
		})
		r := check(t, checkOptions(t, dir, pgtest.DB(t)))
		speaks(t, r, restore.SeverityError, "extension no_such_extension", "install")
		speaks(t, r, restore.SeverityWarning, "role nobody_here")
		speaks(t, check(t, checkOptions(t, dir, pgtest.DB(t, threeTables+`TRUNCATE a, b, c`), dataOnly)), restore.SeverityError)
	})
	t.Run("encoding", func(t *testing.T) {
		source := inEncoding(t, "check_latin1", "LATIN1")
		pgtest.SQL(t, source, `CREATE TABLE a (t text); INSERT INTO a VALUES ('x')`)
		dir := takeDump(t, source)
		latin9 := inEncoding(t, "check_latin9", "LATIN9")
		speaks(t, check(t, checkOptions(t, dir, latin9)), restore.SeverityError, "LATIN1", "LATIN9", "no conversion")
		pgtest.SQL(t, latin9, `CREATE TABLE a (t text)`)
		r := check(t, checkOptions(t, dir, latin9, dry))
		speaks(t, r, restore.SeverityError, "LATIN1", "LATIN9", "no conversion")
		if n := strings.Count(fmt.Sprint(r.Findings), "no conversion"); n != 1 {
			t.Errorf("said %d times", n)
		}
	})
	t.Run("lock and journal", func(t *testing.T) {
		target := pgtest.DB(t, `CREATE SCHEMA pghaul_journal`)
		r := check(t, checkOptions(t, dir, target))
		speaks(t, r, restore.SeverityError, "schema pghaul_journal", "no journal")
		speaks(t, check(t, checkOptions(t, dir, target, func(o *restore.CheckOptions) { o.NoJournal = true })), restore.SeverityError)
	})
	t.Run("another restore", func(t *testing.T) {
		dir := takeDump(t, pgtest.DB(t, threeTables))
		target := pgtest.DB(t)
		ctx, cancel := context.WithCancel(context.Background())
		holder, result := blocked(t, ctx, dir, target)
		defer holder.Close()
		r := check(t, checkOptions(t, dir, target))
		speaks(t, r, restore.SeverityError, "another restore is under way")
		cancel()
		if err := <-result; err == nil {
			t.Error("the restore was not cancelled")
		}
	})
}

// takenTables are the tables of a dump.
func takenTables(t *testing.T, dir string) []format.ManifestTable {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	m, err := format.ReadManifest(root)
	if err != nil {
		t.Fatal(err)
	}
	return m.Tables
}

func noSuchLocale(m *format.Manifest) { m.Source.Server.Collate = "xx_XX.UTF-8" }
