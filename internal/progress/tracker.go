// Package progress keeps what a job is doing, for those who want to look.
//
// The job tells a [Tracker] its phases, tables, warnings and gaps, and counts
// rows and bytes per block with atomics. Observers (the terminal UI, the bar,
// the plain and JSON lines, the report) pull values: [Tracker.Snapshot] about
// ten times a second, [Tracker.Events] with a cursor, [Tracker.Report] at the
// end. Nothing on the data path sends, logs or waits for an observer. Rates over
// a window are kept by each observer in a [Rates] of its own.
//
// Every method of a nil *Tracker, and of the nil *Table that it gives, is safe
// and does nothing: a job without an observer needs no special case.
//
// Bytes are bytes of COPY rows, uncompressed, unless said otherwise.
package progress

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bytehaul/pghaul/internal/pipeline"
)

// The servers that SetWaits and SetServerCPUs speak of.
const (
	Source = "source"
	Target = "target"
)

// Bounds on what a job without end may pile up in memory. What is beyond is
// counted, and events say so.
const (
	maxEvents   = 4096
	maxWarnings = 1000
	maxGaps     = 10000
	maxFailed   = 100 // failed tables in a Snapshot; Tables has them all
)

// Tracker is what a job is doing. Its methods may be called from any goroutine.
type Tracker struct {
	job    string
	stages []string
	meters []*pipeline.Meter

	rows, bytes atomic.Int64 // moved by this run, all tables

	mu             sync.Mutex
	started        time.Time
	finished       bool
	ended          time.Time
	err            error
	source, target string
	phases         []Phase
	planned        []string // names of all phases
	tables         []*Table
	running        []*Table // in the order in which they started
	failed         []*Table
	changes        []int32 // numbers of tables, in the order in which they were added or changed
	sums           sums
	dataStart      time.Time // first segment of the present phase
	dataWeight     int64     // weight that was done at dataStart
	waits          map[string][]WaitShare
	cpus           map[string]int
	clientCPUs     int
	paused         time.Time // since when; zero: not now
	pausedFor      time.Duration
	warnings       []string
	warned         int
	gaps           []Gap
	gapped         int
	checks         []Check
	events         eventLog
}

// Phase is one phase of a job and how long it took, or takes so far.
type Phase struct {
	Name    string
	N, Of   int
	Started time.Time
	Elapsed time.Duration
	Ended   bool
}

// Gap is something that could not be made: an index, a constraint, a view.
type Gap struct {
	Kind, Name string
	SQLState   string // five characters, or empty
	Message    string
}

// New starts the clock of a job (dump, restore, migrate, verify) whose lanes
// have the given places, source first, sink last: "read", "parse", "convert",
// "write".
func New(job string, stages ...string) *Tracker {
	t := &Tracker{
		job: job, stages: stages, started: time.Now(),
		waits: map[string][]WaitShare{}, cpus: map[string]int{}, clientCPUs: runtime.NumCPU(),
	}
	for range stages {
		t.meters = append(t.meters, new(pipeline.Meter))
	}
	return t
}

// Meters gives one meter per stage, to be shared by all lanes. It is nil for a
// nil Tracker, with which a lane measures nothing.
func (t *Tracker) Meters() []*pipeline.Meter {
	if t == nil {
		return nil
	}
	return t.meters
}

// SetSource says where the data comes from, for people: never with a password.
func (t *Tracker) SetSource(desc string) { t.locked(func() { t.source = desc }) }

// SetTarget says where the data goes to, for people: never with a password.
func (t *Tracker) SetTarget(desc string) { t.locked(func() { t.target = desc }) }

// SetServerCPUs says how many CPUs a server (Source or Target) has, where that
// is known; the verdict tells with it whether more jobs could help.
func (t *Tracker) SetServerCPUs(server string, n int) { t.locked(func() { t.cpus[server] = n }) }

// PlanPhases says which phases the job has, in their order, before they begin.
func (t *Tracker) PlanPhases(names ...string) { t.locked(func() { t.planned = slices.Clone(names) }) }

