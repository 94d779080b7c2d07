package pipeline

import (
	"context"
	"io"
	"testing"
)

// paced sends a block for every token it gets.
type paced struct{ tokens chan struct{} }

func (s *paced) Run(_ context.Context, out *Out) error {
	for range s.tokens {
		b, err := out.Get()
		if err != nil {
			return err
		}
		b.Data = b.Data[:cap(b.Data)]
		if err := out.Send(b); err != nil {
			return err
		}
	}
	return nil
}

type pass struct{}

func (pass) Process(b *Block, out *Out) error { return out.Send(b) }
func (pass) Finish(*Out) error                { return nil }

// acker tells of every block that has arrived.
type acker struct{ acks chan struct{} }

func (s *acker) Run(_ context.Context, in *In) error {
	for {
		b, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		b.Release()
		s.acks <- struct{}{}
	}
}

func TestBlocksMoveWithoutAllocating(t *testing.T) {
	src, sink := &paced{make(chan struct{})}, &acker{make(chan struct{})}
	done := make(chan error)
	go func() {
		done <- Run(t.Context(), Lane{
			Source: src, Stages: []Stage{pass{}, pass{}}, Sink: sink,
			Pool: NewPool(4, 64), Meters: []*Meter{{}, {}, {}, {}},
		})
	}()
	one := func() {
		src.tokens <- struct{}{}
		<-sink.acks
	}
	for range 100 {
		one()
	}
	if n := testing.AllocsPerRun(1000, one); n != 0 {
		t.Errorf("%v allocations per block", n)
	}
	close(src.tokens)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

type flood struct{ n int }

func (s flood) Run(_ context.Context, out *Out) error {
	for range s.n {
		b, err := out.Get()
		if err != nil {
			return err
		}
		if err := out.Send(b); err != nil {
			return err
		}
	}
	return nil
}

type hole struct{}

func (hole) Run(_ context.Context, in *In) error {
	for {
		b, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		b.Release()
	}
}

// BenchmarkLane is the engine's own cost of one block through a source, two
// stages and a sink: what a block of 1 MiB costs besides its bytes.
func BenchmarkLane(b *testing.B) {
	for name, meters := range map[string][]*Meter{"metered": {{}, {}, {}, {}}, "unmetered": nil} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			err := Run(b.Context(), Lane{
				Source: flood{b.N}, Stages: []Stage{pass{}, pass{}}, Sink: hole{},
				Pool: NewPool(8, 64), Meters: meters,
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkMeterState is one change of state: two per wait.
func BenchmarkMeterState(b *testing.B) {
	c := clock{m: new(Meter)}
	c.start()
	for b.Loop() {
		c.enter(starved)
		c.enter(busy)
	}
}
