package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
)

// View implements Screen.
func (r *run) View(width, height int) string {
	p := r.plan(width, height)
	lines := []string{r.header(p.width), r.phaseLine(p)}
	if p.bar {
		lines = append(lines, r.totalBar(p.width))
	}
	top := len(lines)
	if p.rate {
		lines = append(lines, r.rateLine(p.main))
	}
	if p.railLine {
		lines = append(lines, r.railLine(p.main))
	}
	if p.gap1 {
		lines = append(lines, "")
	}
	if p.legend {
		lines = append(lines, spaces(laneMark+laneName)+r.env.legend())
	}
	lines = append(lines, r.pipeline(p)...)
	if p.gap2 {
		lines = append(lines, "")
	}
	lines = append(lines, r.lower(p)...)
	if p.rail > 0 {
		rail := r.railColumn(p.height - top)
		for i := range lines[top:] {
			side := ""
			if i < len(rail) {
				side = rail[i]
			}
			lines[top+i] = r.env.left(side, p.rail) + lines[top+i]
		}
		for i := len(lines) - top; i < len(rail); i++ {
			lines = append(lines, rail[i])
		}
	}
	return fitFrame(lines, p.width, p.height)
}

// header names the job and says how long it has taken and will take.
func (r *run) header(width int) string {
	e := r.env
	names := e.Styles.Title.On(show.Text(r.s.Job))
	ends := joinWords(" "+e.Glyphs.Arrow+" ", show.Text(r.s.Source), show.Text(r.s.Target))
	if ends != "" {
		names += "   " + ends
	}
	took := clock(r.s.Elapsed)
	switch {
	case r.s.Finished:
		return e.spread(names, e.Styles.Muted.On("took ")+took, width)
	case width < wideFull:
		return e.spread(names, took, width)
	}
	left := e.etaText(r.rate.ETA)
	if r.paused || !moving(r.s) {
		left = "unknown"
	}
	// The columns of the line below.
	return e.spread(names, e.right(took, rateWidth)+"   "+e.right(e.Styles.Muted.On("left ")+left, rowsWidth+3+percentWidth), width)
}

// moving tells whether tables move in the present phase.
func moving(s progress.Snapshot) bool { return !s.Work.Started.IsZero() && !s.Phase.Ended }

// far is how much of the tables' work is done; known says whether that can be told.
func (r *run) far() (part float64, known bool) {
	w := r.s.Work
	switch {
	case r.s.Finished && r.s.Err == nil:
		return 1, true
	case w.Total <= 0 || w.Unknown > 0:
		return 0, false
	}
	return clean(w.Fraction()), true
}

// phaseLine is the phase, its place among the others, and the pace.
func (r *run) phaseLine(p runPlan) string {
	e, ph := r.env, r.s.Phase
	name := e.Styles.Accent.On(show.Text(ph.Name))
	switch {
	case r.s.Finished:
		name = r.outcome()
	case ph.Name == "":
		name = e.Styles.Muted.On("starting")
	case ph.Of > 1 && p.main >= wideFull:
		name = e.Styles.Muted.On(fmt.Sprintf("phase %d of %d", ph.N, ph.Of)) + "  " + name
	case ph.Of > 1:
		name += e.Styles.Muted.On(fmt.Sprintf(" %d/%d", ph.N, ph.Of))
	}
	if r.paused && !r.s.Finished {
		name += "  " + e.Styles.Warn.On("paused")
	}
	if r.jobs > 0 && p.main >= wideFull && !r.s.Finished {
		name += e.Styles.Muted.On("   " + show.Plural(int64(r.jobs), "job", "jobs"))
	}
	part, known := r.far()
	done := percent(part)
	if !known {
		done = "  ? %"
	}
	if p.main < wideFull {
		if r.s.Finished {
			return e.spread(name, done, p.width)
		}
		left := e.etaText(r.rate.ETA)
		if r.paused || !moving(r.s) || !r.rate.ETA.Known {
			left = "?"
		}
		return e.spread(name, done+e.Styles.Muted.On("  left ")+left, p.width)
	}
	return e.spread(name, r.pace()+"   "+e.Styles.Title.On(e.right(done, percentWidth)), p.width)
}

