package dump_test

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
)

// wide has four tables of about 16 MiB each, in several segments when those are small.
const wide = `
CREATE TABLE a AS SELECT g AS id, repeat(md5(g::text), 8) AS v FROM generate_series(1, 60000) g;
CREATE TABLE b AS SELECT * FROM a; CREATE TABLE c AS SELECT * FROM a; CREATE TABLE d AS SELECT * FROM a;`

// steered is a dump of small segments that a control steers.
func steered(t *testing.T, dsn string, jobs int) dump.Options {
	t.Helper()
	o := options(t, dsn)
	o.Jobs, o.SegmentSize, o.Compression = jobs, 2<<20, format.Compression{}
	o.Control, o.Tracker = control.New(4), progress.New("dump", "read", "parse", "write")
	return o
}

// poll asks until yes, every millisecond, and fails when the dump has ended or time is up.
func poll(t *testing.T, what string, done <-chan error, yes func() bool) {
	t.Helper()
	limit, tick := time.After(waitLimit), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case err := <-done:
			t.Fatalf("the dump has ended before %s: %v", what, err)
		case <-limit:
			t.Fatalf("%s did not come", what)
		case <-tick.C:
		}
	}
}

// stands waits until nothing has moved for a while.
func stands(t *testing.T, tr *progress.Tracker, done <-chan error) progress.Snapshot {
	t.Helper()
	var last progress.Snapshot
	still := 0
	poll(t, "a standstill", done, func() bool {
		s := tr.Snapshot()
		if still++; s.MovedBytes != last.MovedBytes {
			still = 0
		}
		last = s
		return still > 200
	})
	return last
}

func TestPausedDumpMovesNothingAndGoesOn(t *testing.T) {
	dsn := pgtest.DB(t, wide)
	want := run(t, steered(t, dsn, 2))
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	o := steered(t, dsn, 2)
	done := make(chan error, 1)
	go func() { _, err := dump.Run(context.Background(), o); done <- err }()
	poll(t, "the first rows", done, func() bool { return o.Tracker.Snapshot().MovedRows > 0 })
	o.Control.Pause()
	s := stands(t, o.Tracker, done)
	later := o.Tracker.Snapshot()
	for i := range s.Stages {
		if s.Stages[i].Running() != later.Stages[i].Running() {
			t.Errorf("%s: paused time counts", s.Stages[i].Name)
		}
	}
	if !later.Paused || later.PausedFor == 0 || later.Finished {
		t.Errorf("paused %v for %v", later.Paused, later.PausedFor)
	}
	if got := pgtest.SQL(t, dsn, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
 AND xact_start IS NOT NULL`); got < "3" { // the leader and two workers
		t.Errorf("%s transactions have stayed", got)
	}
	o.Control.Resume()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got := manifest(t, o.Dir)
	for i, m := range want.Manifest.Tables {
		if got.Tables[i].RowDigest != m.RowDigest || got.Tables[i].Rows != m.Rows {
			t.Errorf("table %s: %d rows, digest %s, want %d, %s", m.Name, got.Tables[i].Rows, got.Tables[i].RowDigest, m.Rows, m.RowDigest)
		}
	}
}

func TestPausedDumpIsCancelledAtOnce(t *testing.T) {
	dsn := pgtest.DB(t, wide)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	o := steered(t, dsn, 2)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { _, err := dump.Run(ctx, o); done <- err }()
	poll(t, "the first rows", done, func() bool { return o.Tracker.Snapshot().MovedRows > 0 })
	o.Control.Pause()
	stands(t, o.Tracker, done)
	began := time.Now()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	nothingLeft(t, o.Dir)
}

// TestJobsOfARunningDump: one connection, then four, then one again, each number seen at work.
func TestJobsOfARunningDump(t *testing.T) {
	dsn := pgtest.DB(t, wide)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	o := steered(t, dsn, 1)
	o.Control.Pause() // so that the dump is not over before it was looked at
	done := make(chan error, 1)
	go func() { _, err := dump.Run(context.Background(), o); done <- err }()
	o.Control.SetJobs(1)
	running := func() int { return o.Control.Active() }
	poll(t, "one worker", done, func() bool { return running() == 1 })
	o.Control.SetJobs(9)
	poll(t, "four workers", done, func() bool { return running() == 4 })
	o.Control.Resume()
	poll(t, "four segments at a time", done, func() bool {
		n := 0
		for _, tb := range o.Tracker.Snapshot().Running {
			n += tb.SegmentsRunning
		}
		return n == 4
	})
	o.Control.SetJobs(1)
	poll(t, "one worker again", done, func() bool { return running() == 1 })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var rows int64
	for _, tb := range manifest(t, o.Dir).Tables {
		rows += tb.Rows
	}
	if rows != 240000 {
		t.Errorf("%d rows", rows)
	}
}

// TestJobsBeyondTheServersRoom: a connection that the server refuses takes the addition back, and the dump goes on.
func TestJobsBeyondTheServersRoom(t *testing.T) {
	dsn := pgtest.DB(t, wide)
	admin := pgtest.Cluster(t).DSN("postgres")
	pgtest.SQL(t, admin, `CREATE ROLE narrow LOGIN; GRANT pg_read_all_data TO narrow`)
	t.Cleanup(func() { pgtest.SQL(t, admin, `DROP ROLE narrow`) })
	o := steered(t, dsn+"&user=narrow", 1)
	done := make(chan error, 1)
	go func() { _, err := dump.Run(context.Background(), o); done <- err }()
	poll(t, "the first rows", done, func() bool { return o.Tracker.Snapshot().MovedRows > 0 })
	o.Control.Pause()
	pgtest.SQL(t, admin, `ALTER ROLE narrow CONNECTION LIMIT 1`) // fewer than there are already
	o.Control.SetJobs(3)
	poll(t, "the refusal", done, func() bool { return o.Control.Jobs() == 1 && o.Control.Active() == 1 })
	o.Control.Resume()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if s := o.Tracker.Snapshot(); s.Warnings < 2 {
		t.Errorf("%d warnings for two connections that were refused", s.Warnings)
	}
}
