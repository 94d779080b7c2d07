package dump

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pipeline"
)

// queue hands out segments, largest first.
type queue struct {
	mu       sync.Mutex
	segments []*segment
}

func (q *queue) next() *segment {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.segments) == 0 {
		return nil
	}
	s := q.segments[0]
	q.segments = q.segments[1:]
	return s
}

// worker is one data connection and the lane that it feeds.
type worker struct {
	job      *job
	conn     *pg.Conn
	locked   map[uint32]bool
	compress *flow.Compress
	backends *pg.Backends
	pulse    func() error // the leader's: see leader.ping
}

// segmentTries is how often a segment is read when its connection is lost and the leader still lives.
const segmentTries = 3

// run takes segments from the queue until there are none.
func (w *worker) run(ctx context.Context, q *queue) (err error) {
	defer w.disconnect()
	if level := w.job.options.Compression.Level; level > 0 {
		if w.compress, err = flow.NewCompress(level); err != nil {
			return err
		}
	}
	for s := q.next(); s != nil; s = q.next() {
		if err := w.segmentWithRetry(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) segmentWithRetry(ctx context.Context, s *segment) error {
	s.table.progress.StartSegment()
	for try := 1; ; try++ {
		counted := &flow.Tally{To: s.table.progress}
		err := w.segment(ctx, s, counted)
		if err == nil {
			s.table.progress.EndSegment(nil)
			return nil
		}
		again := w.job.options.Out == nil // what went down a pipe cannot be taken back
		if again && ctx.Err() == nil && pg.ConnectionLost(err) && try < segmentTries {
			w.disconnect()
			if ping := w.pulse(); ping != nil {
				s.table.progress.EndSegment(ping)
				return ping
			}
			s.table.progress.Unwind(counted.Rows, counted.Bytes)
			w.job.options.Tracker.Warn("connection lost while reading %s, segment %d; reading it again under the same snapshot: %v", s.table.rel, s.no, err)
			continue
		}
		s.table.progress.EndSegment(err)
		return fmt.Errorf("table %s, segment %d: %w", s.table.rel, s.no, err)
	}
}

// connect opens the worker's transaction under the dump's snapshot.
func (w *worker) connect(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	conn, err := pg.Connect(ctx, w.job.options.DSN, pg.Options{Purpose: pg.ForData, Role: w.job.options.Role})
	if err != nil {
		return err
	}
	if err := conn.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT "+pg.QuoteLiteral(w.job.leader.snapshot)); err != nil {
		conn.Close()
		return pg.Wrap(err, "import of the snapshot %q", w.job.leader.snapshot)
	}
	w.conn, w.locked = conn, map[uint32]bool{}
	w.backends.Add(conn.PID())
	return nil
}

func (w *worker) disconnect() {
	if w.conn != nil {
		w.backends.Remove(w.conn.PID())
		w.conn.Close()
		w.conn = nil
	}
}

// segment reads one segment into its file. A file that is not whole is gone when it returns.
func (w *worker) segment(ctx context.Context, s *segment, count flow.Counter) (err error) {
	if err := w.connect(ctx); err != nil {
		return err
	}
	name, columns, err := w.conn.SQLNames(ctx, s.table.rel.OID, s.table.rel.Schema, s.table.rel.Name, columnNames(s.table.columns), w.conn.Encoding)
	if err != nil {
		return err
	}
	if err := w.lock(ctx, s.table, name); err != nil {
		return err
	}
	condition, err := w.conn.SessionText(ctx, s.table.condition)
	if err != nil {
		return err
	}
	out, err := w.job.create(s)
	if err != nil {
		return err
	}
	defer func() {
		if e := out.Abort(); e != nil && err == nil {
			err = e
		}
	}()
	walker := format.NewWalker(len(s.table.columns))
	lane := pipeline.Lane{
		Source: &flow.ServerSource{Conn: w.conn, SQL: copyOut(s, w.job.plan.types, name, columns, condition)},
		Stages: []pipeline.Stage{&flow.Parse{Walker: walker, Count: count}},
		Sink:   &flow.FileSink{Writer: out},
		Pool:   w.job.pool,
	}
	if w.compress != nil {
		lane.Stages = append(lane.Stages, w.compress)
	}
	lane.Meters = flow.LaneMeters(w.job.options.Tracker.Meters(), len(lane.Stages))
	if err := pipeline.Run(ctx, lane); err != nil {
		return diskHint(pg.Wrap(err, "COPY TO"))
	}
	totals := walker.Totals()
	stored, err := out.Commit(totals)
	if err != nil {
		return diskHint(err)
	}
	s.done = format.ManifestSegment{StoredFile: stored, Rows: totals.Rows, RawBytes: totals.Length, RowDigest: totals.Digest.String(), CTIDRange: s.pages}
	return nil
}

func columnNames(columns []format.Column) []format.Name {
	names := make([]format.Name, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// lock takes the table's lock in the worker's own transaction without waiting: behind somebody who waits for the leader's lock, a worker would
// wait for ever, and the server sees no cycle.
func (w *worker) lock(ctx context.Context, t *table, name string) error {
	if w.locked[t.rel.OID] {
		return nil
	}
	err := w.conn.Exec(ctx, "LOCK TABLE ONLY "+name+" IN ACCESS SHARE MODE NOWAIT")
	if pg.State(err) == pg.StateLockNotAvailable {
		return withHint(pg.Wrap(err, "another session waits for an exclusive lock on %s", t.rel), "end that session's TRUNCATE, ALTER TABLE or VACUUM FULL, or wait until it is done; then run the dump again")
	}
	if err != nil {
		return pg.Wrap(err, "lock")
	}
	w.locked[t.rel.OID] = true
	return nil
}

// copyOut is the COPY statement of a segment; columns are quoted names in file order, all in the session's encoding. COPY of the table itself is cheaper for the server than COPY of
// a query; both leave out the rows of children and give the same bytes.
func copyOut(s *segment, types pg.Types, name string, columns []string, condition string) string {
	list := make([]string, len(columns))
	asText := false
	for i, c := range s.table.columns {
		list[i] = columns[i]
		if c.Carried == format.CarriedText {
			asText = true
			list[i] = pg.OutSQL(columns[i], c.Cast, types.IsArray(c.OID))
		}
	}
	whole := s.pages == nil && condition == "" && !asText
	switch {
	case whole && len(list) == 0:
		return "COPY " + name + " TO STDOUT (FORMAT binary)"
	case whole:
		return "COPY " + name + " (" + strings.Join(list, ", ") + ") TO STDOUT (FORMAT binary)"
	}
	var where []string
	if s.pages != nil && s.pages.From > 0 {
		where = append(where, fmt.Sprintf("ctid >= '(%d,0)'::pg_catalog.tid", s.pages.From))
	}
	if s.pages != nil && s.pages.To > 0 {
		where = append(where, fmt.Sprintf("ctid < '(%d,0)'::pg_catalog.tid", s.pages.To))
	}
	if condition != "" {
		where = append(where, "("+condition+"\n)") // a comment in it ends with the line
	}
	sql := "COPY (SELECT " + strings.Join(list, ", ") + " FROM ONLY " + name
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	return sql + ") TO STDOUT (FORMAT binary)"
}

// diskHint adds what to do about a disk that took no more.
func diskHint(err error) error {
	var path *os.PathError
	where := "the dump's folder"
	if errors.As(err, &path) {
		where = path.Path
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return withHint(err, "no space is left for "+where+": free some, or dump elsewhere or with -Z zstd")
	case errors.Is(err, syscall.EFBIG):
		return withHint(err, "the file system or a ulimit refuses files of this size: use a smaller --segment-size")
	}
	return err
}
