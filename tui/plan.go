package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/restore"
)

// ComparisonView is a JobView whose job compares the dump's tables with the target's.
type ComparisonView interface {
	// Comparisons are nil until they are known; the list is not changed.
	Comparisons() []restore.Comparison
}

// NewPlan makes the screen of what a job looks at before it begins: its checks, one by one. It gives way to the run screen when rows or definitions begin to
// move, and stays when the job is refused.
func NewPlan(o RunOptions) Screen { return &plan{o: o} }

type plan struct {
	o       RunOptions
	env     *Env
	s       progress.Snapshot
	list    List
	open    bool // the details of the check under the cursor
	scroll  int
	gate    Gate
	waits   bool
	ended   bool
	gone    bool // the run screen takes its place
	cancels bool
	moved   bool // the operator has moved the cursor
	end     *Ended
}

type planEndMsg struct {
	of  *plan
	end Ended
}

// Init implements Screen.
func (p *plan) Init(e *Env) tea.Cmd {
	p.env = e
	return p.look()
}

// Title implements Screen.
func (p *plan) Title() string { return "checks before a job" }

// Update implements Screen.
func (p *plan) Update(m tea.Msg) tea.Cmd {
	switch m := m.(type) {
	case TickMsg:
		return p.look()
	case planEndMsg:
		if m.of == p {
			p.end = &m.end
		}
	case tea.MouseMsg:
		p.moved = p.list.Update(p.env.Keys, m, len(p.s.Checks)) || p.moved
	case tea.KeyMsg:
		return p.key(m)
	}
	return nil
}

// looking tells the phases that this screen is for, of a job with these phases where it does not tell them itself.
func looking(s progress.Snapshot, phases []string) bool {
	if len(s.Planned) > 0 {
		phases = s.Planned
	}
	switch s.Phase.Name {
	case "", restore.PhasePreflight:
		return true
	case "plan": // with which jobs begin that make no checks, too
		return len(s.Checks) > 0 || slices.Contains(phases, restore.PhasePreflight)
	}
	return false
}

// look pulls what the job is doing.
func (p *plan) look() tea.Cmd {
	if p.ended || p.gone {
		return nil
	}
	p.s = p.o.View.Snapshot()
	if !p.moved && !p.open {
		p.toProblem()
	}
	p.list.SetPage(max(p.env.Height-6, 1), len(p.s.Checks))
	if g, ok := p.o.View.(GateView); ok {
		p.gate, p.waits = g.Gate()
	}
	select {
	case <-p.o.View.Done():
		p.ended = true
		p.s = p.o.View.Snapshot()
		if looking(p.s, p.o.Phases) && p.s.Err != nil && p.o.Ended != nil {
			return func() tea.Msg { return planEndMsg{p, p.o.Ended()} }
		}
	default:
		if looking(p.s, p.o.Phases) {
			return nil
		}
	}
	p.gone = true
	return Replace(NewRun(p.o))
}

// toProblem puts the cursor on the first check that has failed, or else has a warning.
func (p *plan) toProblem() {
	for _, state := range []progress.CheckState{progress.CheckProblem, progress.CheckWarning} {
		for i, c := range p.s.Checks {
			if c.State == state {
				p.list.Cursor = i
				return
			}
		}
	}
}

func (p *plan) key(m tea.KeyMsg) tea.Cmd {
	k := p.env.Keys
	switch {
	case Pressed(m, k.Interrupt):
		return p.interrupt()
	case Pressed(m, k.Back) && p.open:
		p.open = false
	case Pressed(m, k.Back) && p.ended:
		return Back()
	case Pressed(m, k.Cancel, k.Back) && !p.ended:
		return p.askCancel()
	case p.open:
		p.scroll = max(min(scrolled(k, m, p.scroll, 1, max(p.env.Height-5, 1), len(p.details(p.env.Width))), len(p.details(p.env.Width))-1), 0)
		if Pressed(m, k.Enter, k.Left) {
			p.open = false
		}
	case Pressed(m, k.Enter, k.Right) && !(p.waits && Pressed(m, k.Enter)):
		p.open, p.scroll = len(p.s.Checks) > 0, 0
	case Pressed(m, k.Enter):
		return p.pass()
	default:
		p.moved = p.list.Update(k, m, len(p.s.Checks)) || p.moved
	}
	return nil
}

