package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/control"
	"github.com/bytehaul/pghaul/internal/convert"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pg"
)

// dryLoadVersion is the first server_version_num whose COPY FROM has a WHERE.
const dryLoadVersion = 120000

// notDryLoaded is what a dry load does not check, because none of it happens.
var notDryLoaded = []string{"constraints", "partition routing", "triggers", "foreign keys"}

// DryLoadReport says what a dry load has sent.
type DryLoadReport struct {
	Tables     int      `json:"tables"`      // of which every row passed
	Segments   int      `json:"segments"`    // that passed
	Rows       int64    `json:"rows"`        // in them
	Skipped    []string `json:"skipped"`     // tables that a restore could not load either: see the findings
	NotChecked []string `json:"not_checked"` // kinds of things that only a true load runs into
}

// dryLoad sends the rows of all tables that fit to the target, in the form that a restore would send them, and lets the server keep none: every receive
// function, modifier and domain sees every value. A value that is refused is a finding; the table's other segments are left out then.
func (j *job) dryLoad(ctx context.Context, f *findings) (*DryLoadReport, error) {
	d := &dryLoad{job: j, found: f, report: &DryLoadReport{Skipped: []string{}, NotChecked: notDryLoaded}, refused: map[*loadTable]bool{}}
	d.choose()
	backends, stop := j.watchServer(ctx)
	defer stop()
	err := j.crew(ctx, len(d.segments), func(ctx context.Context, place *control.Place) error {
		w := &dryWorker{worker: worker{job: j, backends: backends, pool: newLanePool()}, load: d}
		defer w.close()
		return w.run(ctx, place)
	})
	if err != nil {
		return nil, err
	}
	for _, t := range j.plan.tables {
		if !d.refused[t] && !slices.Contains(d.report.Skipped, t.name.String()) {
			d.report.Tables++
		}
	}
	return d.report, nil
}

// dryLoad is a dry load under way.
type dryLoad struct {
	*job
	segments []drySegment // the largest first
	next     atomic.Int64 // of them

	mu      sync.Mutex
	found   *findings
	report  *DryLoadReport
	refused map[*loadTable]bool // a value of theirs
}

// drySegment is one file to send.
type drySegment struct {
	table *loadTable
	i     int
}

// choose lists the segments of the tables that fit.
func (d *dryLoad) choose() {
	sent := &plan{}
	for _, t := range d.plan.tables {
		if !d.fits(t) {
			d.report.Skipped = append(d.report.Skipped, t.name.String())
			continue
		}
		sent.tables = append(sent.tables, t)
		for i := range t.entry.Segments {
			d.segments = append(d.segments, drySegment{t, i})
		}
	}
	sent.track(d.o.Tracker)
	slices.SortStableFunc(d.segments, func(a, b drySegment) int {
		return cmp.Compare(b.table.entry.Segments[b.i].RawBytes, a.table.entry.Segments[a.i].RawBytes)
	})
}

// fits tells whether rows of a table can be sent at all.
func (d *dryLoad) fits(t *loadTable) bool {
	damaged := func(s format.ManifestSegment) bool { return d.damaged[s.Path] }
	refused := func(c fit) bool { return c.refused(d.o.AllowCast) }
	return t.target != nil && t.convert != nil && !slices.ContainsFunc(t.fits, refused) && !slices.ContainsFunc(t.entry.Segments, damaged)
}

// done tells whether a table's other segments are to be left out.
func (d *dryLoad) done(t *loadTable) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refused[t]
}

// passed counts a segment.
func (d *dryLoad) passed(rows int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.report.Segments++
	d.report.Rows += rows
}

