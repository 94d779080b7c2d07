package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

func (r *run) key(m tea.KeyMsg) tea.Cmd {
	k := r.env.Keys
	switch {
	case Pressed(m, k.Interrupt):
		return r.interrupt()
	case r.typing:
		r.typeFilter(m)
		return nil
	case Pressed(m, k.Back) && r.pane != paneTables:
		r.pane = paneTables
	case Pressed(m, k.Back) && r.filter.Text != "":
		r.filter.Text = ""
		r.refilter()
	case Pressed(m, k.Quit, k.Back):
		return r.leave()
	case Pressed(m, k.Log):
		r.toggleLog()
	case Pressed(m, k.Cancel):
		return r.askCancel()
	case Pressed(m, k.Write) && r.ended && r.o.Ended != nil:
		return func() tea.Msg { return endedMsg{r, r.o.Ended()} }
	case r.command(m):
	case r.waits && r.pane == paneTables:
		if Pressed(m, k.Enter) {
			return r.pass()
		}
	default:
		r.move(m)
	}
	return nil
}

// command sends a key to the job that is meant for it.
func (r *run) command(m tea.KeyMsg) bool {
	k, c := r.env.Keys, r.o.Control
	if c == nil || r.ended {
		return false
	}
	switch {
	case Pressed(m, k.Pause):
		if c.Paused() {
			c.Resume()
		} else if !r.cancelled {
			c.Pause()
		}
		r.paused = c.Paused()
	case Pressed(m, k.More):
		c.SetJobs(c.Jobs() + 1)
	case Pressed(m, k.Fewer):
		c.SetJobs(max(c.Jobs()-1, 1))
	default:
		return false
	}
	r.jobs = c.Jobs()
	return true
}

// move is for the pane.
func (r *run) move(m tea.KeyMsg) {
	k := r.env.Keys
	area := max(r.plan(r.env.Width, r.env.Height-1).area, 1)
	switch r.pane {
	case paneLog:
		r.back = max(min(scrolled(k, m, r.back, -1, area, len(r.log.lines)), len(r.log.lines)-area), 0)
	case paneDetails:
		n := len(r.detailLines(r.env.Width))
		r.scroll = max(min(scrolled(k, m, r.scroll, 1, area, n), n-area), 0)
	default:
		switch {
		case Pressed(m, k.Enter):
			r.open()
		case Pressed(m, k.Filter):
			r.typing = true
		case Pressed(m, k.Sort):
			r.tables.sort = (r.tables.sort + 1) % tableSorts
			r.tables.reorder(r.s.Time)
			r.see()
		case r.list.Update(k, m, len(r.tables.order)):
			r.see()
		}
	}
}

// scrolled gives the new offset of a text of n lines; down says whether the offset grows downwards (1) or upwards (-1).
func scrolled(k KeyMap, m tea.Msg, at, down, page, n int) int {
	switch {
	case Pressed(m, k.Up):
		return at - down
	case Pressed(m, k.Down):
		return at + down
	case Pressed(m, k.PageUp):
		return at - down*page
	case Pressed(m, k.PageDown):
		return at + down*page
	case Pressed(m, k.Top):
		return max(-down, 0) * n
	case Pressed(m, k.Bottom):
		return max(down, 0) * n
	}
	return at
}

func (r *run) mouse(m tea.MouseMsg) {
	step := map[tea.MouseButton]int{tea.MouseButtonWheelUp: -1, tea.MouseButtonWheelDown: 1}[m.Button]
	switch r.pane {
	case paneLog:
		r.back = max(min(r.back-step, len(r.log.lines)-r.list.page), 0)
		return
	case paneDetails:
		r.scroll = max(min(r.scroll+step, len(r.detailLines(r.env.Width))-1), 0)
		return
	}
	p := r.plan(r.env.Width, r.env.Height-1)
	row := m.Y - p.areaAt
	if m.Button == tea.MouseButtonLeft && m.Action == tea.MouseActionPress && row >= 0 && row < len(r.visible) && row < p.area {
		if at := r.from + row; at == r.list.Cursor {
			r.open()
		} else {
			r.list.Cursor = at
		}
	} else {
		r.list.Update(r.env.Keys, m, len(r.tables.order))
	}
	r.see()
}

