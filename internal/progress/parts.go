package progress

import (
	"context"
	"errors"
	"sync/atomic"
)

// Facts are what a job knows of a table beside its numbers.
type Facts struct {
	Columns []ColumnFacts
	Parts   []string // what each segment holds, or the file that it is
	Notes   []string
}

// ColumnFacts is one column of the rows.
type ColumnFacts struct {
	Name, Type string
	Carried    string // binary, or what is done to the values
	Why        string // they are not carried as plain binary; "" when they are
	Sample     string // a value of its type; "" when there is none
}

// Describer tells the facts of a table. It is asked when an operator looks, from any goroutine, and answers at once, from what does not change any more.
type Describer interface{ Facts() Facts }

// PartSnapshot is how far one segment is.
type PartSnapshot struct {
	State       State
	Rows, Bytes int64
}

// Part is one segment of a table while it moves. It is a counter that passes on to the table what it is told. A nil *Part counts for nobody.
type Part struct {
	table       *Table
	rows, bytes atomic.Int64
	state       atomic.Value // of State
}

// Part gives segment i of the table, from 0. The parts of tables of one segment are not kept: their state is the table's.
func (tb *Table) Part(i int) *Part {
	if tb == nil {
		return nil
	}
	p := &Part{table: tb}
	p.state.Store(Waiting)
	if tb.info.Segments < 2 || i < 0 || i >= tb.info.Segments {
		return p
	}
	tb.t.mu.Lock()
	defer tb.t.mu.Unlock()
	if tb.parts == nil {
		tb.parts = make([]*Part, tb.info.Segments)
	}
	if tb.parts[i] == nil {
		tb.parts[i] = p
	}
	return tb.parts[i]
}

// Add counts rows and bytes that have moved, here and for the table.
func (p *Part) Add(rows, bytes int64) {
	if p == nil {
		return
	}
	p.rows.Add(rows)
	p.bytes.Add(bytes)
	p.table.Add(rows, bytes)
}

// Unwind takes back what Add counted.
func (p *Part) Unwind(rows, bytes int64) { p.Add(-rows, -bytes) }

// Start says that the segment is under way, and tells the table.
func (p *Part) Start() {
	if p != nil {
		p.state.Store(Running)
		p.table.StartSegment()
	}
}

// End ends the segment that Start began, as [Table.EndSegment] does.
func (p *Part) End(err error) {
	if p == nil {
		return
	}
	switch {
	case err == nil:
		p.state.Store(Done)
	case errors.Is(err, context.Canceled):
		p.state.Store(Cancelled)
	default:
		p.state.Store(Failed)
	}
	p.table.EndSegment(err)
}

// AlreadyDone says that an earlier run has finished the segment.
func (p *Part) AlreadyDone(rows, bytes int64) {
	if p == nil {
		return
	}
	p.rows.Add(rows)
	p.bytes.Add(bytes)
	p.state.Store(Done)
	p.table.AlreadyDone(1, rows, bytes)
}

// Describe tells what is known of a table by its number, and how far each of its segments is. ok is false when there is no such table.
func (t *Tracker) Describe(id int) (facts Facts, parts []PartSnapshot, ok bool) {
	if t == nil {
		return Facts{}, nil, false
	}
	t.mu.Lock()
	if id < 0 || id >= len(t.tables) {
		t.mu.Unlock()
		return Facts{}, nil, false
	}
	tb := t.tables[id]
	describe := tb.info.Describe
	parts = make([]PartSnapshot, min(tb.info.Segments, maxParts))
	for i := range parts {
		parts[i].State = Waiting
		switch {
		case tb.info.Segments == 1:
			all := tb.total()
			parts[i] = PartSnapshot{tb.state, all.rows, all.bytes}
		case tb.parts != nil && tb.parts[i] != nil:
			p := tb.parts[i]
			parts[i] = PartSnapshot{p.state.Load().(State), p.rows.Load(), p.bytes.Load()}
		}
	}
	t.mu.Unlock()
	if describe != nil {
		facts = describe.Facts()
	}
	return facts, parts, true
}

// maxParts bounds the segments that are described of one table.
const maxParts = 10_000
