package progress

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"
)

// TableInfo is what is known of a table before it moves.
type TableInfo struct {
	Name       string
	Rows       int64 // -1: unknown
	RowsExact  bool
	Bytes      int64 // -1: unknown
	BytesExact bool
	Segments   int // at least 1 is assumed
	Columns    int
	Describe   Describer // nil: nothing more is known
}

// State is how far a table is.
type State string

// The states of a table.
const (
	Waiting   State = "waiting"
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled" // a segment was ended by the job's own cancel
)

// Proof is whether a table was proved to hold exactly the rows it should.
type Proof string

// The outcomes of a proof. The zero value is that none was tried yet.
const (
	NotTried  Proof = ""
	NotProven Proof = "not proven" // tried, and the note says why it can't be told
	Proven    Proof = "proven"
	Mismatch  Proof = "mismatch"
	Skipped   Proof = "skipped"
)

// Table is the progress of one table.
type Table struct {
	t    *Tracker
	info TableInfo

	rows, bytes atomic.Int64 // moved by this run

	// Guarded by t.mu.
	id              int
	state           State
	counted         amount  // that the table was counted with in the sums: all else is as it was until the next count
	before          amount  // moved by an earlier run
	running, ended  int     // segments
	parts           []*Part // of those that were begun; nil: none, or the table has one segment
	broken          int     // segments that ended with an error
	started, latest time.Time
	proof           Proof
	note            string
	err             error
}

type amount struct{ rows, bytes int64 }

// AddTable makes a table known. Its numbers count towards the totals.
func (t *Tracker) AddTable(info TableInfo) *Table {
	if t == nil {
		return nil
	}
	info.Segments = max(info.Segments, 1)
	info.Rows, info.Bytes = max(info.Rows, -1), max(info.Bytes, -1)
	t.mu.Lock()
	defer t.mu.Unlock()
	tb := &Table{t: t, info: info, id: len(t.tables), state: Waiting}
	t.tables = append(t.tables, tb)
	t.changed(tb)
	t.count(tb)
	return tb
}

// AlreadyDone counts segments that an earlier run has finished: they are part
// of what is done, and not of this run's rates.
func (tb *Table) AlreadyDone(segments int, rows, bytes int64) {
	tb.change(func(time.Time) {
		tb.before.rows += rows
		tb.before.bytes += bytes
		tb.ended += segments
		tb.settle()
	})
}

// StartSegment says that one more segment of the table is under way.
func (tb *Table) StartSegment() {
	tb.change(func(now time.Time) {
		if tb.started.IsZero() {
			tb.started = now
		}
		if tb.state == Waiting {
			tb.t.events.add(Event{Time: now, Kind: TableStart, Table: tb.info.Name})
		}
		if tb.broken > 0 && tb.ended+tb.running >= tb.info.Segments { // one that failed is tried again
			tb.ended--
			tb.broken--
		}
		tb.running++
		tb.settle()
	})
}

// Add counts rows and bytes that have moved. It is meant to be called per block
// and costs four atomic additions.
func (tb *Table) Add(rows, bytes int64) {
	if tb == nil {
		return
	}
	tb.rows.Add(rows)
	tb.bytes.Add(bytes)
	tb.t.rows.Add(rows)
	tb.t.bytes.Add(bytes)
}

// Unwind takes back what Add counted for a segment that is begun again. The
// segment stays started.
func (tb *Table) Unwind(rows, bytes int64) { tb.Add(-rows, -bytes) }

// EndSegment ends a segment that StartSegment began: nil when it is whole; an
// error when it is given up, which makes the table a failed one (or a cancelled
// one, when the error is a context's). Rows that were rolled back are unwound
// first.
func (tb *Table) EndSegment(err error) {
	tb.change(func(now time.Time) {
		tb.latest = now
		tb.running = max(tb.running-1, 0)
		tb.ended++
		if err != nil {
			tb.broken++
			if tb.err == nil || isCancel(tb.err) {
				tb.err = err
			}
		}
		was := tb.state
		tb.settle()
		e := Event{Time: now, Table: tb.info.Name, Rows: tb.total().rows, Bytes: tb.total().bytes, Took: tb.elapsed(now)}
		switch {
		case tb.state == Done:
			e.Kind = TableEnd
			tb.t.events.add(e)
		case tb.state == Failed && was != Failed:
			e.Kind, e.Err = TableError, err
			tb.t.events.add(e)
		}
	})
}

// SetProof records the outcome of a table's proof, with a note for people.
func (tb *Table) SetProof(p Proof, note string) {
	tb.change(func(time.Time) { tb.proof, tb.note = p, note; tb.t.changed(tb) })
}

// change runs f under the tracker's lock and brings the sums up to date.
func (tb *Table) change(f func(now time.Time)) {
	if tb == nil {
		return
	}
	t := tb.t
	t.mu.Lock()
	defer t.mu.Unlock()
	t.uncount(tb)
	was := tb.state
	now := time.Now()
	f(now)
	t.count(tb)
	if was != tb.state {
		t.changed(tb)
		t.running = moveBetween(t.running, tb, was == Running, tb.state == Running)
		t.failed = moveBetween(t.failed, tb, was == Failed, tb.state == Failed)
	}
	if tb.running > 0 && t.dataStart.IsZero() {
		t.dataStart, t.dataWeight = now, t.weightDone()
	}
}

func moveBetween(list []*Table, tb *Table, was, is bool) []*Table {
	switch {
	case was && !is:
		return slices.DeleteFunc(list, func(x *Table) bool { return x == tb })
	case !was && is:
		return append(list, tb)
	}
	return list
}

// settle works out the state from the segments.
func (tb *Table) settle() {
	switch {
	case tb.broken > 0 && isCancel(tb.err) && tb.running == 0:
		tb.state = Cancelled
	case tb.broken > 0 && !isCancel(tb.err):
		tb.state = Failed
	case tb.ended >= tb.info.Segments && tb.running == 0:
		tb.state = Done
	case tb.running > 0 || !tb.started.IsZero():
		tb.state = Running
	default:
		tb.state = Waiting
	}
	if tb.broken == 0 {
		tb.err = nil
	}
}

func isCancel(err error) bool {
	return errors.Is(err, context.Canceled)
}

// total is what has moved, earlier runs included.
func (tb *Table) total() amount {
	return amount{tb.before.rows + tb.rows.Load(), tb.before.bytes + tb.bytes.Load()}
}

// elapsed is the time from the table's first segment to its last end, or to now
// while it runs.
func (tb *Table) elapsed(now time.Time) time.Duration {
	switch {
	case tb.started.IsZero():
		return 0
	case tb.running > 0 || tb.latest.IsZero():
		return now.Sub(tb.started)
	}
	return tb.latest.Sub(tb.started)
}
