package progress

import (
	"testing"
	"testing/synctest"
	"time"
)

// tableOf is exact or estimated, of n rows of 1 KiB.
func tableOf(name string, n int64, exact bool) TableInfo {
	return TableInfo{Name: name, Rows: n, RowsExact: exact, Bytes: n << 10, BytesExact: exact, Columns: 4}
}

// move lets a table go at rows per second, an observer looking 10 times a second.
func move(tr *Tracker, tb *Table, rates *Rates, seconds int, rows int64) (r Rate) {
	for range seconds * 10 {
		time.Sleep(100 * time.Millisecond)
		tb.Add(rows/10, rows/10<<10)
		r = rates.Observe(tr.Snapshot())
	}
	return r
}

func near(d, want time.Duration) bool { return d > want*9/10 && d < want*11/10 }

func TestETAIsHonest(t *testing.T) {
	for _, exact := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			tr := New("restore", "read", "insert")
			tr.StartPhase("preflight", 1, 2)
			time.Sleep(time.Minute) // says nothing about the data
			tr.StartPhase("data", 2, 2)
			rates := NewRates(0)
			if r := rates.Observe(tr.Snapshot()); r.ETA.Known || r.ETA.Kind != Unknown {
				t.Errorf("without a table: %+v", r.ETA)
			}
			tb := tr.AddTable(tableOf("t", 100_000, exact))
			tb.StartSegment()
			if r := move(tr, tb, rates, 2, 1000); r.ETA.Known {
				t.Errorf("after 2 s: %+v", r.ETA)
			}
			r := move(tr, tb, rates, 8, 1000)
			want := map[bool]ETAKind{true: Exact, false: About}[exact]
			if !r.ETA.Known || r.ETA.Kind != want || !near(r.ETA.Low, 90*time.Second) || r.ETA.Low != r.ETA.High {
				t.Errorf("at a steady rate: %+v", r.ETA)
			}
			r = move(tr, tb, rates, 10, 4000)
			if r.ETA.Kind != Range || !near(r.ETA.Low, 12500*time.Millisecond) || !near(r.ETA.High, 20*time.Second) {
				t.Errorf("at four times the rate: %+v", r.ETA)
			}
			if r = move(tr, tb, rates, 10, 0); r.ETA.Known {
				t.Errorf("at a standstill: %+v", r.ETA)
			}
			tb.Add(50_000, 50_000<<10)
			tb.EndSegment(nil)
			if r = rates.Observe(tr.Snapshot()); !r.ETA.Known || r.ETA.High != 0 {
				t.Errorf("all tables done: %+v", r.ETA)
			}
			tr.StartPhase("post-data", 3, 3)
			if s := tr.Snapshot(); s.ETA.Known {
				t.Errorf("while indexes are built: %+v", s.ETA)
			}
		})
	}
}

func TestETANeedsSizesAndProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := New("dump", "read", "write")
		tr.StartPhase("data", 1, 1)
		a := tr.AddTable(tableOf("a", 1_000_000, false))
		b := tr.AddTable(TableInfo{Name: "b", Rows: -1, Bytes: -1})
		a.StartSegment()
		rates := NewRates(0)
		if r := move(tr, a, rates, 60, 10_000); r.ETA.Known {
			t.Errorf("with a table of unknown size to come: %+v", r.ETA)
		}
		b.StartSegment()
		b.EndSegment(nil)
		r := rates.Observe(tr.Snapshot())
		if !r.ETA.Known {
			t.Errorf("with all sizes known: %+v", r.ETA)
		}
		tr.AddTable(tableOf("huge", 1_000_000_000, true))
		if r := rates.Observe(tr.Snapshot()); r.ETA.Known {
			t.Errorf("with less than 2 %% done: %+v", r.ETA)
		}
	})
}

// A table that is larger than its estimate does not end the job early.
func TestETAOfAnOutgrownEstimate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := New("dump", "read", "write")
		tr.StartPhase("data", 1, 1)
		tb := tr.AddTable(tableOf("a", 1000, false))
		tb.StartSegment()
		move(tr, tb, NewRates(0), 10, 1000)
		s := tr.Snapshot()
		if s.Work.Remaining <= 0 || s.Running[0].Fraction >= 1 || s.RowsTotal.N != 10_000 || s.RowsTotal.Exact {
			t.Errorf("%+v, %+v", s.Work, s.RowsTotal)
		}
	})
}

func TestForecastHasABound(t *testing.T) {
	if d := forecast(1<<62, 1, time.Hour); d <= 0 {
		t.Errorf("overflow: %v", d)
	}
}

func TestRatesOfTwoObservers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := New("restore", "read", "insert")
		tb := tr.AddTable(tableOf("t", 1_000_000, true))
		tb.StartSegment()
		often, seldom := NewRates(0), NewRates(0)
		if r := seldom.Observe(tr.Snapshot()); r.Known || r.Rows != 0 {
			t.Errorf("first look: %+v", r)
		}
		move(tr, tb, often, 20, 1000)
		if r := seldom.Observe(tr.Snapshot()); r.Over != 20*time.Second || r.Rows != 1000 {
			t.Errorf("one look in 20 s: %+v", r)
		}
		r := move(tr, tb, often, 10, 3000)
		if r.Over != DefaultWindow || r.Rows != 3000 || r.Bytes != 3000<<10 {
			t.Errorf("window: over %v, %v rows/s", r.Over, r.Rows)
		}
		if len(r.Tables) != 1 || r.Tables[0].Rows != 3000 || r.Tables[0].ID != 0 {
			t.Errorf("tables %+v", r.Tables)
		}
		u := tr.AddTable(tableOf("u", 1000, true))
		u.StartSegment()
		time.Sleep(time.Second)
		u.Add(500, 500<<10)
		if r := often.Observe(tr.Snapshot()); len(r.Tables) != 2 || r.Tables[1].Rows != 500 {
			t.Errorf("a table that has just started: %+v", r.Tables)
		}
		u.Unwind(500, 500<<10)
		tb.Unwind(40_000, 40_000<<10)
		if r := often.Observe(tr.Snapshot()); r.Rows != 0 || r.Bytes != 0 || r.Tables[0].Rows != 0 {
			t.Errorf("unwound: %+v", r)
		}
		if n := len(often.samples); n > 60 {
			t.Errorf("%d samples are kept", n)
		}
	})
}
