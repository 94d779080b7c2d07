package dump

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/dirlock"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pipeline"
	"github.com/bytehaul/pghaul/internal/progress"
)

// Live is a database under one snapshot, open for reading: the source of a migrate. Its leader holds the snapshot, and locks on all tables, until
// Release or Close. Rows are counted only when they pass, so its manifest has no digests. Methods may be called from several goroutines.
type Live struct {
	job      *job
	conn     *pg.Conn // the leader's
	manifest *format.Manifest
	moment   string
	byName   map[pg.Qualified]*table
	files    *folder  // definitions; nil: none
	tables   []string // chosen one by one
	excluded []string
	backends *pg.Backends

	end     context.CancelFunc // of the goroutines
	running sync.WaitGroup
	gone    chan struct{} // closed when the leader has died
	death   error

	mu       sync.Mutex
	idle     []*source
	released bool
	watched  bool // wait events
}

// leaderGone says what to do when the snapshot is lost in a migrate.
const leaderGone = "look into the source's log for why the session ended"

var errReleased = errors.New("the snapshot has been released")

// Open plans a migrate from a database: it takes the snapshot and the locks as a dump does, reads the plan and the samples, and lets pg_dump write
// the definitions and large objects into a folder that nobody else may read. Of the options those about files have no effect. Errors are those of
// [Run]. When ctx ends while it opens, everything is undone; what comes later is ended by Close alone.
func Open(ctx context.Context, o Options) (_ *Live, err error) {
	defer func() { err = cancelled(ctx, err) }()
	if o.single() {
		return nil, errors.New("a migrate has no files")
	}
	sel, err := newSelection(&o)
	if err != nil {
		return nil, err
	}
	l := &Live{job: &job{options: &o, started: time.Now()}, byName: map[pg.Qualified]*table{}, backends: &pg.Backends{}, gone: make(chan struct{})}
	if l.conn, err = l.job.start(ctx, sel); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	l.job.leader.voidHint = leaderGone
	if err := l.choose(ctx, sel); err != nil {
		return nil, err
	}
	if err := l.job.sample(ctx); err != nil {
		return nil, err
	}
	if err := l.identify(ctx); err != nil {
		return nil, err
	}
	for _, w := range l.job.plan.warnings {
		o.Tracker.Warn("%s", w)
	}
	if err := l.archive(ctx); err != nil {
		return nil, err
	}
	l.describe()
	l.watch()
	return l, nil
}

// choose keeps the names of tables that were chosen one by one. pg_dump writes all definitions then: with the tables alone it would leave out the schemas,
// types and functions that they need, and whoever restores takes what belongs to the chosen ones.
func (l *Live) choose(ctx context.Context, sel *selection) error {
	if !sel.byTables() {
		return nil
	}
	for _, set := range []struct {
		oids map[uint32]bool
		to   *[]string
	}{{sel.chosen, &l.tables}, {sel.excluded, &l.excluded}} {
		names, err := l.conn.Names(ctx, slices.Collect(maps.Keys(set.oids)))
		if err != nil {
			return err
		}
		for _, q := range names {
			*set.to = append(*set.to, q.SQL())
		}
	}
	l.job.patterns = []string{"--exclude-schema=" + pg.JournalSchema}
	if l.job.plan.largeObjs == 0 && !l.job.options.Preview {
		l.job.patterns = append(l.job.patterns, "--no-blobs")
	}
	return nil
}

// Tables gives the tables that patterns have chosen one by one, and those that they have excluded, as quoted names; none when all were chosen.
func (l *Live) Tables() (chosen, excluded []string) { return l.tables, l.excluded }

// identify names the database and the moment so that a later run knows them again. The name of an exported snapshot comes again when its server
// has been restarted; together with what it sees, and since when the server runs, it does not.
func (l *Live) identify(ctx context.Context) error {
	src := &l.job.plan.source
	server := src.Server.SystemIdentifier
	if server == "" {
		server = "unknown server"
	}
	m, err := l.conn.Moment(ctx)
	if err != nil {
		return pg.Wrap(err, "identity of the snapshot")
	}
	l.job.id = fmt.Sprintf("%s/%d", server, m.Database)
	l.moment = fmt.Sprintf("%s %s %d", l.job.leader.snapshot, m.Visible, m.Since.UnixMicro())
	return nil
}

// archive lets pg_dump write its part.
func (l *Live) archive(ctx context.Context) error {
	o := l.job.options
	if o.DataOnly && l.job.plan.largeObjs == 0 {
		return nil
	}
	temp, err := dirlock.NewTemp("migrate")
	if err != nil {
		return err
	}
	l.files = &folder{path: temp.Path(), made: true, lock: temp}
	if l.files.root, err = os.OpenRoot(temp.Path()); err != nil {
		return err
	}
	l.job.folder = l.files
	l.job.schema, err = l.job.schemaArchive(ctx)
	return err
}

// describe writes the manifest of what is there: sizes are estimates, and nothing is counted yet.
func (l *Live) describe() {
	p := l.job.plan
	for _, t := range p.tables {
		for _, s := range t.segments {
			s.done = format.ManifestSegment{StoredFile: format.StoredFile{Path: flow.SegmentName(pg.QuoteName(t.rel.Schema, t.rel.Name), s.pages), StoredBytes: s.bytes}, CTIDRange: s.pages}
		}
		l.byName[pg.Qualified{Schema: t.rel.Schema, Name: t.rel.Name}] = t
	}
	m := l.job.manifest()
	for i := range m.Tables {
		rel := p.tables[i].rel
		m.Tables[i].Rows, m.Tables[i].Bytes, m.Tables[i].RowDigest = -1, rel.Pages*pageSize+rel.ToastBytes, ""
		if rel.Tuples >= 0 {
			m.Tables[i].Rows = int64(rel.Tuples)
		}
	}
	l.manifest = m
}

