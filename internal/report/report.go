// Package report writes the end-of-job report: tables, stages, totals and the verdict, as text for people or as one JSON document.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
)

// maxTables is how many tables the text names; with more, the largest are named and the rest is summed up.
const (
	maxTables = 40
	topTables = 20
)

// Report is a job's end: the tracker's numbers, and what the job itself says of its result.
type Report struct {
	Progress progress.Report
	Facts    []Fact // in order
	Outcome  string // the last sentence, without a full stop
}

// Fact is one thing that the job itself knows: where the dump is, its size on disk. Value is a number, a string or a list of strings for the
// document; Text is for people, and empty for what only the document has.
type Fact struct {
	Key   string
	Value any
	Text  string
}

// Text is the report for people. Its tables leave out the columns of numbers that say least where they would be wider than width, in columns of a
// terminal; 0 is as wide as they come.
func (r *Report) Text(width int) string {
	p := &r.Progress
	var b strings.Builder
	b.WriteString(r.title() + "\n")
	for _, g := range []Grid{r.Tables(), r.Stages()} {
		if len(g.Rows) > 0 {
			b.WriteString("\n" + g.text(width))
		}
	}
	if len(p.Phases) > 1 {
		b.WriteString("\n" + phases(p.Phases))
	}
	r.lists(&b)
	b.WriteString("\n")
	for _, f := range r.Facts {
		if f.Text != "" {
			b.WriteString(f.Text + "\n")
		}
	}
	if s := p.Verdict.Sentence; s != "" {
		b.WriteString(s + "\n")
	}
	if r.Outcome != "" {
		b.WriteString(r.Outcome + "\n")
	}
	return b.String()
}

func (r *Report) title() string {
	p := &r.Progress
	s := show.Text(p.Job)
	if p.Source != "" {
		s += " " + show.Text(p.Source)
	}
	if p.Target != "" {
		s += " → " + show.Text(p.Target)
	}
	return s
}

// Grid is a table of text: headings, of which those that begin with ">" are of columns of numbers, and rows, all escaped for the terminal.
type Grid struct {
	Head []string
	Rows [][]string
}

// text draws the grid. While it is wider than width the last column of numbers goes, but for the first two: the names stay whole.
func (g Grid) text(width int) string {
	for {
		out := show.NewGrid("", g.Head...)
		for _, row := range g.Rows {
			out.Row(row...)
		}
		text := out.String()
		last := -1
		for i, h := range g.Head {
			if strings.HasPrefix(h, ">") {
				last = i
			}
		}
		if width <= 0 || last < 3 || widest(text) <= width {
			return text
		}
		g = g.without(last)
	}
}

// widest is the length of the longest line, in columns of a terminal.
func widest(text string) (n int) {
	for line := range strings.Lines(text) {
		n = max(n, show.Width(strings.TrimRight(line, "\n")))
	}
	return n
}

// without is the grid without one of its columns.
func (g Grid) without(column int) Grid {
	cut := Grid{Head: slices.Delete(slices.Clone(g.Head), column, column+1)}
	for _, row := range g.Rows {
		cut.Rows = append(cut.Rows, slices.Delete(slices.Clone(row), column, column+1))
	}
	return cut
}

// Tables are the tables that the text names, the others as one row, and their sum; no rows without tables.
func (r *Report) Tables() Grid {
	p := &r.Progress
	if len(p.Tables) == 0 {
		return Grid{}
	}
	proof := slices.ContainsFunc(p.Tables, func(t progress.TableReport) bool { return t.Proof != progress.NotTried })
	failed := slices.ContainsFunc(p.Tables, func(t progress.TableReport) bool { return t.Err != nil })
	g := Grid{Head: []string{"table", ">rows", ">bytes", ">segments", ">seconds", ">MB/s", ">KRows/s", ">MDatums/s"}}
	switch {
	case proof:
		g.Head = append(g.Head, "proof")
	case failed:
		g.Head = append(g.Head, "state")
	}
	add := func(row []string, last string) {
		if proof || failed {
			row = append(row, last)
		}
		g.Rows = append(g.Rows, row)
	}
	named, rest := largest(p.Tables)
	for i := range named {
		t := &named[i]
		last := proofText(t)
		if !proof {
			last = string(t.State)
		}
		add(append([]string{show.Text(t.Name)}, numbers(t)...), last)
	}
	if rest.SegmentsTotal > 0 {
		add([]string{fmt.Sprintf("%d more tables", len(p.Tables)-len(named)), show.Count(rest.Rows), show.Size(rest.Bytes), segments(&rest), "", "", "", ""}, "")
	}
	t := p.Totals
	sum := progress.TableReport{Segments: p.Counts.SegmentsEnded, SegmentsTotal: p.Counts.Segments, Rows: t.Rows, Bytes: t.Bytes, Seconds: t.Seconds,
		MBPerSec: t.MBPerSec, KRowsPerSec: t.KRowsPerSec, MDatumsPerSec: t.MDatumsPerSec}
	add(append([]string{"total"}, numbers(&sum)...), "")
	return g
}

