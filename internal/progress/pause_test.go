package progress

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPausedTimeIsNobodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := New("restore", "read", "insert")
		rates := NewRates(0)
		tr.StartPhase("data", 1, 1)
		tb := tr.AddTable(TableInfo{Name: "a", Rows: 1000, RowsExact: true, Bytes: 1000, BytesExact: true})
		tb.StartSegment()
		move := func() Rate {
			for range 10 {
				time.Sleep(time.Second)
				tb.Add(10, 10)
				rates.Observe(tr.Snapshot())
			}
			return rates.Observe(tr.Snapshot())
		}
		if r := move(); !r.ETA.Known || r.ETA.Low.Round(time.Second) != 90*time.Second {
			t.Errorf("at first %+v", r.ETA)
		}
		tr.SetPaused(true)
		tr.SetPaused(true)
		time.Sleep(time.Hour)
		s := tr.Snapshot()
		if r := rates.Observe(s); !s.Paused || s.PausedFor != time.Hour || s.ETA.Known || r.ETA.Known || r.Bytes != 0 {
			t.Errorf("paused: %v for %v, forecast %+v, %v bytes a second", s.Paused, s.PausedFor, r.ETA, r.Bytes)
		}
		tr.SetPaused(false)
		if r := rates.Observe(tr.Snapshot()); r.Known {
			t.Errorf("a window reaches over the pause: %+v", r)
		}
		if r := move(); !r.ETA.Known || r.ETA.Low.Round(time.Second) != 80*time.Second || r.ETA.High != r.ETA.Low || r.Bytes != 10 {
			t.Errorf("after the pause %+v, %v bytes a second", r.ETA, r.Bytes)
		}
		tr.SetPaused(true)
		time.Sleep(time.Minute)
		tr.Finish(nil)
		tr.SetPaused(true)
		time.Sleep(time.Minute)
		if s := tr.Snapshot(); s.Paused || s.PausedFor != time.Hour+time.Minute || s.Elapsed != time.Hour+time.Minute+20*time.Second {
			t.Errorf("at the end %v, %v of %v", s.Paused, s.PausedFor, s.Elapsed)
		}
		kinds := map[EventKind]int{}
		events, _ := tr.Events(0)
		for _, e := range events {
			kinds[e.Kind]++
		}
		if kinds[Paused] != 2 || kinds[Resumed] != 1 {
			t.Errorf("events %v", kinds)
		}
	})
}
