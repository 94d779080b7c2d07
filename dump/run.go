package dump

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/control"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgtools"
	"github.com/bytehaul/pghaul/internal/pipeline"
	"github.com/bytehaul/pghaul/internal/progress"
)

// Phases of a dump, as observers see them.
const (
	PhasePlan   = "plan"
	PhaseData   = "data"
	PhaseFinish = "finish"
)

// job is a dump under way.
type job struct {
	options  *Options
	id       string
	started  time.Time
	tools    *pgtools.Tools
	toolConn pgtools.Conn // of pg_dump
	leader   *leader
	plan     *plan
	folder   *folder       // nil for a single file or stream
	files    *format.Batch // of the folder
	schema   *format.StoredFile
	patterns []string // pg_dump's options that choose
}

func (o *Options) logf(format string, args ...any) {
	if o.Logf != nil {
		o.Logf(format, args...)
	}
}

func (o *Options) jobs() int {
	if o.Jobs > 0 {
		return o.Jobs
	}
	return min(runtime.NumCPU(), 8)
}

func (o *Options) withLargeObjects(sel *selection) bool {
	switch {
	case o.SchemaOnly || o.single():
		return false
	case o.LargeObjects != nil:
		return *o.LargeObjects
	}
	return !sel.partial()
}

// Run takes a dump and returns when every goroutine, connection and child process it made is gone. On an error, and when ctx ends, all files it
// made are gone too: a dump is whole or not there. Errors: *Refused when something cannot be dumped as it is, nothing was written then;
// ErrNotEmpty; *pg.Error with the server's words; *format.Error and *os.PathError from the files; *pgtools.Error from pg_dump.
func Run(ctx context.Context, o Options) (summary *Summary, err error) {
	defer func() {
		err = cancelled(ctx, err)
		o.Tracker.Finish(err)
	}()
	defer o.Control.Follow(o.Tracker.SetPaused)()
	j := &job{options: &o, id: newDumpID(), started: time.Now()}
	sel, err := newSelection(&o)
	if err != nil {
		return nil, err
	}
	if !o.single() {
		if err := checkFolder(o.Dir, o.OverwriteUnfinished); err != nil {
			return nil, err
		}
	}
	o.Tracker.StartPhase(PhasePlan, 1, 3)
	conn, err := j.start(ctx, sel)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return j.run(ctx)
}

// start takes the snapshot and makes the plan. The caller closes the session, which is the leader's.
func (j *job) start(ctx context.Context, sel *selection) (_ *pg.Conn, err error) {
	o := j.options
	conn, err := pg.Connect(ctx, o.DSN, pg.Options{Purpose: pg.ForCatalog, Role: o.Role})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	o.DSN = o.DSN.Pin(conn)
	o.Tracker.SetSource(o.DSN.String())
	steps := []step{
		{"server", func() error { return conn.RefusePooler(ctx, o.DSN) }, func() string { return fmt.Sprintf("PostgreSQL %d, %s", conn.Version/10000, conn.Encoding) }},
		{"pg_dump", func() error {
			if o.DataOnly {
				return nil
			}
			return j.findTools(ctx, conn)
		}, func() string {
			if j.tools == nil {
				return "not needed"
			}
			return "found"
		}},
		{"snapshot and locks", func() (err error) { j.leader, err = lead(ctx, o, conn, sel); return err },
			func() string { return fmt.Sprintf("%d tables are locked", len(j.leader.tables)) }},
		{"tables, columns, types", func() (err error) { j.plan, err = makePlan(ctx, o, j.leader, sel); return err },
			func() string {
				return fmt.Sprintf("%d tables in %d files, %d left out", len(j.plan.tables), len(j.plan.segments), len(j.plan.leftOut))
			}},
	}
	for _, s := range steps {
		if err := o.check(s); err != nil {
			return nil, err
		}
	}
	if o.DataOnly && j.plan.largeObjs > 0 { // rows alone need no pg_dump, so that servers newer than ours will do
		if err := j.findTools(ctx, conn); err != nil {
			return nil, err
		}
	}
	if j.tools != nil {
		if j.patterns, err = j.toolPatterns(ctx, sel); err != nil {
			return nil, err
		}
	}
	return conn, nil
}

