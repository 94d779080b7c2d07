package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestRunKeepsOrderAndCounts(t *testing.T) {
	const blocks = 1000
	l := newLane(blocks)
	if err := Run(t.Context(), l.Lane); err != nil {
		t.Fatal(err)
	}
	if len(l.sink.got) != blocks || !slices.IsSorted(l.sink.got) {
		t.Errorf("sink got %d blocks, sorted: %v", len(l.sink.got), slices.IsSorted(l.sink.got))
	}
	l.checkReturned(t)
	for i, m := range l.Meters {
		s := m.Snapshot()
		if s.Blocks != blocks || s.Rows != 2*blocks || s.Raw != 8*blocks {
			t.Errorf("%s counted %d blocks, %d rows, %d raw bytes", places[i], s.Blocks, s.Rows, s.Raw)
		}
		in, out := int64(8*blocks), int64(8*blocks)
		if i == 0 {
			in = 0
		}
		if i == 3 {
			out = 0
		}
		if s.BytesIn != in || s.BytesOut != out {
			t.Errorf("%s counted %d bytes in, %d out", places[i], s.BytesIn, s.BytesOut)
		}
		if s.Peak != 1 {
			t.Errorf("%s peaked at %d lanes", places[i], s.Peak)
		}
	}
	for i, s := range l.stages {
		if s.aborted != 0 {
			t.Errorf("stage %d was aborted at a clean end", i)
		}
	}
}

func TestRunWithoutBlocksStagesOrMeters(t *testing.T) {
	l := newLane(0)
	l.Stages, l.Meters = nil, nil
	if err := Run(t.Context(), l.Lane); err != nil {
		t.Fatal(err)
	}
	if l.sink.end != io.EOF || len(l.sink.got) != 0 {
		t.Errorf("sink ended with %v after %d blocks", l.sink.end, len(l.sink.got))
	}
}

func TestErrorAtEveryPlace(t *testing.T) {
	boom := errors.New("boom")
	for place, name := range places {
		for _, at := range []int{0, 1, 50, 99, -1} {
			t.Run(fmt.Sprintf("%s %d", name, at), func(t *testing.T) {
				l := newLane(100)
				if place == 0 && at == -1 {
					at = 100 // the source's end
				}
				l.at(place, func(n int) error {
					if n == at {
						return boom
					}
					return nil
				})
				if err := Run(t.Context(), l.Lane); err != boom {
					t.Fatalf("Run returned %v", err)
				}
				l.checkReturned(t)
				if place < 3 && !errors.Is(l.sink.end, boom) {
					t.Errorf("sink's input ended with %v", l.sink.end)
				}
				for i, s := range l.stages {
					if s.finished+s.aborted != 1 {
						t.Errorf("stage %d: finished %d times, aborted %d times", i, s.finished, s.aborted)
					}
					if i >= place-1 && place < 3 && s.finished != 0 {
						t.Errorf("stage %d finished although the input was not whole", i)
					}
				}
			})
		}
	}
}

func TestCancelAtEveryPlace(t *testing.T) {
	stop := errors.New("the user pressed ctrl-c")
	for place, name := range places {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			l := newLane(100)
			l.at(place, func(n int) error {
				if n == 50 {
					cancel(stop)
				}
				return nil
			})
			if err := Run(ctx, l.Lane); err != stop {
				t.Fatalf("Run returned %v", err)
			}
			l.checkReturned(t)
			if l.sink.end == io.EOF {
				t.Error("a cancelled lane looks whole to its sink")
			}
		})
	}
}

func TestCancelledBeforeTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := newLane(100)
	if err := Run(ctx, l.Lane); !errors.Is(err, context.Canceled) {
		t.Fatalf("Run returned %v", err)
	}
	if len(l.sink.got) != 0 {
		t.Errorf("sink got %d blocks", len(l.sink.got))
	}
	l.checkReturned(t)
}

