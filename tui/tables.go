package tui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/bytehaul/pghaul/internal/progress"
)

// tableSort is the order of a table list.
type tableSort int

const (
	byState tableSort = iota // errors, running, done, waiting
	bySize
	byName
	byRate
	tableSorts
)

func (s tableSort) String() string { return [...]string{"state", "size", "name", "rate"}[s] }

// tableList is the order in which the tables of a job are shown. It keeps little of each, so that a hundred thousand cost little: what is
// drawn is asked for by number.
type tableList struct {
	seen  int // for TableChanges
	rows  []tableRow
	ended []int32 // numbers of tables in the order in which they ended
	order []int32 // numbers of those shown
	sort  tableSort
	words string // of the filter, in lower case
	rates map[int]float64

	dirty  bool
	sorted time.Time     // when the order was made last
	took   time.Duration // how long that took
}

type tableRow struct {
	name  string
	bytes int64
	state uint8 // rank by state
	ended int32 // place in ended, when done
}

// Ranks of states: what needs attention stands on top.
const (
	rankFailed = iota
	rankCancelled
	rankRunning
	rankDone
	rankWaiting
	ranks
)

func rankOf(t *progress.TableSnapshot) uint8 {
	switch {
	case t.State == progress.Failed, t.Proof == progress.Mismatch:
		return rankFailed
	case t.State == progress.Cancelled:
		return rankCancelled
	case t.State == progress.Running:
		return rankRunning
	case t.State == progress.Done:
		return rankDone
	}
	return rankWaiting
}

// follow takes in what has changed since the last call.
func (l *tableList) follow(v JobView) {
	ids, next := v.TableChanges(l.seen)
	l.seen = next
	if len(ids) == 0 {
		return
	}
	all := v.TablesByID(ids)
	for i := range all {
		t := &all[i]
		for len(l.rows) <= t.ID {
			l.rows = append(l.rows, tableRow{state: rankWaiting})
		}
		row := tableRow{name: t.Name, bytes: t.Bytes, state: rankOf(t), ended: l.rows[t.ID].ended}
		if row.state == rankDone && l.rows[t.ID].state != rankDone {
			row.ended = int32(len(l.ended))
			l.ended = append(l.ended, int32(t.ID))
		}
		l.rows[t.ID] = row
	}
	l.dirty = true
}

// arrange makes the order anew where something has changed. With many tables this is not done at every look: it takes at most a fiftieth of
// the time.
func (l *tableList) arrange(now time.Time) {
	if !l.dirty && l.sort != byRate || now.Sub(l.sorted) < 50*l.took {
		return
	}
	start := time.Now()
	l.order = l.order[:0]
	for id := range l.rows {
		if l.words == "" || strings.Contains(strings.ToLower(l.rows[id].name), l.words) {
			l.order = append(l.order, int32(id))
		}
	}
	switch l.sort {
	case bySize:
		l.by(func(a, b int32) int { return cmp.Compare(l.rows[b].bytes, l.rows[a].bytes) })
	case byName:
		l.by(func(a, b int32) int { return strings.Compare(l.rows[a].name, l.rows[b].name) })
	case byRate:
		l.byRank()
		l.by(func(a, b int32) int { return cmp.Compare(l.rates[int(b)], l.rates[int(a)]) })
	default:
		l.byRank()
	}
	l.dirty, l.sorted, l.took = false, now, time.Since(start)
}

func (l *tableList) by(f func(a, b int32) int) { slices.SortStableFunc(l.order, f) }

// byRank sorts by state in one pass; within a state the job's own order stays, but of those that are done the last one stands first.
func (l *tableList) byRank() {
	var at [ranks + 1]int
	for _, id := range l.order {
		at[l.rows[id].state+1]++
	}
	for i := 1; i < len(at); i++ {
		at[i] += at[i-1]
	}
	out := make([]int32, len(l.order))
	done := out[at[rankDone]:at[rankDone+1]]
	for _, id := range l.order {
		r := l.rows[id].state
		out[at[r]] = id
		at[r]++
	}
	if len(done) == len(l.ended) || l.words == "" {
		n := len(done)
		for place, id := range l.ended { // one that was done, failed and is done again has two places: the later one counts
			if r := &l.rows[id]; r.state == rankDone && r.ended == int32(place) && n > 0 {
				n--
				done[n] = id
			}
		}
	} else {
		slices.SortFunc(done, func(a, b int32) int { return cmp.Compare(l.rows[b].ended, l.rows[a].ended) })
	}
	l.order = out
}

// reorder is for another sort or filter: the order is made at once.
func (l *tableList) reorder(now time.Time) {
	l.dirty, l.took = true, 0
	l.arrange(now)
}

// ids are the numbers of the tables from a position on, n at most.
func (l *tableList) ids(from, n int) []int {
	from = max(min(from, len(l.order)), 0)
	some := l.order[from:min(from+max(n, 0), len(l.order))]
	out := make([]int, len(some))
	for i, id := range some {
		out[i] = int(id)
	}
	return out
}