// cancelled gives the reason why ctx has ended for an error that only echoes it.
func cancelled(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || pg.State(err) == pg.StateQueryCanceled || pg.ConnectionLost(err) {
		return cause
	}
	return err
}

// findTools finds a pg_dump for the server's version, unless a single file is wanted.
func (j *job) findTools(ctx context.Context, conn *pg.Conn) (err error) {
	if j.options.single() {
		return nil
	}
	major := conn.Version / 10000
	j.tools, err = pgtools.Find(j.options.PgBinDir, max(major, j.options.ToolMajor))
	if err != nil && j.options.ToolMajor > major {
		j.options.Tracker.Warn("%v: definitions are written by the source's version, of which PostgreSQL %d may refuse some; better %s", err, j.options.ToolMajor, hint.Of(err))
		j.tools, err = pgtools.Find(j.options.PgBinDir, major)
	}
	if err != nil {
		return err
	}
	j.toolConn, err = conn.ToolConn(ctx, j.options.DSN)
	return err
}

// run writes what was planned.
func (j *job) run(ctx context.Context) (summary *Summary, err error) {
	o := j.options
	if err := j.prepare(ctx); err != nil {
		return nil, err
	}
	if o.single() {
		return j.runSingle(ctx)
	}
	if j.folder, err = openFolder(o.Dir, o.OverwriteUnfinished); err != nil {
		return nil, err
	}
	j.files = format.NewBatch(j.folder.root)
	o.Tracker.SetTarget(o.Dir)
	defer func() {
		if err != nil {
			err = errors.Join(err, j.files.Abort(), j.folder.remove())
			return
		}
		err = errors.Join(j.folder.root.Close(), j.folder.unlock())
	}()
	o.Tracker.StartPhase(PhaseData, 2, 3)
	if err := j.move(ctx); err != nil {
		return nil, err
	}
	if err := j.files.Flush(); err != nil {
		return nil, diskHint(err)
	}
	o.Tracker.StartPhase(PhaseFinish, 3, 3)
	manifest := j.manifest()
	if len(manifest.Tables) == 0 {
		if err := j.folder.root.Remove(format.DataDir); err != nil {
			return nil, err
		}
	}
	if err := format.WriteManifest(j.folder.root, manifest); err != nil {
		return nil, diskHint(err)
	}
	if err := syncParent(o.Dir); err != nil {
		return nil, err
	}
	return j.summarize(manifest, o.Dir), nil
}

// prepare takes the samples and makes the tables known to observers.
func (j *job) prepare(ctx context.Context) error {
	o, p := j.options, j.plan
	if err := j.sample(ctx); err != nil {
		return err
	}
	for _, w := range p.warnings {
		o.Tracker.Warn("%s", w)
	}
	for _, t := range p.tables {
		rows := int64(-1)
		if t.rel.Tuples >= 0 {
			rows = int64(t.rel.Tuples)
		}
		t.progress = o.Tracker.AddTable(progress.TableInfo{Name: t.rel.String(), Rows: rows, Bytes: t.rel.Pages*pageSize + t.rel.ToastBytes,
			Segments: len(t.segments), Columns: len(t.columns), Describe: described{p, t}})
	}
	return nil
}

// sample takes the samples of all types.
func (j *job) sample(ctx context.Context) error {
	if len(j.plan.tables) == 0 {
		return nil
	}
	conn, err := pg.Connect(ctx, j.options.DSN, pg.Options{Purpose: pg.ForData, Role: j.options.Role})
	if err != nil {
		return err
	}
	defer conn.Close()
	return j.plan.takeSamples(ctx, conn)
}

