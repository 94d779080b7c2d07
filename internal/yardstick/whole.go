package yardstick

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/restore"
)

// Names of the whole jobs that others refer to.
const (
	jobDumpFloor    = "server: COPY binary"
	jobDumpNone     = "pghaul dump -Z none"
	jobDumpZstd     = "pghaul dump -Z zstd:1"
	jobRestoreFloor = "server: CREATE TABLE AS SELECT"
	jobRestoreNone  = "pghaul restore of -Z none"
	jobRestoreZstd  = "pghaul restore of zstd:1"
	jobMigrate      = "pghaul migrate"

	bothFloors = "both" // of a migrate, which reads and writes
)

// sampleEvery is how often waits are looked at: jobs on small tables are over in a second.
const sampleEvery = 50 * time.Millisecond

// outcome is what a job says of one run.
type outcome struct {
	data     float64 // seconds of the phase that moves rows; 0: it does not tell
	stored   int64   // bytes of its files
	sentence string  // of its stages
}

// job is a whole job under measurement.
type job struct {
	name      string
	floor     string // the name of its floor; its own: it is one
	database  *pg.DSN
	peer      bool
	prepare   func(context.Context) error // before the clock starts; or nil
	do        func(context.Context) (outcome, error)
	walls     []float64
	datas     []float64
	cpus      []float64
	wals      []float64
	waits     []map[string]float64
	last      outcome
	writesWAL bool
}

// whole runs dump and restore over all tables with several connections, beside what the servers can do at best, and beside the peers.
func (b *bench) whole(ctx context.Context) error {
	jobs := b.dumpJobs()
	loads := append(b.restoreJobs(), b.migrateJob())
	if b.o.Peers {
		dumps, restores, err := b.peerJobs(ctx)
		if err != nil {
			return err
		}
		jobs, loads = append(jobs, dumps...), append(loads, restores...)
	}
	jobs = append(jobs, loads...)
	var measures []*measure
	for _, j := range jobs {
		measures = append(measures, &measure{name: j.name, run: func(ctx context.Context) (float64, error) { return b.runJob(ctx, j) }})
	}
	if err := b.rounds(ctx, fmt.Sprintf("all tables, %d jobs", b.o.Jobs), measures); err != nil {
		return err
	}
	floors := map[string]float64{}
	for _, j := range jobs {
		if j.floor == j.name {
			floors[j.name] = median(j.walls[1:])
		}
	}
	floors[bothFloors] = floors[jobDumpFloor] + floors[jobRestoreFloor]
	for _, j := range jobs {
		b.report.Whole = append(b.report.Whole, b.reportJob(j, floors[j.floor]))
	}
	return nil
}

// runJob runs a job once.
func (b *bench) runJob(ctx context.Context, j *job) (seconds float64, err error) {
	if j.prepare != nil {
		if err := j.prepare(ctx); err != nil {
			return 0, err
		}
	}
	if j.writesWAL {
		if err := b.checkpoint(ctx); err != nil {
			return 0, err
		}
	}
	waits, stop := b.watch(ctx, j.database)
	defer stop()
	wal, err := b.admin.WALBytes(ctx)
	if err != nil {
		return 0, err
	}
	cpu := cpuSeconds(j.peer)
	seconds, err = timed(func() (err error) { j.last, err = j.do(ctx); return err })
	if err != nil {
		return 0, err
	}
	j.cpus = append(j.cpus, cpuSeconds(j.peer)-cpu)
	after, err := b.admin.WALBytes(ctx)
	if err != nil {
		return 0, err
	}
	stop()
	j.walls, j.wals = append(j.walls, seconds), append(j.wals, float64(after-wal))
	j.datas = append(j.datas, j.last.data)
	if shares := waits(); len(shares) > 0 {
		j.waits = append(j.waits, shares)
	}
	return seconds, nil
}

// watch looks at what the sessions in a database wait for, until stop is called. A server that does not tell is noted.
func (b *bench) watch(ctx context.Context, dsn *pg.DSN) (shares func() map[string]float64, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watched sync.WaitGroup
	var seen map[string]float64
	var problem error
	watched.Go(func() {
		problem = pg.SampleDatabaseWaits(ctx, dsn, sampleEvery, func(s map[string]float64) { seen = s })
	})
	stop = sync.OnceFunc(func() {
		cancel()
		watched.Wait()
		if problem != nil && !errors.Is(problem, context.Canceled) {
			b.note("the server's wait events could not be looked at: %v", problem)
		}
	})
	return func() map[string]float64 { return seen }, stop
}

// reportJob makes the report of a job's rounds, of which the first one does not count.
func (b *bench) reportJob(j *job, floor float64) Job {
	r := Job{Name: j.name, Peer: j.peer, Seconds: median(j.walls[1:]), Data: median(j.datas[1:]), CPU: median(j.cpus[1:]), Stored: j.last.stored, Sentence: j.last.sentence, Waits: meanShares(j.waits)}
	if j.writesWAL {
		r.WAL = int64(median(j.wals[1:]))
	}
	moves := cmp.Or(r.Data, r.Seconds)
	r.Floor = per(moves, floor)
	r.MBs, r.KRows, r.MDatums = per(float64(b.sums.rowBytes)/1e6, moves), per(float64(b.sums.rows)/1e3, moves), per(float64(b.sums.datums)/1e6, moves)
	return r
}

// meanShares is the mean of the shares of several runs.
func meanShares(runs []map[string]float64) map[string]float64 {
	if len(runs) == 0 {
		return nil
	}
	mean := map[string]float64{}
	for _, shares := range runs {
		for event, share := range shares {
			mean[event] += share / float64(len(runs))
		}
	}
	return mean
}

