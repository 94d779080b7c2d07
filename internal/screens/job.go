// Package screens has jobs that only pretend, and draws what the terminal UI shows of them: as frames for its tests, and as SVG files for
// the documentation (make screens).
package screens

import (
	"errors"
	"time"

	"github.com/bytehaul/pghaul/internal/pipeline"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/tui"
)

// Start is when every job here begins.
var Start = time.Date(2026, 11, 30, 17, 0, 0, 0, time.UTC)

// Stage is one place of the pipeline and what it does with its time.
type Stage struct {
	Name                           string
	Busy, Server, Starved, Blocked float64 // shares
}

// Job is a job that pretends: [Job.Step] lets time pass. It is a tui.JobView, tui.GateView and tui.JobControl. Its fields are set before and
// between steps.
type Job struct {
	Name, Source, Target string
	Phase                progress.Phase
	Lanes                []Stage
	Waits                []progress.ServerWaits
	CPUs                 progress.CPUs
	Tables               []*progress.TableSnapshot
	Rate                 func(at time.Duration) float64 // bytes a second
	Exact                bool                           // sizes are
	Width                int                            // how many tables run at once
	GateAt               *tui.Gate
	Checks               []progress.Check
	Fails                map[string]error // tables that fail at 60 %
	ProofOf              func(*progress.TableSnapshot) (progress.Proof, string)

	at        time.Duration
	dataFrom  time.Duration
	meters    []pipeline.MeterSnapshot
	changes   []int
	events    []progress.Event
	paused    bool
	jobs      int
	done      chan struct{}
	err       error
	finished  bool
	moved     [2]int64 // rows, bytes
	Cancelled bool     // Cancel was called
	Killed    bool     // Kill was called
	Passed    []int    // gates
}

// Begin makes the tables known; call it before the first step.
func (j *Job) Begin() *Job {
	j.done = make(chan struct{})
	j.meters = make([]pipeline.MeterSnapshot, len(j.Lanes))
	j.jobs = max(j.Width, 1)
	for i, t := range j.Tables {
		t.ID, t.State, t.Segments = i, progress.Waiting, max(t.Segments, 1)
		j.changes = append(j.changes, i)
	}
	return j
}

// StartPhase begins a phase.
func (j *Job) StartPhase(name string, n, of int) {
	if j.Phase.Name != "" {
		j.event(progress.Event{Kind: progress.PhaseEnd, Phase: j.Phase.Name, Took: j.at})
	}
	j.Phase = progress.Phase{Name: name, N: n, Of: of, Started: Start.Add(j.at)}
	j.dataFrom = j.at
	j.event(progress.Event{Kind: progress.PhaseStart, Phase: name, N: n, Of: of})
}

// Warn says something.
func (j *Job) Warn(text string) { j.event(progress.Event{Kind: progress.Warning, Message: text}) }

func (j *Job) event(e progress.Event) {
	e.Seq, e.Time = len(j.events), Start.Add(j.at)
	j.events = append(j.events, e)
}

// Finish ends the job.
func (j *Job) Finish(err error) {
	if !j.finished {
		j.finished, j.err = true, err
		j.event(progress.Event{Kind: progress.Finished, Err: err, Took: j.at})
		close(j.done)
	}
}

// Step lets time pass.
func (j *Job) Step(d time.Duration) {
	if j.finished {
		return
	}
	j.at += d
	if j.paused {
		return
	}
	budget := 0.0
	if j.Rate != nil {
		budget = j.Rate(j.at) * d.Seconds()
	}
	running := j.fillLanes()
	for _, t := range running {
		j.move(t, budget/float64(len(running)), d)
	}
	if len(running) == 0 {
		return
	}
	for i, s := range j.Lanes {
		m := &j.meters[i]
		part := func(share float64) time.Duration {
			return time.Duration(share * float64(d) * float64(len(running)))
		}
		m.Busy += part(s.Busy)
		m.Server += part(s.Server)
		m.Starved += part(s.Starved)
		m.Blocked += part(s.Blocked)
		m.Raw, m.Rows, m.Peak = j.moved[1], j.moved[0], j.jobs
	}
}

// fillLanes starts tables until as many run as may.
func (j *Job) fillLanes() []*progress.TableSnapshot {
	var running []*progress.TableSnapshot
	for _, t := range j.Tables {
		if len(running) == j.Width {
			break
		}
		if t.State == progress.Waiting {
			t.State, t.SegmentsRunning = progress.Running, 1
			j.changes = append(j.changes, t.ID)
			j.event(progress.Event{Kind: progress.TableStart, Table: t.Name})
		}
		if t.State == progress.Running {
			running = append(running, t)
		}
	}
	return running
}

