package yardstick

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bytehaul/pghaul/internal/show"
)

// Text is the report for people.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "PostgreSQL %s at %s; scale %g, medians of %s\n", show.Text(r.Server.Version), show.Text(r.Server.Name), r.Scale, show.Plural(int64(r.Rounds), "round", "rounds"))
	fmt.Fprintf(&b, "%s\nclient: %s/%s, %s\n", r.settings(), r.Client.OS, r.Client.Arch, show.Plural(int64(r.Client.CPUs), "CPU", "CPUs"))
	for i := range r.Tables {
		r.scanText(&b, &r.Tables[i])
	}
	r.stageText(&b)
	r.wholeText(&b)
	r.batchText(&b)
	r.placeText(&b)
	if len(r.Verdicts) > 0 {
		b.WriteString("\nVerdict\n")
	}
	for _, v := range r.Verdicts {
		fmt.Fprintf(&b, "  %s: %s\n", v.Job, v.Sentence)
	}
	if len(r.Notes) > 0 {
		b.WriteString("\nNotes\n")
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "  %s\n", show.Line(n))
	}
	for _, k := range r.Kept {
		fmt.Fprintf(&b, "kept: %s\n", show.Text(k))
	}
	return b.String()
}

// settings are the server's settings in one line.
func (r *Report) settings() string {
	var parts []string
	for name, value := range r.Server.Settings {
		parts = append(parts, name+" "+show.Text(value))
	}
	slices.Sort(parts)
	return "server: " + strings.Join(parts, ", ")
}

// scanText writes the lines of a table in the layout of 2009.
func (r *Report) scanText(b *strings.Builder, t *Tabled) {
	fmt.Fprintf(b, "\n%s: %s × %s, %s\n", t.Name, show.Plural(t.Rows, "row", "rows"), show.Plural(int64(t.Columns), "column", "columns"), show.Size(t.TableBytes))
	lines := slices.Clone(t.Scans)
	for i := range lines {
		if strings.HasPrefix(lines[i].Name, "server: ") {
			lines[i].Name += " to " + r.Discards
		}
	}
	b.WriteString(Layout(lines))
}

// Layout writes lines under the headings of 2009.
func Layout(lines []Line) string {
	g := show.NewGrid("  ", ">Time (s)", ">Speedup", ">Table MB/s", ">KRows/s", ">MDatums/s", "Name")
	for _, l := range lines {
		g.Row(fmt.Sprintf("%.3f", l.Seconds), factor(l.Speedup), show.Fixed(l.TableMBs), show.Fixed(l.KRows), show.Fixed(l.MDatums), l.Name)
	}
	return g.String()
}

// factor is a speed-up; a reference has none.
func factor(f float64) string {
	if f == 0 {
		return "---"
	}
	return fmt.Sprintf("%.2f x", f)
}

// stageText writes the restores by stage as in 2009: each stage's own part, in seconds, per row and per datum.
func (r *Report) stageText(b *strings.Builder) {
	b.WriteString("\nRestore by stage on one connection: each stage's own part, in seconds, µs per row and µs per datum\n")
	g := show.NewGrid("  ", "", "", ">read + parse", ">+ receive", ">+ insert", ">+ triggers, constraints", ">+ key or index", ">total")
	for i := range r.Tables {
		t := &r.Tables[i]
		g.Row(stageRow(t.Name, "s", t.Stages, "%.3f", func(s Stage) float64 { return s.Delta })...)
		g.Row(stageRow("", "µs/row", t.Stages, "%.3f", func(s Stage) float64 { return s.RowMicros })...)
		g.Row(stageRow("", "µs/datum", t.Stages, "%.4f", func(s Stage) float64 { return s.DatumMicros })...)
	}
	b.WriteString(g.String())
}

// stageRow is one line of a table's stages. A server without a receive stage of its own leaves its column empty.
func stageRow(name, unit string, stages []Stage, format string, of func(Stage) float64) []string {
	cells := []string{name, unit, "", "", "", "", ""}
	at := map[string]int{stageRead: 2, stageReceive: 3, stageInsert: 4, stageGuards: 5, stageKey: 6, stageIndex: 6}
	total := 0.0
	for _, s := range stages {
		total += of(s)
		cells[at[s.Name]] = fmt.Sprintf(format, of(s))
	}
	return append(cells, fmt.Sprintf(format, total))
}

// wholeText writes the jobs over all tables.
func (r *Report) wholeText(b *strings.Builder) {
	fmt.Fprintf(b, "\nAll tables, %s: rows move in \"data\", the whole is \"wall\"; the floor is the server alone\n", show.Plural(int64(r.Jobs), "job", "jobs"))
	g := show.NewGrid("  ", ">wall s", ">data s", ">× floor", ">client CPU s", ">MB/s", ">KRows/s", ">MDatums/s", ">files", ">WAL", "Name")
	for _, j := range r.Whole {
		data, stored, wal := "", "", ""
		if j.Data > 0 {
			data = fmt.Sprintf("%.3f", j.Data)
		}
		if j.Stored > 0 {
			stored = show.Size(j.Stored)
		}
		if j.WAL > 0 {
			wal = show.Size(j.WAL)
		}
		g.Row(fmt.Sprintf("%.3f", j.Seconds), data, show.Fixed(j.Floor), show.Fixed(j.CPU), show.Fixed(j.MBs), show.Fixed(j.KRows), show.Fixed(j.MDatums), stored, wal, j.Name)
	}
	b.WriteString(g.String())
}

// batchText writes the sweep over rows per commit.
func (r *Report) batchText(b *strings.Builder) {
	b.WriteString("\nRows per second by rows per commit; five columns, a serial key. The wait is what synchronous_commit costs\n")
	g := show.NewGrid("  ", ">rows", ">INSERT", ">COPY", ">COPY/INSERT", ">INSERT waits ms", ">of it", ">COPY waits ms", ">of it")
	for _, x := range r.Batches {
		g.Row(show.Count(int64(x.Rows)), show.Count(int64(x.Insert.RowsPerSec)), show.Count(int64(x.Copy.RowsPerSec)), show.Fixed(per(x.Copy.RowsPerSec, x.Insert.RowsPerSec)),
			show.Fixed(x.Insert.CommitMillis), percent(x.Insert.CommitShare), show.Fixed(x.Copy.CommitMillis), percent(x.Copy.CommitShare))
	}
	b.WriteString(g.String())
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 0, 64) + " %" }

// placeText writes what the disk and the connection can do.
func (r *Report) placeText(b *strings.Builder) {
	d, n := r.Disk, r.Network
	how := "through the page cache"
	if d.Direct {
		how = "past the page cache"
	}
	fmt.Fprintf(b, "\nDisk of %s: writes %s with its fsync, reads %s (%s, %s); an fsync takes %.2f ms\n", show.Text(cmp.Or(d.Dir, ".")), show.Rate(d.WriteMBs*1e6), show.Rate(d.ReadMBs*1e6),
		show.Size(d.Bytes), how, d.FsyncMillis)
	kind := "TCP"
	if n.Unix {
		kind = "unix socket"
	}
	fmt.Fprintf(b, "Connection (%s): a round trip takes %.0f µs; COPY receives %s%s\n", kind, n.RTTMicros, show.Rate(n.ReceiveMBs*1e6), sends(n))
}
