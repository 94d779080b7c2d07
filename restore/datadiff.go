package restore

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/control"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pipeline"
	"github.com/bytehaul/pghaul/internal/progress"
)

// DataState is what a comparison of rows finds of a table.
type DataState string

// States of a table. Of the first two a comparison is content.
const (
	DataSame      DataState = "same"
	DataSameRows  DataState = "same number of rows" // their bytes can't be compared between these servers
	DataDifferent DataState = "different"
	DataMissing   DataState = "missing"      // on the target
	DataUnlike    DataState = "not compared" // a column is of another type, or lacking, or nobody may read it
)

// DataDiff compares the rows of two live databases, each under a snapshot of its own.
type DataDiff struct {
	Source string          `json:"source"` // server and database, for people
	Target string          `json:"target"`
	Tables []DataDiffTable `json:"tables"`
}

// DataDiffTable is one table, or a partition tree that is told as one where the target's partitions may hold other rows than the source's.
type DataDiffTable struct {
	Table        string    `json:"table"` // of the target
	State        DataState `json:"state"`
	SourceRows   int64     `json:"source_rows"`
	TargetRows   *int64    `json:"target_rows"` // null: not read
	SourceDigest string    `json:"source_digest"`
	TargetDigest string    `json:"target_digest,omitempty"`
	Note         string    `json:"note,omitempty"`
}

// OK says whether nothing differs, as far as it can be told.
func (d *DataDiff) OK() bool {
	return !slices.ContainsFunc(d.Tables, func(t DataDiffTable) bool { return t.State != DataSame && t.State != DataSameRows })
}

// DiffData counts and digests the rows of an origin and of the target's tables of the same names, and compares them. Both sides are read at the same
// time. What differs is in the report; the error is for what could not be looked at. Of the options Origin, DSN, Jobs, Map, Role, Tracker and Logf matter.
func DiffData(ctx context.Context, o Options) (_ *DataDiff, err error) {
	defer func() { o.Tracker.Finish(err) }()
	o.DataOnly, o.NoJournal = true, true
	j, err := openJob(o)
	if err != nil {
		return nil, err
	}
	defer j.close()
	j.checking = true
	j.o.Tracker.StartPhase("compare", 1, 1)
	j.phase = "compare"
	f := &findings{phase: "comparison"}
	if err := j.connectTarget(ctx); err != nil {
		return nil, canceled(ctx, err)
	}
	if err := j.checkHeaders(ctx, f); err != nil {
		return nil, canceled(ctx, err)
	}
	d := &DataDiff{Source: j.o.Tracker.Snapshot().Source, Target: j.o.DSN.String(), Tables: []DataDiffTable{}}
	c := &dataComparison{job: j, notes: map[*loadTable]string{}}
	if err := c.match(ctx); err != nil {
		return nil, canceled(ctx, err)
	}
	j.plan.track(j.o.Tracker)
	if err := c.read(ctx); err != nil {
		return nil, canceled(ctx, err)
	}
	d.Tables = append(d.Tables, c.compare()...)
	return d, nil
}

// dataComparison is one run of DiffData.
type dataComparison struct {
	*job
	notes  map[*loadTable]string // why a table can't be read on the target
	groups []*proofGroup
	got    []format.Totals
}

// match finds the target's tables and decides how they are to be read.
func (c *dataComparison) match(ctx context.Context) error {
	server, err := c.leader.Server(ctx)
	if err != nil {
		return err
	}
	c.monetary = server.LCMonetary
	found, err := c.leader.Targets(ctx, c.plan.names())
	if err != nil {
		return err
	}
	columns, graph, err := c.targetColumns(ctx, found)
	if err != nil {
		return err
	}
	for _, t := range c.plan.tables {
		t.target = found[t.into]
		if t.target == nil {
			continue
		}
		f := &findings{live: true}
		if err := c.fitColumns(ctx, t, columns[t.target.OID], graph); err != nil {
			return err
		}
		for i := range t.fits {
			fitFinding(f, t.into.String(), &t.fits[i], false)
		}
		matchTypes(f, t, t.sourceTypes(), graph)
		if err := c.planConversion(f, t, t.sourceTypes(), graph); err != nil {
			return err
		}
		if !t.target.MaySelect {
			f.bad(t.into.String(), "", "the role may not read it", "")
		}
		for _, x := range f.list {
			if x.Severity == SeverityError {
				c.notes[t] = x.Object + ": " + x.says()
				break
			}
		}
	}
	c.groups = c.groupTables(c.plan.tables)
	c.got = make([]format.Totals, len(c.groups))
	return nil
}

