package progress

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bytehaul/pghaul/internal/pipeline"
)

// Snapshot is what a job is doing at one moment. It is the caller's own.
type Snapshot struct {
	Job            string
	Source, Target string // for people
	Time           time.Time
	Elapsed        time.Duration // since New, up to Finish
	Phase          Phase         // the present or the last one
	Phases         []Phase       // all so far
	Planned        []string      // names of all phases, where the job has said so; not to be changed
	Rows, Bytes    int64         // done, earlier runs of a resumed job included
	MovedRows      int64         // by this run: what rates are made of
	MovedBytes     int64
	RowsTotal      Total
	BytesTotal     Total
	Work           Work
	Tables         TableCounts
	Running        []TableSnapshot // in the order in which they started
	Failed         []TableSnapshot // the first hundred; Tables.Failed counts all
	Stages         []StageSnapshot
	Waits          []ServerWaits
	CPUs           CPUs
	ETA            ETA // from the average so far; [Rates.Observe] has a better one
	Verdict        Verdict
	Warnings, Gaps int
	Checks         []Check       // in their order; Details are not to be changed
	Paused         bool          // the operator lets it stand still
	PausedFor      time.Duration // in all, the present pause included; part of Elapsed
	Finished       bool
	Err            error // of a job that has finished
}

// Total is an expected number. It is the sum of what is known; Known says that
// nothing is missing in it, Exact that no estimate is in it.
type Total struct {
	N     int64
	Known bool
	Exact bool
}

// Work measures how far the tables are, for the ETA. Its unit is about a byte.
type Work struct {
	Done, Remaining, Total int64
	Started                time.Time // of the first segment in this phase; zero: none yet
	Before                 int64     // done when it started
	Exact                  bool      // sizes are exact
	Unknown                int       // tables to come of unknown size
}

// Fraction is the part that is done, 0 to 1.
func (w Work) Fraction() float64 {
	if w.Total <= 0 {
		return 0
	}
	return float64(w.Done) / float64(w.Total)
}

// TableCounts counts tables by state and by proof.
type TableCounts struct {
	Total, Waiting, Running, Done, Failed, Cancelled int
	Segments, SegmentsEnded                          int
	Proven, NotProven, Mismatched, Skipped           int
}

// TableSnapshot is one table at one moment.
type TableSnapshot struct {
	TableInfo
	ID              int // position in the order of AddTable
	State           State
	DoneRows        int64
	DoneBytes       int64
	SegmentsRunning int
	SegmentsEnded   int
	Fraction        float64 // 0 to 1
	Elapsed         time.Duration
	Proof           Proof
	Note            string
	Err             error
}

// StageSnapshot is one place of the pipeline, over all lanes.
type StageSnapshot struct {
	Name string
	pipeline.MeterSnapshot
}

// ServerWaits is what a server's backends were doing, most first.
type ServerWaits struct {
	Server string // Source or Target
	Shares []WaitShare
}

// WaitShare is the share, 0 to 1, of one wait event: "CPU", "LWLock/WALWrite".
type WaitShare struct {
	Event string
	Share float64
}

// CPUs is how many CPUs each side has; 0 is unknown.
type CPUs struct {
	Client, Source, Target int
}

// SetWaits replaces what is known of a server's (Source or Target) wait events:
// shares from 0 to 1 by event name. The map is copied.
func (t *Tracker) SetWaits(server string, shares map[string]float64) {
	var list []WaitShare
	for e, s := range shares {
		list = append(list, WaitShare{e, s})
	}
	slices.SortFunc(list, func(a, b WaitShare) int {
		switch {
		case a.Share > b.Share:
			return -1
		case a.Share < b.Share:
			return 1
		}
		return strings.Compare(a.Event, b.Event)
	})
	t.locked(func() { t.waits[server] = list })
}

