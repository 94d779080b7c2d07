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
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pipeline"
)

// Estimate is how long the rows may take, and by what that is judged.
type Estimate struct {
	Seconds    *float64 `json:"seconds"`          // of the phase data; null: none
	RowBytes   int64    `json:"row_bytes"`        // of COPY's rows, about
	Read       float64  `json:"read_bytes_per_s"` // from the source; 0: not measured
	Copy       float64  `json:"copy_bytes_per_s"` // from the source into the target
	BasedOn    []string `json:"based_on"`         // for people
	SampleSize int64    `json:"sample_bytes"`     // that moved for it
	Jobs       int      `json:"jobs"`
}

const (
	sampleTime = 2 * time.Second // of each measurement
	sampleMin  = 4 << 20         // bytes below which a rate says nothing
)

// megabytes writes a number of bytes for people, in units of 10^6 as rates have them.
func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// estimate measures both servers for a moment.
func (j *job) estimate(ctx context.Context, r *PlanReport) error {
	e := &r.Estimate
	e.Jobs, e.BasedOn = j.o.Jobs, []string{}
	if j.o.SchemaOnly || len(j.plan.tables) == 0 {
		e.BasedOn = append(e.BasedOn, "there are no rows to copy")
		return nil
	}
	sample := j.sampleSegments()
	read, err := j.measure(ctx, sample, func(context.Context, *loadTable) (pipeline.Sink, func(), error) {
		return flow.Discard{}, func() {}, nil
	})
	if err != nil {
		return err
	}
	e.RowBytes = read.project(j.plan.tables)
	e.SampleSize = read.bytes
	if read.bytes < sampleMin {
		e.BasedOn = append(e.BasedOn, fmt.Sprintf("the largest tables have only %s of rows, too little to measure", megabytes(read.bytes)))
		return nil
	}
	e.Read = read.rate()
	e.BasedOn = append(e.BasedOn, fmt.Sprintf("the source sent %s in %.1f s over %d connections, %s", megabytes(read.bytes), read.took.Seconds(), read.lanes, megabytes(int64(e.Read))+"/s"))
	rate := e.Read
	switch made, why, err := j.measureCopy(ctx, sample); {
	case err != nil:
		return err
	case why != "":
		e.BasedOn = append(e.BasedOn, "the target was not measured: "+why)
	case made.bytes < sampleMin:
		e.BasedOn = append(e.BasedOn, "the target was not measured: too few rows of builtin types alone")
	default:
		e.Copy = made.rate()
		rate = e.Copy
		e.BasedOn = append(e.BasedOn, fmt.Sprintf("%s went from the source into a table that was rolled back, %s", megabytes(made.bytes), megabytes(int64(e.Copy))+"/s"))
	}
	seconds := float64(e.RowBytes) / rate
	e.Seconds = &seconds
	for i := range r.Phases {
		switch p := &r.Phases[i]; p.Name {
		case PhaseData:
			p.Seconds = &seconds
		case PhaseProof: // the target is as fast in reading as the source, for all that is known
			proof := float64(e.RowBytes) / e.Read
			p.Seconds = &proof
		}
	}
	return nil
}

// sampleSegment is a segment to measure with.
type sampleSegment struct {
	table *loadTable
	i     int
}

// sampleSegments are the segments of all tables, those of the largest tables first.
func (j *job) sampleSegments() (list []sampleSegment) {
	tables := slices.Clone(j.plan.tables)
	slices.SortStableFunc(tables, func(a, b *loadTable) int { return cmp.Compare(b.entry.Bytes, a.entry.Bytes) })
	const enough = 1000 // no two seconds see more
	for _, t := range tables {
		for i := range t.entry.Segments {
			if list = append(list, sampleSegment{t, i}); len(list) == enough {
				return list
			}
		}
	}
	return list
}

// measured is what has moved in a measurement.
type measured struct {
	lanes       int
	rows, bytes int64
	took        time.Duration

	mu     sync.Mutex
	tables map[*loadTable]*flow.Tally // what was read of each
}

func (m *measured) rate() float64 { return float64(m.bytes) / max(m.took.Seconds(), 1e-3) }

// project guesses the bytes of all tables' rows: by the size of the rows that were seen where there are estimates of their number, else by the relation of
// heap to rows in those.
func (m *measured) project(tables []*loadTable) (total int64) {
	var heap, rows float64
	var unknown int64
	for _, t := range tables {
		seen := m.tables[t]
		if seen == nil || seen.Rows == 0 || t.entry.Rows < 0 {
			unknown += t.entry.Bytes
			continue
		}
		n := float64(t.entry.Rows) * float64(seen.Bytes) / float64(seen.Rows)
		total += int64(n)
		heap, rows = heap+float64(t.entry.Bytes), rows+n
	}
	if heap > 0 {
		return total + int64(float64(unknown)*rows/heap)
	}
	return total + unknown
}

// counting counts a lane's rows in a table's tally.
type counting struct {
	m *measured
	t *loadTable
}

