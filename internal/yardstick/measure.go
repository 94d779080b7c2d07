package yardstick

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// measure is one thing that is timed, a sample a round.
type measure struct {
	name    string
	run     func(ctx context.Context) (seconds float64, err error)
	cold    bool // it needs no round before those that count
	samples []float64
}

// rounds runs measures one after the other, so many times, with a round before that does not count: nobody has a quiet minute of the machine for itself.
func (b *bench) rounds(ctx context.Context, what string, all []*measure) error {
	for round := range b.o.Rounds + 1 {
		for _, m := range all {
			if round == 0 && m.cold {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			seconds, err := m.run(ctx)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", what, m.name, err)
			}
			when := fmt.Sprintf("round %d of %d", round, b.o.Rounds)
			if round == 0 {
				when = "warm-up"
			} else {
				m.samples = append(m.samples, seconds)
			}
			b.say("%s: %s: %.3f s (%s)", what, m.name, seconds, when)
		}
	}
	return nil
}

func (m *measure) median() float64 { return median(m.samples) }

// median is the middle of some numbers; of an even count the mean of the two in the middle; 0 of none.
func median(samples []float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	n := len(s)
	switch {
	case n == 0:
		return 0
	case n%2 == 1:
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// timed is how long f takes.
func timed(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return time.Since(start).Seconds(), err
}