// typeFilter takes a key while the filter is typed in.
func (r *run) typeFilter(m tea.KeyMsg) {
	k := r.env.Keys
	switch {
	case Pressed(m, k.Enter):
		r.typing = false
	case Pressed(m, k.Back):
		r.typing, r.filter.Text = false, ""
	case !r.filter.Update(k, m):
		if m.Type == tea.KeyUp || m.Type == tea.KeyDown {
			r.list.Update(k, m, len(r.tables.order))
		}
	}
	r.refilter()
}

func (r *run) refilter() {
	if words := strings.ToLower(r.filter.Text); words != r.tables.words {
		r.tables.words = words
		r.tables.reorder(r.s.Time)
		r.list.Cursor = 0
	}
	r.see()
}

// open shows the details of the table under the cursor.
func (r *run) open() {
	if at := r.list.Cursor - r.from; at >= 0 && at < len(r.visible) {
		r.chosen, r.pane, r.scroll = r.visible[at], paneDetails, 0
		r.describe()
	}
}

func (r *run) toggleLog() {
	if r.pane == paneLog {
		r.pane = paneTables
	} else {
		r.pane, r.back = paneLog, 0
	}
}

// interrupt is ctrl-c: the first ends the job cleanly, the second leaves at once.
func (r *run) interrupt() tea.Cmd {
	c := r.o.Control
	switch {
	case r.ended || c == nil:
		return Quit(nil)
	case r.cancelled:
		c.Kill()
		return Quit(ErrAtOnce)
	}
	r.cancel()
	return nil
}

func (r *run) cancel() {
	if r.o.Control != nil && !r.cancelled {
		r.cancelled = true
		r.o.Control.Cancel()
	}
}

// leave asks whether the screen is to be left, and says what becomes of the job.
func (r *run) leave() tea.Cmd {
	switch {
	case r.ended:
		return Quit(nil)
	case r.o.Leaving == "":
		return Toast("the job runs: c cancels it")
	}
	return Ask(&Dialog{Title: "Leave this screen?", Lines: []string{sentence(r.o.Leaving)}, Yes: "leave", No: "stay",
		Then: func(yes bool, _ string) tea.Cmd {
			if yes {
				return Quit(nil)
			}
			return nil
		}})
}

func (r *run) askCancel() tea.Cmd {
	if r.cancelled || r.ended || r.o.Control == nil {
		return nil
	}
	lines := []string{fmt.Sprintf("%s done, %s running, %s waiting.", count(r.s.Tables.Done), count(r.s.Tables.Running), count(r.s.Tables.Waiting))}
	if r.o.CancelMeans != "" {
		lines = append(lines, sentence(r.o.CancelMeans))
	}
	return Ask(&Dialog{Title: "Cancel the job?", Lines: lines, Yes: "cancel it", No: "let it go on", Danger: true,
		Then: func(yes bool, _ string) tea.Cmd {
			if yes {
				r.cancel()
			}
			return nil
		}})
}

// pass goes on from the gate; what destroys asks for its word.
func (r *run) pass() tea.Cmd {
	view, ok := r.o.View.(GateView)
	if !ok {
		return nil
	}
	g := r.gate
	if g.Word == "" {
		view.PassGate(g.N)
		r.waits = false
		return nil
	}
	return Ask(&Dialog{Title: g.Title, Lines: g.Next, Word: g.Word, Yes: "go on", No: "wait", Danger: true,
		Then: func(yes bool, _ string) tea.Cmd {
			if yes {
				view.PassGate(g.N)
				r.waits = false
			}
			return nil
		}})
}