// move runs the workers, pg_dump, the leader's pulse and the monitor side by side. The first failure ends all of them.
func (j *job) move(parent context.Context) error {
	o := j.options
	group, ctx := errgroup.WithContext(parent)
	work, workCtx := errgroup.WithContext(ctx)
	done := make(chan struct{})
	backends := &pg.Backends{}
	pulse := func() error { return j.leader.ping(parent) }
	group.Go(func() error { return watch(ctx, pulse, done) })
	group.Go(func() error { j.monitor(workCtx, backends); return nil })

	q := &queue{segments: j.plan.segments}
	work.Go(func() error {
		return o.Control.Crew(workCtx, o.jobs(), len(j.plan.segments), func(ctx context.Context, place *control.Place) error {
			return (&worker{job: j, backends: backends, pulse: pulse, pool: pipeline.NewPool(flow.BlocksPerLane, pipeline.BlockSize)}).run(ctx, q, place)
		}, func(err error) { o.Tracker.Warn("no further connection: %v", err) })
	})
	if j.tools != nil {
		work.Go(func() (err error) {
			j.schema, err = j.schemaArchive(workCtx)
			return err
		})
	}
	group.Go(func() error {
		defer close(done)
		if err := work.Wait(); err != nil {
			return err
		}
		return pulse() // locks and snapshot held to the end: the dump is consistent
	})
	err := group.Wait()
	if cause := context.Cause(parent); cause != nil {
		return cause
	}
	if err == nil {
		return nil
	}
	if gone := pulse(); gone != nil { // of which the first failure may be an echo: a snapshot that nobody holds any more
		o.logf("%v", err)
		return gone
	}
	return err
}

// monitor samples the server's wait events while the workers run. A server that does not show them is no reason to end a dump.
func (j *job) monitor(ctx context.Context, backends *pg.Backends) {
	o := j.options
	err := pg.SampleWaits(ctx, o.DSN, backends, func(shares map[string]float64) { o.Tracker.SetWaits(progress.Source, shares) })
	if err != nil && ctx.Err() == nil {
		o.Tracker.Warn("the server's wait events are not shown: %v", err)
	}
}

// create opens a segment's file.
func (j *job) create(s *segment) (output, error) {
	o := j.options
	h := j.plan.header(o, j.id, s)
	if o.Out != nil {
		w, err := format.NewStreamWriter(o.Out, h, o.Compression)
		return stream{w}, err
	}
	path := s.path
	if o.File != "" {
		path = filepath.Base(o.File)
		return format.Create(j.folder.root, path, h, o.Compression)
	}
	return j.files.Create(path, h, o.Compression)
}

// runSingle dumps one table into one file or stream.
func (j *job) runSingle(ctx context.Context) (*Summary, error) {
	o := j.options
	if len(j.plan.tables) != 1 {
		names := make([]string, len(j.plan.tables))
		for i, t := range j.plan.tables {
			names[i] = t.rel.String()
		}
		return nil, withHint(fmt.Errorf("one file holds one table, and %d are chosen: %s", len(names), strings.Join(names, ", ")), "choose one with -t SCHEMA.TABLE")
	}
	if o.File != "" {
		root, err := os.OpenRoot(filepath.Dir(o.File))
		if err != nil {
			return nil, folderHint(err)
		}
		defer root.Close()
		j.folder = &folder{path: filepath.Dir(o.File), root: root}
	}
	o.Tracker.StartPhase(PhaseData, 2, 3)
	if err := j.move(ctx); err != nil {
		if made := j.plan.segments[0].done.Path; o.File != "" && made != "" { // whole, and not proved to be under one snapshot
			err = errors.Join(err, j.folder.root.Remove(made))
		}
		return nil, err
	}
	o.Tracker.StartPhase(PhaseFinish, 3, 3)
	return j.summarize(j.manifest(), o.File), nil
}

