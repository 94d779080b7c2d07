package pipeline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A lane that is held stands still between two blocks; what its places do meanwhile takes no time on a frozen meter.
func TestHeldLaneStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(100)
		held := make(chan struct{})
		asked := 0
		l.Hold = func(ctx context.Context) error {
			if asked++; asked != 11 {
				return nil
			}
			for _, m := range l.Meters {
				m.Freeze()
				m.Freeze()
			}
			select {
			case <-held:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		l.source.do = func(int) error { time.Sleep(time.Second); return nil } // once more for the end
		done := make(chan error)
		go func() { done <- Run(t.Context(), l.Lane) }()
		time.Sleep(time.Hour)
		synctest.Wait()
		wantTimes(t, "held source", l.Meters[0], times{busy: 10 * time.Second})
		wantTimes(t, "stage", l.Meters[1], times{starved: 10 * time.Second})
		if n := l.Meters[3].Snapshot().Blocks; n != 10 {
			t.Errorf("%d blocks have passed", n)
		}
		for _, m := range l.Meters {
			m.Thaw()
			m.Thaw()
		}
		close(held)
		if err := <-done; err != nil {
			t.Error(err)
		}
		wantTimes(t, "source at the end", l.Meters[0], times{busy: 101 * time.Second})
		wantTimes(t, "sink at the end", l.Meters[3], times{starved: 101 * time.Second})
		l.checkReturned(t)
	})
}

func TestHeldLaneIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(100)
		l.Hold = func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		boom := errors.New("boom")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(boom) })
		if err := Run(ctx, l.Lane); err != boom {
			t.Errorf("%v", err)
		}
		l.checkReturned(t)
	})
}

func TestNilMeterFreezes(t *testing.T) {
	var m *Meter
	m.Freeze()
	m.Thaw()
	if m.Snapshot() != (MeterSnapshot{}) {
		t.Error("a nil meter has measured")
	}
}
