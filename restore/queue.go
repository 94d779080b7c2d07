package restore

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// queue hands out the segments of all tables to the workers. A worker keeps to its table while that has segments left, because connections that
// extend the same table get in each other's way; else it takes the largest table that nobody works on; else it helps where most is left.
// Tables wait for those that their foreign keys point to.
type queue struct {
	mu     sync.Mutex
	change *sync.Cond
	tables []*loadTable
	ended  bool
}

func newQueue(tables []*loadTable) *queue {
	q := &queue{tables: slices.Clone(tables)}
	slices.SortStableFunc(q.tables, func(a, b *loadTable) int { return cmp.Compare(b.bytesLeft(), a.bytesLeft()) })
	q.change = sync.NewCond(&q.mu)
	return q
}

// next gives a segment to load, and false when none is left or ctx has ended. It waits for tables that must be loaded before.
func (q *queue) next(ctx context.Context, last *loadTable) (t *loadTable, segment int, ok bool) {
	stop := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		q.ended = true
		q.mu.Unlock()
		q.change.Broadcast()
	})
	defer stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if q.ended || ctx.Err() != nil {
			return nil, 0, false
		}
		if t := q.pick(last); t != nil {
			segment = t.left[0]
			t.left = t.left[1:]
			t.running++
			t.started = true
			return t, segment, true
		}
		if q.empty() {
			return nil, 0, false
		}
		q.change.Wait()
	}
}

// pick chooses the table for a worker that has worked on last.
func (q *queue) pick(last *loadTable) *loadTable {
	if last != nil && ready(last) {
		return last
	}
	for _, t := range q.tables { // largest first
		if !t.started && ready(t) {
			return t
		}
	}
	var most *loadTable
	var left int64
	for _, t := range q.tables {
		if !ready(t) {
			continue
		}
		if n := t.bytesLeft(); most == nil || n > left {
			most, left = t, n
		}
	}
	return most
}

// ready tells that a segment of the table may be loaded now.
func ready(t *loadTable) bool {
	if len(t.left) == 0 {
		return false
	}
	for _, parent := range t.after {
		if !parent.done() {
			return false
		}
	}
	return true
}

func (q *queue) empty() bool {
	for _, t := range q.tables {
		if len(t.left) > 0 {
			return false
		}
	}
	return true
}

// finish says that a segment is in.
func (q *queue) finish(t *loadTable) {
	q.mu.Lock()
	t.running--
	q.mu.Unlock()
	q.change.Broadcast()
}