// Add implements [flow.Counter].
func (c counting) Add(rows, bytes int64) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	tally := c.m.tables[c.t]
	if tally == nil {
		tally = &flow.Tally{}
		c.m.tables[c.t] = tally
	}
	tally.Rows, tally.Bytes = tally.Rows+rows, tally.Bytes+bytes
	c.m.rows, c.m.bytes = c.m.rows+rows, c.m.bytes+bytes
}

// measure lets lanes run side by side from the origin to sinks, for a moment.
func (j *job) measure(parent context.Context, sample []sampleSegment, sink func(context.Context, *loadTable) (pipeline.Sink, func(), error)) (*measured, error) {
	m := &measured{tables: map[*loadTable]*flow.Tally{}, lanes: min(j.o.Jobs, len(sample))}
	ctx, cancel := context.WithTimeout(parent, sampleTime)
	defer cancel()
	var next atomic.Int64
	started := time.Now()
	group, _ := errgroup.WithContext(ctx)
	for range m.lanes {
		group.Go(func() error {
			for n := int(next.Add(1)) - 1; n < len(sample) && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				if err := j.measureOne(ctx, m, sample[n], sink); err != nil && ctx.Err() == nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	m.took = time.Since(started)
	if parent.Err() != nil {
		return nil, parent.Err()
	}
	return m, err
}

func (j *job) measureOne(ctx context.Context, m *measured, s sampleSegment, sink func(context.Context, *loadTable) (pipeline.Sink, func(), error)) error {
	to, end, err := sink(ctx, s.table)
	if err != nil {
		return err
	}
	defer end()
	from, err := j.origin.Segment(ctx, s.table.entry, s.i)
	if err != nil {
		return err
	}
	defer from.Close()
	return pipeline.Run(ctx, pipeline.Lane{Source: from.Source, Stages: []pipeline.Stage{&flow.Parse{Walker: from.Walker, Count: counting{m, s.table}}}, Sink: to, Pool: newLanePool()})
}

// measureCopy copies rows of tables of builtin types into tables of their make, which are rolled back. why says why it could not.
func (j *job) measureCopy(ctx context.Context, sample []sampleSegment) (m *measured, why string, err error) {
	if !j.onTarget {
		return nil, "the database is still to be made", nil
	}
	sample = slices.DeleteFunc(slices.Clone(sample), func(s sampleSegment) bool { return !s.table.builtinOnly() })
	if len(sample) == 0 {
		return nil, "no table has columns of builtin types alone", nil
	}
	schema, err := j.sampleSchema(ctx)
	if err != nil || schema == "" {
		return nil, "the role may make no table", err
	}
	m, err = j.measure(ctx, sample, func(ctx context.Context, t *loadTable) (pipeline.Sink, func(), error) {
		c, err := j.connectData(ctx)
		if err != nil {
			return nil, nil, err
		}
		end := func() { closeConn(c) } // which rolls back
		name := pg.QuoteName(format.Name(schema), format.Name(fmt.Sprintf("pghaul_sample_%d", c.PID())))
		if err := c.Exec(ctx, "BEGIN; CREATE TABLE "+name+" ("+strings.Join(t.sampleColumns(), ", ")+")"); err != nil {
			end()
			return nil, nil, err
		}
		return &flow.ServerSink{Conn: c, SQL: "COPY " + name + " FROM STDIN (FORMAT binary)"}, end, nil
	})
	if state := pg.State(err); state != "" && !errors.Is(err, context.Canceled) {
		return nil, fmt.Sprintf("a sample could not be loaded (SQLSTATE %s)", state), nil
	}
	return m, "", err
}

// sampleSchema is where a sample's table may stand for the time of its transaction; "": nowhere.
func (j *job) sampleSchema(ctx context.Context) (schema string, err error) {
	schema, err = j.leader.WritableSchema(ctx)
	return schema, pg.Wrap(err, "schema for a sample")
}

// builtinOnly tells that a table can be made anywhere: all of its columns are of builtin types, as bytes.
func (t *loadTable) builtinOnly() bool {
	types := t.sourceTypes()
	return len(t.columns) > 0 && !slices.ContainsFunc(t.columns, func(c format.Column) bool {
		builtin := c.TypeSchema == "pg_catalog" || isEnum(types, c)
		return !builtin || c.Carried != format.CarriedBinary || c.OIDs
	})
}

// isEnum tells columns whose bytes are those of a text: the label.
func isEnum(types pg.Types, c format.Column) bool {
	node := types[c.OID]
	return node != nil && node.Kind == format.KindEnum
}

// sampleColumns are the columns of a sample's table.
func (t *loadTable) sampleColumns() []string {
	types := t.sourceTypes()
	defs := make([]string, len(t.columns))
	for i, c := range t.columns {
		if isEnum(types, c) {
			c.TypeSchema, c.TypeName = "pg_catalog", "text"
		}
		defs[i] = fmt.Sprintf("c%d %s", i+1, pg.QuoteName(c.TypeSchema, c.TypeName))
	}
	return defs
}