// A source that takes a cancel for its clean end must not make the sink believe
// that it has everything.
func TestSourceThatEndsQuietlyOnCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := newLane(0)
	l.source.do = func(int) error { cancel(); return nil }
	if err := Run(ctx, l.Lane); !errors.Is(err, context.Canceled) {
		t.Fatalf("Run returned %v", err)
	}
	if !errors.Is(l.sink.end, context.Canceled) {
		t.Errorf("sink's input ended with %v", l.sink.end)
	}
}

// A cancel that comes when everything has been done does not undo it.
func TestCancelAfterTheCleanEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := newLane(10)
	l.sink.do = func(n int) error {
		if n == -1 {
			cancel()
		}
		return nil
	}
	if err := Run(ctx, l.Lane); err != nil {
		t.Fatalf("Run returned %v", err)
	}
}

func TestUpstreamEOFIsNotTheEnd(t *testing.T) {
	gone := fmt.Errorf("server went away: %w", io.EOF)
	for place := range 3 {
		l := newLane(10)
		l.at(place, func(n int) error {
			if n == 5 {
				return gone
			}
			return nil
		})
		if err := Run(t.Context(), l.Lane); err != gone {
			t.Errorf("Run returned %v", err)
		}
		if errors.Is(l.sink.end, io.EOF) || l.sink.end.Error() != gone.Error() {
			t.Errorf("sink's input ended with %v", l.sink.end)
		}
	}
}

type sinkFunc func(context.Context, *In) error

func (f sinkFunc) Run(ctx context.Context, in *In) error { return f(ctx, in) }

func TestSinkThatStopsEarly(t *testing.T) {
	l := newLane(100)
	l.Sink = sinkFunc(func(_ context.Context, in *In) error {
		b, err := in.Next()
		if err != nil {
			return err
		}
		b.Release()
		return nil
	})
	if err := Run(t.Context(), l.Lane); err != ErrUnread {
		t.Fatalf("Run returned %v", err)
	}
	l.checkReturned(t)
}

// A sink may know from the data that it has everything, and not ask for the end.
func TestSinkThatDoesNotAskForTheEnd(t *testing.T) {
	l := newLane(1)
	l.Sink = sinkFunc(func(_ context.Context, in *In) error {
		b, err := in.Next()
		if err == nil {
			b.Release()
		}
		return err
	})
	if err := Run(t.Context(), l.Lane); err != nil {
		t.Fatalf("Run returned %v", err)
	}
}

func TestNextAfterTheLaneHasEnded(t *testing.T) {
	var kept *In
	l := newLane(1)
	l.Sink = sinkFunc(func(_ context.Context, in *In) error {
		kept = in
		return errors.New("given up")
	})
	if err := Run(t.Context(), l.Lane); err == nil {
		t.Fatal("no error")
	}
	if b, err := kept.Next(); b != nil || err == nil || err == io.EOF {
		t.Errorf("Next returned %v, %v", b, err)
	}
	kept.ServerBegin()
	if s := l.Meters[3].Snapshot(); s.Lanes != 0 {
		t.Errorf("the meter counts %d lanes", s.Lanes)
	}
}

func TestPanicReachesTheCaller(t *testing.T) {
	for place, name := range places {
		t.Run(name, func(t *testing.T) {
			l := newLane(100)
			l.at(place, func(n int) error {
				if n == 3 {
					panic(io.ErrNoProgress)
				}
				return nil
			})
			defer func() {
				p, ok := recover().(*Panic)
				if !ok || !errors.Is(p, io.ErrNoProgress) {
					t.Fatalf("recovered %v", p)
				}
				if !strings.Contains(p.Error(), "lane_test.go") {
					t.Errorf("the stack does not show the place:\n%s", p.Stack)
				}
			}()
			err := Run(t.Context(), l.Lane)
			t.Errorf("Run returned %v", err)
		})
	}
}

