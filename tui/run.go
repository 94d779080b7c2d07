package tui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/internal/progress"
)

// RunOptions are what the run screen shows.
type RunOptions struct {
	View    JobView // with [GateView], when the job has gates
	Control JobControl
	Phases  []string // names of all phases in order, for the rail; nil: those that were seen
	// Leaving says what happens to the job when the screen is left: "the job goes on; its progress is shown as a line". A sentence without its
	// full stop; empty: the screen cannot be left while the job runs.
	Leaving string
	// CancelMeans says what is left after a cancel: "what was restored stays, --resume goes on from there".
	CancelMeans string
	// Details gives what is known of a table; nil or an empty answer: nothing. It returns at once.
	Details func(progress.TableSnapshot) TableDetails
	// Ended is called once after View.Done, outside of Update, and may take its time. nil: there is no report.
	Ended func() Ended
}

// NewRun makes the run screen of a job: phases, pipeline, tables, log.
func NewRun(o RunOptions) Screen { return &run{o: o} }

type run struct {
	o   RunOptions
	env *Env
}

func (r *run) Init(e *Env) tea.Cmd           { r.env = e; return nil }
func (r *run) Update(tea.Msg) tea.Cmd        { return nil }
func (r *run) View(width, height int) string { return "" }
func (r *run) Keys() []key.Binding           { return nil }
func (r *run) Title() string                 { return "run" }