// unread tells why a group is not read on the target; "" when it is.
func (c *dataComparison) unread(g *proofGroup) (state DataState, why string) {
	if g.target == nil {
		return DataMissing, ""
	}
	for _, t := range g.tables {
		if why := c.notes[t]; why != "" {
			return DataUnlike, why
		}
	}
	return "", ""
}

// read reads both sides.
func (c *dataComparison) read(ctx context.Context) error {
	readings, err := c.cutReadings(ctx, c.groups)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.readSource(ctx) })
	group.Go(func() error { return c.readTarget(ctx, readings) })
	return group.Wait()
}

// readSource counts and digests all segments of the origin.
func (c *dataComparison) readSource(ctx context.Context) error {
	q := newQueue(c.plan.tables)
	err := c.crew(ctx, max(1, c.plan.segments), func(ctx context.Context, place *control.Place) error {
		place.Ready()
		w := &worker{job: c.job, pool: newLanePool()}
		var last *loadTable
		for place.Stay() {
			t, i, ok := q.next(ctx, last)
			if !ok {
				return ctx.Err()
			}
			t.progress.StartSegment()
			err := w.readSegment(ctx, t, i)
			t.progress.EndSegment(canceled(ctx, err))
			if err != nil {
				return pg.Wrap(err, "table %s", t.name)
			}
			q.finish(t)
			last = t
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := ctxOf(c.job, q); err != nil {
		return err
	}
	for _, t := range c.plan.tables {
		t.settle()
	}
	return nil
}

// readSegment counts and digests a segment.
func (w *worker) readSegment(ctx context.Context, t *loadTable, i int) error {
	from, err := w.origin.Segment(ctx, t.entry, i)
	if err != nil {
		return err
	}
	defer from.Close()
	stages := []pipeline.Stage{&flow.Parse{Walker: from.Walker, Count: t.progress}}
	lane := pipeline.Lane{Source: from.Source, Stages: stages, Sink: flow.Discard{}, Pool: w.pool, Meters: flow.LaneMeters(w.o.Tracker.Meters(), len(stages))}
	if err := pipeline.Run(ctx, lane); err != nil {
		return err
	}
	totals := from.Walker.Totals()
	seg := &t.entry.Segments[i]
	seg.Rows, seg.RawBytes, seg.RowDigest = totals.Rows, totals.Length, totals.Digest.String()
	return from.Finish(totals)
}

// readTarget reads the target's tables under one snapshot.
func (c *dataComparison) readTarget(ctx context.Context, readings []reading) error {
	snapshot, release, err := c.holdSnapshot(ctx, readings)
	if err != nil {
		return err
	}
	defer release()
	backends, stop := c.watchServer(ctx)
	defer stop()
	var next atomic.Int64
	return c.crew(ctx, max(1, len(readings)), func(ctx context.Context, place *control.Place) error {
		r, err := c.newReader(ctx, snapshot)
		if err != nil {
			return err
		}
		defer closeConn(r.conn)
		backends.Add(r.conn.PID())
		defer backends.Remove(r.conn.PID())
		place.Ready()
		for place.Stay() {
			i := int(next.Add(1)) - 1
			if i >= len(readings) {
				return nil
			}
			g := readings[i].group
			if state, _ := c.unread(g); state != "" {
				continue
			}
			got, whole, err := r.readPart(ctx, readings[i])
			if err != nil {
				return pg.Wrap(err, "table %s of the target", g.name)
			}
			if whole {
				c.got[g.no] = got
			}
		}
		return nil
	})
}

// compare tells what is what, the tables in the order of their names.
func (c *dataComparison) compare() []DataDiffTable {
	list := make([]DataDiffTable, 0, len(c.groups))
	for i, g := range c.groups {
		for _, t := range g.tables {
			want, _ := tableTotals(t.entry) // our own
			g.want = g.want.Add(want)
		}
		d := DataDiffTable{Table: g.name.String(), SourceRows: g.want.Rows, SourceDigest: g.want.Digest.String()}
		if d.State, d.Note = c.unread(g); d.State == "" {
			got := c.got[i]
			d.TargetRows, d.TargetDigest = &got.Rows, got.Digest.String()
			switch why := c.otherForms(g.tables[0]); {
			case got.Rows == g.want.Rows && got.Digest == g.want.Digest:
				d.State = DataSame
			case got.Rows == g.want.Rows && why != "":
				d.State, d.Note = DataSameRows, why
			default:
				d.State = DataDifferent
			}
		}
		g.mark(map[DataState]progress.Proof{DataSame: progress.Proven, DataDifferent: progress.Mismatch}[d.State], d.Note)
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b DataDiffTable) int { return cmp.Compare(a.Table, b.Table) })
	return list
}
