package control_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bytehaul/pghaul/internal/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNilControlSteersNothing(t *testing.T) {
	var c *control.Control
	c.Pause()
	c.Resume()
	c.Follow(func(bool) { t.Error("told") })()
	if err := c.Wait(context.Background()); err != nil || c.Paused() || c.SetJobs(3) != 0 || c.AddJobs(1) != 0 || c.Jobs() != 0 || c.Active() != 0 || c.Most() != 0 {
		t.Errorf("a nil control has an opinion: %v", err)
	}
	var n atomic.Int32
	err := c.Crew(context.Background(), 3, 5, func(_ context.Context, p *control.Place) error {
		p.Ready()
		if !p.Stay() {
			t.Error("nobody said that it should go")
		}
		n.Add(1)
		return nil
	}, nil)
	if err != nil || n.Load() < 1 || n.Load() > 3 {
		t.Errorf("%d workers, %v", n.Load(), err)
	}
}

func TestWaitEndsWithResumeOrContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := control.New(4)
		var told []bool
		stop := c.Follow(func(p bool) { told = append(told, p) })
		c.Pause()
		c.Pause()
		var went atomic.Bool
		go func() {
			if err := c.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			went.Store(true)
		}()
		ctx, cancel := context.WithCancelCause(t.Context())
		boom := errors.New("boom")
		ended := make(chan error)
		go func() { ended <- c.Wait(ctx) }()
		synctest.Wait()
		if went.Load() || !c.Paused() {
			t.Fatal("a paused job went on")
		}
		cancel(boom)
		if err := <-ended; err != boom {
			t.Errorf("%v", err)
		}
		c.Resume()
		synctest.Wait()
		if !went.Load() || c.Paused() {
			t.Error("a resumed job stands still")
		}
		stop()
		c.Pause()
		if len(told) != 2 || !told[0] || told[1] {
			t.Errorf("told %v", told)
		}
		c.Follow(func(p bool) { told = append(told, p) })
		if len(told) != 3 || !told[2] {
			t.Errorf("a follower of a paused job is told %v", told)
		}
	})
}

// work is a queue of pieces that take a second each.
type work struct {
	mu         sync.Mutex
	left, most int
	now        int
}

func (w *work) worker(ctx context.Context, p *control.Place) error {
	p.Ready()
	w.mu.Lock()
	w.now++
	w.most = max(w.most, w.now)
	w.mu.Unlock()
	defer func() { w.mu.Lock(); w.now--; w.mu.Unlock() }()
	for p.Stay() {
		w.mu.Lock()
		if w.left == 0 {
			w.mu.Unlock()
			return nil
		}
		w.left--
		w.mu.Unlock()
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (w *work) workers() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func TestCrewGrowsAndShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, w := control.New(4), &work{left: 100}
		ended := make(chan error)
		go func() { ended <- c.Crew(t.Context(), 1, 100, w.worker, nil) }()
		for _, step := range []struct{ ask, want int }{{1, 1}, {4, 4}, {9, 4}, {2, 2}, {3, 3}, {0, 1}} {
			got := c.SetJobs(step.ask)
			time.Sleep(1100 * time.Millisecond)
			synctest.Wait()
			if got != step.want || w.workers() != step.want || c.Active() != step.want || c.Jobs() != step.want {
				t.Errorf("asked for %d: told %d, %d workers, %d active, want %d", step.ask, got, w.workers(), c.Active(), step.want)
			}
		}
		c.SetJobs(4)
		if err := <-ended; err != nil || w.left != 0 || w.most != 4 {
			t.Errorf("%v, %d left, %d at most", err, w.left, w.most)
		}
		if c.Active() != 0 || c.AddJobs(1) != 4 || c.AddJobs(-2) != 2 {
			t.Error("the control is wrong when nobody works")
		}
	})
}

func TestCrewIsNoLargerThanItsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, w := control.New(8), &work{left: 2}
		if err := c.Crew(t.Context(), 8, 2, w.worker, nil); err != nil || w.most != 2 {
			t.Errorf("%v, %d workers for two pieces", err, w.most)
		}
		if err := c.Crew(t.Context(), 8, 0, w.worker, nil); err != nil {
			t.Error(err)
		}
	})
}

func TestAnAddedWorkerThatCannotBeginIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, w := control.New(8), &work{left: 10}
		full := errors.New("too many connections")
		var warned []error
		first := true
		ended := make(chan error)
		go func() {
			ended <- c.Crew(t.Context(), 1, 10, func(ctx context.Context, p *control.Place) error {
				if !first {
					return full
				}
				first = false
				return w.worker(ctx, p)
			}, func(err error) { warned = append(warned, err) })
		}()
		time.Sleep(500 * time.Millisecond)
		c.SetJobs(2)
		synctest.Wait()
		if c.Jobs() != 1 || len(warned) != 1 || warned[0] != full {
			t.Errorf("%d jobs, warned of %v", c.Jobs(), warned)
		}
		if err := <-ended; err != nil || w.left != 0 {
			t.Errorf("%v, %d left", err, w.left)
		}
	})
}

func TestTheFirstErrorEndsTheCrew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, w := control.New(8), &work{left: 1000}
		boom := errors.New("boom")
		var n atomic.Int32
		err := c.Crew(t.Context(), 3, 1000, func(ctx context.Context, p *control.Place) error {
			if n.Add(1) == 2 {
				p.Ready()
				time.Sleep(5 * time.Second)
				return boom
			}
			return w.worker(ctx, p)
		}, nil)
		if err != boom || c.Active() != 0 {
			t.Errorf("%v, %d active", err, c.Active())
		}
	})
}
