package tui

import (
	"fmt"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
)

// lower is the heading and the rows of the lower pane.
func (r *run) lower(p runPlan) []string {
	var lines []string
	if p.head {
		lines = append(lines, r.lowerHead(p.main))
	}
	switch {
	case r.pane == paneLog:
		return append(lines, r.log.view(r.env, r.s.Time.Add(-r.s.Elapsed), p.main, p.area, r.back)...)
	case r.pane == paneDetails:
		all := r.detailLines(p.main)
		from := max(min(r.scroll, len(all)-p.area), 0)
		return append(lines, all[from:min(from+p.area, len(all))]...)
	case r.waits:
		return append(lines, r.gateLines(p)...)
	case r.checking():
		return append(lines, r.checkLines(p)...)
	}
	return append(lines, r.tableRows(p)...)
}

func (r *run) lowerHead(width int) string {
	e := r.env
	switch {
	case r.pane == paneLog:
		return e.spread(e.Styles.Title.On("log"), e.Styles.Muted.On(show.Plural(int64(len(r.log.lines)), "line", "lines")), width)
	case r.pane == paneDetails:
		return e.spread(e.Styles.Title.On("table")+"  "+show.Text(r.chosen.Name), e.Styles.Muted.On("esc back"), width)
	case r.waits:
		return e.Styles.Title.On("gate") + "  " + e.Styles.Accent.On(show.Text(r.gate.Title))
	case r.checking():
		return r.checkHead(width)
	}
	if width < wideFull && !r.typing && r.filter.Text == "" {
		return e.cut(r.counts(width), width)
	}
	return e.spread(r.counts(width), r.order(), width)
}

// counts says how many tables are in which state.
func (r *run) counts(width int) string {
	e, c := r.env, r.s.Tables
	gap := "   "
	if width < wideFull {
		gap = " "
	}
	line := e.Styles.Title.On("tables")
	for _, x := range []struct {
		n     int
		word  string
		style Style
	}{{c.Failed, "failed", e.Styles.Bad}, {c.Mismatched, "different", e.Styles.Bad}, {c.Cancelled, "cancelled", e.Styles.Warn}, {c.Running, "running", ""},
		{c.Done, "done", ""}, {c.Waiting, "waiting", ""}} {
		switch {
		case x.n == 0 && x.style != "":
		case x.n == 0:
			line += gap + e.Styles.Muted.On("0 "+x.word)
		default:
			line += gap + x.style.On(count(x.n)+" "+x.word)
		}
	}
	return line
}

// order says how the list is sorted and filtered.
func (r *run) order() string {
	e := r.env
	if r.typing {
		return e.Styles.Key.On("/") + r.filter.view(e, filterWidth)
	}
	s := ""
	if r.filter.Text != "" {
		s = e.Styles.Key.On("/") + e.Styles.Match.On(e.cut(show.Text(r.filter.Text), filterWidth)) + e.Styles.Muted.On(" "+count(len(r.tables.order))+"   ")
	}
	return s + e.Styles.Muted.On("sort: "+r.tables.sort.String()+" "+e.Glyphs.Down)
}

const filterWidth = 20

// tableRows are the visible rows of the list.
func (r *run) tableRows(p runPlan) []string {
	e := r.env
	n := len(r.tables.order)
	if n == 0 && p.area > 0 {
		text := "no tables yet"
		if r.filter.Text != "" {
			text = "no table matches"
		}
		return []string{e.Styles.Muted.On("  " + text)}
	}
	from, to := r.list.Window(p.area, n)
	var lines []string
	for at := from; at < to; at++ {
		if i := at - r.from; i >= 0 && i < len(r.visible) {
			lines = append(lines, r.tableRow(&r.visible[i], at == r.list.Cursor, p.main))
		}
	}
	return lines
}

// Columns of a row: what is behind the name, from the widest screen to the narrowest.
const (
	amountWidth = 22 // a bar with its percentage, or a number of rows
	pieceWidth  = 9  // segments, or a size
	paceWidth   = 9  // a rate, or a time
	wordWidth   = 10 // of the state
)

func (r *run) tableRow(t *progress.TableSnapshot, cursor bool, width int) string {
	e := r.env
	sign, style, word := e.stateOf(t)
	cur := " "
	if cursor {
		cur = e.Styles.Accent.On(e.Glyphs.Select)
	}
	nameStyle := Style("")
	switch {
	case cursor:
		nameStyle = e.Styles.Selected
	case t.State == progress.Waiting:
		nameStyle = e.Styles.Muted
	}
	head := cur + style.On(sign) + " "
	const headWidth = 3
	tail := r.tableTail(t, word, style, width)
	if t.Err != nil || t.Proof == progress.Mismatch {
		why := errorText(t.Err)
		if t.Err == nil {
			why = show.Line(t.Note)
		}
		name := e.cut(show.Text(t.Name), max((width-headWidth)/2, 0))
		rest := width - headWidth - widthOf(name) - 2
		return head + nameStyle.On(name) + "  " + e.Styles.Bad.On(e.cut(word+": "+why, rest))
	}
	return head + nameStyle.On(e.left(show.Text(t.Name), width-headWidth-widthOf(tail))) + tail
}

// tableTail is what stands behind a table's name: as many columns as the width has room for.
func (r *run) tableTail(t *progress.TableSnapshot, word string, style Style, width int) string {
	e := r.env
	var amount, piece, pace string
	switch t.State {
	case progress.Running:
		amount = e.thinBar(t.Fraction, amountWidth-percentWidth-1) + " " + e.right(percent(t.Fraction), percentWidth)
		if piece = fmt.Sprintf("%d/%d", t.SegmentsEnded, t.Segments); len(piece) <= pieceWidth-4 {
			piece += " seg"
		}
		pace = r.tablePace(t)
	case progress.Done:
		amount, piece, pace = show.Plural(t.DoneRows, "row", "rows"), show.Size(t.DoneBytes), clock(t.Elapsed)
	default:
		amount, piece = e.Styles.Muted.On(rowCount(t.Rows, t.RowsExact)), e.Styles.Muted.On(sizeOf(t.Bytes, t.BytesExact))
	}
	if width < 44 { // the narrowest: one figure
		if t.State == progress.Running {
			return " " + e.right(percent(t.Fraction), percentWidth) + e.right(pace, paceWidth)
		}
		return " " + e.right(piece, percentWidth+paceWidth)
	}
	if width < 56 {
		return "  " + e.right(amount, amountWidth)
	}
	tail := " " + e.right(amount, amountWidth) + " " + e.right(piece, pieceWidth) + " "
	if width < 68 {
		return tail + style.On(e.left(word, wordWidth))
	}
	return tail + e.right(pace, paceWidth) + "  " + style.On(e.left(word, wordWidth))
}

// stateOf is a table's state as a sign, a colour and a word.
func (e *Env) stateOf(t *progress.TableSnapshot) (sign string, style Style, word string) {
	g, st := e.Glyphs, e.Styles
	switch {
	case t.State == progress.Failed:
		return g.Failed, st.Bad, "failed"
	case t.Proof == progress.Mismatch:
		return g.Failed, st.Bad, "different"
	case t.State == progress.Cancelled:
		return g.Cancelled, st.Warn, "cancelled"
	case t.State == progress.Running:
		return g.Running, st.Accent, "running"
	case t.State == progress.Waiting:
		return g.Waiting, st.Muted, "waiting"
	case t.Proof == progress.Proven:
		return g.Done, st.Good, "proven"
	case t.Proof == progress.NotProven:
		return g.Warn, st.Warn, "not proven"
	}
	return g.Done, st.Good, "done"
}
