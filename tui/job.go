package tui

import (
	"errors"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/report"
)

// JobView is a job as the screens see it. Its methods may be called from any goroutine and return at once. All but the last two are those
// of a *progress.Tracker.
type JobView interface {
	Snapshot() progress.Snapshot
	// Events are those from number from on, and the number to ask for next.
	Events(from int) ([]progress.Event, int)
	// TableChanges are the numbers of tables that were added or have changed since, and what to ask with next time.
	TableChanges(from int) (ids []int, next int)
	// TablesByID are these tables, in this order; numbers of none are left out.
	TablesByID(ids []int) []progress.TableSnapshot
	// Done is closed when the job has ended and nothing of it is left.
	Done() <-chan struct{}
	// Err is the job's error; it counts once Done is closed.
	Err() error
}

// JobControl takes an operator's commands. Its methods may be called from any goroutine and return at once; what they ask for happens later.
type JobControl interface {
	// Pause stops the lanes at a block's boundary; sessions and the snapshot stay.
	Pause()
	Resume()
	Paused() bool
	// Jobs is how many lanes may run side by side, SetJobs changes it; it is at least 1.
	Jobs() int
	SetJobs(n int)
	// Cancel ends the job cleanly: what is left can be resumed.
	Cancel()
	// Kill gives up waiting for the clean end. It must not end the process: the program restores the terminal and [Run] returns [ErrAtOnce].
	Kill()
}

// Gate is a boundary between two phases at which a job waits for the operator. It is shown when it comes and passed by the operator.
type Gate struct {
	N     int      // tells gates of a job apart
	Title string   // what waits: "cut-over"
	Done  []string // what was done
	Next  []string // what comes next
	Word  string   // to be typed in before it is passed: for what destroys; "" for none
}

// GateView is a JobView whose job has gates.
type GateView interface {
	// Gate is the one that waits now.
	Gate() (g Gate, waits bool)
	// PassGate lets the job go on from gate n.
	PassGate(n int)
}

// ErrAtOnce is what [Run] returns when the operator has left without waiting for the job's clean end.
var ErrAtOnce = errors.New("left at once")

// Ended is what there is to say when a job has ended.
type Ended struct {
	Report *report.Report // nil: the job has none
	Err    error          // nil: all is well
	Hint   string         // what to do about Err
	Next   []string       // what to do next, a line each: commands too
}

// TableDetails is what a job knows of a table beside its progress. All text is drawn escaped.
type TableDetails struct {
	Columns  []ColumnDetails
	Segments []SegmentDetails
	Notes    []string
}

// ColumnDetails is one column on its way.
type ColumnDetails struct {
	Name, Type string
	Carried    string // "binary", "text", "OIDs rewritten", …
	Sample     string // a value, as text
}

// SegmentDetails is one segment.
type SegmentDetails struct {
	N           int
	State       progress.State
	Rows, Bytes int64
	Where       string // range or file
}
