package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
)

// maxLog is how many lines the log keeps.
const maxLog = 4096

// logLine is one thing that happened.
type logLine struct {
	time time.Time
	kind progress.EventKind
	text string // escaped
}

// jobLog is what has happened in a job.
type jobLog struct {
	seen  int
	lines []logLine
}

// follow takes in what has happened since the last call.
func (l *jobLog) follow(v JobView) {
	news, next := v.Events(l.seen)
	l.seen = next
	for _, e := range news {
		if text := eventText(e); text != "" {
			l.lines = append(l.lines, logLine{time: e.Time, kind: e.Kind, text: text})
		}
	}
	if over := len(l.lines) - maxLog; over > 0 {
		l.lines = append(l.lines[:0], l.lines[over:]...)
	}
}

// eventText is an event as a line, escaped; empty for one that says nothing that the screen does not show.
func eventText(e progress.Event) string {
	switch e.Kind {
	case progress.PhaseStart:
		return "phase " + show.Text(e.Phase)
	case progress.PhaseEnd:
		return fmt.Sprintf("phase %s took %s s", show.Text(e.Phase), show.Seconds(e.Took))
	case progress.TableEnd:
		return fmt.Sprintf("%s: %s, %s, %s s", show.Text(e.Table), show.Plural(e.Rows, "row", "rows"), show.Size(e.Bytes), show.Seconds(e.Took))
	case progress.TableError:
		return show.Text(e.Table) + ": " + errorText(e.Err)
	case progress.Warning, progress.Logged:
		return show.Line(e.Message)
	case progress.CheckChange:
		if e.Check == nil || e.Check.State == progress.CheckRunning {
			return ""
		}
		return joinWords(": ", "check "+show.Text(e.Check.Name), string(e.Check.State), show.Line(e.Check.Text))
	case progress.Paused, progress.Resumed:
		return string(e.Kind)
	case progress.GapFound:
		return gapText(e.Gap)
	case progress.Dropped:
		return fmt.Sprintf("%d events were too quick to be told", e.N)
	case progress.Finished:
		if e.Err != nil {
			return "ended: " + errorText(e.Err)
		}
		return "ended after " + show.Seconds(e.Took) + " s"
	}
	return ""
}

func gapText(g *progress.Gap) string {
	if g == nil {
		return ""
	}
	s := show.Text(g.Kind) + " " + show.Text(g.Name) + ": " + show.Line(g.Message)
	if g.SQLState != "" {
		s += " (SQLSTATE " + show.Text(g.SQLState) + ")"
	}
	return s
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return show.Line(err.Error())
}

// view draws the last lines, or those before them when scrolled up by back lines.
func (l *jobLog) view(e *Env, start time.Time, width, height, back int) []string {
	end := max(len(l.lines)-back, min(height, len(l.lines)))
	var out []string
	for _, line := range l.lines[max(end-height, 0):end] {
		sign, st := e.eventSign(line.kind)
		out = append(out, e.cut(e.Styles.Muted.On(e.right(clock(line.time.Sub(start)), clockWidth))+"  "+st.On(sign)+" "+line.text, width))
	}
	if len(out) == 0 {
		out = append(out, e.Styles.Muted.On("  nothing has happened yet"))
	}
	return out
}

func (e *Env) eventSign(k progress.EventKind) (string, Style) {
	g, st := e.Glyphs, e.Styles
	switch k {
	case progress.TableEnd:
		return g.Done, st.Good
	case progress.TableError, progress.GapFound:
		return g.Failed, st.Bad
	case progress.Warning, progress.Dropped:
		return g.Warn, st.Warn
	case progress.PhaseStart:
		return g.Running, st.Accent
	}
	return g.Dot, st.Muted
}

// joinWords joins what is not empty.
func joinWords(sep string, parts ...string) string {
	var some []string
	for _, p := range parts {
		if p != "" {
			some = append(some, p)
		}
	}
	return strings.Join(some, sep)
}