// pace is what moves now, or moved on average when all is over.
func (r *run) pace() string {
	e := r.env
	if !r.s.Finished && (!moving(r.s) || r.s.MovedBytes == 0 && r.s.MovedRows == 0) {
		return spaces(rateWidth + 3 + rowsWidth)
	}
	bytes, rows, known := r.rate.Bytes, r.rate.Rows, r.rate.Known
	if sec := r.s.Elapsed.Seconds(); r.s.Finished && sec > 0 {
		bytes, rows, known = float64(r.s.MovedBytes)/sec, float64(r.s.MovedRows)/sec, true
	}
	return e.right(rateOf(bytes, known), rateWidth) + "   " + e.right(rowsOf(rows, known), rowsWidth)
}

func (r *run) rateLine(width int) string {
	return r.env.cut(r.env.Styles.Muted.On(r.pace()), width)
}

func (r *run) totalBar(width int) string {
	part, _ := r.far()
	return r.env.thinBar(part, width)
}

// outcome is how a job has ended.
func (r *run) outcome() string {
	e, s := r.env, r.s
	switch {
	case r.cancelled && s.Err != nil:
		return e.Styles.Warn.On(e.Glyphs.Cancelled + " cancelled")
	case s.Err != nil:
		return e.Styles.Bad.On(e.Glyphs.Failed + " failed")
	case s.Gaps > 0:
		return e.Styles.Warn.On(fmt.Sprintf("%s incomplete: %s", e.Glyphs.Warn, show.Plural(int64(s.Gaps), "object could not be made", "objects could not be made")))
	}
	return e.Styles.Good.On(e.Glyphs.Done + " done")
}

// railLine is the phases in one line: those that are done, the present one, those to come.
func (r *run) railLine(width int) string {
	e := r.env
	at := r.phaseAt()
	var before, after []string
	for i, name := range r.phases {
		switch text := show.Text(name); {
		case i < at && r.skipped(name):
		case i < at:
			before = append(before, e.Styles.Good.On(e.Glyphs.Done)+" "+e.Styles.Muted.On(text))
		case i == at:
			before = append(before, e.Styles.Accent.On(e.Glyphs.Mark+" "+text))
		default:
			after = append(after, e.Styles.Muted.On(text))
		}
	}
	dot := e.Styles.Muted.On(" " + e.Glyphs.Dot + " ")
	to := ""
	if len(after) > 0 {
		to = dot + strings.Join(after, dot)
	}
	line := strings.Join(before, "  ") + to
	// What is done goes first when the room is short.
	for i := 0; widthOf(line) > width && i < len(before)-1; i++ {
		line = e.Styles.Good.On(e.Glyphs.Done) + e.Styles.Muted.On(e.Glyphs.Dots) + " " + strings.Join(before[i+1:], "  ") + to
	}
	return e.cut(line, width)
}

// skipped tells whether a phase before the present one has not taken place; of a job that does not tell its phases none is.
func (r *run) skipped(name string) bool {
	return len(r.s.Phases) > 0 && !slices.ContainsFunc(r.s.Phases, func(p progress.Phase) bool { return p.Name == name })
}

// phaseAt is the place of the present phase among all; behind the last one when the job is done.
func (r *run) phaseAt() int {
	if r.s.Finished && r.s.Err == nil {
		return len(r.phases)
	}
	for i, name := range r.phases {
		if name == r.s.Phase.Name {
			return i
		}
	}
	return r.s.Phase.N - 1
}

// railColumn is the phases one below the other.
func (r *run) railColumn(height int) []string {
	e := r.env
	at := r.phaseAt()
	lines := []string{""}
	for i, name := range r.phases {
		text := e.cut(show.Text(name), railWidth-2)
		switch {
		case i < at && r.skipped(name):
			text = e.Styles.Muted.On(e.Glyphs.Cancelled + " " + text)
		case i < at:
			text = e.Styles.Good.On(e.Glyphs.Done) + " " + e.Styles.Muted.On(text)
		case i == at && r.s.Finished:
			text = e.Styles.Bad.On(e.Glyphs.Failed + " " + text)
		case i == at:
			text = e.Styles.Accent.With(e.Styles.Title).On(e.Glyphs.Mark + " " + text)
		default:
			text = e.Styles.Muted.On(e.Glyphs.Waiting + " " + text)
		}
		lines = append(lines, text)
	}
	return lines[:max(min(len(lines), height), 0)]
}