func TestGoexitEndsTheLane(t *testing.T) {
	for place := range places {
		l := newLane(100)
		l.at(place, func(n int) error {
			if n == 3 {
				runtime.Goexit()
			}
			return nil
		})
		if err := Run(t.Context(), l.Lane); err == nil {
			t.Errorf("%s: no error", places[place])
		}
	}
}

func TestLaneIsChecked(t *testing.T) {
	good := newLane(1).Lane
	for name, spoil := range map[string]func(*Lane){
		"no source":      func(l *Lane) { l.Source = nil },
		"no sink":        func(l *Lane) { l.Sink = nil },
		"no pool":        func(l *Lane) { l.Pool = nil },
		"meters missing": func(l *Lane) { l.Meters = l.Meters[:2] },
		"negative depth": func(l *Lane) { l.Depth = -1 },
	} {
		l := good
		spoil(&l)
		if err := Run(t.Context(), l); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestStageMayNotTakeTheSourcesBlocks(t *testing.T) {
	l := newLane(10)
	l.Stages[1] = stageFunc(func(b *Block, out *Out) error {
		b.Release()
		_, err := out.Get()
		return err
	})
	if err := Run(t.Context(), l.Lane); err != ErrStagePool {
		t.Fatalf("Run returned %v", err)
	}
	l.checkReturned(t)
}

type stageFunc func(*Block, *Out) error

func (f stageFunc) Process(b *Block, out *Out) error { return f(b, out) }
func (f stageFunc) Finish(*Out) error                { return nil }

// A stage that makes two blocks of each, from a pool of one block.
func TestStageWithAPoolOfItsOwn(t *testing.T) {
	own := NewPool(1, 64)
	l := newLane(100)
	l.Stages[0] = stageFunc(func(b *Block, out *Out) error {
		defer b.Release()
		for range 2 {
			c, err := out.GetFrom(own)
			if err != nil {
				return err
			}
			c.Data = append(c.Data, b.Data...)
			if err := out.Send(c); err != nil {
				return err
			}
		}
		return nil
	})
	if err := Run(t.Context(), l.Lane); err != nil {
		t.Fatal(err)
	}
	if len(l.sink.got) != 200 || !slices.IsSorted(l.sink.got) {
		t.Errorf("sink got %d blocks", len(l.sink.got))
	}
	if s := own.Stats(); s.Outstanding != 0 || s.Allocated != 1 {
		t.Errorf("pool of the stage: %+v", s)
	}
	l.checkReturned(t)
}

// Many lanes over one pool and one set of meters, some of which fail.
func TestLanesShareAPoolAndMeters(t *testing.T) {
	pool, meters := NewPool(8, 64), []*Meter{{}, {}, {}, {}}
	boom := errors.New("boom")
	var wg sync.WaitGroup
	stop := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() { // an observer that never waits
		for {
			select {
			case <-stop:
				return
			default:
				for _, m := range meters {
					if s := m.Snapshot(); s.Lanes > 4 || s.Running() < 0 {
						t.Errorf("snapshot %+v", s)
						return
					}
				}
			}
		}
	})
	for i := range 4 {
		wg.Go(func() {
			for j := range 50 {
				l := newLane(20)
				l.Pool, l.Meters = pool, meters
				var want error
				if j%5 == 0 {
					want = boom
					l.at((i+j)%4, func(n int) error {
						if n == j%20 {
							return boom
						}
						return nil
					})
				}
				if err := Run(t.Context(), l.Lane); err != want {
					t.Errorf("Run returned %v, want %v", err, want)
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	watcher.Wait()
	if s := pool.Stats(); s.Outstanding != 0 || s.Allocated > 8 {
		t.Errorf("pool: %+v", s)
	}
	if n := meters[3].Snapshot(); n.Lanes != 0 || n.Peak < 1 || n.Blocks < 4*40*20 {
		t.Errorf("sink: %+v", n)
	}
}
