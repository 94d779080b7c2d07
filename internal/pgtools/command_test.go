package pgtools

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

func TestMain(m *testing.M) { pgtest.Run(m) }

// realTools finds the machine's programs.
func realTools(t *testing.T) *Tools {
	t.Helper()
	tools, err := Find("", 10)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// script makes Tools of a shell script.
func script(t *testing.T, body string) *Tools {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pg_dump")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return &Tools{PgDump: path, PgRestore: path}
}

// connTo is the shared cluster's database of a DSN that pgtest.DB made.
func connTo(t *testing.T, dsn string) Conn {
	t.Helper()
	c := pgtest.Cluster(t)
	return Conn{Host: c.Host(), Port: c.Port(), User: pgcluster.Superuser, Database: pgtest.SQL(t, dsn, "SELECT current_database()")}
}

func TestDumpListRestore(t *testing.T) {
	ctx := context.Background()
	tools := realTools(t)
	src := pgtest.DB(t, `CREATE TABLE orders (id int PRIMARY KEY, price int); CREATE INDEX orders_idx ON orders (price);
		INSERT INTO orders VALUES (1, 1)`)
	dst := pgtest.DB(t, `CREATE TABLE orders (id int, price int); INSERT INTO orders VALUES (1, 1), (1, 2)`)
	archive := filepath.Join(t.TempDir(), "a.dump")
	if _, err := tools.Dump(ctx, connTo(t, src), "-Fc", "-f", archive); err != nil {
		t.Fatal(err)
	}
	toc, err := tools.List(ctx, archive, "--section=post-data")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range toc {
		kinds = append(kinds, e.Desc+" "+e.Name)
	}
	if got := strings.Join(kinds, ", "); got != "CONSTRAINT orders orders_pkey, INDEX orders_idx" {
		t.Errorf("listing: %s", got)
	}
	var lines int
	tools.Line = func(string) { lines++ }
	res, err := tools.Restore(ctx, connTo(t, dst), nil, "--section=post-data", archive)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Failed) != 1 || res.Ignored != 1 {
		t.Fatalf("failed: %+v, ignored %d", res.Failed, res.Ignored)
	}
	if f := res.Failed[0]; f.Desc != "CONSTRAINT" || f.Name != "orders orders_pkey" || f.DumpID != toc[0].DumpID ||
		!strings.Contains(f.Message, "duplicated") || !strings.Contains(f.Command, "PRIMARY KEY (id)") {
		t.Errorf("got %+v", f)
	}
	if got := pgtest.SQL(t, dst, "SELECT count(*) FROM pg_indexes WHERE tablename = 'orders'"); got != "1" {
		t.Errorf("%s indexes", got)
	}
	if lines != len(res.Stderr) || lines == 0 {
		t.Errorf("the callback saw %d of %d lines", lines, len(res.Stderr))
	}
	var sql strings.Builder
	if _, err := tools.Restore(ctx, Conn{}, &sql, "-f", "-", archive); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(sql.String(), "CREATE INDEX orders_idx") {
		t.Errorf("script lacks the index: %.200s", sql.String())
	}
}

func TestRestoreThatEndsEarly(t *testing.T) {
	dsn := pgtest.DB(t, "CREATE TABLE a (i int)")
	tools, archive := realTools(t), filepath.Join(t.TempDir(), "a.dump")
	if _, err := tools.Dump(context.Background(), connTo(t, dsn), "-Fc", "-f", archive); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--exit-on-error", archive}, {archive + ".missing"}} {
		res, err := tools.Restore(context.Background(), connTo(t, dsn), nil, args...)
		var e *Error
		if !errors.As(err, &e) || e.ExitCode != 1 {
			t.Errorf("%q: %v, %+v", args, err, res)
		}
	}
}

