package watch

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/schollz/progressbar/v3"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
)

// barView keeps one line at the bottom: phase, bar, rates, time left.
type barView struct {
	out   io.Writer
	width func() int
	drawn string // what stands in the line now
}

const (
	barCells     = 20
	barSteps     = 1000
	defaultWidth = 80
	leastForBar  = 64 // columns below which there is no room for the bar itself
	eraseLine    = "\r\x1b[K"
)

func (v *barView) look(news []progress.Event, s progress.Snapshot, r progress.Rate) {
	var b strings.Builder
	for _, e := range news {
		if text := line(e); text != "" && e.Kind != progress.PhaseStart {
			b.WriteString(text + "\n")
		}
	}
	v.draw(b.String(), v.status(s, r))
}

func (v *barView) say(text string) { v.draw(show.Line(text)+"\n", v.drawn) }

func (v *barView) clear() { v.draw("", "") }

// draw writes finished lines, and the status below them, in one write, so that nothing flickers.
func (v *barView) draw(above, status string) {
	if above == "" && status == v.drawn {
		return
	}
	s := above + status
	if v.drawn != "" {
		s = eraseLine + s
	}
	v.drawn = status
	_, _ = io.WriteString(v.out, s) // nobody is left to be told
}

func (v *barView) columns() int {
	if v.width != nil {
		if w := v.width(); w > 0 {
			return w
		}
	}
	return defaultWidth
}

func (v *barView) status(s progress.Snapshot, r progress.Rate) string {
	width := v.columns() - 1 // the last column would make some terminals wrap
	if s.Finished || s.Phase.Name == "" {
		return ""
	}
	name := show.Text(s.Phase.Name)
	if !moving(s) {
		return show.Fit(phaseName(s.Phase.Name, s.Phase.N, s.Phase.Of)+"  "+show.Clock(s.Phase.Elapsed), width)
	}
	done := -1.0
	if s.Work.Total > 0 && s.Work.Unknown == 0 {
		done = s.Work.Fraction()
	}
	parts := []string{name}
	if done >= 0 && width >= leastForBar {
		parts = append(parts, meter(done))
	} else if done >= 0 {
		parts = append(parts, percent(done))
	}
	rows, bytes := "? rows/s", "? MB/s"
	if r.Known {
		rows, bytes = show.Short(r.Rows)+" rows/s", show.Rate(r.Bytes)
	}
	// Widths are fixed, so that numbers do not jump.
	parts = append(parts, fmt.Sprintf("%13s  %9s  left %s", rows, bytes, eta(r.ETA)))
	return show.Fit(strings.Join(parts, "  "), width)
}

// meter draws the bar with its percentage.
func meter(done float64) string {
	var b bytes.Buffer
	bar := progressbar.NewOptions(barSteps, progressbar.OptionSetWriter(&b), progressbar.OptionSetWidth(barCells), progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionSetRenderBlankState(false),
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: "█", SaucerPadding: "░", BarStart: "", BarEnd: ""}))
	if err := bar.Set(min(int(done*barSteps), barSteps)); err != nil {
		return percent(done)
	}
	if bar.String() == "" {
		if err := bar.RenderBlank(); err != nil {
			return percent(done)
		}
	}
	const width = len("100% ") + barCells
	return fmt.Sprintf("%*s", width, strings.Join(strings.Fields(bar.String()), " "))
}

func percent(done float64) string { return strconv.Itoa(int(done*100)) + "%" }
