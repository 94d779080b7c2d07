package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/report"
	"github.com/bytehaul/pghaul/internal/show"
)

// NewReport makes the screen of a job's end: how it ended, what to do next, what is missing, and the figures.
func NewReport(end Ended) Screen { return &reportScreen{end: end} }

// reportScreen is a text that scrolls. Its lines depend on the width alone.
type reportScreen struct {
	env   *Env
	end   Ended
	ofRun bool // the run screen of the job lies beneath
	at    int  // first visible line
	lines []string
	width int // that lines were made for
}

// Init implements Screen.
func (s *reportScreen) Init(e *Env) tea.Cmd {
	s.env = e
	s.layOut()
	return nil
}

// Title implements Screen.
func (s *reportScreen) Title() string { return "the report" }

// Keys implements Screen.
func (s *reportScreen) Keys() []key.Binding {
	k := s.env.Keys
	if s.ofRun {
		return append([]key.Binding{k.Write, As(k.Log, "tables and log"), k.Back, k.Quit}, k.moving()...)
	}
	return append([]key.Binding{k.Write, k.Back, k.Quit}, k.moving()...)
}

// Captures implements Capturer: who leaves the report leaves the job, which has ended.
func (s *reportScreen) Captures(m tea.KeyMsg) bool { return s.ofRun && Pressed(m, s.env.Keys.Back) }

// Update implements Screen.
func (s *reportScreen) Update(m tea.Msg) tea.Cmd {
	k, page := s.env.Keys, max(s.env.Height-2, 1)
	switch m := m.(type) {
	case tea.WindowSizeMsg:
		s.layOut()
	case tea.MouseMsg:
		switch m.Button {
		case tea.MouseButtonWheelUp:
			s.at--
		case tea.MouseButtonWheelDown:
			s.at++
		}
	case tea.KeyMsg:
		switch {
		case Pressed(m, k.Write):
			return s.askPath(s.fileName())
		case s.ofRun && Pressed(m, k.Back):
			return send(leaveMsg{})
		case s.ofRun && Pressed(m, k.Log):
			return Back()
		}
		s.at = scrolled(k, m, s.at, 1, page, len(s.lines))
	}
	s.at = max(min(s.at, len(s.lines)-page), 0)
	return nil
}

func (s *reportScreen) layOut() {
	if w := s.env.Width; w != s.width || s.lines == nil {
		s.width, s.lines = w, s.text(w)
	}
}

// View implements Screen.
func (s *reportScreen) View(width, height int) string {
	lines := s.lines
	if width != s.width {
		lines = s.text(width)
	}
	from := max(min(s.at, len(lines)-1), 0)
	visible := fill(append([]string{}, lines[from:min(from+max(height, 0), len(lines))]...), height)
	if below := len(lines) - from - height; below > 0 && height > 1 {
		visible[height-1] = s.env.Styles.Muted.On(s.env.Glyphs.Down + " " + show.Plural(int64(below+1), "more line", "more lines"))
	}
	return fitFrame(visible, width, height)
}

// text is all lines.
func (s *reportScreen) text(width int) []string {
	e := s.env
	lines := s.headLines(width)
	if s.end.Report == nil {
		return lines
	}
	p := &s.end.Report.Progress
	lines = append(lines, s.gaps(p, width)...)
	lines = append(lines, s.attention(p, width)...)
	lines = append(lines, s.warnings(p, width)...)
	for _, g := range []report.Grid{wordsAlone(s.end.Report.Tables()), s.end.Report.Stages()} {
		if len(g.Rows) > 0 {
			lines = append(lines, "")
			lines = append(lines, e.grid(g, width)...)
		}
	}
	if len(p.Phases) > 1 {
		var parts []string
		for _, ph := range p.Phases {
			parts = append(parts, fmt.Sprintf("%s %s s", show.Text(ph.Name), show.Seconds(ph.Elapsed)))
		}
		lines = append(lines, "")
		lines = append(lines, s.block("phases", Style(""), strings.Join(parts, ", "), width)...)
	}
	return lines
}

