package restore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// session is a connection that a test holds open.
func session(t *testing.T, dsn string) *pg.Conn {
	t.Helper()
	c, err := pg.Connect(context.Background(), parse(t, dsn), pg.Options{AppName: "holder"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func run(t *testing.T, c *pg.Conn, sql string) {
	t.Helper()
	if err := c.Exec(context.Background(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// ask repeats a query of one number until it is what is wanted.
func ask(t *testing.T, c *pg.Conn, want int64, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var got int64
	for ctx.Err() == nil {
		if err := c.QueryRow(ctx, sql).Scan(&got); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if got == want {
			return
		}
	}
	t.Fatalf("%s: %d, want %d", sql, got, want)
}

const ours = `application_name LIKE 'pghaul%' AND datname = current_database()`

// sessionsEnd demands that no session of pghaul stays in a database. A backend ends a moment after its client has said goodbye.
func sessionsEnd(t *testing.T, dsn string) {
	t.Helper()
	ask(t, session(t, dsn), 0, `SELECT count(*) FROM pg_stat_activity WHERE `+ours)
}

// blocked starts a restore that has loaded everything but table a, for which it waits.
func blocked(t *testing.T, ctx context.Context, dir, target string) (holder *pg.Conn, result chan error) {
	t.Helper()
	o := options(t, dir, target)
	o.StopAfter = restore.PhasePreData
	if sum := mustRestore(t, o); sum.Stopped != restore.PhasePreData {
		t.Fatalf("stopped after %q", sum.Stopped)
	}
	holder = session(t, target)
	run(t, holder, `BEGIN; LOCK TABLE public.a IN SHARE MODE`)
	o = options(t, dir, target)
	o.Resume = true
	result = make(chan error, 1)
	go func() {
		_, err := restore.Run(ctx, o)
		result <- err
	}()
	watcher := session(t, target)
	ask(t, watcher, 1, `SELECT least(count(*), 1) FROM pg_stat_activity WHERE `+ours+` AND wait_event_type = 'Lock'`) // the other worker may wait too
	ask(t, watcher, 2, `SELECT count(DISTINCT target) FROM pghaul_journal.segment`)
	return holder, result
}

// segmented has a table of several segments, and two of one.
const segmented = `CREATE TABLE a (id int PRIMARY KEY, v text); INSERT INTO a SELECT g, repeat('v', g % 50) FROM generate_series(1, 20000) g;
CREATE TABLE b (id int, n numeric(5,2)); INSERT INTO b VALUES (1, 1.5); CREATE TABLE c (id int); INSERT INTO c VALUES (1), (2); CREATE UNLOGGED TABLE u (id int); INSERT INTO u VALUES (1);`

func inSegments(o *dump.Options) { o.SegmentSize = 128 << 10 }

func TestKilledBackendResumes(t *testing.T) {
	source, target := pgtest.DB(t, segmented), pgtest.DB(t)
	dir := takeDump(t, source, inSegments)
	holder, result := blocked(t, context.Background(), dir, target)
	run(t, holder, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE `+ours+` AND wait_event_type = 'Lock'; ROLLBACK`)
	err := <-result
	var failed *restore.Failed
	if !errors.As(err, &failed) {
		t.Fatalf("error %v", err)
	}
	if !strings.Contains(err.Error(), "did not finish") || !strings.Contains(err.Error(), "table public.a, segment") || !strings.Contains(failed.Hint(), "--resume") {
		t.Errorf("error %q, hint %q", err, failed.Hint())
	}
	t.Run("another restore", func(t *testing.T) {
		refusal(t, options(t, dir, target), "preflight A", "unfinished restore of this dump", "--resume")
		other := takeDump(t, source)
		o := options(t, other, target)
		refusal(t, o, "preflight A", "unfinished restore of dump")
		o = options(t, dir, target)
		o.Resume, o.Tables = true, []string{"b"}
		refusal(t, o, "preflight A", "options")
	})
	o := options(t, dir, target)
	o.Resume = true
	sum := mustRestore(t, o)
	for _, table := range []string{"a", "b", "c", "u"} {
		same(t, source, target, `SELECT count(*), md5(string_agg(x::text, ',' ORDER BY id)) FROM `+table+` x`)
	}
	if sum.Proven != 4 || sum.Rows != 20004 {
		t.Errorf("%d tables proven, %d rows", sum.Proven, sum.Rows)
	}
	if snap := o.Tracker.Snapshot(); snap.Rows != 20004 || snap.MovedRows == snap.Rows {
		t.Errorf("tracker: %d rows, %d of them moved by this run", snap.Rows, snap.MovedRows)
	}
}

func TestCancelLeavesNothingRunning(t *testing.T) {
	source, target := pgtest.DB(t, segmented), pgtest.DB(t)
	dir := takeDump(t, source, inSegments)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	holder, result := blocked(t, ctx, dir, target)
	t.Run("a second one is refused", func(t *testing.T) {
		o := options(t, dir, target)
		o.Resume = true
		refusal(t, o, "preflight A", "another restore is under way")
	})
	cancel()
	err := <-result
	var failed *restore.Failed
	if !errors.Is(err, context.Canceled) || !errors.As(err, &failed) {
		t.Fatalf("error %v", err)
	}
	if failed.Phase != restore.PhaseData || failed.Loaded < 2 || failed.Loaded >= failed.Of || failed.JournalSchema == "" {
		t.Errorf("%+v", failed)
	}
	run(t, holder, `ROLLBACK`)
	ask(t, holder, 0, `SELECT count(*) FROM pg_stat_activity WHERE `+ours)
	holder.Close()
	o := options(t, dir, target)
	o.Resume = true
	mustRestore(t, o)
	same(t, source, target, `SELECT count(*), sum(id) FROM a`)
}

func TestCrashedServerResumes(t *testing.T) {
	cluster := pgtest.Own(t, pgcluster.Options{})
	source := pgtest.DB(t, segmented)
	target := pgtest.DBIn(t, cluster)
	dir := takeDump(t, source, inSegments)
	o := options(t, dir, target)
	o.StopAfter = restore.PhaseData
	mustRestore(t, o)
	if err := cluster.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Restart(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := pgtest.SQL(t, target, `SELECT count(*) FROM u`); got != "0" {
		t.Fatalf("the unlogged table has %s rows after a crash", got)
	}
	o = options(t, dir, target)
	o.Resume = true
	sum := mustRestore(t, o)
	for _, table := range []string{"a", "b", "c", "u"} {
		same(t, source, target, `SELECT count(*), sum(id) FROM `+table)
	}
	if sum.Proven != 4 {
		t.Errorf("%d tables proven", sum.Proven)
	}
}

func TestStopAfterEveryPhase(t *testing.T) {
	source := pgtest.DB(t, varied)
	dir := takeDump(t, source)
	target := pgtest.DB(t)
	for i, phase := range []string{restore.PhasePreData, restore.PhaseData, restore.PhaseLargeObjects, restore.PhaseSequences, restore.PhaseProof, restore.PhasePostData, restore.PhaseMatViews} {
		o := options(t, dir, target)
		o.Resume, o.StopAfter = i > 0, phase
		if sum := mustRestore(t, o); sum.Stopped != phase {
			t.Errorf("stopped after %q, want %q", sum.Stopped, phase)
		}
	}
	o := options(t, dir, target)
	o.Resume = true
	sum := mustRestore(t, o)
	sameState(t, source, target)
	if len(sum.Gaps) > 0 || sum.Stopped != "" {
		t.Errorf("%+v", sum)
	}
	untouched(t, target)
}

// An interrupted pg_restore has made some of its entries: the second run must not take them for failures.
func TestSectionsAgain(t *testing.T) {
	source := pgtest.DB(t, varied)
	dir := takeDump(t, source)
	for _, phase := range []string{restore.PhasePreData, restore.PhaseLargeObjects, restore.PhasePostData} {
		t.Run(phase, func(t *testing.T) {
			target := pgtest.DB(t)
			o := options(t, dir, target)
			o.StopAfter = phase
			mustRestore(t, o)
			pgtest.SQL(t, target, fmt.Sprintf(`UPDATE pghaul_journal.phase SET finished = NULL WHERE name = '%s'`, phase))
			if phase == restore.PhasePostData {
				pgtest.SQL(t, target, `DROP INDEX shop.orders_price; ALTER TABLE shop.orders DROP CONSTRAINT orders_pkey`)
			}
			o = options(t, dir, target)
			o.Resume = true
			sum := mustRestore(t, o)
			if len(sum.Gaps) > 0 {
				t.Errorf("gaps: %+v", sum.Gaps)
			}
			sameState(t, source, target)
		})
	}
}

func TestGapsAreRetried(t *testing.T) {
	cluster := pgtest.Cluster(t)
	pgtest.SQL(t, cluster.DSN("postgres"), `CREATE ROLE gone_owner`)
	source := pgtest.DB(t, `CREATE TABLE a (id int, v text); INSERT INTO a VALUES (1, 'x'), (2, 'y'); ALTER TABLE a OWNER TO gone_owner; CREATE TABLE b (id int); GRANT SELECT ON b TO gone_owner;
CREATE FUNCTION bad(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 / (SELECT count(*) FROM public.b)::int'; CREATE INDEX a_bad ON a (id); INSERT INTO b VALUES (1); ALTER TABLE a ADD UNIQUE (v);`)
	dir := takeDump(t, source)
	pgtest.SQL(t, source, `DROP OWNED BY gone_owner; DROP TABLE IF EXISTS a`)
	pgtest.SQL(t, cluster.DSN("postgres"), `DROP ROLE gone_owner`)
	target := pgtest.DB(t)
	sum := mustRestore(t, options(t, dir, target))
	if len(sum.Gaps) != 2 {
		t.Fatalf("gaps: %+v", sum.Gaps)
	}
	for _, g := range sum.Gaps {
		if g.SQLState != "42704" || !strings.Contains(g.Message, "gone_owner") || !strings.HasPrefix(g.Name, "public.") {
			t.Errorf("gap %+v", g)
		}
	}
	if len(sum.Warnings) == 0 || !strings.Contains(sum.Warnings[0], "role gone_owner") {
		t.Errorf("warnings: %q", sum.Warnings)
	}
	if sum.Proven != 2 {
		t.Errorf("%d tables proven", sum.Proven)
	}
	o := options(t, dir, target)
	o.Resume = true
	if again := mustRestore(t, o); len(again.Gaps) != 2 {
		t.Errorf("gaps of a second try: %+v", again.Gaps)
	}
	pgtest.SQL(t, cluster.DSN("postgres"), `CREATE ROLE gone_owner`)
	t.Cleanup(func() {
		pgtest.SQL(t, target, `DROP OWNED BY gone_owner; DROP ROLE gone_owner`)
	})
	if last := mustRestore(t, o); len(last.Gaps) != 0 {
		t.Errorf("gaps of the last try: %+v", last.Gaps)
	}
	if got := pgtest.SQL(t, target, `SELECT relowner::regrole FROM pg_class WHERE oid = 'public.a'::regclass`); got != "gone_owner" {
		t.Errorf("owner %s", got)
	}
	untouched(t, target)
}

// A unique index that rows violate is a gap for as long as they do: "duplicate key" is not "exists already".
func TestViolatedKeyStaysAGap(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, `CREATE TABLE a (id int PRIMARY KEY, v int UNIQUE); INSERT INTO a VALUES (1, 1), (2, 2); CREATE PUBLICATION pub FOR TABLE a`))
	target := pgtest.DB(t, `CREATE PUBLICATION pub`)
	o := options(t, dir, target)
	o.StopAfter = restore.PhaseProof
	mustRestore(t, o)
	pgtest.SQL(t, target, `INSERT INTO a VALUES (3, 2)`)
	for range 2 {
		o = options(t, dir, target)
		o.Resume = true
		sum := mustRestore(t, o)
		states := map[string]string{}
		for _, g := range sum.Gaps {
			states[g.Name] = g.SQLState
		}
		// The publication is another one, which happens to have the name.
		if states["public.a a_v_key"] != "23505" || states["pub"] != "42710" || len(states) != 2 {
			t.Fatalf("gaps: %+v", sum.Gaps)
		}
	}
	pgtest.SQL(t, target, `DELETE FROM a WHERE id = 3; DROP PUBLICATION pub`)
	o = options(t, dir, target)
	o.Resume = true
	if sum := mustRestore(t, o); len(sum.Gaps) > 0 {
		t.Errorf("gaps: %+v", sum.Gaps)
	}
	if got := pgtest.SQL(t, target, `SELECT count(*) FROM pg_constraint WHERE conrelid = 'a'::regclass`); got != "2" {
		t.Errorf("%s constraints, want 2", got)
	}
}

func TestCancelInPostData(t *testing.T) {
	source, target := pgtest.DB(t, varied), pgtest.DB(t)
	dir := takeDump(t, source)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	o := options(t, dir, target)
	o.StopAfter = restore.PhaseProof
	mustRestore(t, o)
	holder := session(t, target)
	run(t, holder, `BEGIN; LOCK TABLE shop.orders IN ROW EXCLUSIVE MODE`)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o = options(t, dir, target)
	o.Resume = true
	result := make(chan error, 1)
	go func() {
		_, err := restore.Run(ctx, o)
		result <- err
	}()
	watcher := session(t, target)
	ask(t, watcher, 1, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pg_restore' AND wait_event_type = 'Lock'`)
	cancel()
	err := <-result
	var failed *restore.Failed
	if !errors.Is(err, context.Canceled) || !errors.As(err, &failed) || failed.Phase != restore.PhasePostData {
		t.Fatalf("error %v", err)
	}
	ask(t, watcher, 0, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name IN ('pg_restore', 'pghaul restore')`)
	run(t, holder, `ROLLBACK`)
	holder.Close()
	watcher.Close()
	o = options(t, dir, target)
	o.Resume = true
	if sum := mustRestore(t, o); len(sum.Gaps) > 0 {
		t.Errorf("gaps: %+v", sum.Gaps)
	}
	sameState(t, source, target)
}
