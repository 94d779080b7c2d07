package yardstick

import (
	"fmt"
	"math"
	"strings"

	"github.com/bytehaul/pghaul/internal/show"
)

const (
	plotLabel = 32 // columns of the terminal for names
	plotValue = 14 // for numbers
	plotLeast = 10 // for bars
)

// eighths are the parts of a column, from nothing to almost all of it.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// bar is one line of a plot.
type bar struct {
	name  string
	value float64
	text  string
}

// Plot draws the report as bars for a terminal of so many columns. Within a group of bars the longest one is the largest value; batches are on a logarithmic scale.
func (r *Report) Plot(width int) string {
	var b strings.Builder
	for i := range r.Tables {
		t := &r.Tables[i]
		var bars []bar
		for _, l := range t.Scans {
			bars = append(bars, bar{l.Name, l.Seconds, fmt.Sprintf("%.3f s", l.Seconds)})
		}
		plot(&b, t.Name+": seconds of a scan", bars, width)
		bars = nil
		for _, s := range t.Stages {
			bars = append(bars, bar{s.Name, s.Delta, fmt.Sprintf("%.3f s", s.Delta)})
		}
		plot(&b, t.Name+": seconds of a restore, by stage", bars, width)
	}
	var bars []bar
	for _, j := range r.Whole {
		bars = append(bars, bar{j.Name, j.Seconds, fmt.Sprintf("%.3f s", j.Seconds)})
	}
	plot(&b, fmt.Sprintf("All tables, %s: seconds", show.Plural(int64(r.Jobs), "job", "jobs")), bars, width)
	bars = nil
	for _, x := range r.Batches {
		for _, s := range []struct {
			how string
			of  Speed
		}{{"INSERT", x.Insert}, {"COPY", x.Copy}} {
			bars = append(bars, bar{fmt.Sprintf("%-7s %s", s.how, show.Count(int64(x.Rows))), math.Log10(max(1, s.of.RowsPerSec)), show.Short(s.of.RowsPerSec) + " rows/s"})
		}
	}
	plot(&b, "Rows per second by rows per commit (logarithmic)", bars, width)
	return b.String()
}

// plot draws one group of bars; none when there are none.
func plot(b *strings.Builder, title string, bars []bar, width int) {
	if len(bars) == 0 {
		return
	}
	largest := 0.0
	for _, x := range bars {
		largest = max(largest, x.value)
	}
	room := max(plotLeast, width-plotLabel-plotValue-4)
	fmt.Fprintf(b, "\n%s\n", title)
	for _, x := range bars {
		fmt.Fprintf(b, "  %s %*s %s\n", show.Pad(x.name, plotLabel), plotValue, x.text, blocks(per(x.value, largest), room))
	}
}

// blocks draws a share of so many columns, in eighths of a column; what is there at all shows.
func blocks(share float64, room int) string {
	n := int(math.Round(min(max(share, 0), 1) * float64(room*8)))
	if share > 0 {
		n = max(n, 1)
	}
	return strings.Repeat("█", n/8) + eighths[n%8]
}
