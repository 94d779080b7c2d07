package restore

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"sync"
)

// queue hands out the segments of all tables to the workers. A worker keeps to its table while that has segments left, because connections that
// extend the same table get in each other's way; else it takes the largest table that nobody works on; else it helps where most is left.
// Tables wait for those that their foreign keys point to. A segment costs the logarithm of the number of tables.
type queue struct {
	mu       sync.Mutex
	change   *sync.Cond
	tables   []*loadTable
	fresh    tableHeap                   // that may be loaded, and nobody works on
	open     []*loadTable                // that somebody works on, with segments left: one for each worker, or so
	waits    map[*loadTable]int          // how many tables must be loaded before
	children map[*loadTable][]*loadTable // that wait for a table
	left     int                         // segments that no worker has taken
	ended    bool
}

func newQueue(tables []*loadTable) *queue {
	q := &queue{tables: tables, waits: map[*loadTable]int{}, children: map[*loadTable][]*loadTable{}}
	q.change = sync.NewCond(&q.mu)
	for _, t := range tables {
		t.effort = t.effortLeft()
		q.left += len(t.left)
		for _, parent := range t.after {
			if !parent.done() {
				q.waits[t]++
				q.children[parent] = append(q.children[parent], t)
			}
		}
		if q.waits[t] == 0 && len(t.left) > 0 {
			q.fresh = append(q.fresh, t)
		}
	}
	slices.SortStableFunc(q.fresh, func(a, b *loadTable) int { return cmp.Compare(b.effort, a.effort) }) // which is a heap
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
		if q.ended || ctx.Err() != nil || q.left == 0 {
			return nil, 0, false
		}
		if t := q.pick(last); t != nil {
			return t, q.take(t), true
		}
		q.change.Wait()
	}
}

// pick chooses the table for a worker that has worked on last.
func (q *queue) pick(last *loadTable) *loadTable {
	if last != nil && len(last.left) > 0 && slices.Contains(q.open, last) {
		return last
	}
	if len(q.fresh) > 0 {
		t := heap.Pop(&q.fresh).(*loadTable)
		q.open = append(q.open, t)
		return t
	}
	if len(q.open) == 0 {
		return nil
	}
	return slices.MaxFunc(q.open, func(a, b *loadTable) int { return cmp.Compare(a.effort, b.effort) })
}

// take takes the first segment that is left of a table somebody works on.
func (q *queue) take(t *loadTable) (segment int) {
	segment = t.left[0]
	t.left = t.left[1:]
	t.running++
	t.effort -= t.effortOf(segment)
	q.left--
	if len(t.left) == 0 {
		q.open = slices.DeleteFunc(q.open, func(o *loadTable) bool { return o == t })
		if q.left == 0 {
			q.change.Broadcast() // nobody needs to wait any more
		}
	}
	return segment
}

// finish says that a segment is in.
func (q *queue) finish(t *loadTable) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t.running--
	if !t.done() {
		return
	}
	for _, child := range q.children[t] {
		if q.waits[child]--; q.waits[child] == 0 && len(child.left) > 0 {
			heap.Push(&q.fresh, child)
		}
	}
	if len(q.children[t]) > 0 {
		delete(q.children, t)
		q.change.Broadcast()
	}
}

// tableHeap has the table of which most is left on top.
type tableHeap []*loadTable

// Len implements [heap.Interface], as do the others.
func (h tableHeap) Len() int           { return len(h) }
func (h tableHeap) Less(i, j int) bool { return h[i].effort > h[j].effort }
func (h tableHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is for package heap.
func (h *tableHeap) Push(x any) { *h = append(*h, x.(*loadTable)) }

// Pop is for package heap.
func (h *tableHeap) Pop() any {
	n := len(*h) - 1
	t := (*h)[n]
	(*h)[n], *h = nil, (*h)[:n]
	return t
}