// watch pings the leader until Release or Close.
func (l *Live) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	l.end = cancel
	l.running.Go(func() {
		err := watch(ctx, func() error { return l.job.leader.ping(ctx) }, nil)
		if err != nil {
			l.death = err
			close(l.gone)
		}
	})
}

// Manifest describes the database; the caller may fill in what has passed.
func (l *Live) Manifest() *format.Manifest { return l.manifest }

// Snapshot names the moment: unlike any other of the same database.
func (l *Live) Snapshot() string { return l.moment }

// Gone is closed when the leader has died: no row can be had any more, see Alive.
func (l *Live) Gone() <-chan struct{} { return l.gone }

// Alive asks the leader. After Release there is none.
func (l *Live) Alive(ctx context.Context) error {
	select {
	case <-l.gone:
		return l.death
	default:
	}
	l.mu.Lock()
	released := l.released
	l.mu.Unlock()
	if released {
		return errReleased
	}
	return l.job.leader.ping(ctx)
}

// Archive gives the path of pg_dump's archive, which is there until Close.
func (l *Live) Archive(context.Context) (string, error) {
	if l.files == nil {
		return "", errors.New("no definitions were asked for")
	}
	return filepath.Join(l.files.path, format.SchemaName), nil
}

// Meta tells a table's types and samples.
func (l *Live) Meta(_ context.Context, t *format.ManifestTable) (*format.Meta, error) {
	from, err := l.table(t)
	if err != nil {
		return nil, err
	}
	return &l.job.plan.header(l.job.options, l.job.id, from.segments[0]).Meta, nil
}

func (l *Live) table(t *format.ManifestTable) (*table, error) {
	q := pg.Qualified{Schema: t.Schema, Name: t.Name}
	if from := l.byName[q]; from != nil {
		return from, nil
	}
	return nil, fmt.Errorf("table %s is not in the plan", q)
}

// Segment opens a segment, which are the pages that the manifest says, on a session of its own, under the snapshot. The session goes back when the segment is closed, and is used again if it is
// still good.
func (l *Live) Segment(ctx context.Context, t *format.ManifestTable, i int) (*flow.Segment, error) {
	from, err := l.table(t)
	if err != nil {
		return nil, err
	}
	s, err := l.take(ctx)
	if err != nil {
		return nil, err
	}
	sql, err := s.open(ctx, &segment{table: from, pages: t.Segments[i].CTIDRange}, l.job.plan.types)
	if err != nil {
		l.give(s)
		return nil, err
	}
	return &flow.Segment{Source: &liveSource{flow.ServerSource{Conn: s.conn, SQL: sql}, from}, Walker: format.NewWalker(len(from.columns)),
		Finish: func(format.Totals) error { return nil }, Close: func() { l.give(s) }}, nil
}

// liveSource says of an error that it is the source's.
type liveSource struct {
	flow.ServerSource
	table *table
}

// Run implements [pipeline.Source].
func (s *liveSource) Run(ctx context.Context, out *pipeline.Out) error {
	return copyError(s.table, "COPY TO on the source", s.ServerSource.Run(ctx, out))
}

// take gives an idle session, or a new one.
func (l *Live) take(ctx context.Context) (*source, error) {
	l.mu.Lock()
	if l.released {
		l.mu.Unlock()
		return nil, errReleased
	}
	if n := len(l.idle); n > 0 {
		s := l.idle[n-1]
		l.idle = l.idle[:n-1]
		l.mu.Unlock()
		return s, nil
	}
	l.watchServer()
	l.mu.Unlock()
	return newSource(ctx, l.job, l.backends)
}

// give takes a session back. One whose COPY was broken off is gone.
func (l *Live) give(s *source) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released || s.conn.IsClosed() || s.conn.PgConn().TxStatus() != 'T' {
		s.close()
		return
	}
	l.idle = append(l.idle, s)
}

// watchServer shows, from the first session on, what the source's backends wait for. The caller holds the lock.
func (l *Live) watchServer() {
	o := l.job.options
	if l.watched || o.Tracker == nil {
		return
	}
	l.watched = true
	ctx, cancel := context.WithCancel(context.Background())
	end := l.end
	l.end = func() { cancel(); end() }
	l.running.Go(func() {
		err := pg.SampleWaits(ctx, o.DSN, l.backends, func(shares map[string]float64) { o.Tracker.SetWaits(progress.Source, shares) })
		if err != nil && ctx.Err() == nil {
			o.logf("wait events of the source: %v", err)
		}
	})
}

// Release lets go of the snapshot and the locks: all rows are copied. The definitions stay.
func (l *Live) Release() {
	l.mu.Lock()
	already, end := l.released, l.end
	l.released = true
	for _, s := range l.idle {
		s.close()
	}
	l.idle = nil
	l.mu.Unlock()
	if already {
		return
	}
	if end != nil {
		end()
	}
	l.running.Wait()
	l.conn.Close()
}

// Close ends all sessions and removes the definitions. Segments must be closed before.
func (l *Live) Close() error {
	l.Release()
	return l.Discard()
}

// Discard removes the definitions, at once. It is for the end of a program that can't wait for Close.
func (l *Live) Discard() error {
	if l.files == nil || l.files.path == "" {
		return nil
	}
	return l.files.lock.Close() // which removes it
}
