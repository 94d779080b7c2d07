package watch

import (
	"io"
	"strings"
	"time"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
)

// plainView writes lines: for logs, pipes and those who cannot see a bar move.
type plainView struct {
	out   io.Writer
	quiet bool
	dated bool // each line begins with the date and the time, in place of the time since the start

	started time.Time
	told    time.Time // when it was last said how far the job is
}

func (v *plainView) look(news []progress.Event, s progress.Snapshot, r progress.Rate) {
	v.started = s.Time.Add(-s.Elapsed)
	var b strings.Builder
	for _, e := range news {
		if text := line(e); text != "" && (!v.quiet || urgent(e.Kind)) {
			b.WriteString(v.stamp(e.Time) + text + "\n")
		}
	}
	switch {
	case !moving(s) || v.quiet || v.told.IsZero():
		v.told = s.Time
	case s.Time.Sub(v.told) >= plainEvery:
		v.told = s.Time
		b.WriteString(v.stamp(s.Time) + show.Text(s.Phase.Name) + ": " + far(s, r) + "\n")
	}
	v.write(b.String())
}

func (v *plainView) say(text string) { v.write(v.stamp(time.Now()) + show.Line(text) + "\n") }

func (v *plainView) clear() {}

func (v *plainView) stamp(t time.Time) string {
	switch {
	case v.dated:
		return t.UTC().Format(stampFormat) + " "
	case v.quiet:
		return "pghaul: "
	case v.started.IsZero():
		return show.Clock(0) + " "
	}
	return show.Clock(t.Sub(v.started)) + " "
}

func (v *plainView) write(s string) {
	if s != "" {
		_, _ = io.WriteString(v.out, s) // nobody is left to be told
	}
}
