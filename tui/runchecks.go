package tui

import (
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
)

// checking tells whether the job is still looking before it moves anything, or was refused by what it has found.
func (r *run) checking() bool {
	c := r.s.Tables
	return len(r.s.Checks) > 0 && looking(r.s, r.o.Phases) && c.Running+c.Done+c.Failed+c.Cancelled == 0 && !moving(r.s)
}

// checkHead counts the checks by their results.
func (r *run) checkHead(width int) string {
	e := r.env
	line := e.Styles.Title.On("checks")
	for _, x := range []struct {
		state progress.CheckState
		word  string
	}{{progress.CheckProblem, "with problems"}, {progress.CheckWarning, "with warnings"}, {progress.CheckRunning, "running"}, {progress.CheckOK, "fine"}} {
		n := 0
		for i := range r.s.Checks {
			if r.s.Checks[i].State == x.state {
				n++
			}
		}
		if n > 0 {
			_, style := e.checkSign(x.state)
			if x.state == progress.CheckOK {
				style = ""
			}
			line += "   " + style.On(count(n)+" "+x.word)
		}
	}
	return e.cut(line, width)
}

// checkLines are the checks, one below the other as they come, and what those found that are not fine. Of more than there is room for the last
// ones are shown.
func (r *run) checkLines(p runPlan) []string {
	e := r.env
	name := max(min(p.main*3/8, 32), 8)
	var lines []string
	for i := range r.s.Checks {
		c := &r.s.Checks[i]
		sign, style := e.checkSign(c.State)
		text := show.Line(c.Text)
		if c.State == progress.CheckOK {
			text = e.Styles.Muted.On(e.cut(text, p.main-name-5))
		}
		lines = append(lines, e.cut("  "+style.On(sign)+" "+e.left(show.Text(c.Name), name)+" "+text, p.main))
		if c.State != progress.CheckProblem && c.State != progress.CheckWarning || len(c.Details) < 2 {
			continue
		}
		for _, d := range c.Details {
			lines = append(lines, e.hang("      ", "", show.Line(d), p.main)...)
		}
	}
	return lines[max(len(lines)-p.area, 0):]
}

// checkSign is a check's result as a sign and a colour.
func (e *Env) checkSign(s progress.CheckState) (string, Style) {
	g, st := e.Glyphs, e.Styles
	switch s {
	case progress.CheckOK:
		return g.Done, st.Good
	case progress.CheckWarning:
		return g.Warn, st.Warn
	case progress.CheckProblem:
		return g.Failed, st.Bad
	}
	return g.Running, st.Accent
}