func (p *plan) interrupt() tea.Cmd {
	switch {
	case p.ended || p.o.Control == nil:
		return Quit(nil)
	case p.cancels:
		p.o.Control.Kill()
		return Quit(ErrAtOnce)
	}
	p.cancels = true
	p.o.Control.Cancel()
	return nil
}

func (p *plan) askCancel() tea.Cmd {
	if p.cancels || p.o.Control == nil {
		return nil
	}
	return Ask(&Dialog{Title: "Cancel the job?", Lines: []string{"Nothing has been written yet."}, Yes: "cancel it", No: "let it go on", Danger: true, Then: func(yes bool, _ string) tea.Cmd {
		if yes && !p.cancels {
			p.cancels = true
			p.o.Control.Cancel()
		}
		return nil
	}})
}

// pass answers the job's question.
func (p *plan) pass() tea.Cmd {
	view, ok := p.o.View.(GateView)
	if !ok {
		return nil
	}
	g := p.gate
	if g.Word == "" {
		view.PassGate(g.N)
		p.waits = false
		return nil
	}
	return Ask(&Dialog{Title: g.Title, Lines: g.Next, Word: g.Word, Yes: "go on", No: "wait", Danger: true, Then: func(yes bool, _ string) tea.Cmd {
		if yes {
			view.PassGate(g.N)
			p.waits = false
		}
		return nil
	}})
}

// View implements Screen.
func (p *plan) View(width, height int) string {
	e := p.env
	head := joinWords(" "+e.Glyphs.Arrow+" ", show.Text(p.s.Source), show.Text(p.s.Target))
	lines := []string{e.spread(e.Styles.Title.On(show.Text(p.s.Job))+"   "+head, clock(p.s.Elapsed), width), p.state(width), ""}
	if p.open {
		text := p.details(width)
		from := min(p.scroll, max(len(text)-1, 0))
		return fitFrame(append(lines, text[from:]...), width, height)
	}
	foot := p.foot(width, max(height-len(lines)-4, 0))
	page := max(height-len(lines)-len(foot), 1)
	from, to := p.list.Window(page, len(p.s.Checks))
	for i := from; i < to; i++ {
		lines = append(lines, p.line(p.s.Checks[i], i == p.list.Cursor, width))
	}
	return fitFrame(append(lines, foot...), width, height)
}

// state is the sentence that sums the checks up.
func (p *plan) state(width int) string {
	e := p.env
	problems, warnings := 0, 0
	for _, c := range p.s.Checks {
		switch c.State {
		case progress.CheckProblem:
			problems++
		case progress.CheckWarning:
			warnings++
		}
	}
	text, st := "looking, before anything is written", e.Styles.Accent
	if problems > 0 {
		text, st = e.Glyphs.Failed+" "+show.Plural(int64(problems), "check", "checks")+" with problems so far; nothing is written", e.Styles.Bad
	}
	switch {
	case p.cancels && !p.ended:
		text, st = "cancelling; ctrl-c once more leaves at once", e.Styles.Warn
	case p.ended && p.s.Err != nil && problems > 0:
		text, st = e.Glyphs.Failed+" refused: nothing was written", e.Styles.Bad
	case p.ended && p.s.Err != nil:
		text, st = e.Glyphs.Failed+" ended: "+errorText(p.s.Err), e.Styles.Bad
		if p.cancels {
			text = e.Glyphs.Cancelled + " cancelled: nothing was written"
		}
	case p.waits && p.gate.Word != "":
		text, st = e.Glyphs.Warn+" this destroys rows: enter asks for the name of the database", e.Styles.Warn
	case p.waits && warnings > 0:
		text, st = e.Glyphs.Warn+" "+show.Plural(int64(warnings), "warning", "warnings")+"; enter starts", e.Styles.Warn
	case p.waits:
		text, st = e.Glyphs.Done+" nothing stands against it; enter starts", e.Styles.Good
	}
	return st.On(e.cut(text, width))
}

