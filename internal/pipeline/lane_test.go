package pipeline

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The parts below make lanes whose every place can be told to do something
// with block number at (from 0); blocks carry their number in Data.

type hook func(n int) error

func (h hook) call(n int) error {
	if h == nil {
		return nil
	}
	return h(n)
}

// counter sends blocks numbered from 0. It does not mind a cancelled context
// by itself: Out tells it.
type counter struct {
	blocks int
	do     hook
}

func (s *counter) Run(_ context.Context, out *Out) error {
	for i := range s.blocks {
		b, err := out.Get()
		if err != nil {
			return fmt.Errorf("source: %w", err)
		}
		b.Data = binary.BigEndian.AppendUint64(b.Data, uint64(i))
		b.Rows = 2
		if err := s.do.call(i); err != nil {
			b.Release()
			return err
		}
		if err := out.Send(b); err != nil {
			return fmt.Errorf("source: %w", err)
		}
	}
	return s.do.call(s.blocks)
}

func number(b *Block) int { return int(binary.BigEndian.Uint64(b.Data)) }

// relay passes blocks on; call number -1 is Finish.
type relay struct {
	do                hook
	finished, aborted int
}

func (s *relay) Process(b *Block, out *Out) error {
	if err := s.do.call(number(b)); err != nil {
		b.Release()
		return err
	}
	return out.Send(b)
}

func (s *relay) Finish(*Out) error {
	err := s.do.call(-1)
	if err == nil {
		s.finished++
	}
	return err
}

func (s *relay) Abort() { s.aborted++ }

// collector keeps the numbers it saw; call number -1 is at the clean end.
type collector struct {
	do  hook
	got []int
	end error // what Next ended with
}

func (s *collector) Run(_ context.Context, in *In) error {
	for {
		b, err := in.Next()
		if err != nil {
			s.end = err
			if err == io.EOF {
				return s.do.call(-1)
			}
			return fmt.Errorf("sink: %w", err)
		}
		n := number(b)
		s.got = append(s.got, n)
		b.Release()
		if err := s.do.call(n); err != nil {
			return err
		}
	}
}

// testLane is a lane of four places, and what a test looks at afterwards.
type testLane struct {
	Lane
	source *counter
	stages [2]*relay
	sink   *collector
}

func newLane(blocks int) *testLane {
	t := &testLane{source: &counter{blocks: blocks}, sink: &collector{}}
	t.stages = [2]*relay{{}, {}}
	t.Lane = Lane{
		Source: t.source, Stages: []Stage{t.stages[0], t.stages[1]}, Sink: t.sink,
		Pool: NewPool(4, 64), Meters: []*Meter{{}, {}, {}, {}},
	}
	return t
}

// at puts h into one of the four places.
func (t *testLane) at(place int, h hook) {
	switch place {
	case 0:
		t.source.do = h
	case 3:
		t.sink.do = h
	default:
		t.stages[place-1].do = h
	}
}

var places = []string{"source", "first stage", "second stage", "sink"}

func (t *testLane) checkReturned(tb testing.TB) {
	tb.Helper()
	if s := t.Pool.Stats(); s.Outstanding != 0 {
		tb.Errorf("%d blocks were not given back", s.Outstanding)
	}
	for i, m := range t.Meters {
		if n := m.Lanes(); n != 0 {
			tb.Errorf("meter of the %s still counts %d lanes", places[i], n)
		}
	}
}