// Snapshot says what the job is doing now. Its cost does not depend on how many
// tables there are, only on how many run. It is zero for a nil Tracker.
func (t *Tracker) Snapshot() Snapshot {
	if t == nil {
		return Snapshot{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	s := Snapshot{
		Job: t.job, Source: t.source, Target: t.target,
		Time: now, Elapsed: now.Sub(t.started),
		Phases:    t.phasesAt(now),
		Planned:   t.planned,
		MovedRows: t.rows.Load(), MovedBytes: t.bytes.Load(),
		Stages: t.stageSnapshots(), Waits: t.waitsList(),
		CPUs:     CPUs{Client: t.clientCPUs, Source: t.cpus[Source], Target: t.cpus[Target]},
		Warnings: t.warned, Gaps: t.gapped,
		Paused: !t.paused.IsZero(), PausedFor: t.pausedFor,
		Checks:   slices.Clone(t.checks),
		Finished: t.finished, Err: t.err,
	}
	if s.Paused {
		s.PausedFor += now.Sub(t.paused)
	}
	if n := len(s.Phases); n > 0 {
		s.Phase = s.Phases[n-1]
	}
	s.Rows, s.Bytes = t.sums.beforeRows+s.MovedRows, t.sums.beforeBytes+s.MovedBytes
	t.totals(&s)
	for _, tb := range t.running {
		s.Running = append(s.Running, tb.snapshot(now))
	}
	for _, tb := range t.failed[:min(len(t.failed), maxFailed)] {
		s.Failed = append(s.Failed, tb.snapshot(now))
	}
	s.ETA = s.averageETA()
	s.Verdict = Judge(s.Stages, s.Waits, s.CPUs)
	return s
}

// Tables gives all tables in the order in which they were added.
func (t *Tracker) Tables() []TableSnapshot {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	all := make([]TableSnapshot, 0, len(t.tables))
	for _, tb := range t.tables {
		all = append(all, tb.snapshot(now))
	}
	return all
}

func (tb *Table) snapshot(now time.Time) TableSnapshot {
	moved := tb.total()
	return TableSnapshot{
		TableInfo: tb.info, ID: tb.id, State: tb.state,
		DoneRows: moved.rows, DoneBytes: moved.bytes,
		SegmentsRunning: tb.running, SegmentsEnded: tb.ended,
		Fraction: tb.fraction(), Elapsed: tb.elapsed(now),
		Proof: tb.proof, Note: tb.note, Err: tb.err,
	}
}

func (t *Tracker) phasesAt(now time.Time) []Phase {
	phases := slices.Clone(t.phases)
	if n := len(phases); n > 0 && !phases[n-1].Ended {
		phases[n-1].Elapsed = now.Sub(phases[n-1].Started)
	}
	return phases
}

func (t *Tracker) stageSnapshots() []StageSnapshot {
	stages := make([]StageSnapshot, len(t.stages))
	for i, name := range t.stages {
		stages[i] = StageSnapshot{name, t.meters[i].Snapshot()}
	}
	return stages
}

// waitsList shares the lists with the tracker: SetWaits makes them anew.
func (t *Tracker) waitsList() []ServerWaits {
	var list []ServerWaits
	for _, server := range slices.Sorted(maps.Keys(t.waits)) {
		list = append(list, ServerWaits{server, t.waits[server]})
	}
	return list
}

// totals fills in what the sums say, running tables that have outgrown their
// estimates included.
func (t *Tracker) totals(s *Snapshot) {
	c := &t.sums
	s.RowsTotal = Total{c.rows, c.rowsUnknown == 0, c.rowsInexact == 0}
	s.BytesTotal = Total{c.bytes, c.bytesUnknown == 0, c.bytesInexact == 0}
	for _, tb := range t.running {
		moved := tb.total()
		s.RowsTotal.N += max(moved.rows-max(tb.info.Rows, 0), 0)
		s.BytesTotal.N += max(moved.bytes-max(tb.info.Bytes, 0), 0)
	}
	running := t.runningWeight()
	s.Work = Work{
		Done: c.weightDone + running, Total: c.weight,
		Remaining: max(c.weight-c.weightEnded-running, 0),
		Started:   t.dataStart, Before: t.dataWeight,
		Exact: c.bytesInexact == 0, Unknown: c.sizeless,
	}
	s.Tables = TableCounts{
		Total: c.total, Waiting: c.waiting, Running: c.running, Done: c.done, Failed: c.failed, Cancelled: c.cancelled,
		Segments: c.segments, SegmentsEnded: c.segmentsEnded,
		Proven: c.proven, NotProven: c.notProven, Mismatched: c.mismatched, Skipped: c.skipped,
	}
}