// line is one check.
func (p *plan) line(c progress.Check, here bool, width int) string {
	e := p.env
	mark, name := " ", e.Styles.Text
	if here {
		mark, name = e.Styles.Accent.On(e.Glyphs.Select), e.Styles.Selected
	}
	sign, st, word := e.Glyphs.Running, e.Styles.Accent, "looking"+e.Glyphs.Dots
	switch c.State {
	case progress.CheckOK:
		sign, st, word = e.Glyphs.Done, e.Styles.Good, c.Text
		if word == "" {
			word = "fine"
		}
	case progress.CheckWarning:
		sign, st, word = e.Glyphs.Warn, e.Styles.Warn, "warning: "+c.Text
	case progress.CheckProblem:
		sign, st, word = e.Glyphs.Failed, e.Styles.Bad, "problem: "+c.Text
	}
	if strings.HasSuffix(c.Text, " problems") || strings.HasSuffix(c.Text, " warnings") {
		word = c.Text
	}
	column := min(30, width/2)
	return e.cut(mark+st.On(sign)+" "+name.On(e.left(show.Text(c.Name), column-3))+" "+e.Styles.Muted.On(show.Line(word)), width)
}

// foot is the question, or the end, of at most so many lines.
func (p *plan) foot(width, most int) []string {
	e := p.env
	var text []string
	switch {
	case p.end != nil && p.end.Err != nil:
		text = append(append(text, ""), e.hang(" "+e.Styles.Bad.On(e.Glyphs.Failed)+" ", e.Styles.Bad, show.Line(p.end.Err.Error()), width)...)
		if p.end.Hint != "" {
			text = append(text, e.hang(" "+e.Styles.Accent.On(e.Glyphs.Mark)+" ", "", show.Line(p.end.Hint), width)...)
		}
	case p.waits:
		text = append(text, "")
		for _, l := range p.gate.Done {
			sign, st := e.Styles.Good.On(e.Glyphs.Done), e.Styles.Text
			if rest, ok := strings.CutPrefix(l, "warning: "); ok {
				l, sign, st = "warning: "+rest, e.Styles.Warn.On(e.Glyphs.Warn), e.Styles.Warn
			}
			text = append(text, e.hang(" "+sign+" ", st, show.Line(l), width)...)
		}
		for _, l := range p.gate.Next {
			text = append(text, e.hang(" "+e.Styles.Accent.On(e.Glyphs.Mark)+" ", "", show.Line(l), width)...)
		}
	}
	if c := p.current(); c != nil && len(c.Details) > 0 && !p.waits {
		text = append(append(text, ""), e.findings(c, width, "   ")...)
		if left := len(text) - most; left > 0 && most > 1 {
			text = append(text[:most-1], e.Styles.Muted.On("   enter shows all of it"))
		}
	}
	return text[:min(len(text), most)]
}

// details are those of the check under the cursor, and how the tables compare, where the check is about them.
func (p *plan) details(width int) (out []string) {
	e := p.env
	if p.list.Cursor >= len(p.s.Checks) {
		return nil
	}
	c := p.s.Checks[p.list.Cursor]
	out = append(out, e.Styles.Title.On(show.Text(c.Name)))
	if len(c.Details) == 0 {
		out = append(out, wrap(show.Line(c.Text), width)...)
	}
	out = append(out, e.findings(&c, width, " ")...)
	view, ok := p.o.View.(ComparisonView)
	if !ok || !strings.Contains(c.Name, "table") && !strings.Contains(c.Name, "column") {
		return out
	}
	fit := 0
	for _, bad := range []bool{true, false} { // what stands in the way comes first
		for _, t := range view.Comparisons() {
			switch {
			case t.Refused != bad && !t.Missing:
			case t.Missing && !bad:
			case t.Same():
				fit++
			default:
				out = append(out, e.comparison(&t, width)...)
			}
		}
	}
	if fit > 0 {
		out = append(out, "", e.Styles.Good.On(e.Glyphs.Done)+" "+e.Styles.Muted.On(e.cut(show.Plural(int64(fit), "table fits as it is", "tables fit as they are"), width-2)))
	}
	return out
}

