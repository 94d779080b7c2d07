package dump_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bytehaul/pghaul/internal/netfault"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// blocked asks whether a session waits for a lock on a table.
const blocked = "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = pg_catalog.to_regclass($1)::oid AND NOT granted)"

// holding opens a session that holds an exclusive lock on the table a, in a transaction.
func holding(t *testing.T, dsn string) *pg.Conn {
	t.Helper()
	c := connect(t, dsn)
	exec1(t, c, "BEGIN; LOCK TABLE public.a IN ACCESS EXCLUSIVE MODE")
	return c
}

// TestChangedBeforeLock: what happens to tables between the first look at them and the lock is in the dump, or not, but never by half.
func TestChangedBeforeLock(t *testing.T) {
	noLeak(t)
	for what, c := range map[string]struct {
		sql    string
		tables string
		rows   map[string]int64
	}{
		"dropped":         {"DROP TABLE public.a", "public.b", map[string]int64{"public.b": 2}},
		"truncated":       {"TRUNCATE public.a", "public.a public.b", map[string]int64{"public.a": 0, "public.b": 2}},
		"filled again":    {"TRUNCATE public.a; INSERT INTO public.a VALUES (7)", "public.a public.b", map[string]int64{"public.a": 1, "public.b": 2}},
		"rolled back":     {"SAVEPOINT s; TRUNCATE public.a; DELETE FROM public.b; ROLLBACK TO s", "public.a public.b", map[string]int64{"public.a": 1000, "public.b": 2}},
		"altered":         {"ALTER TABLE public.a ALTER x TYPE text, ADD y int DEFAULT 3", "public.a public.b", map[string]int64{"public.a": 1000, "public.b": 2}},
		"renamed":         {"ALTER TABLE public.a RENAME TO z", "public.b public.z", map[string]int64{"public.z": 1000, "public.b": 2}},
		"moved":           {"CREATE SCHEMA s; ALTER TABLE public.a SET SCHEMA s", "public.b s.a", map[string]int64{"s.a": 1000, "public.b": 2}},
		"replaced":        {"DROP TABLE public.a; CREATE TABLE public.a (z text); INSERT INTO public.a VALUES ('new')", "public.a public.b", map[string]int64{"public.a": 1, "public.b": 2}},
		"column renamed":  {"ALTER TABLE public.a RENAME x TO z", "public.a public.b", map[string]int64{"public.a": 1000, "public.b": 2}},
		"clustered":       {"CREATE INDEX ax ON public.a (x); CLUSTER public.a USING ax", "public.a public.b", map[string]int64{"public.a": 1000, "public.b": 2}},
		"reindexed":       {"CREATE INDEX ax ON public.a (x); REINDEX TABLE public.a", "public.a public.b", map[string]int64{"public.a": 1000, "public.b": 2}},
		"another created": {"CREATE TABLE public.c AS SELECT 1 AS x", "public.a public.b public.c", map[string]int64{"public.a": 1000, "public.b": 2, "public.c": 1}},
		"schema dropped":  {"DROP SCHEMA other CASCADE", "public.a public.b", map[string]int64{"public.a": 1000, "public.b": 2}},
	} {
		dsn := pgtest.DB(t, `CREATE TABLE a (x int); INSERT INTO a SELECT generate_series(1, 1000); CREATE TABLE b (x int); INSERT INTO b VALUES (1); CREATE SCHEMA other`)
		if what == "schema dropped" {
			pgtest.SQL(t, dsn, "CREATE TABLE other.t (x int)")
		}
		holder, watcher := holding(t, dsn), connect(t, dsn)
		done := start(context.Background(), options(t, dsn))
		await(t, watcher, blocked, "public.a")
		exec1(t, holder, c.sql+"; INSERT INTO public.b VALUES (2); COMMIT")
		r := wait(t, done)
		if r.err != nil {
			t.Errorf("%s: %v", what, r.err)
			continue
		}
		m := manifest(t, r.sum.Dir)
		if got := tableNames(m); got != c.tables {
			t.Errorf("%s: tables %s, want %s", what, got, c.tables)
		}
		for name, rows := range c.rows {
			if got := table(t, m, name).Rows; got != rows {
				t.Errorf("%s: %d rows of %s, want %d", what, got, name, rows)
			}
		}
		if what == "altered" {
			if cols := table(t, m, "public.a").Columns; len(cols) != 2 || cols[0].TypeName != "text" {
				t.Errorf("%s: columns %+v", what, cols)
			}
		}
	}
}

