package restore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

const singleFrom = `CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE a (id int NOT NULL, m mood[], v text, o regclass); INSERT INTO a SELECT g, '{ok}', repeat('v', g % 50), 'pg_class' FROM generate_series(1, 5000) g`

// oneFile dumps table a into a file; with a plain name the stream that goes to a pipe.
func oneFile(t *testing.T, dsn, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	o := dump.Options{DSN: parse(t, dsn), Tables: []string{"a"}, File: path}
	var b bytes.Buffer
	switch name {
	case "a.pgcopy.zst":
		o.Compression = format.Compression{Level: 1}
	case "stream.zst":
		o.File, o.Out, o.Compression = "", &b, format.Compression{Level: 1}
	case "stream":
		o.File, o.Out = "", &b
	}
	if _, err := dump.Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if o.Out != nil {
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// single gives the options of a restore of one file, or of a stream of it.
func single(t *testing.T, path, target string, piped bool) restore.Options {
	t.Helper()
	var in io.Reader
	name := path
	if piped {
		p, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		in, name = bytes.NewReader(p), "-"
	}
	f, err := restore.OpenFile(t.Context(), name, in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	o := options(t, "", target)
	o.Origin = f
	return o
}

const singleTable = `CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE a (id int NOT NULL, m mood[], v text, o regclass)`

func TestSingleFile(t *testing.T) {
	source := pgtest.DB(t, singleFrom)
	for _, name := range []string{"a.pgcopy", "a.pgcopy.zst", "stream", "stream.zst"} {
		path := oneFile(t, source, name)
		for _, piped := range []bool{false, true} {
			target := pgtest.DB(t, singleTable)
			sum := mustRestore(t, single(t, path, target, piped))
			if sum.Rows != 5000 || sum.Proven != 1 || len(sum.Gaps) > 0 {
				t.Errorf("%s: %+v", name, sum)
			}
			if unsure := strings.Contains(strings.Join(sum.Warnings, "\n"), "does not say how many rows"); unsure != (name == "stream") {
				t.Errorf("%s: warnings %q", name, sum.Warnings)
			}
			same(t, source, target, `SELECT count(*), sum(id), md5(string_agg(a::text, ',' ORDER BY id)) FROM a`)
			untouched(t, target)

			// Once more: refused, then in the place of what is there, all in one transaction.
			refusal(t, single(t, path, target, piped), "preflight A", "holds rows already")
			o := single(t, path, target, piped)
			o.OnExisting = restore.Truncate
			if sum := mustRestore(t, o); sum.Proven != 1 {
				t.Errorf("%s: %+v", name, sum)
			}
			same(t, source, target, `SELECT count(*) FROM a`)
		}
	}
}

func TestSingleFileMapped(t *testing.T) {
	path := oneFile(t, pgtest.DB(t, singleFrom), "a.pgcopy.zst")
	target := pgtest.DB(t, singleTable, `CREATE SCHEMA s; CREATE TABLE s.parts (id bigint NOT NULL, v text, m mood[], o regclass) PARTITION BY RANGE (id);
CREATE TABLE s.p1 PARTITION OF s.parts FOR VALUES FROM (0) TO (100); CREATE TABLE s.p2 PARTITION OF s.parts DEFAULT; INSERT INTO s.parts VALUES (7)`)
	o := single(t, path, target, true)
	o.Map, o.OnExisting = []string{"a=s.parts"}, restore.Truncate
	if sum := mustRestore(t, o); sum.Proven != 1 {
		t.Errorf("%+v", sum)
	}
	if got := pgtest.SQL(t, target, `SELECT (SELECT count(*) FROM s.p1), (SELECT count(*) FROM s.parts), (SELECT count(*) FROM a)`); got != "99|5000|0" {
		t.Error(got)
	}
}

func TestSingleFileRefused(t *testing.T) {
	source := pgtest.DB(t, singleFrom)
	path := oneFile(t, source, "a.pgcopy.zst")
	empty := pgtest.DB(t)
	refusal(t, single(t, path, empty, false), "preflight A", "no such table", `CREATE TABLE "public"."a" ("id" integer NOT NULL, "m" "public"."mood"[], "v" text, "o" regclass)`)
	other := pgtest.DB(t, `CREATE TYPE mood AS ENUM ('ok'); CREATE TABLE a (id int NOT NULL, m mood[], v text, o regclass)`)
	refusal(t, single(t, path, other, true), "preflight A", `"sad"`)
	untouched(t, other, "a")
	for want, set := range map[string]func(*restore.Options){"nothing to resume": func(o *restore.Options) { o.Resume = true }, "no definitions": func(o *restore.Options) { o.Create = true }} {
		o := single(t, path, other, false)
		set(&o)
		if _, err := restore.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("%v, want %s", err, want)
		}
	}

	// A damaged file is refused before, a damaged stream takes its rows back, and what was there stays.
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p[len(p)*3/4] ^= 1
	bad := filepath.Join(t.TempDir(), "bad.pgcopy.zst")
	if err := os.WriteFile(bad, p, 0o600); err != nil {
		t.Fatal(err)
	}
	target := pgtest.DB(t, singleTable, `INSERT INTO a VALUES (7)`)
	o := single(t, bad, target, false)
	o.OnExisting = restore.Truncate
	refusal(t, o, "preflight A", "bad.pgcopy.zst")
	for range 2 { // and once more: nothing is left of the first try
		o = single(t, bad, target, true)
		o.OnExisting = restore.Truncate
		_, err = restore.Run(context.Background(), o)
		var damage *format.Error
		var failed *restore.Failed
		if !errors.As(err, &damage) || errors.As(err, &failed) {
			t.Errorf("%v", err)
		}
		if got := pgtest.SQL(t, target, `SELECT count(*), min(id) FROM a`); got != "1|7" {
			t.Errorf("%s rows", got)
		}
	}
	if _, err := restore.OpenFile(t.Context(), "-", strings.NewReader("no dump")); !errors.Is(err, format.ErrSignature) && !errors.Is(err, format.ErrTruncated) {
		t.Error(err)
	}
}

// TestCheckSingle: a file, or a stream, is checked against a server as a dump is.
func TestCheckSingle(t *testing.T) {
	path := oneFile(t, pgtest.DB(t, singleFrom), "a.pgcopy.zst")
	for _, piped := range []bool{false, true} {
		r, err := restore.Check(context.Background(), restore.CheckOptions{Options: single(t, path, pgtest.DB(t, singleTable), piped), DryLoad: !piped})
		if err != nil || !r.OK() || r.Files.Rows != 5000 && piped || r.As != "restore --data-only" {
			t.Errorf("%+v, %v", r, err)
		}
		r, err = restore.Check(context.Background(), restore.CheckOptions{Options: single(t, path, pgtest.DB(t), piped)})
		if err != nil || r.OK() || len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Hint, "CREATE TABLE") {
			t.Errorf("%+v, %v", r, err)
		}
	}
}
