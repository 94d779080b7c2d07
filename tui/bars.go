package tui

import (
	"math"
	"strings"
)

// bar is a progress bar, exact to the eighth of a cell. A part of 0 draws none, and only a whole one fills it.
func (e *Env) bar(part float64, width int) string {
	if width <= 0 {
		return ""
	}
	full := len(e.Glyphs.Bar)
	steps := int(clean(part) * float64(width*full))
	cells, eighths := steps/full, steps%full
	on := strings.Repeat(e.Glyphs.Bar[full-1], cells)
	rest := width - cells
	if eighths > 0 {
		on += e.Glyphs.Bar[eighths-1]
		rest--
	}
	return e.Styles.Bar.On(on) + e.Styles.Rest.On(strings.Repeat(e.Glyphs.Rest, rest))
}

// thinBar is a progress bar as a line, exact to half a cell: bars of neighbouring rows do not run into each other.
func (e *Env) thinBar(part float64, width int) string {
	if width <= 0 {
		return ""
	}
	halves := int(clean(part) * float64(2*width))
	on := strings.Repeat(e.Glyphs.Thick, halves/2)
	if halves%2 == 1 {
		on += e.Glyphs.Half
	}
	return e.Styles.Bar.On(on) + e.Styles.Rest.On(strings.Repeat(e.Glyphs.Rule, width-(halves+1)/2))
}

// clean makes a part between 0 and 1 of whatever it is.
func clean(part float64) float64 {
	if math.IsNaN(part) {
		return 0
	}
	return max(min(part, 1), 0)
}

// shares are the four times of a stage.
type shares struct{ busy, server, blocked, starved float64 }

// stageBar draws what a stage did with its time: own work, waiting for its server, for the next stage, for input. Each has a glyph and a
// colour of its own. What it did not run is left empty.
func (e *Env) stageBar(s shares, width int) string {
	if width <= 0 {
		return ""
	}
	g, st := e.Glyphs, e.Styles
	parts := []struct {
		share float64
		glyph string
		style Style
	}{{s.busy, g.Busy, st.Busy}, {s.server, g.Server, st.Server}, {s.blocked, g.Blocked, st.Blocked}, {s.starved, g.Starved, st.Starved}}
	var b strings.Builder
	sum, at := 0.0, 0
	for _, p := range parts {
		sum += clean(p.share)
		// Ends are rounded, not lengths, so that the bar is neither longer nor shorter than the sum.
		end := min(int(sum*float64(width)+0.5), width)
		b.WriteString(p.style.On(strings.Repeat(p.glyph, max(end-at, 0))))
		at = max(at, end)
	}
	b.WriteString(spaces(width - at))
	return b.String()
}

// legend explains the glyphs of stageBar.
func (e *Env) legend() string {
	g, st := e.Glyphs, e.Styles
	return st.Busy.On(g.Busy) + st.Muted.On(" busy  ") + st.Server.On(g.Server) + st.Muted.On(" server  ") + st.Blocked.On(g.Blocked) + st.Muted.On(" blocked  ") +
		st.Starved.On(g.Starved) + st.Muted.On(" starved")
}

// series is a value a second, for the last minute.
type series struct {
	values []float64 // a ring
	n      int       // how many were added
}

const seriesLength = 60

func (s *series) add(v float64) {
	if s.values == nil {
		s.values = make([]float64, seriesLength)
	}
	s.values[s.n%seriesLength] = v
	s.n++
}

// highest is the largest value that is kept.
func (s *series) highest() float64 {
	h := 0.0
	for i := max(s.n-seriesLength, 0); i < s.n; i++ {
		h = max(h, s.values[i%seriesLength])
	}
	return h
}

// spark draws a series against a common top. Of fewer columns than seconds each is the mean of some; these do not shift among each other as
// time passes, so that nothing shimmers.
func (e *Env) spark(s *series, top float64, width int, style Style) string {
	if width <= 0 {
		return ""
	}
	group := (seriesLength + width - 1) / width
	columns := min(seriesLength/group, width)
	last := s.n / group // the group that is being filled
	if s.n%group == 0 {
		last--
	}
	var b strings.Builder
	for c := last - columns + 1; c <= last; c++ {
		if c < 0 || c*group < s.n-seriesLength {
			b.WriteByte(' ')
			continue
		}
		sum, n := 0.0, 0
		for i := c * group; i < min((c+1)*group, s.n); i++ {
			sum += s.values[i%seriesLength]
			n++
		}
		b.WriteString(e.level(sum/float64(max(n, 1)), top))
	}
	return spaces(width-columns) + style.On(b.String())
}

func (e *Env) level(v, top float64) string {
	levels := e.Glyphs.Spark
	if top <= 0 {
		return levels[0]
	}
	return levels[min(int(clean(v/top)*float64(len(levels))), len(levels)-1)]
}