// current is the check under the cursor; nil: there is none.
func (p *plan) current() *progress.Check {
	if p.list.Cursor < len(p.s.Checks) {
		return &p.s.Checks[p.list.Cursor]
	}
	return nil
}

// findings are what a check has found, one below the other.
func (e *Env) findings(c *progress.Check, width int, indent string) (out []string) {
	for _, d := range c.Details {
		sign, st := e.Styles.Bad.On(e.Glyphs.Failed), e.Styles.Bad
		if strings.HasPrefix(d, "warning: ") {
			sign, st = e.Styles.Warn.On(e.Glyphs.Warn), e.Styles.Warn
		}
		_, text, _ := strings.Cut(d, ": ") // the sign is word enough behind the state
		out = append(out, e.hang(indent+sign+" ", st, show.Line(text), width)...)
	}
	return out
}

// comparison draws a table's columns side by side, and the samples of its types.
func (e *Env) comparison(t *restore.Comparison, width int) []string {
	out := []string{"", e.Styles.Title.On(show.Table(t.Schema, t.Name)) + e.Styles.Muted.On("  "+show.Plural(t.Rows, "row", "rows"))}
	if t.Missing {
		return append(out, e.Styles.Bad.On("  the target has no such table"))
	}
	name, typ := max(width/4, 8), max((width-width/4-14)/2, 6)
	out = append(out, e.Styles.Muted.On("  "+e.left("column", name)+" "+e.left("dump", typ)+" "+e.left("target", typ)+" verdict"))
	for _, c := range t.Columns {
		sign, st := e.Glyphs.Done, e.Styles.Good
		switch {
		case c.Refused:
			sign, st = e.Glyphs.Failed, e.Styles.Bad
		case c.Verdict != restore.Same:
			sign, st = e.Glyphs.Warn, e.Styles.Warn
		}
		dash := func(s string) string {
			if s == "" {
				return "-"
			}
			return show.Text(s)
		}
		out = append(out, e.cut(st.On(sign)+" "+e.left(show.Text(string(c.Name)), name)+" "+e.left(dash(c.Dump), typ)+" "+e.left(dash(c.Target), typ)+" "+st.On(string(c.Verdict)), width))
		if c.Why != "" && c.Verdict != restore.Same {
			out = append(out, e.Styles.Muted.On(e.cut("    "+show.Line(c.Why), width)))
		}
	}
	for i, s := range t.Samples {
		if i == 0 {
			out = append(out, e.Styles.Muted.On("  samples: what the dump holds, and how the target reads it"))
		}
		sign, st := e.Glyphs.Done, e.Styles.Good
		if !s.Same {
			sign, st = e.Glyphs.Failed, e.Styles.Bad
		}
		out = append(out, e.cut(fmt.Sprintf("%s %s %s %s", st.On(sign), e.left(show.Text(s.Type), name), e.left(show.Line(s.Source), typ), show.Line(s.Target)), width))
	}
	return out
}

// Captures implements Capturer.
func (p *plan) Captures(m tea.KeyMsg) bool {
	k := p.env.Keys
	return Pressed(m, k.Interrupt) || Pressed(m, k.Back) || Pressed(m, k.Quit) && !p.ended
}

// Keys implements Screen.
func (p *plan) Keys() []key.Binding {
	k := p.env.Keys
	switch {
	case p.open:
		return append([]key.Binding{As(k.Back, "checks")}, k.moving()...)
	case p.ended:
		return []key.Binding{As(k.Enter, "details"), k.Back, k.Quit, Pair(k.Up, k.Down, "move")}
	case p.waits:
		return []key.Binding{As(k.Enter, "go on"), As(k.Right, "details"), k.Cancel, Pair(k.Up, k.Down, "move")}
	}
	return []key.Binding{As(k.Enter, "details"), k.Cancel, Pair(k.Up, k.Down, "move")}
}