// dumpJobs are the floor of a dump and our own dumps.
func (b *bench) dumpJobs() []*job {
	floor := &job{name: jobDumpFloor, floor: jobDumpFloor, database: b.scratch.tables, do: func(ctx context.Context) (outcome, error) {
		return outcome{}, b.sideBySide(ctx, func(ctx context.Context, c *pg.Conn, s *subject) error {
			return b.serverCopy(ctx, c, &s.Table, "binary")
		})
	}}
	ours := func(name, dir string, c format.Compression) *job {
		return &job{name: name, floor: jobDumpFloor, database: b.scratch.tables, do: func(ctx context.Context) (outcome, error) {
			data, files, err := b.dumpOf(ctx, b.subjects, c, b.o.Jobs, dir)
			return outcome{data: data, stored: files.stored, sentence: files.sentence}, err
		}, prepare: b.remove(dir)}
	}
	return []*job{floor, ours(jobDumpNone, "none", format.Compression{}), ours(jobDumpZstd, "zstd", format.Compression{Level: 1})}
}

// remove takes the files of an earlier round away, so that no clock counts that.
func (b *bench) remove(dir string) func(context.Context) error {
	return func(context.Context) error { return os.RemoveAll(filepath.Join(b.scratch.dir, dir)) }
}

// restoreJobs are the floor of a restore and our own restores.
func (b *bench) restoreJobs() []*job {
	floor := &job{name: jobRestoreFloor, floor: jobRestoreFloor, database: b.scratch.tables, writesWAL: true, prepare: b.dropSelected, do: func(ctx context.Context) (outcome, error) {
		return outcome{}, b.sideBySide(ctx, func(ctx context.Context, c *pg.Conn, s *subject) error {
			return c.Exec(ctx, "CREATE TABLE "+s.selected()+" AS SELECT * FROM "+s.SQL())
		})
	}}
	ours := func(name, dir string) *job {
		return &job{name: name, floor: jobRestoreFloor, database: b.scratch.copies, writesWAL: true, prepare: func(ctx context.Context) error {
			return errors.Join(b.dropSelected(ctx), b.emptyCopies(ctx))
		}, do: func(ctx context.Context) (outcome, error) { return b.restoreOf(ctx, dir) }}
	}
	return []*job{floor, ours(jobRestoreNone, "none"), ours(jobRestoreZstd, "zstd")}
}

// migrateJob copies the rows from one database to the other, with no files between.
func (b *bench) migrateJob() *job {
	return &job{name: jobMigrate, floor: bothFloors, database: b.scratch.copies, writesWAL: true, prepare: b.emptyCopies, do: func(ctx context.Context) (o outcome, err error) {
		from, without := b.dumpOptions(b.subjects, b.o.Jobs), false
		from.LargeObjects = &without
		t := progress.New("migrate", "read", "parse", "convert", "insert")
		from.Tracker = t
		live, err := dump.Open(ctx, from)
		if err != nil {
			return o, err
		}
		defer func() { err = errors.Join(err, live.Close()) }()
		return b.restoreFrom(ctx, restore.Options{Origin: live}, t)
	}}
}

// selected is the name of a table's copy that the server makes by itself.
func (s *subject) selected() string { return "public.pghaul_bench_of_" + s.Name }

func (b *bench) dropSelected(ctx context.Context) error {
	for _, s := range b.subjects {
		if err := b.conn.Exec(ctx, "DROP TABLE IF EXISTS "+s.selected()); err != nil {
			return err
		}
	}
	return nil
}

// restoreOf loads a dump of the rows into the empty copies.
func (b *bench) restoreOf(ctx context.Context, dir string) (outcome, error) {
	return b.restoreFrom(ctx, restore.Options{Dir: filepath.Join(b.scratch.dir, dir)}, progress.New("restore", "read", "parse", "convert", "insert"))
}

// restoreFrom loads rows into the empty copies from where the options say.
func (b *bench) restoreFrom(ctx context.Context, o restore.Options, t *progress.Tracker) (outcome, error) {
	o.DSN, o.Jobs, o.DataOnly, o.NoProve, o.NoAnalyze = b.scratch.copies, b.o.Jobs, true, true, true
	o.PgBinDir, o.Tool, o.Tracker = b.o.PgBinDir, b.o.Tool, t
	sum, err := restore.Run(ctx, o)
	t.Finish(err)
	if err != nil {
		return outcome{}, err
	}
	if sum.Rows != b.sums.rows {
		return outcome{}, fmt.Errorf("%d rows were restored in place of %d", sum.Rows, b.sums.rows)
	}
	r := t.Report()
	return outcome{data: phaseSeconds(r, restore.PhaseData), sentence: r.Verdict.Sentence}, nil
}

// sideBySide does something with every table, the largest first, in as many sessions of the scratch database as there are jobs.
func (b *bench) sideBySide(ctx context.Context, do func(context.Context, *pg.Conn, *subject) error) error {
	order := slices.SortedFunc(slices.Values(b.subjects), func(x, y *subject) int { return cmp.Compare(y.report.RowBytes, x.report.RowBytes) })
	queue := make(chan *subject, len(order))
	for _, s := range order {
		queue <- s
	}
	close(queue)
	group, ctx := errgroup.WithContext(ctx)
	for range min(b.o.Jobs, len(order)) {
		group.Go(func() error {
			c, err := pg.Connect(ctx, b.scratch.tables, pg.Options{Purpose: pg.ForData})
			if err != nil {
				return err
			}
			defer c.Close()
			for s := range queue {
				if err := do(ctx, c, s); err != nil {
					return fmt.Errorf("table %s: %w", s.Name, err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}