func (j *Job) move(t *progress.TableSnapshot, bytes float64, d time.Duration) {
	n := min(int64(bytes), t.Bytes-t.DoneBytes)
	rows := int64(0)
	if t.Bytes > 0 {
		rows = int64(float64(n) / float64(t.Bytes) * float64(t.Rows))
	}
	t.DoneBytes += n
	t.DoneRows += rows
	t.Elapsed += d
	j.moved[0] += rows
	j.moved[1] += n
	if t.Bytes > 0 {
		t.Fraction = float64(t.DoneBytes) / float64(t.Bytes)
	}
	t.SegmentsEnded = min(int(t.Fraction*float64(t.Segments)), t.Segments-1)
	t.SegmentsRunning = min(t.Segments-t.SegmentsEnded, j.Width)
	if err := j.Fails[t.Name]; err != nil && t.Fraction > 0.6 {
		t.State, t.Err, t.SegmentsRunning = progress.Failed, err, 0
		j.event(progress.Event{Kind: progress.TableError, Table: t.Name, Err: err})
		j.changes = append(j.changes, t.ID)
		return
	}
	if t.DoneBytes >= t.Bytes {
		j.finish(t)
	}
}

func (j *Job) finish(t *progress.TableSnapshot) {
	t.State, t.Fraction, t.SegmentsRunning, t.SegmentsEnded = progress.Done, 1, 0, t.Segments
	j.moved[0] += t.Rows - t.DoneRows
	t.DoneRows, t.RowsExact, t.BytesExact = t.Rows, true, true
	if j.ProofOf != nil {
		t.Proof, t.Note = j.ProofOf(t)
	}
	j.changes = append(j.changes, t.ID)
	j.event(progress.Event{Kind: progress.TableEnd, Table: t.Name, Rows: t.DoneRows, Bytes: t.DoneBytes, Took: t.Elapsed})
}

// Snapshot implements tui.JobView.
func (j *Job) Snapshot() progress.Snapshot {
	s := progress.Snapshot{Job: j.Name, Source: j.Source, Target: j.Target, Time: Start.Add(j.at), Elapsed: j.at, Phase: j.Phase, Waits: j.Waits, CPUs: j.CPUs,
		Checks: j.Checks, Finished: j.finished, Err: j.err, Rows: j.moved[0], MovedRows: j.moved[0], Bytes: j.moved[1], MovedBytes: j.moved[1]}
	s.Phase.Elapsed = j.at - j.dataFrom
	s.Work.Exact = j.Exact
	for _, t := range j.Tables {
		s.Tables.Total++
		s.Work.Total += t.Bytes
		s.Work.Done += t.DoneBytes
		s.Work.Remaining += t.Bytes - t.DoneBytes
		switch t.State {
		case progress.Waiting:
			s.Tables.Waiting++
		case progress.Running:
			s.Tables.Running++
			s.Running = append(s.Running, *t)
		case progress.Done:
			s.Tables.Done++
		case progress.Failed:
			s.Tables.Failed++
			s.Failed = append(s.Failed, *t)
		}
	}
	if j.moved[1] > 0 {
		s.Work.Started = Start.Add(j.dataFrom)
	}
	for i, l := range j.Lanes {
		s.Stages = append(s.Stages, progress.StageSnapshot{Name: l.Name, MeterSnapshot: j.meters[i]})
	}
	for _, e := range j.events {
		if e.Kind == progress.Warning {
			s.Warnings++
		}
	}
	return s
}

// Events implements tui.JobView.
func (j *Job) Events(from int) ([]progress.Event, int) {
	return j.events[min(from, len(j.events)):], len(j.events)
}

// TableChanges implements tui.JobView.
func (j *Job) TableChanges(from int) ([]int, int) {
	return j.changes[min(from, len(j.changes)):], len(j.changes)
}

// TablesByID implements tui.JobView.
func (j *Job) TablesByID(ids []int) []progress.TableSnapshot {
	var some []progress.TableSnapshot
	for _, id := range ids {
		if id >= 0 && id < len(j.Tables) {
			some = append(some, *j.Tables[id])
		}
	}
	return some
}

// Done implements tui.JobView.
func (j *Job) Done() <-chan struct{} { return j.done }

// Err implements tui.JobView.
func (j *Job) Err() error { return j.err }

// Pause implements tui.JobControl.
func (j *Job) Pause() { j.paused = true }

// Resume implements tui.JobControl.
func (j *Job) Resume() { j.paused = false }

// Paused implements tui.JobControl.
func (j *Job) Paused() bool { return j.paused }

// Jobs implements tui.JobControl.
func (j *Job) Jobs() int { return j.jobs }

// SetJobs implements tui.JobControl.
func (j *Job) SetJobs(n int) { j.jobs = n }

// ErrCancelled is what a job here ends with when it is cancelled.
var ErrCancelled = errors.New("cancelled")

// Cancel implements tui.JobControl; the end comes when the caller calls Finish.
func (j *Job) Cancel() { j.Cancelled = true }

// Kill implements tui.JobControl.
func (j *Job) Kill() { j.Killed = true }

// Gate implements tui.GateView.
func (j *Job) Gate() (tui.Gate, bool) {
	if j.GateAt == nil {
		return tui.Gate{}, false
	}
	return *j.GateAt, true
}

// PassGate implements tui.GateView.
func (j *Job) PassGate(n int) {
	j.Passed = append(j.Passed, n)
	j.GateAt = nil
}
