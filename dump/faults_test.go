package dump_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/netfault"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/internal/progress"
)

const bigTable = `CREATE TABLE big AS SELECT g, repeat('x', 500) AS v FROM generate_series(1, 30000) g; CREATE TABLE small AS SELECT 1 AS x;`

// asleep makes a dump stop at the server, in the middle of its COPY, until it is cancelled.
func asleep(o *dump.Options) {
	o.Where = map[string]string{"small": "pg_catalog.pg_sleep(3600) IS NULL"}
}

const sleeps = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep')"

func TestNoServer(t *testing.T) {
	noLeak(t)
	dsn := pgtest.DB(t)
	d := parse(t, dsn)
	for what, c := range map[string]struct{ dsn, part, hint string }{
		"host":     {"host=nosuch.invalid user=x dbname=x", "nosuch.invalid", "-h"},
		"port":     {"host=127.0.0.1 port=1 user=x dbname=x", "refused", "running"},
		"socket":   {"host=/nosuch user=x dbname=x", "/nosuch", "running"},
		"database": {strings.Replace(dsn, "/"+d.Config.Database, "/nosuch_db", 1), `database "nosuch_db" does not exist`, ""},
		"role":     {dsn + "&user=nosuch_role", "nosuch_role", ""},
	} {
		err := fails(context.Background(), t, options(t, c.dsn), c.part)
		if c.hint != "" {
			hinted(t, err, c.hint)
		}
		if what == "role" && pg.State(err) == "" {
			t.Errorf("the SQLSTATE is lost: %v", err)
		}
	}
	o := options(t, dsn)
	o.Role = "nosuch_role"
	fails(context.Background(), t, o, "nosuch_role")
	o.Role, o.PgBinDir = "", "/nosuch"
	fails(context.Background(), t, o, "/nosuch")
}

