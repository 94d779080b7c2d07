package progress

import (
	"context"
	"errors"
	"io"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bytehaul/pghaul/internal/pipeline"
)

// sleepers make a lane whose places take a given time per block.
type sleepSource struct {
	blocks int
	each   time.Duration
}

func (s sleepSource) Run(_ context.Context, out *pipeline.Out) error {
	for range s.blocks {
		b, err := out.Get()
		if err != nil {
			return err
		}
		time.Sleep(s.each)
		b.Data = append(b.Data, make([]byte, 1000)...)
		if err := out.Send(b); err != nil {
			return err
		}
	}
	return nil
}

type serverSink struct {
	each time.Duration
	tb   *Table
}

func (s serverSink) Run(_ context.Context, in *pipeline.In) error {
	in.ServerBegin()
	defer in.ServerEnd()
	for {
		b, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		time.Sleep(s.each)
		s.tb.Add(10, int64(b.Raw))
		b.Release()
	}
}

func approx(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) }

func TestReportOfARealLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := New("restore", "read", "insert")
		tr.SetSource("shop-2026-11-30")
		tr.SetTarget("db2:5432/shop")
		tr.SetServerCPUs(Target, 1)
		tr.SetWaits(Target, map[string]float64{"CPU": 0.75, "LWLock/WALWrite": 0.15})
		tr.StartPhase("data", 1, 1)
		tb := tr.AddTable(TableInfo{Name: "public.orders", Rows: 1000, RowsExact: true, Bytes: 100_000, BytesExact: true, Columns: 5})
		tb.StartSegment()
		rates := NewRates(0)
		rates.Observe(tr.Snapshot())
		err := pipeline.Run(t.Context(), pipeline.Lane{
			Source: sleepSource{100, 10 * time.Millisecond}, Sink: serverSink{100 * time.Millisecond, tb},
			Pool: pipeline.NewPool(4, 1000), Meters: tr.Meters(),
		})
		if err != nil {
			t.Fatal(err)
		}
		tb.EndSegment(nil)
		tb.SetProof(Proven, "")
		rate := rates.Observe(tr.Snapshot())
		tr.Warn("careful")
		tr.Gap("view", "v", "42P01", "no such table")
		tr.Finish(nil)
		time.Sleep(time.Hour)

		r := tr.Report()
		const took = 10.01 // the source's first block, then the sink's hundred
		if r.Job != "restore" || r.Source != "shop-2026-11-30" || r.Target != "db2:5432/shop" || !approx(r.Elapsed.Seconds(), took) {
			t.Errorf("%+v", r)
		}
		row := r.Tables[0]
		if row.Name != "public.orders" || row.Rows != 1000 || row.Bytes != 100_000 || row.Segments != 1 || row.SegmentsTotal != 1 ||
			row.Proof != Proven || row.State != Done || !approx(row.Seconds, took) ||
			!approx(row.MBPerSec, 0.1/took) || !approx(row.KRowsPerSec, 1/took) || !approx(row.MDatumsPerSec, 0.005/took) {
			t.Errorf("%+v", row)
		}
		if tot := r.Totals; tot.Rows != 1000 || tot.Datums != 5000 || !approx(tot.Seconds, took) || !approx(tot.MBPerSec, 0.1/took) {
			t.Errorf("%+v", tot)
		}
		read, insert := r.Stages[0], r.Stages[1]
		if !approx(read.BusySeconds, 1) || !approx(read.RowMicros, 1000) || !approx(read.DatumMicros, 200) ||
			!approx(read.MBPerSec, 0.1) || read.Raw != 100_000 || read.BlockedSeconds < 8 {
			t.Errorf("read %+v", read)
		}
		if insert.BusySeconds != 0 || !approx(insert.ServerSeconds, 10) || insert.Share < 0.99 || !approx(insert.RowMicros, 10_000) {
			t.Errorf("insert %+v", insert)
		}
		const verdict = "insert-bound: the server spent 75 % on CPU and 15 % on WALWrite; more jobs will not help on 1 core"
		if r.Verdict.Sentence != verdict || rate.Verdict.Sentence != verdict {
			t.Errorf("verdicts %q, %q", r.Verdict.Sentence, rate.Verdict.Sentence)
		}
		if s := rate.Stages[1]; s.Name != "insert" || s.Server < 0.99 || !approx(s.Busy+s.Server+s.Blocked+s.Starved, 1) || !approx(s.Bytes, 100_000/took) {
			t.Errorf("rates %+v", s)
		}
		if len(r.Phases) != 1 || !r.Phases[0].Ended || r.GapCount != 1 || r.Gaps[0].SQLState != "42P01" || r.Warnings[0] != "careful" {
			t.Errorf("%+v", r)
		}
	})
}

func TestReportOfNothing(t *testing.T) {
	boom := errors.New("boom")
	tr := New("dump", "read", "write")
	tr.AddTable(TableInfo{Name: "t", Rows: -1})
	tr.Finish(boom)
	r := tr.Report()
	if r.Err != boom || r.Tables[0].State != Waiting || r.Tables[0].Seconds != 0 || r.Stages[0].Share != 0 || r.Totals.Rows != 0 {
		t.Errorf("%+v", r)
	}
	for _, f := range []float64{r.Tables[0].MBPerSec, r.Stages[0].RowMicros, r.Stages[0].MBPerSec, r.Totals.KRowsPerSec} {
		if f != 0 {
			t.Errorf("a rate of nothing is %v", f)
		}
	}
}

func TestWaitsAreSortedAndReplaced(t *testing.T) {
	tr := New("migrate", "read", "insert")
	tr.SetWaits(Target, map[string]float64{"CPU": 0.1, "B": 0.5, "A": 0.5})
	first := tr.Snapshot()
	tr.SetWaits(Target, map[string]float64{"CPU": 1})
	tr.SetWaits(Source, map[string]float64{"IO/DataFileRead": 1})
	if w := first.Waits; len(w) != 1 || w[0].Shares[0].Event != "A" || w[0].Shares[1].Event != "B" || w[0].Shares[2].Event != "CPU" {
		t.Errorf("%+v", w)
	}
	if w := tr.Snapshot().Waits; len(w) != 2 || w[0].Server != Source || len(w[1].Shares) != 1 {
		t.Errorf("%+v", w)
	}
}
