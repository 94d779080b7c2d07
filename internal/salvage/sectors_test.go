package salvage

import (
	"math/rand/v2"
	"testing"
)

// TestLostSectors: whatever is lost in whatever order, the ranges are those of the bytes, in order, and as few as can be.
func TestLostSectors(t *testing.T) {
	const size = 200
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := &sectors{size: size}
		var bytes [size]bool
		for range 1 + r.IntN(30) {
			from := r.IntN(size)
			to := min(size, from+1+r.IntN(12))
			s.lose(int64(from), int64(to))
			for i := from; i < to; i++ {
				bytes[i] = true
			}
		}
		last := int64(-1)
		for _, b := range s.bad {
			if b.from <= last || b.to <= b.from {
				t.Fatalf("seed %d: %v", seed, s.bad)
			}
			last = b.to
		}
		for i := range int64(size) {
			if s.lost(i, i+1) != bytes[i] {
				t.Fatalf("seed %d: byte %d: lost %t, want %t: %v", seed, i, !bytes[i], bytes[i], s.bad)
			}
		}
		if s.lost(0, size) != (len(s.bad) > 0) || s.lost(size, size+1) {
			t.Fatalf("seed %d: %v", seed, s.bad)
		}
	}
}
