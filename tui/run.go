package tui

import (
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/report"
)

// RunOptions are what the run screen shows.
type RunOptions struct {
	View    JobView // with [GateView], when the job has gates
	Control JobControl
	Phases  []string // names of all phases in order, for the rail, where the snapshot's Planned has none; nil: no rail
	// Leaving says what happens to the job when the screen is left: "the job goes on; its progress is shown as a line". Empty: the screen is not
	// left while the job runs.
	Leaving string
	// CancelMeans says what is left after a cancel: "what was restored stays, --resume goes on from there".
	CancelMeans string
	// Details gives what is known of a table; nil or an empty answer: nothing. It returns at once.
	Details func(progress.TableSnapshot) TableDetails
	// Ended is called once after View.Done, outside of Update, and may take its time. nil: there is no report.
	Ended func() Ended
}

// NewRun makes the run screen of a job: phases, pipeline, tables, log.
func NewRun(o RunOptions) Screen {
	return &run{o: o, rates: progress.NewRates(0)}
}

// pane is what stands in the lower part of the run screen.
type pane int

const (
	paneTables pane = iota
	paneLog
	paneDetails
)

// run is the run screen. Update fills it, View only reads it.
type run struct {
	o     RunOptions
	env   *Env
	rates *progress.Rates

	s       progress.Snapshot
	rate    progress.Rate // as shown
	rated   time.Time     // when rate was taken over
	lanes   map[string]*series
	sampled time.Time // of the last value in lanes
	jobs    int
	paused  bool
	phases  []string // of the rail
	said    int      // lines that the verdict has taken at most: it does not push the rest up and down

	pane    pane
	list    List
	tables  tableList
	visible []progress.TableSnapshot // rows of the list from its window's first on
	from    int                      // position of the first of visible
	filter  Input
	typing  bool // in the filter

	log     jobLog
	back    int // lines that the log is scrolled back by
	chosen  progress.TableSnapshot
	details TableDetails
	scroll  int // of the details

	gate      Gate
	waits     bool // at the gate
	cancelled bool
	ended     bool
	reported  bool
}

const (
	rateEvery   = 500 * time.Millisecond // numbers that change faster cannot be read
	sampleEvery = time.Second
)

type endedMsg struct {
	of  *run
	end Ended
}

// Init implements Screen.
func (r *run) Init(e *Env) tea.Cmd {
	r.env = e
	return r.look()
}

// Title implements Screen.
func (r *run) Title() string { return "a job that runs" }

// Update implements Screen.
func (r *run) Update(m tea.Msg) tea.Cmd {
	switch m := m.(type) {
	case TickMsg:
		return r.look()
	case endedMsg:
		if m.of == r {
			return Push(&reportScreen{end: r.whole(m.end), ofRun: true})
		}
	case tea.WindowSizeMsg:
		r.said = 0
		r.see()
	case tea.MouseMsg:
		r.mouse(m)
	case tea.KeyMsg:
		return r.key(m)
	}
	return nil
}

// look pulls what the job is doing.
func (r *run) look() tea.Cmd {
	v := r.o.View
	r.s = v.Snapshot()
	if r.phases = r.s.Planned; len(r.phases) == 0 {
		r.phases = r.o.Phases
	}
	rate := r.rates.Observe(r.s)
	if gap := r.s.Time.Sub(r.rated); gap >= rateEvery || gap < 0 || !r.rate.Known || r.s.Finished {
		r.rate, r.rated = rate, r.s.Time
		r.tables.rates = map[int]float64{}
		for _, t := range rate.Tables {
			r.tables.rates[t.ID] = t.Bytes
		}
	}
	r.said = max(r.said, len(r.wrapVerdict(r.plan(r.env.Width, r.env.Height-1).main)))
	r.sample(rate)
	r.log.follow(v)
	r.tables.follow(v)
	r.tables.arrange(r.s.Time)
	r.see()
	if c := r.o.Control; c != nil {
		r.jobs, r.paused = c.Jobs(), c.Paused()
	}
	if g, ok := v.(GateView); ok {
		r.gate, r.waits = g.Gate()
	}
	if r.pane == paneDetails {
		if now := v.TablesByID([]int{r.chosen.ID}); len(now) == 1 {
			r.chosen = now[0]
			r.describe()
		}
	}
	return r.end()
}