// largest parts the tables into those that are named and the sum of the others. What failed or differs is always named.
func largest(all []progress.TableReport) (named []progress.TableReport, rest progress.TableReport) {
	if len(all) <= maxTables {
		return all, rest
	}
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b progress.TableReport) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for i := range order {
		t := &order[i]
		if i < topTables || t.Err != nil || t.Proof == progress.Mismatch || t.Proof == progress.NotProven {
			named = append(named, *t)
			continue
		}
		rest.Rows += t.Rows
		rest.Bytes += t.Bytes
		rest.Segments += t.Segments
		rest.SegmentsTotal += t.SegmentsTotal
	}
	return named, rest
}

func numbers(t *progress.TableReport) []string {
	return []string{show.Count(t.Rows), show.Size(t.Bytes), segments(t), show.Seconds(time.Duration(t.Seconds * float64(time.Second))),
		show.Fixed(t.MBPerSec), show.Fixed(t.KRowsPerSec), show.Fixed(t.MDatumsPerSec)}
}

func segments(t *progress.TableReport) string {
	if t.Segments == t.SegmentsTotal {
		return show.Count(int64(t.Segments))
	}
	return fmt.Sprintf("%d of %d", t.Segments, t.SegmentsTotal)
}

func proofText(t *progress.TableReport) string {
	s := string(t.Proof)
	switch {
	case t.Err != nil:
		s = string(t.State)
	case t.Proof == progress.NotTried:
		s = "-"
	}
	if t.Note != "" {
		s += ": " + show.Line(t.Note)
	}
	return s
}

// leastWork is how many seconds a stage must have worked for a rate that means something.
const leastWork = 0.001

// Stages are the places of the pipeline and their work; no rows where nothing has moved.
func (r *Report) Stages() Grid {
	g := Grid{Head: []string{"stage", ">busy s", ">server s", ">share", ">µs/row", ">µs/datum", ">MB/s"}}
	worked := func(s progress.StageReport) bool { return s.BusySeconds+s.ServerSeconds > 0 }
	if r.Progress.Totals.Rows == 0 || !slices.ContainsFunc(r.Progress.Stages, worked) { // or all was in before a --resume
		return g
	}
	for _, s := range r.Progress.Stages {
		rate := show.Fixed(s.MBPerSec)
		if s.BusySeconds+s.ServerSeconds < leastWork {
			rate = "-"
		}
		g.Rows = append(g.Rows, []string{show.Text(s.Name), show.Fixed(s.BusySeconds), show.Fixed(s.ServerSeconds), fmt.Sprintf("%.0f %%", 100*s.Share), fmt.Sprintf("%.3f", s.RowMicros),
			fmt.Sprintf("%.4f", s.DatumMicros), rate})
	}
	return g
}

func phases(all []progress.Phase) string {
	var parts []string
	for _, p := range all {
		parts = append(parts, fmt.Sprintf("%s %s s", show.Text(p.Name), show.Seconds(p.Elapsed)))
	}
	return "phases: " + strings.Join(parts, ", ") + "\n"
}

// lists names what is missing and what an operator should know.
func (r *Report) lists(b *strings.Builder) {
	p := &r.Progress
	if p.GapCount > 0 {
		b.WriteString("\nmissing:\n")
		for _, g := range p.Gaps {
			state := ""
			if g.SQLState != "" {
				state = " (SQLSTATE " + show.Text(g.SQLState) + ")"
			}
			fmt.Fprintf(b, "  %s %s: %s%s\n", show.Text(g.Kind), show.Text(g.Name), show.Line(g.Message), state)
		}
		more(b, p.GapCount-len(p.Gaps))
	}
	if p.WarningCount > 0 {
		b.WriteString("\nwarnings:\n")
		for _, w := range p.Warnings {
			b.WriteString("  " + show.Line(w) + "\n")
		}
		more(b, p.WarningCount-len(p.Warnings))
	}
}

func more(b *strings.Builder, n int) {
	if n > 0 {
		fmt.Fprintf(b, "  … and %d more\n", n)
	}
}
