package yardstick

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pipeline"
)

// Options of a benchmark.
type Options struct {
	DSN      *pg.DSN       // a database to connect to first; nothing is written into it
	Scale    float64       // size of the tables: 1 is 24 million rows, 1.2 GB
	Jobs     int           // connections of the whole jobs
	Rounds   int           // that count; one more goes before
	Tables   []string      // names; none: all
	Dir      string        // in which a folder for dumps is made
	StepTime time.Duration // that a size of batches, the disk and the network each get, at most
	Peers    bool          // run what is installed of pg_dump, pg_restore, psql and pgcopydb too
	Keep     bool          // leave databases and dumps
	PgBinDir string        // of the peers
	Tool     string        // recorded
	Say      func(line string)
	Named    func(databases []string, dir string) // told before they are made; or nil
}

// Bounds of Options.Scale.
const (
	DefaultScale = 0.1 // a run takes about two minutes
	MaxScale     = 1000
)

// defaultStep bounds each of the small measures.
const defaultStep = 400 * time.Millisecond

func (o *Options) check() error {
	switch {
	case !(o.Scale > 0 && o.Scale <= MaxScale):
		return fmt.Errorf("scale %g: must be more than 0 and at most %d", o.Scale, MaxScale)
	case o.Jobs < 1 || o.Rounds < 1:
		return errors.New("jobs and rounds: at least 1 of each")
	}
	if o.Dir == "" {
		o.Dir = "."
	}
	if o.StepTime <= 0 {
		o.StepTime = defaultStep
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	return nil
}

// subject is a table under measurement.
type subject struct {
	Table
	rows   int64
	report *Tabled
	dumped dumpFiles // what the stages read
}

// bench is a benchmark under way.
type bench struct {
	o        Options
	admin    *pg.Conn // in a database of others
	conn     *pg.Conn // in the scratch database
	scratch  *scratch
	subjects []*subject
	report   *Report
	pool     *pipeline.Pool
	sums     sums
}

// sums are the times of all tables on one connection, and their bytes: what verdicts are made of.
type sums struct {
	scan     float64
	rowBytes int64
	rows     int64
	datums   int64
}

// Run measures. It returns when every session, goroutine and child process that it made is gone, and so are databases and folders, but with Options.Keep. When ctx
// ends, queries end on the server too. What could not be removed is a [*LeftBehind] in the error. A server that takes no such load (a standby, a pooler, no right to
// make databases, no space) is refused with a hint, and nothing has been written then.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	started := time.Now()
	b := &bench{o: o, pool: pipeline.NewPool(flow.BlocksPerLane, pipeline.BlockSize)}
	b.report = &Report{Tool: o.Tool, Started: started.UTC().Format(time.RFC3339), Scale: o.Scale, Jobs: o.Jobs, Rounds: o.Rounds, Client: Client{runtime.GOOS, runtime.GOARCH, runtime.NumCPU()},
		Tables: []Tabled{}, Whole: []Job{}, Batches: []Batch{}, Verdicts: []Bound{}, Notes: []string{}}
	if err := b.choose(); err != nil {
		return nil, err
	}
	if err := b.connect(ctx); err != nil {
		return nil, err
	}
	defer b.admin.Close()
	if err := b.announce(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.clean()) }()
	if err := b.make(ctx); err != nil {
		return nil, err
	}
	for _, section := range []func(context.Context) error{b.seed, b.scans, b.stages, b.whole, b.batches, b.disk, b.network} {
		if err := section(ctx); err != nil {
			return nil, err
		}
	}
	b.judge()
	b.report.Seconds = time.Since(started).Seconds()
	return b.report, nil
}

func (b *bench) choose() error {
	tables, err := Choose(b.o.Tables)
	if err != nil {
		return hint.With(err, "name some of them with --tables, or none for all")
	}
	b.report.Tables = make([]Tabled, len(tables))
	for i, t := range tables {
		s := &subject{Table: t, rows: t.Rows(b.o.Scale), report: &b.report.Tables[i]}
		*s.report = Tabled{Name: t.Name, Rows: s.rows, Columns: t.Columns, Scans: []Line{}, Stages: []Stage{}}
		b.subjects = append(b.subjects, s)
		b.sums.rows += s.rows
		b.sums.datums += s.rows * int64(t.Columns)
	}
	return nil
}

func (b *bench) say(format string, args ...any) { b.o.Say(fmt.Sprintf(format, args...)) }

// note records something that a reader of the numbers must know, once.
func (b *bench) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(b.report.Notes, text) {
		b.report.Notes = append(b.report.Notes, text)
		b.say("note: %s", text)
	}
}

// seed makes the tables.
func (b *bench) seed(ctx context.Context) error {
	for _, s := range b.subjects {
		b.say("making table %s, %d rows", s.Name, s.rows)
		if err := b.conn.Exec(ctx, s.CreateSQL(b.o.Scale)); err != nil {
			return pg.Wrap(err, "table %s", s.Name)
		}
		if err := b.conn.Exec(ctx, "VACUUM ANALYZE "+s.SQL()); err != nil { // hint bits and visibility: no later scan pays for them
			return pg.Wrap(err, "VACUUM of table %s", s.Name)
		}
		var err error
		if s.report.TableBytes, err = b.conn.TableBytes(ctx, s.qualified()); err != nil {
			return err
		}
	}
	return b.checkpoint(ctx)
}

// checkpoint keeps the writing of earlier steps out of the next one, where the role may ask for it.
func (b *bench) checkpoint(ctx context.Context) error {
	err := b.conn.Exec(ctx, "CHECKPOINT")
	if pg.State(err) == pg.StateInsufficientPrivilege {
		b.note("the role may not run CHECKPOINT: a checkpoint of the server's own can fall into a measure")
		return nil
	}
	return pg.Wrap(err, "CHECKPOINT")
}
