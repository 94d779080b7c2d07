package tui

import (
	"fmt"
	"strings"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
)

// pipeline is the lanes, what the servers wait for, and the sentence.
func (r *run) pipeline(p runPlan) []string {
	var lines []string
	stages := r.stages()
	switch {
	case len(stages) == 0, p.lanes == 0:
		lines = fill(nil, p.lanes)
	case p.lanes >= len(stages):
		for i := range stages {
			lines = append(lines, r.lane(&stages[i], r.highest(), p))
		}
		lines = fill(lines, p.lanes)
	default:
		lines = []string{r.limit(p)}
	}
	lines = append(lines, fill(r.waitLinesAt(p), p.waits)...)
	if p.verdict > 0 {
		lines = append(lines, fill(r.sentence(p), p.verdict)...)
	}
	return lines
}

// stages are the lanes, idle ones before anything was measured: what stands beside them does not move when they begin.
func (r *run) stages() []progress.StageRate {
	if len(r.rate.Stages) > 0 {
		return r.rate.Stages
	}
	idle := make([]progress.StageRate, len(r.s.Stages))
	for i := range r.s.Stages {
		idle[i].Name = r.s.Stages[i].Name
	}
	return idle
}

// highest is the largest throughput that a sparkline shows.
func (r *run) highest() float64 {
	top := 0.0
	for _, s := range r.lanes {
		top = max(top, s.highest())
	}
	return top
}

// Columns of a lane.
const (
	laneMark = 4 // with the indent
	laneName = 9
)

// lane is one stage: its time as a bar, its load, its throughput now and in the last minute.
func (r *run) lane(s *progress.StageRate, top float64, p runPlan) string {
	e := r.env
	mark, name, style := "    ", show.Text(s.Name), e.Styles.Muted
	load := s.Busy + s.Server
	idle := load+s.Blocked+s.Starved == 0
	figures, pace := percent(load), rateOf(s.Bytes, r.rate.Known)
	if idle {
		figures, pace = e.Glyphs.Dot, ""
	}
	if r.s.MovedBytes == 0 {
		pace = ""
	}
	name, figures = e.left(name, laneName), e.right(figures, percentWidth)
	switch {
	case idle:
		name, figures = e.Styles.Muted.On(name), e.Styles.Muted.On(figures)
	case s.Name == r.rate.Verdict.Bottleneck:
		mark = "  " + e.Styles.Accent.On(e.Glyphs.Mark) + " "
		name, figures, style = e.Styles.Title.On(name), e.Styles.Title.On(figures), e.Styles.Spark
	}
	if p.main < wideFull {
		mark = strings.TrimPrefix(mark, "  ")
	}
	line := mark + name
	right := "  " + figures
	rest := p.main - widthOf(line) - widthOf(right)
	if p.main >= 36 {
		right += "  " + e.right(pace, rateWidth)
		rest -= rateWidth + 2
	}
	spark := 0
	if p.main >= wideFull {
		spark = min((rest-2)*9/20, seriesLength)
		rest -= spark + 2
	}
	bar := e.stageBar(shares{s.Busy, s.Server, s.Blocked, s.Starved}, rest)
	switch {
	case idle && !r.unused(s.Name):
		bar = e.Styles.Rest.On(strings.Repeat(e.Glyphs.Rule, max(rest, 0)))
	case idle:
		bar = e.Styles.Muted.On(e.left("not needed", rest))
	}
	line += bar + right
	if spark > 0 {
		line += "  "
		if history := r.lanes[s.Name]; history != nil && history.highest() > 0 {
			line += e.spark(history, top, spark, style)
		}
	}
	return line
}

// unused tells whether no lane has this stage although others run: nothing is to be converted, say.
func (r *run) unused(name string) bool {
	others := false
	for i := range r.s.Stages {
		if st := &r.s.Stages[i]; st.Running() > 0 {
			if st.Name == name {
				return false
			}
			others = true
		}
	}
	return others
}

// limit is the one lane that is shown where there is no room for all: the bottleneck, or the one with the highest load.
func (r *run) limit(p runPlan) string {
	if n := r.notice(); n != "" && p.verdict == 0 {
		return n
	}
	stages := r.stages()
	best := &stages[0]
	for i := range stages {
		s := &stages[i]
		if s.Name == r.rate.Verdict.Bottleneck {
			best = s
			break
		}
		if s.Busy+s.Server > best.Busy+best.Server {
			best = s
		}
	}
	return r.lane(best, r.highest(), p)
}

// waitLines is what each server's backends do.
func (r *run) waitLines() []progress.ServerWaits {
	var some []progress.ServerWaits
	for _, w := range r.s.Waits {
		if len(w.Shares) > 0 {
			some = append(some, w)
		}
	}
	return some
}

const (
	mostWaits  = 6
	leastShare = 0.005
)

func (r *run) waitLinesAt(p runPlan) []string {
	e := r.env
	var lines []string
	for _, w := range r.waitLines() {
		line := spaces(laneMark+laneName) + e.Styles.Muted.On(show.Text(w.Server)+" server: ")
		for i, s := range w.Shares {
			if i == mostWaits || s.Share < leastShare {
				break
			}
			_, event, ok := strings.Cut(s.Event, "/")
			if !ok {
				event = s.Event
			}
			part := e.Styles.Muted.On(show.Text(event)) + fmt.Sprintf(" %.0f %%  ", 100*clean(s.Share))
			if widthOf(line)+widthOf(part) > p.main+2 {
				break
			}
			line += part
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

// notice is what matters more than the verdict now, styled; empty when nothing does.
func (r *run) notice() string {
	e := r.env
	switch {
	case r.s.Finished && r.s.Err != nil && !r.cancelled:
		return e.Styles.Bad.On(errorText(r.s.Err))
	case r.s.Finished:
		return ""
	case r.cancelled:
		return e.Styles.Warn.On("cancelling: waiting for the clean end; ctrl-c leaves at once")
	case r.paused:
		return e.Styles.Warn.On("paused: sessions and snapshot stay; p goes on")
	}
	return ""
}

// wrapVerdict is the sentence without its looks, in lines of this width.
func (r *run) wrapVerdict(width int) []string {
	return wrap(show.Line(r.rate.Verdict.Sentence), width-laneMark)
}

// sentence says what holds the job back, or what matters more.
func (r *run) sentence(p runPlan) []string {
	e := r.env
	indent := spaces(laneMark)
	if p.main < wideFull {
		indent = "  "
	}
	if n := r.notice(); n != "" {
		return []string{indent + e.cut(n, p.main-len(indent))}
	}
	if r.rate.Verdict.Sentence == "" || r.s.Finished {
		return []string{indent + e.legend()}
	}
	if p.verdict == 1 {
		return []string{indent + e.cut(r.boldFirst(show.Line(r.rate.Verdict.Sentence)), p.main-len(indent))}
	}
	var lines []string
	for i, l := range r.wrapVerdict(p.main) {
		if i == 0 {
			l = r.boldFirst(l)
		}
		lines = append(lines, indent+l)
	}
	return lines
}

// boldFirst sets the words before the colon off: "insert-bound".
func (r *run) boldFirst(s string) string {
	if first, rest, ok := strings.Cut(s, ":"); ok {
		return r.env.Styles.Accent.With(r.env.Styles.Title).On(first) + ":" + rest
	}
	return s
}
