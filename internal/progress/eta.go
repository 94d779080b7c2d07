package progress

import "time"

// Below these an ETA would be a guess.
const (
	etaAfter    = 3 * time.Second
	etaFraction = 0.02
	etaSpread   = 1.25 // two forecasts that differ by more make a range
)

// ETAKind says what an ETA rests on.
type ETAKind string

// The kinds of an ETA.
const (
	Unknown ETAKind = "unknown" // too early, sizes unknown, at a standstill, paused, or no tables move
	Exact   ETAKind = "exact"   // the sizes are exact, the rate is steady
	About   ETAKind = "about"   // sizes are estimates
	Range   ETAKind = "range"   // the rate changes: Low to High
)

// ETA is the time left until the tables of this phase have moved. Low and High
// are equal unless Kind is Range, and 0 when it is not Known.
type ETA struct {
	Known     bool
	Kind      ETAKind
	Low, High time.Duration
}

// averageETA is the forecast from the average rate of this phase.
func (s Snapshot) averageETA() ETA {
	left, ok := s.left()
	if !ok {
		return ETA{Kind: Unknown}
	}
	return ETA{Known: true, Kind: s.Work.kind(), Low: left, High: left}
}

// left is the time left at the average rate, if that can be said.
func (s Snapshot) left() (time.Duration, bool) {
	w := s.Work
	if s.Finished || s.Paused || s.Phase.Ended || w.Started.IsZero() || w.Unknown > 0 {
		return 0, false
	}
	took := s.Time.Sub(w.Started)
	moved := w.Done - w.Before
	if took < etaAfter || moved <= 0 || float64(moved) < etaFraction*float64(w.Total-w.Before) {
		return 0, false
	}
	return forecast(w.Remaining, moved, took), true
}

func (w Work) kind() ETAKind {
	if w.Exact {
		return Exact
	}
	return About
}

// etaWith refines the average's forecast by what moved in the last window.
func (s Snapshot) etaWith(moved int64, took time.Duration) ETA {
	average, ok := s.left()
	if !ok {
		return ETA{Kind: Unknown}
	}
	if s.Work.Remaining == 0 {
		return ETA{Known: true, Kind: s.Work.kind()}
	}
	if moved <= 0 || took <= 0 { // at a standstill
		return ETA{Kind: Unknown}
	}
	recent := forecast(s.Work.Remaining, moved, took)
	low, high := min(average, recent), max(average, recent)
	if float64(high) > etaSpread*float64(low) {
		return ETA{Known: true, Kind: Range, Low: low, High: high}
	}
	mid := low + (high-low)/2
	return ETA{Known: true, Kind: s.Work.kind(), Low: mid, High: mid}
}

// forecast is the time for the remaining work at a measured rate, at most a
// century.
func forecast(remaining, moved int64, took time.Duration) time.Duration {
	const century = 100 * 365 * 24 * time.Hour
	left := float64(remaining) / float64(moved) * float64(took)
	return time.Duration(min(left, float64(century)))
}