func TestPassword(t *testing.T) {
	c := pgtest.Own(t, pgcluster.Options{TCP: true})
	const password = `p:a\ss 'word" $x`
	pgtest.SQL(t, c.SocketDSN("postgres"), `SET password_encryption = 'scram-sha-256'; CREATE ROLE alice LOGIN SUPERUSER PASSWORD 'p:a\ss ''word" $x'`)
	hba := "local all postgres trust\nlocal all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\n"
	if err := os.WriteFile(filepath.Join(c.DataDir(), "pg_hba.conf"), []byte(hba), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(context.Background()); err != nil {
		t.Fatal(err)
	}
	tmp, archive := t.TempDir(), filepath.Join(t.TempDir(), "a.dump")
	t.Setenv("TMPDIR", tmp)
	t.Setenv("PGHOST", "/nowhere")
	t.Setenv("PGPASSWORD", "wrong")
	tools := realTools(t)
	for _, host := range []string{"127.0.0.1", "localhost", c.SocketDir()} {
		conn := Conn{Host: host, Port: c.Port(), User: "alice", Database: "postgres", Password: password}
		if host == "localhost" {
			conn.Extra = map[string]string{"hostaddr": "127.0.0.1"}
		}
		if _, err := tools.Dump(context.Background(), conn, "-Fc", "-f", archive); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		if _, err := tools.Run(context.Background(), filepath.Join(c.BinDir(), "psql"), conn, "-Xc", "SELECT 1"); err != nil {
			t.Errorf("%s: psql: %v", host, err)
		}
		conn.Password = "other"
		_, err := tools.Dump(context.Background(), conn, "-Fc", "-f", archive)
		if err == nil || !strings.Contains(err.Error(), "password authentication failed") {
			t.Errorf("%s, wrong password: %v", host, err)
		}
		conn.Password = ""
		_, err = tools.Dump(context.Background(), conn, "-Fc", "-f", archive)
		if err == nil || !strings.Contains(err.Error(), "no password supplied") {
			t.Errorf("%s, no password: %v", host, err)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// What another user sees in the process list, and what the process itself has.
func TestPasswordIsNotShown(t *testing.T) {
	tools := script(t, `printf '%s\n' "$@"; env; ls -l "$PGPASSFILE" >&2; cat "$PGPASSFILE" >&2; exit 3`)
	out := &strings.Builder{}
	var log []string
	tools.Line = func(line string) { log = append(log, line) }
	conn := Conn{Host: "db", User: "alice", Database: "shop", Password: "geheim"}
	_, err := tools.Restore(context.Background(), conn, out, "-Fc", "x")
	var e *Error
	if !errors.As(err, &e) || e.ExitCode != 3 {
		t.Fatalf("got %v", err)
	}
	if strings.Contains(out.String(), "geheim") || strings.Contains(strings.Join(e.Args, " "), "geheim") {
		t.Errorf("the password shows: %s", out)
	}
	for _, want := range []string{"-w\n", "host='db' user='alice' dbname='shop'\n", "-Fc\nx\n", "LC_ALL=C\n", "PGPASSFILE="} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q lacks %q", out, want)
		}
	}
	if len(log) != 2 || !strings.HasPrefix(log[0], "-rw-------") || log[1] != "db:5432:*:alice:geheim" {
		t.Errorf("password file: %q", log)
	}
	_, file, _ := strings.Cut(out.String(), "PGPASSFILE=")
	file, _, _ = strings.Cut(file, "\n")
	if _, err := os.Stat(filepath.Dir(file)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", file, err)
	}
}

func TestCancelInterrupts(t *testing.T) {
	tools := script(t, `trap 'echo interrupted >&2; exit 1' INT; echo ready >&2; while :; do sleep 0.01; done`)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tools.Line = func(line string) {
		if line == "ready" {
			cancel()
		}
	}
	lines, err := tools.Dump(ctx, Conn{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(lines) != 2 || lines[1] != "interrupted" {
		t.Errorf("stderr %q", lines)
	}
}

func TestCancelKillsTheDeaf(t *testing.T) {
	tools := script(t, `trap '' INT; echo ready >&2; while :; do sleep 0.01; done`)
	tools.grace = 50 * time.Millisecond
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	cause := errors.New("the leader is gone")
	tools.Line = func(string) { cancel(cause) }
	_, err := tools.Dump(ctx, Conn{})
	var e *Error
	if !errors.Is(err, cause) || !errors.As(err, &e) || e.ExitCode != -1 || err.Error() != "pg_dump: the leader is gone" {
		t.Errorf("got %v", err)
	}
}

// A cancel reaches the query on the server: no backend of pg_dump is left waiting.
func TestCancelOnServer(t *testing.T) {
	dsn := pgtest.DB(t, "CREATE TABLE a (i int)")
	locker := script(t, `exec psql -Xq -d "$1" -c 'BEGIN' -c 'LOCK TABLE a' -c 'SELECT pg_sleep(600)'`)
	lockCtx, unlock := context.WithCancel(context.Background())
	lockDone := make(chan error, 1)
	go func() {
		_, err := locker.Dump(lockCtx, Conn{}, dsn)
		lockDone <- err
	}()
	await(t, dsn, "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'a'::regclass AND granted)")
	ctx, cancel := context.WithCancel(context.Background())
	dumpDone := make(chan error, 1)
	conn, tools := connTo(t, dsn), realTools(t)
	go func() {
		_, err := tools.Dump(ctx, conn, "-Fc", "-f", os.DevNull)
		dumpDone <- err
	}()
	await(t, dsn, "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'a'::regclass AND NOT granted)")
	cancel()
	if err := <-dumpDone; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	await(t, dsn, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'pg_dump' AND datname = current_database())")
	unlock()
	if err := <-lockDone; !errors.Is(err, context.Canceled) {
		t.Errorf("the locking session: %v", err)
	}
}

// await asks until the server says t; the test's own deadline bounds it.
func await(t *testing.T, dsn, query string) {
	t.Helper()
	limit := time.Now().Add(30 * time.Second)
	for pgtest.SQL(t, dsn, query) != "t" {
		if time.Now().After(limit) {
			t.Fatalf("never true: %s", query)
		}
	}
}
