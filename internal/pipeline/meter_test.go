package pipeline

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type times struct{ busy, starved, blocked, server time.Duration }

func timesOf(m *Meter) times {
	s := m.Snapshot()
	return times{s.Busy, s.Starved, s.Blocked, s.Server}
}

func wantTimes(t *testing.T, what string, m *Meter, want times) {
	t.Helper()
	if got := timesOf(m); got != want {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// A sink that is stuck for 30 s: everybody else is seen waiting while it lasts,
// and the source has filled no more than the pool.
func TestBackPressureIsSeenLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const blocks = 5
		l := newLane(100)
		l.Pool = NewPool(blocks, 64)
		l.Depth = 50
		sent := 0
		l.source.do = func(n int) error { sent = n + 1; return nil }
		l.sink.do = func(n int) error {
			if n == 0 {
				time.Sleep(time.Minute)
			}
			return nil
		}
		done := make(chan error)
		go func() { done <- Run(t.Context(), l.Lane) }()

		time.Sleep(30 * time.Second)
		synctest.Wait()
		if sent != blocks+1 { // the sink has released the first
			t.Errorf("the source filled %d blocks", sent)
		}
		wantTimes(t, "source", l.Meters[0], times{blocked: 30 * time.Second})
		wantTimes(t, "stage", l.Meters[1], times{starved: 30 * time.Second})
		wantTimes(t, "sink", l.Meters[3], times{busy: 30 * time.Second})
		if err := <-done; err != nil {
			t.Error(err)
		}
		wantTimes(t, "source at the end", l.Meters[0], times{blocked: time.Minute})
		wantTimes(t, "sink at the end", l.Meters[3], times{busy: time.Minute})
		l.checkReturned(t)
	})
}

// With short queues the stages before the stuck one are blocked by them.
func TestFullQueueBlocksTheStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(100)
		l.Pool = NewPool(50, 64)
		l.Depth = 1
		l.sink.do = func(n int) error {
			if n == 0 {
				time.Sleep(time.Minute)
			}
			return nil
		}
		l.source.do = func(n int) error {
			if n == 0 {
				time.Sleep(5 * time.Second)
			}
			return nil
		}
		if err := Run(t.Context(), l.Lane); err != nil {
			t.Fatal(err)
		}
		wantTimes(t, "source", l.Meters[0], times{busy: 5 * time.Second, blocked: time.Minute})
		wantTimes(t, "first stage", l.Meters[1], times{starved: 5 * time.Second, blocked: time.Minute})
		wantTimes(t, "second stage", l.Meters[2], times{starved: 5 * time.Second, blocked: time.Minute})
		wantTimes(t, "sink", l.Meters[3], times{starved: 5 * time.Second, busy: time.Minute})
	})
}

type sourceFunc func(context.Context, *Out) error

func (f sourceFunc) Run(ctx context.Context, out *Out) error { return f(ctx, out) }

func TestServerTimeIsKeptApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(0)
		l.Source = sourceFunc(func(_ context.Context, out *Out) error {
			time.Sleep(time.Second) // own work
			out.ServerBegin()
			time.Sleep(10 * time.Second)
			wantTimes(t, "source in its wait", out.Meter(), times{busy: time.Second, server: 10 * time.Second})
			out.ServerEnd()
			time.Sleep(3 * time.Second)
			out.Meter().AddServer(2 * time.Second)
			out.Meter().AddServer(-time.Hour)
			return nil
		})
		l.Sink = sinkFunc(func(_ context.Context, in *In) error {
			in.ServerBegin() // a whole COPY whose driver reads through Next
			defer in.ServerEnd()
			time.Sleep(4 * time.Second)
			_, err := in.Next()
			if err == nil {
				t.Error("there are no blocks")
			}
			time.Sleep(6 * time.Second)
			return nil
		})
		if err := Run(t.Context(), l.Lane); err != nil {
			t.Fatal(err)
		}
		wantTimes(t, "source", l.Meters[0], times{busy: 2 * time.Second, server: 12 * time.Second})
		wantTimes(t, "sink", l.Meters[3], times{starved: 10 * time.Second, server: 10 * time.Second})
	})
}

// A driver that reads all the while it writes reports more waiting than there
// was time.
func TestOverlappingServerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(0)
		l.Sink = sinkFunc(func(_ context.Context, in *In) error {
			time.Sleep(10 * time.Second)
			in.Meter().AddServer(4 * time.Second)
			in.Meter().AddServer(9 * time.Second)
			_, err := in.Next()
			if err == nil {
				t.Error("there are no blocks")
			}
			time.Sleep(time.Second)
			return nil
		})
		if err := Run(t.Context(), l.Lane); err != nil {
			t.Fatal(err)
		}
		wantTimes(t, "sink", l.Meters[3], times{busy: time.Second, server: 10 * time.Second})
	})
}

// Lanes that start and end at different times, over the same meters.
func TestTimesAddUpOverLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meters := []*Meter{{}, {}, {}, {}}
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				l := newLane(1)
				l.Meters = meters
				l.at(2, func(n int) error {
					if n == 0 {
						time.Sleep(10 * time.Second)
					}
					return nil
				})
				if err := Run(t.Context(), l.Lane); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(2500 * time.Millisecond)
		if n := meters[2].Lanes(); n != 3 {
			t.Errorf("%d lanes", n)
		}
		wantTimes(t, "under way", meters[2], times{busy: 4500 * time.Millisecond})
		wg.Wait()
		wantTimes(t, "stage", meters[2], times{busy: 30 * time.Second})
		wantTimes(t, "sink", meters[3], times{starved: 30 * time.Second})
		if s := meters[2].Snapshot(); s.Lanes != 0 || s.Peak != 3 || s.Running() != 30*time.Second {
			t.Errorf("%+v", s)
		}
	})
}

func TestMeterSnapshotArithmetic(t *testing.T) {
	a := MeterSnapshot{BytesIn: 10, BytesOut: 20, Raw: 30, Rows: 40, Blocks: 50, Busy: 60, Starved: 70, Blocked: 80, Server: 90, Lanes: 2, Peak: 3}
	b := a.Add(a)
	if b.BytesOut != 40 || b.Server != 180 || b.Lanes != 4 || b.Peak != 6 || b.Running() != 600 {
		t.Errorf("sum %+v", b)
	}
	d := b.Sub(a)
	if d.BytesIn != 10 || d.Blocks != 50 || d.Blocked != 80 || d.Lanes != 4 {
		t.Errorf("difference %+v", d)
	}
	if d := a.Sub(b); d.Busy != 0 || d.Server != 0 {
		t.Errorf("negative times: %+v", d)
	}
}

func TestNilMeter(t *testing.T) {
	var m *Meter
	m.AddServer(time.Second)
	m.AddBytes(1, 2)
	if m.Lanes() != 0 || m.Snapshot() != (MeterSnapshot{}) {
		t.Error("a nil meter measures")
	}
	m = new(Meter)
	m.AddBytes(1, 2)
	if s := m.Snapshot(); s.BytesIn != 1 || s.BytesOut != 2 {
		t.Errorf("%+v", s)
	}
}
