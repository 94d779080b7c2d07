package restore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bytehaul/pghaul/internal/netfault"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// before calls f at the gate in front of a phase.
func (m *migration) before(phase string, f func()) {
	m.to.Gate = func(_ context.Context, at restore.GateInfo) error {
		if at.Next == phase {
			f()
		}
		return nil
	}
}

// held starts a migrate that has copied everything but table a, for which it waits on the target.
func held(t *testing.T, ctx context.Context, m *migration, target string) (holder *pg.Conn, result chan error) {
	t.Helper()
	holder = session(t, target)
	m.before(restore.PhaseData, func() { run(t, holder, `BEGIN; LOCK TABLE public.a IN SHARE MODE`) })
	result = make(chan error, 1)
	go func() {
		sum, err := m.run(ctx)
		if err == nil && sum.Proven != len(sum.Manifest.Tables) {
			err = fmt.Errorf("%d of %d tables proven", sum.Proven, len(sum.Manifest.Tables))
		}
		result <- err
	}()
	watcher := session(t, target)
	ask(t, watcher, 1, `SELECT (to_regclass('pghaul_journal.segment') IS NOT NULL)::int`)
	ask(t, watcher, 3, `SELECT count(DISTINCT target) FROM (SELECT target FROM pghaul_journal.segment UNION ALL SELECT target FROM pghaul_journal.segment_unlogged) s`)
	ask(t, watcher, 1, `SELECT least(count(*), 1) FROM pg_stat_activity WHERE `+ours+` AND wait_event_type = 'Lock'`)
	return holder, result
}

// copied demands that the target holds what the source does, of segmented.
func copied(t *testing.T, source, target string) {
	t.Helper()
	for _, table := range []string{"a", "b", "c", "u"} {
		same(t, source, target, `SELECT count(*), md5(string_agg(x::text, ',' ORDER BY id)) FROM `+table+` x`)
	}
	if got := pgtest.SQL(t, target, `SELECT count(*) FROM pg_namespace WHERE nspname = 'pghaul_journal'`); got != "0" {
		t.Error("the journal is left")
	}
}

const endCopies = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'pghaul%' AND query LIKE '%COPY%'`

// TestMigrateLosesSessions: a worker's session that is lost, on either side, costs a segment's time and nothing else.
func TestMigrateLosesSessions(t *testing.T) {
	for _, side := range []string{"source", "target"} {
		t.Run(side, func(t *testing.T) {
			source, target := pgtest.DB(t, segmented), pgtest.DB(t)
			m := migrating(t, source, target)
			m.from.SegmentSize = 128 << 10
			holder, result := held(t, t.Context(), m, target)
			pgtest.SQL(t, map[string]string{"source": source, "target": target}[side], endCopies)
			run(t, holder, `ROLLBACK`)
			if err := <-result; err != nil {
				t.Fatalf("migrate: %v", err)
			}
			copied(t, source, target)
			if w := m.to.Tracker.Report().Warnings; len(w) == 0 || !strings.Contains(strings.Join(w, "\n"), "connection lost") {
				t.Errorf("warnings %q", w)
			}
			if s := m.to.Tracker.Snapshot(); s.Rows != 20004 || s.Tables.Done != 4 || s.Tables.Failed != 0 {
				t.Errorf("the tracker counts %d rows, %+v", s.Rows, s.Tables)
			}
		})
	}
}

// again resumes a migrate and demands that all is there; what it says of it is returned.
func again(t *testing.T, source, target string, change ...func(*migration)) (*restore.Summary, *migration) {
	t.Helper()
	m := migrating(t, source, target)
	m.from.SegmentSize = 128 << 10
	m.to.Resume = true
	for _, f := range change {
		f(m)
	}
	sum := m.must(t)
	whole(t, sum)
	return sum, m
}

// changeAll changes every row of segmented at the source, so that rows of two snapshots could be told from each other.
const changeAll = `UPDATE a SET v = v || '!'; INSERT INTO a SELECT g, 'more' FROM generate_series(20001, 40000) g; UPDATE b SET n = 7; UPDATE c SET id = id + 10; UPDATE u SET id = 99`

// TestMigrateLosesTheSnapshot: the death of the session that holds it ends the job at once; what was copied is deleted before all is copied again.
func TestMigrateLosesTheSnapshot(t *testing.T) {
	source, target := pgtest.DB(t, segmented), pgtest.DB(t)
	leaks := goleak.IgnoreCurrent()
	m := migrating(t, source, target)
	m.from.SegmentSize = 128 << 10
	holder, result := held(t, t.Context(), m, target)
	pgtest.SQL(t, source, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'pghaul%' AND query NOT LIKE '%COPY%'`)
	err := <-result // while the target still waits
	run(t, holder, `ROLLBACK`)
	var failed *restore.Failed
	if !errors.As(err, &failed) || failed.Phase != restore.PhaseData || !failed.Again || failed.Loaded < 3 {
		t.Fatalf("error %v", err)
	}
	if !strings.Contains(err.Error(), "holds the snapshot") || !strings.Contains(failed.Hint(), "copies all again") {
		t.Errorf("error %q, hint %q", err, failed.Hint())
	}
	pgtest.SQL(t, source, changeAll)
	sum, m := again(t, source, target)
	copied(t, source, target)
	if sum.Rows != 40004 {
		t.Errorf("%d rows", sum.Rows)
	}
	if w := strings.Join(m.to.Tracker.Report().Warnings, "\n"); !strings.Contains(w, "will be deleted") {
		t.Errorf("warnings %q", w)
	}
	goleak.VerifyNone(t, leaks, goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgconn/ctxwatch.(*ContextWatcher).Watch.func1"))
}

