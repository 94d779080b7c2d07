package progress

import (
	"time"

	"github.com/bytehaul/pghaul/internal/pipeline"
)

// DefaultWindow is the time that rates are averaged over: long enough that
// numbers do not jump, short enough to see a change.
const DefaultWindow = 5 * time.Second

// Rates turns one observer's snapshots into rates over a window. Each observer
// has its own, so that they do not disturb each other. It is not safe for
// concurrent use.
type Rates struct {
	window  time.Duration
	paused  bool
	samples []sample // oldest first; one at least as old as the window is kept
}

// sample is what of a snapshot the rates need.
type sample struct {
	time        time.Time
	rows, bytes int64
	work        int64
	stages      []pipeline.MeterSnapshot
	tables      map[int]amount
}

// Rate is what is going on now: the last window's averages.
type Rate struct {
	Known   bool          // two snapshots at different times have been seen
	Over    time.Duration // the time that it is averaged over
	Rows    float64       // per second
	Bytes   float64       // per second
	Stages  []StageRate
	Tables  []TableRate // those of Snapshot.Running, in its order
	ETA     ETA
	Verdict Verdict
}

// StageRate is one place of the pipeline in the window. The shares are of the
// time that its lanes ran, and add up to 1 if any did.
type StageRate struct {
	Name                           string
	Bytes, Rows                    float64 // per second; bytes of rows, uncompressed
	Busy, Starved, Blocked, Server float64 // shares, 0 to 1
}

// TableRate is one running table in the window.
type TableRate struct {
	ID          int
	Bytes, Rows float64 // per second
}

// NewRates makes an observer with the given window (DefaultWindow when 0).
func NewRates(window time.Duration) *Rates {
	if window <= 0 {
		window = DefaultWindow
	}
	return &Rates{window: window}
}

// Observe takes the next snapshot of the same Tracker and gives the rates up to
// it. Rates are never negative: a segment that is unwound shows as none.
func (r *Rates) Observe(s Snapshot) Rate {
	now := sampleOf(s)
	if s.Paused != r.paused { // a window reaches over no pause
		r.samples, r.paused = nil, s.Paused
	}
	r.trim(now.time)
	first := now
	if len(r.samples) > 0 {
		first = r.samples[0]
	}
	if n := len(r.samples); n == 0 || now.time.After(r.samples[n-1].time) {
		r.samples = append(r.samples, now)
	}
	over := now.time.Sub(first.time)
	if over <= 0 {
		return Rate{ETA: s.ETA, Verdict: s.Verdict, Stages: stageRates(s, now, 0), Tables: tableRates(s, now, 0)}
	}
	return Rate{
		Known: true, Over: over,
		Rows: perSecond(now.rows-first.rows, over), Bytes: perSecond(now.bytes-first.bytes, over),
		Stages: stageRates(s, first, over), Tables: tableRates(s, first, over),
		ETA:     s.etaWith(now.work-max(first.work, s.Work.Before), over),
		Verdict: Judge(since(s.Stages, first), s.Waits, s.CPUs),
	}
}

// trim drops samples that the window no longer reaches, all but the youngest
// of those.
func (r *Rates) trim(now time.Time) {
	k := 0
	for k+1 < len(r.samples) && now.Sub(r.samples[k+1].time) >= r.window {
		k++
	}
	r.samples = append(r.samples[:0], r.samples[k:]...)
}

func sampleOf(s Snapshot) sample {
	x := sample{time: s.Time, rows: s.MovedRows, bytes: s.MovedBytes, work: s.Work.Done, tables: map[int]amount{}}
	for _, st := range s.Stages {
		x.stages = append(x.stages, st.MeterSnapshot)
	}
	for _, tb := range s.Running {
		x.tables[tb.ID] = amount{tb.DoneRows, tb.DoneBytes}
	}
	return x
}

// since gives the stages' meters from the sample on.
func since(stages []StageSnapshot, first sample) []StageSnapshot {
	out := make([]StageSnapshot, len(stages))
	for i, st := range stages {
		out[i] = st
		if i < len(first.stages) {
			out[i].MeterSnapshot = st.Sub(first.stages[i])
		}
	}
	return out
}

func stageRates(s Snapshot, first sample, over time.Duration) []StageRate {
	var out []StageRate
	for _, st := range since(s.Stages, first) {
		out = append(out, StageRate{
			Name: st.Name, Bytes: perSecond(st.Raw, over), Rows: perSecond(st.Rows, over),
			Busy: st.share(st.Busy), Starved: st.share(st.Starved),
			Blocked: st.share(st.Blocked), Server: st.share(st.Server),
		})
	}
	return out
}

func tableRates(s Snapshot, first sample, over time.Duration) []TableRate {
	var out []TableRate
	for _, tb := range s.Running {
		was, ok := first.tables[tb.ID]
		if !ok {
			// It started within the window: count from its start, where the
			// table's own time is the shorter one.
			was = amount{}
			if tb.Elapsed < over {
				out = append(out, TableRate{tb.ID, perSecond(tb.DoneBytes, tb.Elapsed), perSecond(tb.DoneRows, tb.Elapsed)})
				continue
			}
		}
		out = append(out, TableRate{tb.ID, perSecond(tb.DoneBytes-was.bytes, over), perSecond(tb.DoneRows-was.rows, over)})
	}
	return out
}

func perSecond(n int64, over time.Duration) float64 {
	if over <= 0 || n <= 0 {
		return 0
	}
	return float64(n) / over.Seconds()
}

// share is the part of the lanes' time that d is, 0 to 1.
func (s StageSnapshot) share(d time.Duration) float64 {
	if run := s.MeterSnapshot.Running(); run > 0 {
		return float64(d) / float64(run)
	}
	return 0
}
