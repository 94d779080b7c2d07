package tui

import (
	"fmt"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
)

// detailLines are all lines of the details of the chosen table.
func (r *run) detailLines(width int) []string {
	e, t := r.env, &r.chosen
	sign, style, word := e.stateOf(t)
	lines := []string{"  " + style.On(sign+" "+word) + "  " + e.bar(t.Fraction, min(24, max(width-40, 0))) + " " + percent(t.Fraction)}
	rows := rowCount(t.Rows, t.RowsExact)
	fact := func(name, text string) {
		lines = append(lines, "  "+e.Styles.Muted.On(e.left(name, 10))+e.cut(text, max(width-12, 0)))
	}
	fact("rows", count(t.DoneRows)+" of "+rows)
	fact("size", show.Size(t.DoneBytes)+" of "+sizeOf(t.Bytes, t.BytesExact))
	fact("segments", fmt.Sprintf("%d ended, %d running, of %d", t.SegmentsEnded, t.SegmentsRunning, t.Segments))
	fact("time", joinWords("   ", clock(t.Elapsed), r.tablePace(t)))
	if t.Proof != progress.NotTried {
		fact("proof", joinWords(": ", string(t.Proof), show.Line(t.Note)))
	}
	for _, l := range wrap(errorText(t.Err), max(width-4, 1)) {
		if l != "" {
			lines = append(lines, "  "+e.Styles.Bad.On(l))
		}
	}
	for _, note := range r.details.Notes {
		for _, l := range wrap(show.Line(note), max(width-4, 1)) {
			lines = append(lines, "  "+l)
		}
	}
	lines = append(lines, r.columnLines(width)...)
	return append(lines, r.segmentLines(width)...)
}

// tablePace is how quickly a table moves; empty when it does not, or has just begun.
func (r *run) tablePace(t *progress.TableSnapshot) string {
	if rate, known := r.tables.rates[t.ID]; known && t.State == progress.Running {
		return rateOf(rate, r.rate.Known)
	}
	return ""
}

func (r *run) columnLines(width int) []string {
	e := r.env
	if len(r.details.Columns) == 0 {
		return nil
	}
	part := max((width-4)/4, 8)
	lines := []string{"", "  " + e.Styles.Muted.On(e.left("column", part)+e.left("type", part)+e.left("carried", part)+"sample")}
	for _, c := range r.details.Columns {
		carried := e.left(show.Line(c.Carried), part)
		if c.Carried != "binary" {
			carried = e.Styles.Warn.On(carried)
		}
		lines = append(lines, e.cut("  "+e.left(e.cut(show.Text(c.Name), part-2), part)+e.left(e.cut(show.Text(c.Type), part-2), part)+carried+show.Line(c.Sample), width))
	}
	return lines
}

func (r *run) segmentLines(width int) []string {
	e := r.env
	if len(r.details.Segments) == 0 {
		return nil
	}
	lines := []string{"", "  " + e.Styles.Muted.On(e.right("segment", 8)+"  "+e.left("state", 10)+e.right("rows", 16)+e.right("size", 11)+"  where")}
	for _, s := range r.details.Segments {
		sign, style, word := e.stateOf(&progress.TableSnapshot{State: s.State})
		lines = append(lines, e.cut("  "+e.right(count(s.N), 8)+"  "+style.On(e.left(sign+" "+word, 10))+e.right(count(s.Rows), 16)+e.right(show.Size(s.Bytes), 11)+"  "+
			e.Styles.Muted.On(show.Text(s.Where)), width))
	}
	return lines
}

// gateLines are what was done, what comes next, and how to go on.
func (r *run) gateLines(p runPlan) []string {
	e := r.env
	var lines []string
	add := func(sign string, style Style, texts []string) {
		for _, t := range texts {
			for i, l := range wrap(show.Line(t), max(p.main-6, 1)) {
				if i == 0 {
					lines = append(lines, "  "+style.On(sign)+" "+l)
				} else {
					lines = append(lines, "    "+l)
				}
			}
		}
	}
	add(e.Glyphs.Done, e.Styles.Good, r.gate.Done)
	if len(r.gate.Next) > 0 {
		lines = append(lines, "", "  "+e.Styles.Muted.On("next"))
		add(e.Glyphs.Arrow, e.Styles.Accent, r.gate.Next)
	}
	goOn := "  " + e.Styles.Key.On("enter") + " goes on"
	if r.gate.Word != "" {
		goOn += ", after " + e.Styles.Warn.On(show.Text(r.gate.Word)) + " is typed in"
	}
	room := max(p.area-1, 0)
	if len(lines) < room {
		lines = append(lines, "")
	}
	return append(lines[:min(len(lines), room)], goOn)
}