// TestFolder: what is there is never touched.
func TestFolder(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE t (a int)`)
	dir := t.TempDir()
	for name, c := range map[string]struct {
		make func(path string) error
		part string
		hint string
	}{
		"strange": {func(p string) error {
			return errors.Join(os.Mkdir(p, 0o700), os.WriteFile(filepath.Join(p, "x"), nil, 0o600))
		}, "not empty", "new or empty"},
		"finished": {func(p string) error {
			return errors.Join(os.Mkdir(p, 0o700), os.WriteFile(filepath.Join(p, format.ManifestName), nil, 0o600))
		}, "finished dump", "never overwritten"},
		"part": {func(p string) error {
			return errors.Join(os.Mkdir(p, 0o700), os.WriteFile(filepath.Join(p, "schema.pgdump.part"), nil, 0o600))
		}, "unfinished dump", "remove it"},
		"data":   {func(p string) error { return os.MkdirAll(filepath.Join(p, format.DataDir), 0o700) }, "unfinished dump", "remove it"},
		"a file": {func(p string) error { return os.WriteFile(p, []byte("x"), 0o600) }, "a file", ""},
	} {
		path := filepath.Join(dir, name)
		if err := c.make(path); err != nil {
			t.Fatal(err)
		}
		before := tool(t, dir, nil, "ls", "-lR", ".")
		o := options(t, dsn)
		o.Dir = path
		_, err := dump.Run(context.Background(), o)
		if err == nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v", name, err)
		}
		if c.hint != "" {
			hinted(t, err, c.hint)
			if !errors.Is(err, dump.ErrNotEmpty) {
				t.Errorf("%s: %v is not ErrNotEmpty", name, err)
			}
		}
		if after := tool(t, dir, nil, "ls", "-lR", "."); after != before {
			t.Errorf("%s: before\n%safter\n%s", name, before, after)
		}
	}
	o := options(t, dsn)
	o.Dir = filepath.Join(dir, "no", "such", "parent")
	fails(context.Background(), t, o, filepath.Join("no", "such"))
	o.Dir = filepath.Join(dir, "a file", "below")
	if _, err := dump.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "a file") {
		t.Errorf("below a file: %v", err)
	}
	o.Dir = filepath.Join(dir, "empty") // is taken as it is, and kept when the dump fails
	if err := os.Mkdir(o.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	o.Where = map[string]string{"t": "nosuch"}
	if _, err := dump.Run(context.Background(), o); err == nil {
		t.Error("a dump with a wrong condition succeeded")
	}
	if entries, err := os.ReadDir(o.Dir); err != nil || len(entries) != 0 {
		t.Errorf("left in a folder that was there: %v, %v", entries, err)
	}
	o.Where = nil
	run(t, o)
	manifest(t, o.Dir)
}

// TestTwoDumpsOneFolder: the second one takes nothing of the first one's away.
func TestTwoDumpsOneFolder(t *testing.T) {
	noLeak(t)
	dsn := pgtest.DB(t, bigTable)
	dir := filepath.Join(t.TempDir(), "dump")
	watcher := connect(t, dsn)
	blocker := holding2(t, dsn)
	o := options(t, dsn)
	o.Dir = dir
	second := start(context.Background(), o) // has found no folder, and waits for a lock
	await(t, watcher, blocked, "public.small")
	o2 := options(t, dsn)
	o2.Dir, o2.Tables = dir, []string{"big"}
	run(t, o2)
	exec1(t, blocker, "COMMIT")
	if r := wait(t, second); !errors.Is(r.err, dump.ErrNotEmpty) {
		t.Errorf("%v", r)
	}
	if m := manifest(t, dir); len(m.Tables) != 1 {
		t.Errorf("the first dump holds %s", tableNames(m))
	}
}

func holding2(t *testing.T, dsn string) *pg.Conn {
	t.Helper()
	c := connect(t, dsn)
	exec1(t, c, "BEGIN; LOCK TABLE public.small IN ACCESS EXCLUSIVE MODE")
	return c
}

// TestWorkerLost: a data connection that goes is made again, and the dump is as if nothing had been.
func TestWorkerLost(t *testing.T) {
	noLeak(t)
	dsn := pgtest.DB(t, bigTable)
	plain := options(t, dsn)
	run(t, plain)
	want := table(t, manifest(t, plain.Dir), "public.big")
	for _, rule := range []netfault.Rule{
		{Match: "COPY ", Times: 1, After: 3 << 20, Then: netfault.Cut}, {Match: "COPY ", Times: 2, After: 1 << 20, Then: netfault.Reset}, {Match: "COPY ", Times: 1, Then: netfault.Cut},
		{Match: "NOWAIT", Times: 1, Then: netfault.Cut}, {Match: "COPY ", Then: netfault.None, Piece: 1000},
	} {
		addr, proxy := proxied(t, pgtest.Cluster(t), dsn, rule)
		o := options(t, addr)
		o.Jobs, o.Tracker = 1, progress.New("dump", "read", "parse", "convert", "write")
		sum := run(t, o)
		m := manifest(t, o.Dir)
		if got := table(t, m, "public.big"); got.Rows != 30000 || got.RowDigest != want.RowDigest || sum.Rows != 30001 {
			t.Errorf("%+v: %d rows", rule, got.Rows)
		}
		warned := strings.Join(o.Tracker.Report().Warnings, "\n")
		if lost := rule.Then != netfault.None; lost != strings.Contains(warned, "connection lost while reading public.") {
			t.Errorf("%+v: warnings %q", rule, warned)
		}
		if s := o.Tracker.Snapshot(); s.Rows != 30001 || proxy.Hits() == 0 {
			t.Errorf("%+v: the tracker counts %d rows after %d hits", rule, s.Rows, proxy.Hits())
		}
	}
	// Not for ever.
	addr, proxy := proxied(t, pgtest.Cluster(t), dsn, netfault.Rule{Match: "COPY ", After: 1 << 20, Then: netfault.Cut})
	o := options(t, addr)
	o.Jobs, o.Tables = 1, []string{"big"}
	fails(context.Background(), t, o, "table public.big, segment 1")
	if proxy.Hits() != 3 {
		t.Errorf("%d tries, want 3", proxy.Hits())
	}
	// A stream has gone out already.
	addr, proxy = proxied(t, pgtest.Cluster(t), dsn, netfault.Rule{Match: "COPY ", Times: 1, After: 3 << 20, Then: netfault.Cut})
	var out strings.Builder
	o = options(t, addr)
	o.Dir, o.Out, o.Tables, o.Compression.Level = "", &out, []string{"big"}, 0
	if _, err := dump.Run(context.Background(), o); err == nil || !pg.ConnectionLost(err) || proxy.Hits() != 1 || strings.Count(out.String(), format.Signature) != 1 {
		t.Errorf("a stream: %v, %d tries, %d signatures", err, proxy.Hits(), strings.Count(out.String(), format.Signature))
	}
}

// TestBackendEnded: an administrator ends the backend of a worker in its COPY.
func TestBackendEnded(t *testing.T) {
	noLeak(t)
	dsn := pgtest.DB(t, bigTable)
	addr, proxy := proxied(t, pgtest.Cluster(t), dsn, netfault.Rule{Match: "COPY ", Times: 1, After: 1 << 20, Then: netfault.Stall})
	o := options(t, addr)
	o.Jobs, o.Tracker = 1, progress.New("dump", "read", "parse", "convert", "write")
	done := start(context.Background(), o)
	watcher := connect(t, dsn)
	await(t, watcher, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%COPY %' AND pid <> pg_backend_pid() AND wait_event = 'ClientWrite')")
	await(t, watcher, "SELECT coalesce(bool_and(pg_terminate_backend(pid)), false) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%COPY %' AND pid <> pg_backend_pid() AND wait_event = 'ClientWrite'")
	proxy.Resume()
	r := wait(t, done)
	if r.err != nil || r.sum.Rows != 30001 || len(o.Tracker.Report().Warnings) == 0 {
		t.Errorf("%v; warnings %q", r, o.Tracker.Report().Warnings)
	}
}

// TestLeaderEnded: without its locks a dump is worth nothing.
func TestLeaderEnded(t *testing.T) {
	noLeak(t)
	dsn := pgtest.DB(t, bigTable)
	o := options(t, dsn)
	asleep(&o)
	done := start(context.Background(), o)
	watcher := connect(t, dsn)
	await(t, watcher, sleeps)
	await(t, watcher, "SELECT coalesce(bool_and(pg_terminate_backend(pid)), false) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pghaul' AND state = 'idle in transaction'")
	r := wait(t, done)
	if r.err == nil || !strings.Contains(r.err.Error(), "holds the snapshot and the locks is gone") {
		t.Errorf("%v", r)
	}
	hinted(t, r.err, "run it again")
	nothingLeft(t, o.Dir)
	noBackends(t, watcher)
	// A single file is whole when the leader turns out to be gone, and goes too.
	o = options(t, dsn)
	asleep(&o)
	o.Dir, o.File, o.Tables = "", filepath.Join(t.TempDir(), "small.pgcopy"), []string{"small"}
	o.Compression.Level = 0
	done = start(context.Background(), o)
	await(t, watcher, sleeps)
	await(t, watcher, "SELECT coalesce(bool_and(pg_terminate_backend(pid)), false) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pghaul' AND state = 'idle in transaction'")
	if r := wait(t, done); r.err == nil {
		t.Errorf("a single file: %v", r)
	}
	if entries, err := os.ReadDir(filepath.Dir(o.File)); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// TestServerGone: the server is killed in the middle.
func TestServerGone(t *testing.T) {
	noLeak(t)
	c := pgtest.Own(t, pgcluster.Options{})
	for what, end := range map[string]func() error{"killed": c.Kill, "shut down": c.Shutdown} {
		dsn := pgtest.DBIn(t, c, bigTable)
		o := options(t, dsn)
		o.DataOnly = true // pg_dump may be the first to say it, in words of its own
		asleep(&o)
		done := start(context.Background(), o)
		watcher := connect(t, dsn)
		await(t, watcher, sleeps)
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if r := wait(t, done); r.err == nil || !pg.ConnectionLost(r.err) {
			t.Errorf("%s: %v", what, r)
		}
		nothingLeft(t, o.Dir)
		if err := c.Restart(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNetworkGone: every connection is cut at once, or goes silent and the user gives up.
func TestNetworkGone(t *testing.T) {
	noLeak(t)
	dsn := pgtest.DB(t, bigTable)
	addr, proxy := proxied(t, pgtest.Cluster(t), dsn, netfault.Rule{})
	o := options(t, addr)
	asleep(&o)
	done := start(context.Background(), o)
	watcher := connect(t, dsn)
	await(t, watcher, sleeps)
	proxy.CutAll()
	if r := wait(t, done); r.err == nil {
		t.Errorf("cut: %v", r)
	}
	nothingLeft(t, o.Dir)

	proxy.SetRule(netfault.Rule{Match: "COPY ", After: 1 << 20, Then: netfault.Stall})
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	o = options(t, addr)
	done = start(ctx, o)
	limited, stop := context.WithTimeout(context.Background(), waitLimit)
	defer stop()
	if err := proxy.WaitHits(limited, 1); err != nil {
		t.Fatal(err)
	}
	cancel(enough)
	if r := wait(t, done); !errors.Is(r.err, enough) {
		t.Errorf("silent: %v", r)
	}
	nothingLeft(t, o.Dir)
}

// TestCancel: at whatever point the user gives up, nothing is left: no file, no session, no goroutine.
func TestCancel(t *testing.T) {
	noLeak(t)
	dsn := pgtest.DB(t, bigTable, `CREATE MATERIALIZED VIEW mv AS SELECT 1 AS x`)
	watcher, enough := connect(t, dsn), errors.New("enough")
	for what, c := range map[string]struct {
		set   func(*dump.Options)
		until string
	}{
		"in COPY":     {asleep, sleeps},
		"in pg_dump":  {func(*dump.Options) {}, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pg_dump')"},
		"at the lock": {func(*dump.Options) {}, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pghaul')"},
	} {
		var blocker *pg.Conn
		if what == "in pg_dump" {
			blocker = connect(t, dsn)
			exec1(t, blocker, "BEGIN; REFRESH MATERIALIZED VIEW public.mv") // its definition cannot be read meanwhile
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		o := options(t, dsn)
		c.set(&o)
		done := start(ctx, o)
		await(t, watcher, c.until)
		cancel(enough)
		if r := wait(t, done); !errors.Is(r.err, enough) {
			t.Errorf("%s: %v", what, r)
		}
		nothingLeft(t, o.Dir)
		if blocker != nil {
			blocker.Close()
		}
		noBackends(t, watcher)
	}
	done, cancel := context.WithCancelCause(context.Background())
	cancel(enough)
	o := options(t, dsn)
	if _, err := dump.Run(done, o); err == nil {
		t.Error("a dump under an ended context succeeded")
	}
	nothingLeft(t, o.Dir)
	// A pipe whose reader has gone.
	r, w := io.Pipe()
	if err := r.CloseWithError(enough); err != nil {
		t.Fatal(err)
	}
	o.Dir, o.Out, o.Tables, o.Compression.Level = "", w, []string{"big"}, 0
	if _, err := dump.Run(context.Background(), o); !errors.Is(err, enough) {
		t.Errorf("a closed pipe: %v", err)
	}
	noBackends(t, watcher)
}

// TestWorkersNeedSlots: a server without a free slot says so.
func TestWorkersNeedSlots(t *testing.T) {
	noLeak(t)
	c := pgtest.Cluster(t)
	dsn := pgtest.DB(t, bigTable)
	d := parse(t, dsn)
	pgtest.SQL(t, c.DSN("postgres"), fmt.Sprintf(`CREATE ROLE dump_two LOGIN; GRANT pg_read_all_data TO dump_two; ALTER ROLE dump_two CONNECTION LIMIT 1; GRANT CONNECT ON DATABASE %q TO dump_two`, d.Config.Database))
	t.Cleanup(func() {
		pgtest.SQL(t, dsn, `DROP OWNED BY dump_two`)
		pgtest.SQL(t, c.DSN("postgres"), `DROP ROLE dump_two`)
	})
	o := options(t, dsn+"&user=dump_two")
	fails(context.Background(), t, o, "too many connections")
}
