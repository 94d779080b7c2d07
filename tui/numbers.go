package tui

import (
	"fmt"
	"math"
	"time"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
)

// Widths of numbers, so that what stands beside them does not move.
const (
	percentWidth = 5  // "100 %"
	rateWidth    = 10 // "1234 MB/s" at most
	rowsWidth    = 13 // "1.92 M rows/s"
	sizeWidth    = 9  // "~1000 KiB"
	clockWidth   = 8  // "99:59:59"
)

func percent(part float64) string {
	p := clean(part) * 100
	if p > 99 && p < 100 { // only what is whole is called so
		p = 99
	}
	return fmt.Sprintf("%3.0f %%", p)
}

// rateOf writes bytes a second; unknown as a question mark.
func rateOf(v float64, known bool) string {
	if !known || math.IsNaN(v) || math.IsInf(v, 0) {
		return "? MB/s"
	}
	return show.Rate(v)
}

func rowsOf(v float64, known bool) string {
	if !known || math.IsNaN(v) || math.IsInf(v, 0) {
		return "? rows/s"
	}
	return show.Short(v) + " rows/s"
}

// clock writes a time; what is longer than some days in days.
func clock(d time.Duration) string {
	if d >= 100*time.Hour {
		return count(int64(d/(24*time.Hour))) + " days"
	}
	return show.Clock(d)
}

// etaText is the time left, with its honesty: exact, about, a range, unknown.
func (e *Env) etaText(eta progress.ETA) string {
	switch {
	case !eta.Known:
		return "unknown"
	case eta.Kind == progress.Range:
		return clock(eta.Low) + e.Glyphs.To + clock(eta.High)
	case eta.Kind == progress.About:
		return "~" + clock(eta.Low)
	}
	return clock(eta.Low)
}

// sizeOf writes a size that may be an estimate, or unknown.
func sizeOf(n int64, exact bool) string {
	switch {
	case n < 0:
		return "?"
	case exact:
		return show.Size(n)
	case n == 0: // nothing is known of a table that was never analyzed, and "~0 B" says less than that
		return "-"
	}
	return "~" + show.Size(n)
}

// rowCount writes a number of rows that may be an estimate, or unknown.
func rowCount(n int64, exact bool) string {
	switch {
	case n < 0:
		return "? rows"
	case exact:
		return show.Plural(n, "row", "rows")
	case n == 0:
		return "-"
	}
	return "~" + show.Short(float64(n)) + " rows"
}

// count writes a number with commas.
func count[T int | int64](n T) string { return show.Count(int64(n)) }
