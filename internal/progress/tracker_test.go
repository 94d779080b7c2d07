package progress

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNilTrackerIsSafe(t *testing.T) {
	var tr *Tracker
	if tr.Meters() != nil {
		t.Error("meters")
	}
	tr.SetSource("a")
	tr.SetTarget("b")
	tr.SetServerCPUs(Target, 2)
	tr.StartPhase("data", 1, 2)
	tr.EndPhase()
	tr.Warn("x %d", 1)
	tr.Gap("index", "i", "23505", "dup")
	tr.SetWaits(Source, map[string]float64{"CPU": 1})
	tb := tr.AddTable(TableInfo{Name: "t"})
	tb.AlreadyDone(1, 2, 3)
	tb.StartSegment()
	tb.Add(1, 2)
	tb.Unwind(1, 2)
	tb.EndSegment(nil)
	tb.SetProof(Proven, "")
	tr.Finish(nil)
	if s := tr.Snapshot(); !reflect.DeepEqual(s, Snapshot{}) {
		t.Errorf("snapshot %+v", s)
	}
	if r := tr.Report(); !reflect.DeepEqual(r, Report{}) {
		t.Errorf("report %+v", r)
	}
	if ev, next := tr.Events(0); ev != nil || next != 0 || tr.Tables() != nil {
		t.Error("a nil tracker has events or tables")
	}
}

func TestPhasesAreTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := New("restore", "read", "insert")
		tr.EndPhase() // none yet
		tr.StartPhase("preflight", 1, 3)
		time.Sleep(2 * time.Second)
		tr.StartPhase("data", 2, 3)
		time.Sleep(5 * time.Second)
		s := tr.Snapshot()
		if s.Phase.Name != "data" || s.Phase.N != 2 || s.Phase.Of != 3 || s.Phase.Elapsed != 5*time.Second || s.Phase.Ended {
			t.Errorf("phase %+v", s.Phase)
		}
		if s.Elapsed != 7*time.Second || len(s.Phases) != 2 || s.Phases[0].Elapsed != 2*time.Second || !s.Phases[0].Ended {
			t.Errorf("elapsed %v, phases %+v", s.Elapsed, s.Phases)
		}
		tr.EndPhase()
		tr.EndPhase()
		time.Sleep(time.Second)
		boom := errors.New("boom")
		tr.Finish(boom)
		tr.Finish(nil)
		time.Sleep(time.Hour)
		s = tr.Snapshot()
		if s.Elapsed != 8*time.Second || s.Phase.Elapsed != 5*time.Second || !s.Finished || s.Err != boom {
			t.Errorf("after the end: %+v", s)
		}
	})
}