// TestRestless: a table that is emptied and filled all the time is dumped in one of its states.
func TestRestless(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE a (x int); INSERT INTO a SELECT generate_series(1, 100)`)
	c := connect(t, dsn)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if err := c.Exec(context.Background(), "BEGIN; TRUNCATE public.a; INSERT INTO public.a SELECT generate_series(1, 100); COMMIT"); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	var r result
	for range 5 { // TRUNCATE queues up behind the leader now and then: that is refused with a hint, never dumped as empty
		o := options(t, dsn)
		if r = wait(t, start(context.Background(), o)); r.err == nil {
			break
		}
		if !strings.Contains(r.err.Error(), "could not obtain lock") && !strings.Contains(r.err.Error(), "statement timeout") {
			t.Errorf("%v", r.err)
		}
		hinted(t, r.err, "")
		nothingLeft(t, o.Dir)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if r.err == nil && r.sum.Rows != 100 {
		t.Errorf("%d rows, want 100", r.sum.Rows)
	}
}

func TestLockTimeout(t *testing.T) {
	noLeak(t)
	dsn := pgtest.DB(t, `CREATE TABLE a (x int); CREATE TABLE b (x int)`)
	holding(t, dsn)
	o := options(t, dsn)
	o.LockTimeout = 50 * time.Millisecond
	hinted(t, fails(context.Background(), t, o, "could be locked within 50ms"), "--lock-timeout")
	// A table that is not wanted may be locked by whom it pleases.
	o.ExcludeTables = []string{"a"}
	if sum := run(t, o); len(sum.Manifest.Tables) != 1 {
		t.Errorf("%+v", sum.Manifest)
	}
	// While waiting without end, a cancel ends it.
	ctx, cancel := context.WithCancel(context.Background())
	o = options(t, dsn)
	done := start(ctx, o)
	watcher := connect(t, dsn)
	await(t, watcher, blocked, "public.a")
	cancel()
	if r := wait(t, done); r.err == nil {
		t.Errorf("cancelled: %v", r)
	}
	nothingLeft(t, o.Dir)
}

// TestQueuedTruncate: somebody waits for an exclusive lock behind the leader when workers and pg_dump come for theirs.
func TestQueuedTruncate(t *testing.T) {
	noLeak(t)
	for _, queued := range []struct {
		sql        string
		schemaOnly bool
	}{
		{"TRUNCATE public.a", false}, {"TRUNCATE public.a", true}, {"ALTER TABLE public.a ADD y int", false}, {"ALTER TABLE public.a ALTER x TYPE text", false}, {"ALTER TABLE public.a RENAME TO z", false},
		{"DROP TABLE public.a", false}, {"VACUUM FULL public.a", false}, {"CLUSTER public.a USING ax", false},
	} {
		schemaOnly := queued.schemaOnly
		dsn := pgtest.DB(t, `CREATE TABLE a (x int); INSERT INTO a VALUES (1); CREATE INDEX ax ON a (x)`)
		addr, proxy := proxied(t, pgtest.Cluster(t), dsn, netfault.Rule{Match: "SET TRANSACTION SNAPSHOT", Then: netfault.Stall})
		o := options(t, addr)
		o.SchemaOnly = schemaOnly
		o.LockTimeout = 2 * time.Second
		done := start(context.Background(), o)
		ctx, stop := context.WithTimeout(context.Background(), waitLimit)
		defer stop()
		if err := proxy.WaitHits(ctx, 1); err != nil { // the leader has its locks, the next has none
			t.Fatal(err)
		}
		truncater, watcher := connect(t, dsn), connect(t, dsn)
		truncated := make(chan error, 1)
		go func() { truncated <- truncater.Exec(context.Background(), queued.sql) }()
		await(t, watcher, blocked, "public.a")
		proxy.SetRule(netfault.Rule{})
		proxy.Resume()
		r := wait(t, done)
		if r.err == nil {
			t.Fatalf("%+v: %v", queued, r)
		}
		if !schemaOnly && !strings.Contains(r.err.Error(), "55P03") {
			t.Errorf("%s: %v", queued.sql, r.err)
		}
		hinted(t, r.err, map[bool]string{false: "end that session's TRUNCATE", true: "exclusive lock"}[schemaOnly])
		nothingLeft(t, o.Dir)
		if err := <-truncated; err != nil {
			t.Error(err)
		}
	}
}

// TestBehindTheLock: what needs no exclusive lock on the table, or comes for another one, goes on beside the dump, and is not in it.
func TestBehindTheLock(t *testing.T) {
	noLeak(t)
	dsn := pgtest.DB(t, `CREATE TABLE a (x int); INSERT INTO a SELECT generate_series(1, 1000); CREATE INDEX ax ON a (x)`)
	addr, proxy := proxied(t, pgtest.Cluster(t), dsn, netfault.Rule{Match: "SET TRANSACTION SNAPSHOT", Then: netfault.Stall})
	o := options(t, addr)
	done := start(context.Background(), o)
	ctx, stop := context.WithTimeout(context.Background(), waitLimit)
	defer stop()
	if err := proxy.WaitHits(ctx, 1); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"REINDEX TABLE public.a", "CREATE TABLE public.later AS SELECT 1 AS x", "INSERT INTO public.a VALUES (0)", "UPDATE public.a SET x = -x", "VACUUM public.a", "ANALYZE public.a",
		"CREATE INDEX ON public.a ((x + 1))"} {
		pgtest.SQL(t, dsn, sql)
	}
	proxy.SetRule(netfault.Rule{})
	proxy.Resume()
	r := wait(t, done)
	if r.err != nil {
		t.Fatal(r.err)
	}
	if m := manifest(t, o.Dir); tableNames(m) != "public.a" || r.sum.Rows != 1000 {
		t.Errorf("%d rows of %s, want those of the snapshot", r.sum.Rows, tableNames(m))
	}
}

// TestForeignSnapshot: --snapshot shows what its owner sees.
func TestForeignSnapshot(t *testing.T) {
	noLeak(t)
	dsn := pgtest.DB(t, `CREATE TABLE a (x int); INSERT INTO a SELECT generate_series(1, 1000); CREATE TABLE b (x int); INSERT INTO b VALUES (1)`)
	owner := connect(t, dsn)
	export := func() string {
		exec1(t, owner, "ROLLBACK")
		id, err := owner.ExportSnapshot(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	o := options(t, dsn)
	o.Snapshot = export()
	pgtest.SQL(t, dsn, "DELETE FROM a; INSERT INTO b SELECT generate_series(1, 10)")
	if sum := run(t, o); sum.Rows != 1001 {
		t.Errorf("%d rows under the snapshot, want 1001", sum.Rows)
	}
	for sql, part := range map[string]string{
		"TRUNCATE b": "public.b was truncated or rewritten", "ALTER TABLE b ALTER x TYPE bigint": "public.b was truncated or rewritten", "CREATE TABLE c (x int)": "", "CREATE TABLE c (x int); DROP TABLE b; CREATE TABLE b (x int)": "public.b was dropped",
		"ALTER TABLE b RENAME TO bb": "public.b", "ALTER TABLE b ADD y int DEFAULT 1": "", "VACUUM FULL b": "public.b was truncated or rewritten", "CREATE INDEX bx ON b (x); CLUSTER b USING bx": "public.b was truncated or rewritten",
		"ALTER TABLE b RENAME TO bb; ALTER TABLE bb RENAME TO b": "", "DROP TABLE b": "public.b was dropped",
	} {
		pgtest.SQL(t, dsn, "DROP TABLE IF EXISTS b, bb, c; CREATE TABLE b (x int); INSERT INTO b VALUES (1)")
		o := options(t, dsn)
		o.Snapshot = export()
		pgtest.SQL(t, dsn, sql)
		if part == "" {
			if sum := run(t, o); tableNames(sum.Manifest) != "public.a public.b" || len(table(t, sum.Manifest, "public.b").Columns) != 1 {
				t.Errorf("%s: %s is dumped", sql, tableNames(sum.Manifest))
			}
			continue
		}
		hinted(t, fails(context.Background(), t, o, part), "again")
	}
	for id, part := range map[string]string{"nonsense": "invalid snapshot identifier", "00000003-00000001-1": "invalid snapshot identifier", "'; DROP TABLE b; --": "invalid snapshot identifier", "../../PG_VERSION": "invalid snapshot identifier"} {
		o := options(t, dsn)
		o.Snapshot = id
		fails(context.Background(), t, o, part)
	}
}

// TestWriters: a writer that never rests keeps two tables in step in every commit, and so must the dump.
func TestWriters(t *testing.T) {
	noLeak(t)
	dsn := pgtest.DB(t, `CREATE SEQUENCE parent_id; CREATE SEQUENCE child_id; CREATE TABLE parent (id int PRIMARY KEY, children int NOT NULL); CREATE TABLE child (id int PRIMARY KEY, parent int NOT NULL REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
INSERT INTO parent SELECT nextval('parent_id'), 2 FROM generate_series(1, 200); INSERT INTO child SELECT nextval('child_id'), id FROM parent, generate_series(1, 2); CREATE TABLE ballast AS SELECT g, repeat('x', 500) FROM generate_series(1, 20000) g`)
	target := pgtest.DB(t, `CREATE TABLE parent (id int, children int); CREATE TABLE child (id int, parent int)`)
	for _, jobs := range []int{4, 1} {
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		writer := connect(t, dsn)
		go func() {
			var err error
			n := 0
			for ; err == nil && (ctx.Err() == nil || n < 5); n++ {
				err = writer.Exec(context.Background(), `SET search_path = public; BEGIN; INSERT INTO child SELECT nextval('child_id'), p.id FROM (SELECT id FROM parent ORDER BY random() LIMIT 1) p; UPDATE parent p SET children = (SELECT count(*) FROM child c WHERE c.parent = p.id); COMMIT;
BEGIN; WITH np AS (INSERT INTO parent (id, children) VALUES (nextval('parent_id'), 1) RETURNING id) INSERT INTO child SELECT nextval('child_id'), id FROM np; COMMIT;
BEGIN; DELETE FROM child WHERE parent = (SELECT min(id) FROM parent); DELETE FROM parent WHERE id = (SELECT min(id) FROM parent); COMMIT`)
			}
			done <- err
		}()
		o := options(t, dsn)
		o.Jobs, o.SegmentSize = jobs, 16<<10
		sum := run(t, o)
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		pgtest.SQL(t, target, "TRUNCATE parent, child")
		for i, k := range sum.Manifest.Tables {
			if k.Name == "ballast" {
				if len(k.Segments) < 100 || k.Rows != 20000 {
					t.Errorf("ballast: %d segments, %d rows", len(k.Segments), k.Rows)
				}
				continue
			}
			load(t, o, target, &sum.Manifest.Tables[i])
		}
		if got := pgtest.SQL(t, target, "SELECT (SELECT sum(children) FROM parent) = (SELECT count(*) FROM child), (SELECT count(*) FROM child c WHERE NOT EXISTS (SELECT FROM parent p WHERE p.id = c.parent)), count(*) > 0 FROM parent"); got != "t|0|t" {
			t.Errorf("-j %d: in step, orphans, rows: %s", jobs, got)
		}
	}
}