// TestMigrateUnderAnothersSnapshot: as long as somebody holds the snapshot, an interrupted migrate goes on under it, though the tables grow.
func TestMigrateUnderAnothersSnapshot(t *testing.T) {
	source, target := pgtest.DB(t, segmented), pgtest.DB(t)
	owner := session(t, source)
	run(t, owner, `BEGIN ISOLATION LEVEL REPEATABLE READ`)
	var id string
	if err := owner.QueryRow(t.Context(), `SELECT pg_export_snapshot()`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	want := pgtest.SQL(t, source, `SELECT count(*), md5(string_agg(x::text, ',' ORDER BY id)) FROM a x`)
	m := migrating(t, source, target)
	m.from.SegmentSize, m.from.Snapshot = 128<<10, id
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	holder, result := held(t, ctx, m, target)
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	run(t, holder, `ROLLBACK`)
	pgtest.SQL(t, source, changeAll)
	sum, m := again(t, source, target, func(m *migration) { m.from.Snapshot = id })
	if got := pgtest.SQL(t, target, `SELECT count(*), md5(string_agg(x::text, ',' ORDER BY id)) FROM a x`); got != want {
		t.Errorf("a: %s, want %s", got, want)
	}
	if s := m.to.Tracker.Snapshot(); sum.Rows != 20004 || s.MovedRows != 20000 {
		t.Errorf("%d rows, of which this run moved %d", sum.Rows, s.MovedRows)
	}
}

// TestMigrateGoesOnWithinATable: under the same snapshot what is copied of a table stays, and the rest is cut anew, though the table has grown.
func TestMigrateGoesOnWithinATable(t *testing.T) {
	source, target := pgtest.DB(t, segmented), pgtest.DB(t, `CREATE TABLE a (id int, v text, CONSTRAINT part CHECK (id < 12000)); CREATE TABLE b (id int, n numeric(5,2));
CREATE TABLE c (id int); CREATE UNLOGGED TABLE u (id int)`)
	owner := session(t, source)
	run(t, owner, `BEGIN ISOLATION LEVEL REPEATABLE READ`)
	var id string
	if err := owner.QueryRow(t.Context(), `SELECT pg_export_snapshot()`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	want := pgtest.SQL(t, source, `SELECT count(*), md5(string_agg(x::text, ',' ORDER BY id)) FROM a x`)
	m := migrating(t, source, target)
	m.from.SegmentSize, m.from.Snapshot, m.from.DataOnly, m.to.DataOnly, m.to.Jobs = 128<<10, id, true, true, 1
	_, err := m.run(t.Context())
	var failed *restore.Failed
	if !errors.As(err, &failed) || pg.State(err) != "23514" {
		t.Fatalf("error %v", err)
	}
	there := pgtest.SQL(t, target, `SELECT count(*) FROM a`)
	if there == "0" || there != pgtest.SQL(t, target, `SELECT sum(rows) FROM pghaul_journal.segment WHERE target LIKE '%"a"'`) {
		t.Fatalf("%s rows of a are in", there)
	}
	pgtest.SQL(t, target, `ALTER TABLE a DROP CONSTRAINT part`)
	pgtest.SQL(t, source, changeAll)
	_, m = again(t, source, target, func(m *migration) { m.from.Snapshot, m.from.DataOnly, m.to.DataOnly = id, true, true })
	if got := pgtest.SQL(t, target, `SELECT count(*), md5(string_agg(x::text, ',' ORDER BY id)) FROM a x`); got != want {
		t.Errorf("a: %s, want %s", got, want)
	}
	if s := m.to.Tracker.Snapshot(); s.MovedRows > 20004-5000 {
		t.Errorf("%d rows moved once more, %s were there", s.MovedRows, there)
	}
}

// TestMigrateRestartedTarget: a target that comes back goes on where it was, and what its crash has emptied is copied again.
func TestMigrateRestartedTarget(t *testing.T) {
	cluster := pgtest.Own(t, pgcluster.Options{})
	source, target := pgtest.DB(t, segmented), pgtest.DBIn(t, cluster)
	m := migrating(t, source, target)
	m.from.SegmentSize = 128 << 10
	_, result := held(t, t.Context(), m, target)
	if err := cluster.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Fatalf("migrate: %v", err)
	}
	copied(t, source, target)
	if w := strings.Join(m.to.Tracker.Report().Warnings, "\n"); !strings.Contains(w, "public.u lost its rows") {
		t.Errorf("warnings %q", w)
	}
}

// TestMigrateTargetStaysAway: patience ends, and another run goes on once the target is back.
func TestMigrateTargetStaysAway(t *testing.T) {
	cluster := pgtest.Own(t, pgcluster.Options{})
	source, target := pgtest.DB(t, segmented), pgtest.DBIn(t, cluster)
	m := migrating(t, source, target)
	m.from.SegmentSize, m.to.Patience = 128<<10, 300*time.Millisecond
	_, result := held(t, t.Context(), m, target)
	if err := cluster.Shutdown(); err != nil {
		t.Fatal(err)
	}
	err := <-result
	var failed *restore.Failed
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "did not come back") {
		t.Fatalf("error %v", err)
	}
	if err := cluster.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	pgtest.SQL(t, source, changeAll)
	again(t, source, target)
	copied(t, source, target)
}

