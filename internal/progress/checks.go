package progress

import (
	"slices"
	"time"
)

// CheckState is what has come of a check.
type CheckState string

// The states of a check.
const (
	CheckRunning CheckState = "running"
	CheckOK      CheckState = "ok"
	CheckWarning CheckState = "warning"
	CheckProblem CheckState = "problem" // refuses the job
)

// Bounds on what checks may pile up.
const (
	maxChecks       = 200
	maxCheckDetails = 500
)

// Check is one thing that a job looks at before it writes.
type Check struct {
	N       int // position in the job's checks, from 0
	Name    string
	State   CheckState
	Text    string // the result in one line
	Details []string
	Started time.Time
	Took    time.Duration
}

// StartCheck says that a check begins. What it returns ends it: with its state, the result in one line, and details, a line each, of which the first
// few hundred are kept. Only the first end counts; it may not come at all when the job fails.
func (t *Tracker) StartCheck(name string) (end func(state CheckState, text string, details ...string)) {
	at := -1
	t.locked(func() {
		if len(t.checks) >= maxChecks {
			return
		}
		at = len(t.checks)
		t.checks = append(t.checks, Check{N: at, Name: name, State: CheckRunning, Started: time.Now()})
		t.checkEvent(at)
	})
	return func(state CheckState, text string, details ...string) {
		t.locked(func() {
			if at < 0 || t.checks[at].State != CheckRunning {
				return
			}
			c := &t.checks[at]
			c.State, c.Text, c.Took = state, text, time.Since(c.Started)
			c.Details = slices.Clone(details[:min(len(details), maxCheckDetails)])
			t.checkEvent(at)
		})
	}
}

func (t *Tracker) checkEvent(at int) {
	c := t.checks[at]
	t.events.add(Event{Time: time.Now(), Kind: CheckChange, Check: &c, Took: c.Took, Message: c.Text})
}