func TestCountsAndTotals(t *testing.T) {
	tr := New("restore", "read", "insert")
	a := tr.AddTable(TableInfo{Name: "a", Rows: 100, RowsExact: true, Bytes: 1000, BytesExact: true, Segments: 2, Columns: 3})
	b := tr.AddTable(TableInfo{Name: "b", Rows: 50, Bytes: 500})
	c := tr.AddTable(TableInfo{Name: "c", Rows: -1, Bytes: -1})
	want := func(what string, rows, bytes Total, counts TableCounts) {
		t.Helper()
		s := tr.Snapshot()
		if s.RowsTotal != rows || s.BytesTotal != bytes {
			t.Errorf("%s: totals %+v %+v, want %+v %+v", what, s.RowsTotal, s.BytesTotal, rows, bytes)
		}
		if s.Tables != counts {
			t.Errorf("%s: %+v, want %+v", what, s.Tables, counts)
		}
	}
	want("at first", Total{150, false, false}, Total{1500, false, false}, TableCounts{Total: 3, Waiting: 3, Segments: 4})

	a.StartSegment()
	a.Add(60, 600)
	a.EndSegment(nil)
	want("a half done", Total{150, false, false}, Total{1500, false, false},
		TableCounts{Total: 3, Waiting: 2, Running: 1, Segments: 4, SegmentsEnded: 1})
	c.StartSegment()
	c.Add(7, 70)
	want("c outgrows its unknown size", Total{157, false, false}, Total{1570, false, false},
		TableCounts{Total: 3, Waiting: 1, Running: 2, Segments: 4, SegmentsEnded: 1})
	c.EndSegment(nil)
	want("c done", Total{157, true, false}, Total{1570, true, false},
		TableCounts{Total: 3, Waiting: 1, Running: 1, Done: 1, Segments: 4, SegmentsEnded: 2})
	b.StartSegment()
	b.Add(40, 450)
	b.EndSegment(nil)
	want("b was smaller", Total{147, true, true}, Total{1520, true, true},
		TableCounts{Total: 3, Running: 1, Done: 2, Segments: 4, SegmentsEnded: 3})
	a.StartSegment()
	a.Add(30, 300)
	a.Unwind(30, 300)
	a.Add(40, 400)
	a.EndSegment(nil)
	a.SetProof(Proven, "")
	b.SetProof(Mismatch, "expected 50")
	b.SetProof(NotProven, "float text differs")
	c.SetProof(Skipped, "")
	want("all done", Total{147, true, true}, Total{1520, true, true},
		TableCounts{Total: 3, Done: 3, Segments: 4, SegmentsEnded: 4, Proven: 1, NotProven: 1, Skipped: 1})
	s := tr.Snapshot()
	if s.Rows != 147 || s.Bytes != 1520 || s.MovedRows != 147 || s.Work.Remaining != 0 || s.Work.Fraction() != 1 || len(s.Running) != 0 {
		t.Errorf("at the end %+v", s)
	}
}

func TestFailedRetriedAndCancelledSegments(t *testing.T) {
	boom := errors.New("boom")
	tr := New("restore", "read", "insert")
	tb := tr.AddTable(TableInfo{Name: "t", Rows: 10, Segments: 2})
	tb.StartSegment()
	tb.StartSegment()
	tb.EndSegment(boom)
	s := tr.Snapshot()
	if s.Tables.Failed != 1 || len(s.Failed) != 1 || s.Failed[0].Err != boom || s.Failed[0].State != Failed || len(s.Running) != 0 {
		t.Errorf("failed: %+v, %+v", s.Tables, s.Failed)
	}
	tb.EndSegment(nil)
	tb.StartSegment() // the failed one again
	if s := tr.Snapshot(); s.Tables.Failed != 0 || s.Tables.Running != 1 || len(s.Failed) != 0 || s.Running[0].Err != nil {
		t.Errorf("retried: %+v, %+v", s.Tables, s.Failed)
	}
	tb.EndSegment(nil)
	if s := tr.Snapshot(); s.Tables.Done != 1 || s.Tables.SegmentsEnded != 2 {
		t.Errorf("done: %+v", s.Tables)
	}

	u := tr.AddTable(TableInfo{Name: "u"})
	u.StartSegment()
	u.EndSegment(fmt.Errorf("copy: %w", context.Canceled))
	if s := tr.Snapshot(); s.Tables.Cancelled != 1 || s.Tables.Failed != 0 || s.Tables.Done != 1 {
		t.Errorf("cancelled: %+v", s.Tables)
	}
	v := tr.AddTable(TableInfo{Name: "v", Segments: 2})
	v.StartSegment()
	v.StartSegment()
	v.EndSegment(context.Canceled)
	v.EndSegment(boom) // what the others were cancelled for
	if s := tr.Snapshot(); s.Tables.Failed != 1 || s.Failed[0].Err != boom {
		t.Errorf("cancelled, then failed: %+v", s.Failed)
	}
}

func TestResumedJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := New("restore", "read", "insert")
		a := tr.AddTable(TableInfo{Name: "a", Rows: 100, RowsExact: true, Bytes: 1 << 20, BytesExact: true, Segments: 1})
		b := tr.AddTable(TableInfo{Name: "b", Rows: 100, RowsExact: true, Bytes: 1 << 20, BytesExact: true, Segments: 2})
		a.AlreadyDone(1, 100, 1<<20)
		b.AlreadyDone(1, 50, 1<<19)
		b.StartSegment()
		time.Sleep(10 * time.Second)
		b.Add(25, 1<<18)
		s := tr.Snapshot()
		if s.Rows != 175 || s.MovedRows != 25 || s.Tables.Done != 1 || s.Tables.Running != 1 {
			t.Errorf("%+v", s)
		}
		// Half of what was left took 10 s; what an earlier run did says nothing.
		if !s.ETA.Known || s.ETA.Low.Round(time.Second) != 10*time.Second || s.ETA.Kind != Exact {
			t.Errorf("eta %+v", s.ETA)
		}
		b.EndSegment(nil)
		r := tr.Report()
		if r.Tables[0].State != Done || r.Tables[0].MBPerSec != 0 || r.Tables[1].Seconds != 10 || r.Totals.Rows != 175 {
			t.Errorf("%+v", r.Tables)
		}
	})
}

func TestManyTablesSnapshotStaysSmall(t *testing.T) {
	tr := New("dump", "read", "write")
	for i := range 100_000 {
		tb := tr.AddTable(TableInfo{Name: fmt.Sprint(i), Rows: 1, Bytes: 10})
		switch i % 1000 {
		case 0:
			tb.StartSegment()
			tb.EndSegment(errors.New("boom"))
		case 1:
			tb.StartSegment()
		}
	}
	s := tr.Snapshot()
	if len(s.Running) != 100 || len(s.Failed) != maxFailed || s.Tables.Failed != 100 || s.Tables.Total != 100_000 {
		t.Errorf("%d running, %d failed, %+v", len(s.Running), len(s.Failed), s.Tables)
	}
	// 100 running and 100 failed tables are copied, 100,000 are not.
	if n := testing.AllocsPerRun(10, func() { tr.Snapshot() }); n > 100 {
		t.Errorf("%v allocations in a snapshot", n)
	}
	if all := tr.Tables(); len(all) != 100_000 || all[99_999].ID != 99_999 || all[1].State != Running {
		t.Errorf("%d tables", len(all))
	}
}

func TestConcurrentUse(t *testing.T) {
	tr := New("migrate", "read", "parse", "convert", "insert")
	tr.StartPhase("data", 1, 1)
	const tables, segments, blocks = 8, 10, 50
	var all []*Table
	for i := range tables {
		all = append(all, tr.AddTable(TableInfo{Name: fmt.Sprint(i), Rows: -1, Bytes: -1, Segments: segments, Columns: 2}))
	}
	var jobs, observers sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		observers.Go(func() {
			rates, from := NewRates(0), 0
			for {
				select {
				case <-stop:
					return
				default:
				}
				r := rates.Observe(tr.Snapshot())
				if r.Rows < 0 || r.Bytes < 0 {
					t.Errorf("negative rate %+v", r)
				}
				_, from = tr.Events(from)
				tr.Report()
			}
		})
	}
	for _, tb := range all {
		jobs.Go(func() {
			for range segments {
				tb.StartSegment()
				for range blocks {
					tb.Add(3, 30)
				}
				tb.Unwind(3, 30)
				tb.Add(3, 30)
				tb.EndSegment(nil)
				tr.SetWaits(Target, map[string]float64{"CPU": 0.5})
				tr.Warn("a warning")
			}
			tb.SetProof(Proven, "")
		})
	}
	jobs.Wait()
	close(stop)
	observers.Wait()
	s := tr.Snapshot()
	if s.Rows != tables*segments*blocks*3 || s.Tables.Done != tables || s.Tables.Proven != tables || s.Warnings != tables*segments {
		t.Errorf("%+v", s)
	}
}

func TestAddDoesNotAllocate(t *testing.T) {
	tb := New("dump", "read", "write").AddTable(TableInfo{Name: "t"})
	if n := testing.AllocsPerRun(1000, func() { tb.Add(1, 2) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	tb := New("dump", "read", "write").AddTable(TableInfo{Name: "t"})
	b.ReportAllocs()
	for b.Loop() {
		tb.Add(1, 2)
	}
}
