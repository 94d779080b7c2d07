package watch

import (
	"fmt"
	"strings"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
)

// urgent are the events that are told even to those who want quiet. What fails with a table the job itself tells at its end.
func urgent(k progress.EventKind) bool {
	return k == progress.Warning || k == progress.GapFound
}

// line is an event for people; "" for one that is not told.
func line(e progress.Event) string {
	switch e.Kind {
	case progress.PhaseStart:
		return phaseName(e.Phase, e.N, e.Of)
	case progress.TableEnd:
		s := fmt.Sprintf("%s: %s, %s, %s s", show.Text(e.Table), show.Plural(e.Rows, "row", "rows"), show.Size(e.Bytes), show.Seconds(e.Took))
		if sec := e.Took.Seconds(); sec > 0 {
			s += ", " + show.Rate(float64(e.Bytes)/sec)
		}
		return s
	case progress.TableError:
		return show.Text(e.Table) + ": failed: " + show.Line(errorText(e.Err))
	case progress.Warning:
		return "warning: " + show.Line(e.Message)
	case progress.GapFound:
		return gapText(e.Gap)
	case progress.Paused, progress.Resumed:
		return string(e.Kind)
	case progress.Dropped:
		return fmt.Sprintf("(%d events were too quick to be told)", e.N)
	}
	return ""
}

func gapText(g *progress.Gap) string {
	s := "missing: " + show.Text(g.Kind) + " " + show.Text(g.Name) + ": " + show.Line(g.Message)
	if g.SQLState != "" {
		s += " (SQLSTATE " + show.Text(g.SQLState) + ")"
	}
	return s
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func phaseName(name string, n, of int) string {
	if of <= 0 {
		return show.Text(name)
	}
	return fmt.Sprintf("phase %d of %d: %s", n, of, show.Text(name))
}

// moving says whether the present phase moves tables, so that there is something to measure.
func moving(s progress.Snapshot) bool { return !s.Work.Started.IsZero() && !s.Phase.Ended }

// eta writes the time left: exact, about, a range, or unknown.
func eta(e progress.ETA) string {
	switch {
	case !e.Known:
		return "?"
	case e.Kind == progress.Range:
		return show.Clock(e.Low) + "–" + show.Clock(e.High)
	case e.Kind == progress.About:
		return "~" + show.Clock(e.Low)
	}
	return show.Clock(e.Low)
}

// far says how far a job is: 31 %, 118 MiB of 380 MiB, 214 MB/s, 1.92 M rows/s, left ~02:40.
func far(s progress.Snapshot, r progress.Rate) string {
	var parts []string
	if s.Work.Total > 0 && s.Work.Unknown == 0 {
		parts = append(parts, fmt.Sprintf("%.0f %%", 100*s.Work.Fraction()))
	}
	size := show.Size(s.Bytes)
	if s.BytesTotal.Known {
		about := ""
		if !s.BytesTotal.Exact {
			about = "about "
		}
		size += " of " + about + show.Size(s.BytesTotal.N)
	}
	if s.Paused {
		return strings.Join(append(parts, size, "paused for "+show.Clock(s.PausedFor)), ", ")
	}
	parts = append(parts, size, pace(r))
	parts = append(parts, fmt.Sprintf("%d of %d tables", s.Tables.Done, s.Tables.Total), "left "+eta(r.ETA))
	return strings.Join(parts, ", ")
}

// pace writes what moves now.
func pace(r progress.Rate) string {
	if !r.Known {
		return "? MB/s, ? rows/s"
	}
	return show.Rate(r.Bytes) + ", " + show.Short(r.Rows) + " rows/s"
}