// refuse records the first value of a table that the server, or the convert stage, refuses. Any other error is returned.
func (d *dryLoad) refuse(s drySegment, err error) error {
	var damage *format.Error
	var value *convert.Error
	var cast *castError
	hint := "change the column's type or its domain on the target, or the value at the source, and take the dump again"
	why := err.Error()
	row, column := s.table.placeOf(err)
	switch {
	case errors.As(err, &damage):
		hint = damagedHint
	case errors.As(err, &value):
		why, hint = value.Err.Error(), badValueHint
	case errors.As(err, &cast):
		row, column, why = cast.row, cast.column, cast.Err.Error()
		if pg.State(err)[:2] == "42" {
			hint = "make on the target what the value names"
		}
	case !ofValue(pg.State(err)):
		return segmentError(s.table, s.i, err)
	}
	object := fmt.Sprintf("%s, segment %d", s.table.name, s.i+1)
	if row != "" {
		object += ", row " + row
	}
	if column != "" {
		object += fmt.Sprintf(", column %q", column)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.refused[s.table] {
		d.refused[s.table] = true
		d.found.bad(object, "in "+s.table.entry.Segments[s.i].Path, why, hint)
	}
	return nil
}

// ofValue tells the SQLSTATEs that speak of a value from those that speak of the session, the server or the disk.
func ofValue(state string) bool {
	if state == "" {
		return false
	}
	switch state[:2] {
	case "08", "25", "40", "53", "55", "57", "58", "F0", "XX":
		return false
	}
	return true
}

// dryWorker sends segments over a session of its own.
type dryWorker struct {
	worker
	load   *dryLoad
	create string
	casts  []dryCast // nil: the rows need none
}

// dryCast is the expression that makes a column's value out of what the staging table holds.
type dryCast struct {
	column  string // of the target
	stage   string // c1, c2, …
	expr    string
	changes bool // it is more than the staged value
}

func (w *dryWorker) run(ctx context.Context, place *control.Place) error {
	if err := w.connect(ctx); err != nil {
		w.load.mu.Lock()
		defer w.load.mu.Unlock()
		if w.noConversion(w.load.found, err) {
			return nil
		}
		return err
	}
	place.Ready()
	for place.Stay() {
		if err := w.o.Control.Wait(ctx); err != nil {
			return err
		}
		n := int(w.load.next.Add(1)) - 1
		if n >= len(w.load.segments) {
			return nil
		}
		s := w.load.segments[n]
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.load.done(s.table) {
			continue
		}
		if err := w.segment(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// segment sends one segment in a transaction that is rolled back.
func (w *dryWorker) segment(ctx context.Context, s drySegment) error {
	if err := w.prepare(ctx, s.table); err != nil {
		return err
	}
	part := s.table.progress.Part(s.i)
	part.Start()
	count := &flow.Tally{To: part}
	err := w.send(ctx, s, count)
	if err != nil {
		part.Unwind(count.Rows, count.Bytes)
	}
	part.End(canceled(ctx, err))
	switch {
	case ctx.Err() != nil:
		return canceled(ctx, err)
	case err != nil:
		return w.load.refuse(s, err)
	}
	w.load.passed(s.table.entry.Segments[s.i].Rows)
	return nil
}

func (w *dryWorker) send(ctx context.Context, s drySegment, count *flow.Tally) error {
	if err := w.conn.Exec(ctx, "BEGIN; "+w.create); err != nil {
		return w.rollback(fmt.Errorf("temporary table: %w", err))
	}
	sink := &flow.ServerSink{Conn: w.conn, SQL: w.copy}
	if err := w.sendSegment(ctx, s.table, s.i, count, sink); err != nil {
		return w.rollback(err)
	}
	if len(w.casts) > 0 {
		if err := w.checkCasts(ctx, s.table.entry.Segments[s.i].Rows); err != nil {
			return w.rollback(err)
		}
	}
	return w.conn.Exec(ctx, "ROLLBACK")
}

// prepare writes the statements for a table, in the session's encoding. The temporary table has the target's columns by name and type and nothing else:
// neither defaults, which would draw from sequences, nor constraints.
func (w *dryWorker) prepare(ctx context.Context, t *loadTable) error {
	if w.table == t {
		return nil
	}
	w.casts = nil
	if t.staged {
		defs, values, err := stagedColumns(ctx, w.conn, t, true)
		if err != nil {
			return err
		}
		w.create, w.copy = createStage(defs), "COPY "+stagingTable+" FROM STDIN (FORMAT binary)"
		for i, f := range t.sentColumns() {
			stage := fmt.Sprintf("c%d", i+1)
			w.casts = append(w.casts, dryCast{column: string(f.column.Name), stage: stage, expr: values[i], changes: values[i] != stage})
		}
		w.casts = slices.DeleteFunc(w.casts, func(c dryCast) bool { return !c.changes })
		w.table = t
		return nil
	}
	_, columns, err := tableSQL(ctx, w.conn, t)
	if err != nil {
		return err
	}
	defs := make([]string, len(columns))
	for i, f := range t.sentColumns() {
		typ, err := w.conn.TypeSQL(ctx, f.target.OID, f.target.Typmod)
		if err != nil {
			return err
		}
		defs[i] = columns[i] + " " + typ
	}
	w.create = "CREATE TEMP TABLE pghaul_dry (" + strings.Join(defs, ", ") + ") ON COMMIT DROP"
	w.copy = "COPY pg_temp.pghaul_dry" + listOf(columns) + " FROM STDIN (FORMAT binary) WHERE false"
	w.table = t
	return nil
}