// manifest gathers what the workers made.
func (j *job) manifest() *format.Manifest {
	p := j.plan
	m := &format.Manifest{FormatVersion: format.ManifestVersion, Tool: j.options.Tool, DumpID: j.id, Started: j.started.UTC().Format(time.RFC3339Nano),
		Finished: time.Now().UTC().Format(time.RFC3339Nano), Source: p.source, Options: j.options.recorded(), Schema: j.schema, Tables: make([]format.ManifestTable, 0, len(p.tables)),
		Sequences: p.sequences, LargeObjects: p.largeObjs, MatViews: p.matviews, Extensions: p.extensions, Roles: p.roles,
		LeftOut: append([]format.LeftOut{}, p.leftOut...), Warnings: append([]string{}, p.warnings...)}
	for _, t := range p.tables {
		var totals format.Totals
		t.entry.Segments = nil
		for _, s := range t.segments {
			t.entry.Segments = append(t.entry.Segments, s.done)
			digest, _ := format.ParseRowDigest(s.done.RowDigest) // our own
			totals = totals.Add(format.Totals{Rows: s.done.Rows, Length: s.done.RawBytes, Digest: digest})
		}
		t.entry.Rows, t.entry.Bytes, t.entry.RowDigest = totals.Rows, totals.Length, totals.Digest.String()
		if t.entry.ExtensionConfig {
			m.ExtensionConfigs = append(m.ExtensionConfigs, format.Name(t.rel.String()))
		}
		m.Tables = append(m.Tables, t.entry)
	}
	return m
}

// recorded are the options as the manifest tells them.
func (o *Options) recorded() map[string]string {
	r := map[string]string{"jobs": strconv.Itoa(o.jobs()), "compress": o.Compression.String(), "segment-size": strconv.FormatInt(o.SegmentSize, 10)}
	for name, list := range map[string][]string{"schema": o.Schemas, "exclude-schema": o.ExcludeSchemas, "table": o.Tables, "exclude-table": o.ExcludeTables, "exclude-table-data": o.ExcludeTableData,
		"table-and-children": o.TablesAndChildren, "exclude-table-and-children": o.ExcludeTablesAndChildren, "exclude-table-data-and-children": o.ExcludeTableDataAndChildren,
		"extension": o.Extensions, "exclude-extension": o.ExcludeExtensions, "include-foreign-data": o.ForeignServers, "section": o.Sections} {
		if len(list) > 0 {
			r[name] = strings.Join(list, ", ")
		}
	}
	for name, on := range map[string]bool{"data-only": o.DataOnly, "schema-only": o.SchemaOnly, "no-unlogged-data": o.NoUnloggedData, "serializable-deferrable": o.SerializableDeferrable} {
		if on {
			r[name] = "true"
		}
	}
	if o.LargeObjects != nil {
		r["large-objects"] = strconv.FormatBool(*o.LargeObjects)
	}
	if o.Snapshot != "" {
		r["snapshot"] = o.Snapshot
	}
	return r
}

func (j *job) summarize(m *format.Manifest, dir string) *Summary {
	s := &Summary{Manifest: m, Dir: dir, Warnings: m.Warnings, Carried: j.plan.carried}
	for _, t := range m.Tables {
		s.Rows, s.RawBytes = s.Rows+t.Rows, s.RawBytes+t.Bytes
		for _, f := range t.Segments {
			s.Files, s.Stored = s.Files+1, s.Stored+f.StoredBytes
		}
	}
	if m.Schema != nil {
		s.Files, s.Stored = s.Files+1, s.Stored+m.Schema.StoredBytes
	}
	return s
}

// syncParent makes the folder's own name durable.
func syncParent(dir string) error {
	parent, err := os.Open(filepath.Dir(filepath.Clean(dir)))
	if err != nil {
		return err
	}
	defer parent.Close()
	return parent.Sync()
}
