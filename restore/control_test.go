package restore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/control"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/restore"
)

// pollLimit is how long a busy machine may take for what comes at once on an idle one.
const pollLimit = time.Minute

// wide has four tables of about 16 MiB each.
const wide = `
CREATE TABLE a AS SELECT g AS id, repeat(md5(g::text), 8) AS v FROM generate_series(1, 60000) g;
CREATE TABLE b AS SELECT * FROM a; CREATE TABLE c AS SELECT * FROM a; CREATE TABLE d AS SELECT * FROM a;`

var wideState = []string{`SELECT count(*), md5(string_agg(md5(v), '' ORDER BY id)) FROM a`, `SELECT count(*), md5(string_agg(md5(v), '' ORDER BY id)) FROM b`,
	`SELECT count(*), md5(string_agg(md5(v), '' ORDER BY id)) FROM c`, `SELECT count(*), md5(string_agg(md5(v), '' ORDER BY id)) FROM d`}

func wideDump(t *testing.T, source string, segment int64) string {
	t.Helper()
	return takeDump(t, source, func(o *dump.Options) { o.SegmentSize, o.Compression = segment, format.Compression{} })
}

// poll asks until yes, every millisecond, and fails when the job has ended or time is up.
func poll(t *testing.T, what string, done <-chan error, yes func() bool) {
	t.Helper()
	limit, tick := time.After(pollLimit), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case err := <-done:
			t.Fatalf("the job has ended before %s: %v", what, err)
		case <-limit:
			t.Fatalf("%s did not come", what)
		case <-tick.C:
		}
	}
}

// stands waits until nothing has moved for a while.
func stands(t *testing.T, tr *progress.Tracker, done <-chan error) {
	t.Helper()
	var last int64
	still := 0
	poll(t, "a standstill", done, func() bool {
		moved := tr.Snapshot().MovedBytes
		if still++; moved != last {
			still = 0
		}
		last = moved
		return still > 200
	})
}

// begin starts a restore that a control steers.
func begin(ctx context.Context, o *restore.Options) <-chan error {
	o.Control = control.New(4)
	done := make(chan error, 1)
	go func() { _, err := restore.Run(ctx, *o); done <- err }()
	return done
}

func TestPausedRestoreMovesNothingAndGoesOn(t *testing.T) {
	source, target := pgtest.DB(t, wide), pgtest.DB(t)
	dir := wideDump(t, source, 0) // one file a table: the pause comes in the middle of a COPY
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	o := options(t, dir, target)
	done := begin(context.Background(), &o)
	poll(t, "the first rows", done, func() bool { return o.Tracker.Snapshot().MovedRows > 0 })
	o.Control.Pause()
	stands(t, o.Tracker, done)
	if got := pgtest.SQL(t, target, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND xact_start IS NOT NULL AND pid <> pg_backend_pid()`); got == "0" {
		t.Error("no transaction has stayed")
	}
	before := o.Tracker.Snapshot()
	stands(t, o.Tracker, done)
	after := o.Tracker.Snapshot()
	for i := range before.Stages {
		if b, a := before.Stages[i], after.Stages[i]; a.Running() != b.Running() || a.Server != b.Server || a.Starved != b.Starved {
			t.Errorf("%s: paused time counts", b.Name)
		}
	}
	o.Control.Resume()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, query := range wideState {
		same(t, source, target, query)
	}
}

func TestPausedRestoreIsCancelledAtOnceAndGoesOnLater(t *testing.T) {
	source, target := pgtest.DB(t, wide), pgtest.DB(t)
	dir := wideDump(t, source, 4<<20)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	o := options(t, dir, target)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := begin(ctx, &o)
	poll(t, "the first segment", done, func() bool { return o.Tracker.Snapshot().Tables.SegmentsEnded > 0 })
	o.Control.Pause()
	stands(t, o.Tracker, done)
	began := time.Now()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	again := options(t, dir, target)
	again.Resume = true
	mustRestore(t, again)
	for _, query := range wideState {
		same(t, source, target, query)
	}
}

// TestJobsOfARunningRestore: one connection, four, one again, in the data phase.
func TestJobsOfARunningRestore(t *testing.T) {
	source, target := pgtest.DB(t, wide), pgtest.DB(t)
	dir := wideDump(t, source, 1<<20)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	o := options(t, dir, target)
	o.Jobs = 1
	done := begin(context.Background(), &o)
	loads := func(n int) func() bool {
		return func() bool { return o.Tracker.Snapshot().Phase.Name == restore.PhaseData && o.Control.Active() == n }
	}
	poll(t, "one worker", done, loads(1))
	o.Control.Pause()
	o.Control.SetJobs(9)
	poll(t, "four workers", done, loads(4))
	o.Control.Resume()
	o.Control.SetJobs(1)
	poll(t, "one worker again", done, loads(1))
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, query := range wideState {
		same(t, source, target, query)
	}
}

func TestPausedVerifyAndDryLoad(t *testing.T) {
	source := pgtest.DB(t, wide)
	dir := wideDump(t, source, 1<<20)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	c := control.New(4)
	c.Pause()
	tr := progress.New("verify", "read", "parse", "convert", "check")
	done := make(chan error, 1)
	go func() {
		report, err := restore.Check(context.Background(), restore.CheckOptions{DryLoad: true, Options: restore.Options{Dir: dir, DSN: parse(t, source), Jobs: 2, DataOnly: true,
			OnExisting: restore.Append, Tracker: tr, Control: c, Tool: "pghaul test"}})
		if err == nil && (!report.OK() || report.DryLoad.Rows != 240000) {
			err = errors.New("the check found something, or not all rows")
		}
		done <- err
	}()
	poll(t, "the verify's workers", done, func() bool { return c.Active() == 2 && tr.Snapshot().Phase.Name == restore.PhaseVerify })
	stands(t, tr, done)
	if s := tr.Snapshot(); s.MovedRows != 0 || !s.Paused {
		t.Errorf("%d rows have moved, paused %v", s.MovedRows, s.Paused)
	}
	c.Resume()
	poll(t, "the dry load", done, func() bool { s := tr.Snapshot(); return s.Phase.Name == restore.PhaseDryLoad && s.MovedRows > 0 })
	c.Pause()
	stands(t, tr, done)
	c.SetJobs(3)
	c.Resume()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