// end asks for the report, once, when the job is over.
func (r *run) end() tea.Cmd {
	select {
	case <-r.o.View.Done():
		r.ended = true
	default:
		return nil
	}
	if r.reported || r.o.Ended == nil {
		return nil
	}
	r.reported = true
	return func() tea.Msg { return endedMsg{r, r.o.Ended()} }
}

// whole gives an end that has no report of its own what the tracker knows.
func (r *run) whole(end Ended) Ended {
	if v, ok := r.o.View.(interface{ Report() progress.Report }); ok && end.Report == nil {
		end.Report = &report.Report{Progress: v.Report()}
	}
	return end
}

// sample adds to the lanes' sparklines once a second.
func (r *run) sample(rate progress.Rate) {
	if r.s.Finished || r.s.Time.Sub(r.sampled) < sampleEvery {
		return
	}
	r.sampled = r.s.Time
	if r.lanes == nil {
		r.lanes = map[string]*series{}
	}
	for _, st := range rate.Stages {
		if r.lanes[st.Name] == nil {
			r.lanes[st.Name] = &series{}
		}
		r.lanes[st.Name].add(st.Bytes)
	}
}

// see asks for the tables that may be visible: no screen shows more than its height.
func (r *run) see() {
	n := len(r.tables.order)
	r.list.SetPage(r.plan(r.env.Width, r.env.Height-1).area, n)
	r.from, _ = r.list.Window(r.list.page, n)
	r.visible = r.o.View.TablesByID(r.tables.ids(r.from, r.env.Height))
}

func (r *run) describe() {
	r.details = TableDetails{}
	if r.o.Details != nil {
		r.details = r.o.Details(r.chosen)
	}
}

// Captures implements Capturer: a job is not left by accident.
func (r *run) Captures(m tea.KeyMsg) bool {
	k := r.env.Keys
	switch {
	case r.typing, Pressed(m, k.Interrupt):
		return true
	case Pressed(m, k.Back):
		return r.pane != paneTables || r.filter.Text != "" || !r.ended
	}
	return Pressed(m, k.Quit) && !r.ended
}

// Keys implements Screen.
func (r *run) Keys() []key.Binding {
	k := r.env.Keys
	moving := k.moving()
	switch {
	case r.typing:
		return []key.Binding{As(k.Enter, "keep"), As(k.Back, "clear")}
	case r.ended:
		back := k.Back
		if r.pane != paneTables {
			back = As(k.Back, "tables")
		}
		keys := []key.Binding{back, As(k.Enter, "details"), As(k.Log, "log"), k.Sort, k.Filter, k.Quit}
		if r.o.Ended != nil {
			keys = append([]key.Binding{As(k.Write, "report")}, keys...)
		}
		return append(keys, moving...)
	case r.waits && r.pane == paneTables:
		return []key.Binding{As(k.Enter, "go on"), k.Log, k.Cancel, As(k.Quit, "leave")}
	case r.pane == paneLog:
		return append([]key.Binding{As(k.Log, "tables"), k.Cancel, As(k.Quit, "leave")}, moving...)
	case r.pane == paneDetails:
		return append([]key.Binding{As(k.Back, "tables"), k.Cancel, As(k.Quit, "leave")}, moving...)
	}
	pause := k.Pause
	if r.paused {
		pause = As(k.Pause, "resume")
	}
	return append([]key.Binding{pause, k.Cancel, Pair(k.More, k.Fewer, "jobs"), As(k.Enter, "details"), k.Log, k.Sort, k.Filter, As(k.Quit, "leave"),
		As(k.Interrupt, "cancel; twice: at once")}, moving...)
}

// Explain implements Explainer.
func (r *run) Explain() []string {
	e := r.env
	word := func(w string) string { return e.Styles.Muted.On(e.left(w, 12)) }
	states := ""
	for _, t := range []progress.TableSnapshot{{State: progress.Waiting}, {State: progress.Running}, {State: progress.Done}, {State: progress.Done, Proof: progress.Proven},
		{State: progress.Failed}} {
		sign, style, name := e.stateOf(&t)
		states += style.On(sign) + " " + name + "   "
	}
	return []string{
		word("a lane") + e.legend(),
		word("") + "busy: own work; server: waits for it; blocked: the next is full;",
		word("") + "starved: the one before is empty. The marked one is the limit.",
		word("a table") + states,
		word("left") + "01:30 exact sizes   ~01:30 estimated   01:30" + e.Glyphs.To + "02:10 the rate changes",
	}
}