// StartPhase begins phase n of so many, and ends the one before.
func (t *Tracker) StartPhase(name string, n, of int) {
	t.locked(func() {
		now := time.Now()
		t.endPhase(now)
		t.phases = append(t.phases, Phase{Name: name, N: n, Of: of, Started: now})
		t.dataStart = time.Time{}
		t.events.add(Event{Time: now, Kind: PhaseStart, Phase: name, N: n, Of: of})
	})
}

// EndPhase ends the present phase; without one it does nothing.
func (t *Tracker) EndPhase() { t.locked(func() { t.endPhase(time.Now()) }) }

func (t *Tracker) endPhase(now time.Time) {
	if len(t.phases) == 0 {
		return
	}
	p := &t.phases[len(t.phases)-1]
	if p.Ended {
		return
	}
	p.Ended, p.Elapsed = true, now.Sub(p.Started)
	t.events.add(Event{Time: now, Kind: PhaseEnd, Phase: p.Name, N: p.N, Of: p.Of, Took: p.Elapsed})
}

// SetPaused says that the job stands still because its operator wants it to, or
// goes on. The time in between is nobody's: the meters stand, and the forecast
// leaves it out.
func (t *Tracker) SetPaused(paused bool) {
	t.locked(func() {
		if paused == !t.paused.IsZero() || t.finished {
			return
		}
		now := time.Now()
		if paused {
			t.paused = now
			for _, m := range t.meters {
				m.Freeze()
			}
			t.events.add(Event{Time: now, Kind: Paused})
			return
		}
		t.resume(now)
		t.events.add(Event{Time: now, Kind: Resumed})
	})
}

// resume lets the meters go on.
func (t *Tracker) resume(now time.Time) {
	if t.paused.IsZero() {
		return
	}
	for _, m := range t.meters {
		m.Thaw()
	}
	stood := now.Sub(t.paused)
	t.pausedFor += stood
	if !t.dataStart.IsZero() {
		from := t.paused
		if t.dataStart.After(from) { // it began while the job was on its way to stand
			from = t.dataStart
		}
		t.dataStart = t.dataStart.Add(now.Sub(from))
	}
	t.paused = time.Time{}
}

// Warn records something that the user should know and that stops nothing.
func (t *Tracker) Warn(format string, args ...any) {
	t.locked(func() {
		msg := fmt.Sprintf(format, args...)
		t.warned++
		if len(t.warnings) < maxWarnings {
			t.warnings = append(t.warnings, msg)
		}
		t.events.add(Event{Time: time.Now(), Kind: Warning, Message: msg})
	})
}

// Log records a detail for those who look closely; it is in no report.
func (t *Tracker) Log(text string) {
	t.locked(func() { t.events.add(Event{Time: time.Now(), Kind: Logged, Message: text}) })
}

// Gap records something that could not be made.
func (t *Tracker) Gap(kind, name, sqlstate, message string) {
	t.locked(func() {
		g := Gap{Kind: kind, Name: name, SQLState: sqlstate, Message: message}
		t.gapped++
		if len(t.gaps) < maxGaps {
			t.gaps = append(t.gaps, g)
		}
		t.events.add(Event{Time: time.Now(), Kind: GapFound, Gap: &g, Message: message})
	})
}

// Finish ends the job: the present phase ends and the clock stands. Only the
// first call counts.
func (t *Tracker) Finish(err error) {
	t.locked(func() {
		if t.finished {
			return
		}
		now := time.Now()
		t.resume(now)
		t.endPhase(now)
		t.finished, t.ended, t.err = true, now, err
		t.events.add(Event{Time: now, Kind: Finished, Took: now.Sub(t.started),
			Rows: t.rows.Load(), Bytes: t.bytes.Load(), Err: err})
	})
}

// locked runs f under the lock, and not at all on a nil Tracker.
func (t *Tracker) locked(f func()) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

// clock is the moment up to which times count: now, or the end of the job.
func (t *Tracker) clock() time.Time {
	if t.finished {
		return t.ended
	}
	return time.Now()
}