// headLines are what a reader must know: how it ended, why, and what to do.
func (s *reportScreen) headLines(width int) []string {
	e, r := s.env, s.end.Report
	lines := []string{}
	job := "the job"
	if r != nil {
		job = show.Text(r.Progress.Job)
		ends := joinWords(" "+e.Glyphs.Arrow+" ", show.Text(r.Progress.Source), show.Text(r.Progress.Target))
		lines = append(lines, e.spread(e.Styles.Title.On(job)+"   "+ends, e.Styles.Muted.On("took ")+clock(r.Progress.Elapsed), width), "")
	}
	sign, style, text := e.Glyphs.Done, e.Styles.Good, job+" is done"
	if r != nil && r.Outcome != "" {
		text = show.Line(r.Outcome)
	}
	switch {
	case s.end.Err != nil:
		sign, style, text = e.Glyphs.Failed, e.Styles.Bad, errorText(s.end.Err)
	case r != nil && r.Progress.GapCount > 0:
		sign, style = e.Glyphs.Warn, e.Styles.Warn
	}
	lines = append(lines, e.hang(style.On(sign)+" ", style.With(e.Styles.Title), text, width)...)
	if s.end.Hint != "" {
		lines = append(lines, e.hang(e.Styles.Muted.On("  hint "), "", show.Line(s.end.Hint), width)...)
	}
	if r != nil {
		for _, f := range r.Facts {
			if f.Text != "" {
				lines = append(lines, e.hang("  ", "", show.Line(f.Text), width)...)
			}
		}
		if v := r.Progress.Verdict.Sentence; v != "" {
			lines = append(lines, e.hang("  ", e.Styles.Muted, show.Line(v), width)...)
		}
	}
	if len(s.end.Next) > 0 {
		lines = append(lines, "", e.Styles.Title.On("next"))
		for _, n := range s.end.Next {
			lines = append(lines, e.hang("  "+e.Styles.Accent.On(e.Glyphs.Arrow)+" ", "", show.Line(n), width)...)
		}
	}
	return lines
}

func (s *reportScreen) gaps(p *progress.Report, width int) []string {
	if p.GapCount == 0 {
		return nil
	}
	e := s.env
	lines := []string{"", e.Styles.Title.On("missing")}
	for i := range p.Gaps {
		lines = append(lines, e.hang("  "+e.Styles.Bad.On(e.Glyphs.Failed)+" ", "", gapText(&p.Gaps[i]), width)...)
	}
	return append(lines, s.more(p.GapCount-len(p.Gaps))...)
}

// attention names the tables that failed or are not proven, with the reason.
func (s *reportScreen) attention(p *progress.Report, width int) []string {
	const most = 100
	e := s.env
	var lines []string
	n := 0
	for i := range p.Tables {
		t := &p.Tables[i]
		why := errorText(t.Err)
		if t.Err == nil {
			why = show.Line(t.Note)
		}
		sign, style, word := e.stateOf(&progress.TableSnapshot{State: t.State, Proof: t.Proof})
		if t.Err == nil && t.Proof != progress.Mismatch && t.Proof != progress.NotProven {
			continue
		}
		if n++; n <= most {
			lines = append(lines, e.hang("  "+style.On(sign)+" ", "", show.Text(t.Name)+" "+joinWords(": ", word, why), width)...)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	lines = append(lines, s.more(n-most)...)
	return append([]string{"", e.Styles.Title.On("tables to look at")}, lines...)
}

// wordsAlone takes the reasons out of the column of proofs: they stand above.
func wordsAlone(g report.Grid) report.Grid {
	last := len(g.Head) - 1
	if last < 0 || strings.HasPrefix(g.Head[last], ">") {
		return g
	}
	rows := make([][]string, len(g.Rows))
	for i, row := range g.Rows {
		rows[i] = slices.Clone(row)
		rows[i][last], _, _ = strings.Cut(row[last], ":")
	}
	return report.Grid{Head: g.Head, Rows: rows}
}

func (s *reportScreen) warnings(p *progress.Report, width int) []string {
	if p.WarningCount == 0 {
		return nil
	}
	e := s.env
	lines := []string{"", e.Styles.Title.On("warnings")}
	for _, w := range p.Warnings {
		lines = append(lines, e.hang("  "+e.Styles.Warn.On(e.Glyphs.Warn)+" ", "", show.Line(w), width)...)
	}
	return append(lines, s.more(p.WarningCount-len(p.Warnings))...)
}

func (s *reportScreen) more(n int) []string {
	if n <= 0 {
		return nil
	}
	return []string{"  " + s.env.Glyphs.Dots + " and " + count(n) + " more"}
}

func (s *reportScreen) block(title string, style Style, text string, width int) []string {
	return append([]string{s.env.Styles.Title.On(title)}, s.env.hang("  ", style, text, width)...)
}

// fileName is what is proposed to write to.
func (s *reportScreen) fileName() string {
	job, at := "job", s.env.Time
	if r := s.end.Report; r != nil && r.Progress.Job != "" {
		job = r.Progress.Job
	}
	return fmt.Sprintf("pghaul-%s-%s.txt", job, at.Format(time.DateOnly))
}