// TestMigrateRestartedSource: the snapshot is gone with its server.
func TestMigrateRestartedSource(t *testing.T) {
	cluster := pgtest.Own(t, pgcluster.Options{})
	source, target := pgtest.DBIn(t, cluster, segmented), pgtest.DB(t)
	m := migrating(t, source, target)
	m.from.SegmentSize = 128 << 10
	holder, result := held(t, t.Context(), m, target)
	if err := errors.Join(cluster.Kill(), cluster.Restart(t.Context())); err != nil {
		t.Fatal(err)
	}
	err := <-result
	run(t, holder, `ROLLBACK`)
	var failed *restore.Failed
	if !errors.As(err, &failed) || !failed.Again {
		t.Fatalf("error %v", err)
	}
	pgtest.SQL(t, source, changeAll)
	again(t, source, target)
	copied(t, source, target)
}

// proxied gives a database's DSN by way of a proxy.
func proxied(t *testing.T, c *pgcluster.Cluster, dsn string) (string, *netfault.Proxy) {
	t.Helper()
	p, err := netfault.New("tcp", fmt.Sprintf("127.0.0.1:%d", c.Port()), netfault.Rule{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return strings.Replace(dsn, fmt.Sprint(c.Port()), fmt.Sprint(p.Port()), 1), p
}

// TestMigrateCutNetwork: all connections of one side at once.
func TestMigrateCutNetwork(t *testing.T) {
	cluster := pgtest.Own(t, pgcluster.Options{TCP: true})
	t.Run("target", func(t *testing.T) {
		source, target := pgtest.DB(t, segmented), pgtest.DBIn(t, cluster)
		through, proxy := proxied(t, cluster, target)
		m := migrating(t, source, through)
		m.from.SegmentSize = 128 << 10
		holder, result := held(t, t.Context(), m, target)
		proxy.CutAll()
		run(t, holder, `ROLLBACK`)
		if err := <-result; err != nil {
			t.Fatalf("migrate: %v", err)
		}
		copied(t, source, target)
	})
	t.Run("source", func(t *testing.T) {
		source, target := pgtest.DBIn(t, cluster, segmented), pgtest.DB(t)
		through, proxy := proxied(t, cluster, source)
		m := migrating(t, through, target)
		m.from.SegmentSize = 128 << 10
		holder, result := held(t, t.Context(), m, target)
		proxy.CutAll()
		err := <-result
		run(t, holder, `ROLLBACK`)
		var failed *restore.Failed
		if !errors.As(err, &failed) || !failed.Again {
			t.Fatalf("error %v", err)
		}
		pgtest.SQL(t, source, changeAll)
		again(t, source, target)
		copied(t, source, target)
	})
}

// TestMigrateMeetsAChangeOfTheSource: a session that waits for an exclusive lock would make workers wait for ever behind it.
func TestMigrateMeetsAChangeOfTheSource(t *testing.T) {
	source, target := pgtest.DB(t, segmented), pgtest.DB(t)
	m := migrating(t, source, target)
	other := session(t, source)
	waits := make(chan error, 1)
	m.before(restore.PhaseData, func() {
		go func() {
			waits <- other.Exec(context.Background(), `ALTER TABLE public.a ADD COLUMN late int DEFAULT 5`)
		}()
		ask(t, session(t, source), 1, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'ALTER%' AND wait_event_type = 'Lock'`)
	})
	_, err := m.run(t.Context())
	var failed *restore.Failed
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "exclusive lock on public.a") || !strings.Contains(failed.Hint(), "--resume") {
		t.Fatalf("error %v", err)
	}
	if err := <-waits; err != nil {
		t.Fatal(err)
	}
	m = migrating(t, source, target)
	m.to.Resume = true
	var refused *restore.Refused
	if _, err := m.run(t.Context()); !errors.As(err, &refused) || !strings.Contains(err.Error(), "public.a.late") {
		t.Fatalf("error %v", err)
	}
	pgtest.SQL(t, target, `ALTER TABLE a ADD COLUMN late int DEFAULT 5`)
	again(t, source, target)
	copied(t, source, target)
}

// TestMigrateCopiesLargeObjectsAgain: they are of the snapshot that the rows are of.
func TestMigrateCopiesLargeObjectsAgain(t *testing.T) {
	source, target := pgtest.DB(t, segmented, `SELECT lo_from_bytea(1001, '\x01020304'), lo_from_bytea(1002, '\x05')`), pgtest.DB(t)
	stopped := errors.New("stopped")
	for _, phase := range []string{restore.PhaseData, restore.PhaseLargeObjects, restore.PhaseSequences} {
		m := migrating(t, source, target)
		m.to.Resume = phase != restore.PhaseData
		m.to.Gate = func(_ context.Context, at restore.GateInfo) error {
			if at.Next == phase {
				return stopped
			}
			return nil
		}
		if _, err := m.run(t.Context()); !errors.Is(err, stopped) {
			t.Fatalf("error %v", err)
		}
		if phase == restore.PhaseSequences {
			break // all rows and large objects are there, and stay
		}
		pgtest.SQL(t, source, `SELECT lo_unlink(oid) FROM pg_largeobject_metadata; SELECT lo_from_bytea(1001, '\x0a'), lo_from_bytea(0, '\x0b'); UPDATE c SET id = id + 1`)
	}
	m := migrating(t, pgtest.DB(t, `CREATE TABLE x AS SELECT 1 AS id; SELECT lo_from_bytea(0, '\x01')`), pgtest.DB(t))
	m.to.StopAfter = restore.PhaseData
	if sum := m.must(t); !sum.Again || sum.Stopped != restore.PhaseData {
		t.Errorf("%+v", sum)
	}
	const large = `SELECT oid, lo_get(oid) FROM pg_largeobject_metadata ORDER BY oid`
	want := pgtest.SQL(t, source, large)
	pgtest.SQL(t, source, `SELECT lo_unlink(1001); UPDATE c SET id = -1`)
	again(t, source, target)
	if got := pgtest.SQL(t, target, large); got != want {
		t.Errorf("large objects\n%s\nwant\n%s", got, want)
	}
	if got := pgtest.SQL(t, target, `SELECT sum(id) FROM c`); got != "7" {
		t.Errorf("sum %s", got)
	}
}

// TestMigrateSaysThatLargeObjectsGo: what an interrupted run has made can't be told from what others have made since.
func TestMigrateSaysThatLargeObjectsGo(t *testing.T) {
	source, target := pgtest.DB(t, segmented, `SELECT lo_from_bytea(1001, '\x01020304')`), pgtest.DB(t)
	stopped := errors.New("stopped")
	m := migrating(t, source, target)
	m.to.Gate = func(_ context.Context, at restore.GateInfo) error {
		if at.Next == restore.PhaseSequences {
			return stopped
		}
		return nil
	}
	if _, err := m.run(t.Context()); !errors.Is(err, stopped) {
		t.Fatalf("error %v", err)
	}
	pgtest.SQL(t, target, `UPDATE pghaul_journal.phase SET finished = NULL WHERE name = 'large-objects'; SELECT lo_from_bytea(4711, '\x07')`)
	m = migrating(t, source, target)
	m.to.Resume = true
	sum := m.must(t)
	if text := strings.Join(sum.Warnings, "\n"); !strings.Contains(text, "all its large objects, 2 of them, will be removed") {
		t.Errorf("warnings %q", text)
	}
	if got := pgtest.SQL(t, target, `SELECT string_agg(oid::text, ' ') FROM pg_largeobject_metadata`); got != "1001" {
		t.Errorf("large objects %s", got)
	}
}

// TestMigrateShowsBothServers: what the backends of both sides wait for stands beside the stages.
func TestMigrateShowsBothServers(t *testing.T) {
	source, target := pgtest.DB(t, `CREATE TABLE slow AS SELECT g AS id FROM generate_series(1, 30) g`), pgtest.DB(t)
	m := migrating(t, source, target)
	m.from.Where = map[string]string{"slow": "pg_catalog.pg_sleep(0.1) IS NOT NULL"}
	whole(t, m.must(t))
	s := m.to.Tracker.Snapshot()
	found := map[string]string{}
	for _, w := range s.Waits {
		for _, share := range w.Shares {
			found[w.Server] += share.Event + " "
		}
	}
	if !strings.Contains(found["source"], "Timeout/PgSleep") || !strings.Contains(found["target"], "Client/ClientRead") {
		t.Errorf("waits %q", found)
	}
	if !strings.HasPrefix(s.Verdict.Sentence, "source-bound: ") {
		t.Errorf("verdict %q", s.Verdict.Sentence)
	}
}

// TestMigrateTargetDiskFull: room is all that it takes to go on, with all rows of a new snapshot.
func TestMigrateTargetDiskFull(t *testing.T) {
	source := pgtest.DB(t, `CREATE TABLE a AS SELECT g AS id, repeat(md5(g::text), 5) AS v FROM generate_series(1, 50000) g`)
	target := pgtest.DB(t)
	makeRoom := smallDisk(t, target)
	dataOnly := func(m *migration) {
		m.from.DataOnly, m.to.DataOnly, m.from.SegmentSize = true, true, 1<<20
	}
	m := migrating(t, source, target)
	dataOnly(m)
	_, err := m.run(t.Context())
	var failed *restore.Failed
	if !errors.As(err, &failed) || !failed.Again || pg.State(err) != "53100" {
		t.Fatalf("error %v", err)
	}
	if h := failed.Hint(); !strings.Contains(h, "disk is full") || !strings.Contains(h, "copies all again") {
		t.Errorf("hint %q", h)
	}
	pgtest.SQL(t, source, `UPDATE a SET v = 'small' WHERE id % 2 = 0`)
	makeRoom()
	again(t, source, target, dataOnly)
	same(t, source, target, `SELECT count(*), sum(id), sum(hashtext(v)) FROM a`)
}
