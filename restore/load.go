package restore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/control"
	"github.com/bytehaul/pghaul/internal/convert"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pipeline"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/jackc/pgx/v5/pgconn"
)

// data loads all segments, as many at a time as there are jobs.
func (j *job) data(ctx context.Context) error {
	if err := j.quiet(ctx); err != nil {
		return err
	}
	if err := j.checkTablesKnown(ctx); err != nil {
		return err
	}
	if err := j.truncate(ctx); err != nil {
		return err
	}
	if err := j.startSnapshot(ctx); err != nil {
		return err
	}
	if err := j.loadEmpty(ctx); err != nil {
		return err
	}
	backends, stop := j.watchServer(ctx)
	defer stop()
	if err := j.load(ctx, backends); err != nil {
		return err
	}
	for j.lost.Swap(false) {
		missing, err := j.recheck(ctx)
		if err != nil {
			return err
		}
		if !missing {
			break
		}
		if err := j.load(ctx, backends); err != nil {
			return err
		}
	}
	if j.folder == nil {
		for _, t := range j.plan.tables {
			t.settle()
		}
		j.noteSingle()
	}
	if err := j.loud(ctx); err != nil || !j.o.DisableTriggers {
		return err
	}
	return j.checkKeys(ctx)
}

// load lets the workers load what is left.
func (j *job) load(ctx context.Context, backends *pg.Backends) error {
	q := newQueue(j.plan.tables)
	err := j.crew(ctx, max(1, j.plan.segments), func(ctx context.Context, place *control.Place) error {
		w := &worker{job: j, backends: backends, pool: newLanePool()}
		defer w.close()
		return w.run(ctx, q, place)
	})
	if err != nil {
		return err
	}
	return ctxOf(j, q)
}

// crew runs workers side by side, as many as there are jobs and at most limit.
func (j *job) crew(ctx context.Context, limit int, worker control.Worker) error {
	return j.o.Control.Crew(ctx, j.o.Jobs, limit, worker, func(err error) { j.o.Tracker.Warn("no further connection: %v", err) })
}

// newLanePool is the memory budget of one worker.
func newLanePool() *pipeline.Pool { return pipeline.NewPool(flow.BlocksPerLane, pipeline.BlockSize) }

// ctxOf tells a data phase that has loaded everything from one that was ended between two segments.
func ctxOf(j *job, q *queue) error {
	for _, t := range q.tables {
		if !t.done() {
			return fmt.Errorf("table %s: %d segments are not loaded: %w", t.name, len(t.left)+t.running, context.Canceled)
		}
	}
	return nil
}

// watchServer shows what the target's backends wait for, until stop is called. A server that does not tell is no reason to stop.
func (j *job) watchServer(ctx context.Context) (b *pg.Backends, stop func()) {
	b = &pg.Backends{}
	if j.o.Tracker == nil || j.plan.segments == 0 {
		return b, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var watched sync.WaitGroup
	watched.Go(func() {
		err := pg.SampleWaits(ctx, j.o.DSN, b, func(shares map[string]float64) { j.o.Tracker.SetWaits(progress.Target, shares) })
		if err != nil && ctx.Err() == nil {
			j.logf("wait events of the target: %v", err)
		}
	})
	return b, func() {
		cancel()
		watched.Wait()
	}
}

// worker loads segments over a session of its own.
type worker struct {
	*job
	backends *pg.Backends
	pool     *pipeline.Pool
	conn     *pg.Conn
	table    *loadTable // whose statement is made up
	copy     string
	truncate string
	staging  *staging // nil: rows go straight into their table
}

func (w *worker) connect(ctx context.Context) (err error) {
	if w.conn, err = w.connectData(ctx); err != nil {
		return err
	}
	w.backends.Add(w.conn.PID())
	if w.replica {
		err = w.conn.Exec(ctx, setReplica)
	}
	return err
}

func (w *worker) close() {
	if w.conn != nil {
		w.backends.Remove(w.conn.PID())
		closeConn(w.conn)
		w.conn = nil
	}
}

func (w *worker) run(ctx context.Context, q *queue, place *control.Place) error {
	if err := w.connect(ctx); err != nil {
		return err
	}
	place.Ready()
	var last *loadTable
	for place.Stay() {
		if err := w.o.Control.Wait(ctx); err != nil {
			return err
		}
		t, i, ok := q.next(ctx, last)
		if !ok {
			return ctx.Err()
		}
		if err := w.segment(ctx, t, i); err != nil {
			return segmentError(t, i, err)
		}
		w.loaded.Add(1)
		q.finish(t)
		last = t
	}
	return nil
}

// segment loads one segment, the journal's row first, so that nobody loads it twice. From a live origin it tries again when a session was lost.
func (w *worker) segment(ctx context.Context, t *loadTable, i int) error {
	started := false
	part := t.progress.Part(i)
	begun := func() {
		if !started {
			started = true
			part.Start()
		}
	}
	for try := 1; ; try++ {
		count := &flow.Tally{To: part}
		done, err := w.attempt(ctx, t, i, count, begun)
		seg := &t.entry.Segments[i]
		if err != nil {
			part.Unwind(count.Rows, count.Bytes)
			if err = w.again(ctx, t, i, try, err); err == nil {
				continue
			}
		}
		switch {
		case done && !started:
			part.AlreadyDone(seg.Rows, seg.RawBytes)
		case done:
			part.Add(seg.Rows, seg.RawBytes)
		}
		if started {
			part.End(canceled(ctx, err))
		}
		return err
	}
}

// prepare writes the COPY statement for a table, in the session's encoding.
func (w *worker) prepare(ctx context.Context, t *loadTable) error {
	if w.table == t {
		return nil
	}
	table, columns, err := tableSQL(ctx, w.conn, t)
	if err != nil {
		return err
	}
	w.table, w.staging, w.truncate = t, nil, "TRUNCATE ONLY "+table
	if t.target.Kind == 'p' {
		w.truncate = "TRUNCATE " + table
	}
	if t.throughStaging() {
		if w.staging, err = newStaging(ctx, w.conn, t, table, columns); err != nil {
			return err
		}
		w.copy = "COPY " + stagingTable + " FROM STDIN (FORMAT binary)"
		return nil
	}
	options := "FORMAT binary"
	if t.freeze {
		options += ", FREEZE"
	}
	w.copy = "COPY " + table + listOf(columns) + " FROM STDIN (" + options + ")"
	return nil
}

// tableSQL gives a table's name and the columns that go into it, quoted and in the session's encoding.
func tableSQL(ctx context.Context, c *pg.Conn, t *loadTable) (table string, columns []string, err error) {
	return c.SQLNames(ctx, t.target.OID, t.target.Schema, t.target.Name, t.columnNames(), c.PgConn().ParameterStatus("client_encoding"))
}

// listOf puts a column list into parentheses. A table without columns has none: COPY's syntax does not know an empty one.
func listOf(columns []string) string {
	if len(columns) == 0 {
		return ""
	}
	return " (" + strings.Join(columns, ", ") + ")"
}

// begin starts the transaction. done tells that the segment is loaded already.
func (w *worker) begin(ctx context.Context, t *loadTable, seg *format.ManifestSegment) (done bool, err error) {
	sql := "BEGIN"
	if w.journal != nil {
		sql += "; " + w.journal.segmentSQL(w.conn, t, seg)
	}
	noted, err := w.conn.ExecTag(ctx, sql)
	if err != nil {
		if pg.State(err) == pg.StateUniqueViolation {
			return true, w.conn.Exec(ctx, "ROLLBACK")
		}
		return false, pg.Wrap(err, "journal")
	}
	if w.journal != nil && noted != 1 {
		return false, errors.New("another run has taken the journal over")
	}
	if w.single() != nil && w.o.OnExisting == Truncate && !t.freeze {
		if err := w.conn.Exec(ctx, w.truncate); err != nil {
			return false, pg.Wrap(err, "TRUNCATE of %s", t.into)
		}
	}
	switch {
	case w.staging != nil:
		return false, pg.Wrap(w.conn.Exec(ctx, w.staging.create), "staging table")
	case t.freeze:
		return false, pg.Wrap(w.conn.Exec(ctx, w.truncate), "TRUNCATE of %s", t.into)
	}
	return false, nil
}

// copySegment sends a file through COPY and compares what arrived with what the file, the manifest and the server say.
func (w *worker) copySegment(ctx context.Context, t *loadTable, i int, count *flow.Tally) error {
	sink := &flow.ServerSink{Conn: w.conn, SQL: w.copy}
	if err := w.sendSegment(ctx, t, i, count, sink); err != nil {
		return err
	}
	if rows := t.entry.Segments[i].Rows; sink.Loaded != rows {
		return fmt.Errorf("the server took %d of %d rows: a trigger or a rule has kept the others out", sink.Loaded, rows)
	}
	return nil
}

// sendSegment sends a segment through the stages of a load and compares what passed with what the origin says of it, or learns it.
func (w *worker) sendSegment(ctx context.Context, t *loadTable, i int, count *flow.Tally, sink pipeline.Sink) error {
	seg := &t.entry.Segments[i]
	from, err := w.origin.Segment(ctx, t.entry, i)
	if err != nil {
		return err
	}
	defer from.Close()
	stages := []pipeline.Stage{&flow.Parse{Walker: from.Walker, Count: count}}
	if !t.convert.Identity() {
		stages = append(stages, &flow.Convert{Plan: t.convert})
	}
	lane := pipeline.Lane{Source: from.Source, Stages: stages, Sink: sink, Pool: w.pool, Hold: w.o.Control.Wait, Meters: flow.LaneMeters(w.o.Tracker.Meters(), len(stages))}
	if err := pipeline.Run(ctx, lane); err != nil {
		return nameFile(err, seg.Path)
	}
	totals := from.Walker.Totals()
	if err := from.Finish(totals); err != nil {
		return nameFile(err, seg.Path)
	}
	if !counted(seg) {
		seg.Rows, seg.RawBytes, seg.RowDigest = totals.Rows, totals.Length, totals.Digest.String()
		return nil
	}
	if totals.Rows != seg.Rows || totals.Length != seg.RawBytes || totals.Digest.String() != seg.RowDigest {
		return fmt.Errorf("%s holds %s; the manifest says %d rows, %d bytes, digest %s", seg.Path, totals, seg.Rows, seg.RawBytes, seg.RowDigest)
	}
	return nil
}

// nameFile puts the file's name into a format error that lacks it.
func nameFile(err error, path string) error {
	var e *format.Error
	if errors.As(err, &e) && e.File == "" {
		e.File = path
	}
	return err
}

// rollbackTime bounds the wait for a ROLLBACK on a session that may be dying.
const rollbackTime = 10 * time.Second

// rollback ends the transaction and keeps the first error. On a session that is gone there is nothing to end.
func (w *worker) rollback(err error) error {
	if w.conn.IsClosed() {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTime)
	defer cancel()
	if e := w.conn.Exec(ctx, "ROLLBACK"); e != nil {
		w.logf("ROLLBACK: %v", e)
	}
	return err
}

// commit ends the transaction. When the answer is lost with the connection, the journal knows.
func (w *worker) commit(ctx context.Context, t *loadTable, seg *format.ManifestSegment) error {
	sql := "COMMIT"
	if w.journal != nil && w.journal.live {
		sql = w.journal.totalsSQL(w.conn, t, seg) + "; COMMIT"
	}
	err := w.conn.Exec(ctx, sql)
	if err == nil {
		return nil
	}
	if w.journal == nil && (pg.State(err) == "" || pg.ConnectionLost(err)) {
		w.unsure.Store(true)
	}
	if w.folder == nil {
		return w.rollback(pg.Wrap(err, "COMMIT")) // the next try finds the journal's row, if the commit came through
	}
	if !pg.ConnectionLost(err) || w.journal == nil || ctx.Err() != nil {
		return pg.Wrap(err, "COMMIT")
	}
	w.close()
	w.table = nil
	if e := w.connect(ctx); e != nil {
		return errors.Join(pg.Wrap(err, "COMMIT"), e)
	}
	there, e := w.journal.hasSegment(ctx, w.conn, t, seg)
	if e != nil || !there {
		return errors.Join(pg.Wrap(err, "COMMIT"), e)
	}
	w.logf("table %s: the answer to COMMIT was lost; the journal says that %s is loaded", t.name, seg.Path)
	return nil
}

// atLine finds the place in the CONTEXT of a COPY's error: "COPY orders, line 7, column price".
var atLine = regexp.MustCompile(`^COPY .*, line (\d+)(?:, column (.*))?$`)

// segmentError says which table, segment, row and column an error is about.
func segmentError(t *loadTable, i int, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	at := fmt.Sprintf("table %s, segment %d (%s)", t.name, i+1, t.entry.Segments[i].Path)
	row, column := t.placeOf(err)
	if row != "" {
		at += ", row " + row
	}
	if column != "" {
		at += fmt.Sprintf(", column %q", column)
	}
	var damage *format.Error
	var value *convert.Error
	switch {
	case errors.As(err, &damage):
		return withHint(fmt.Errorf("%s: %w", at, err), damagedHint)
	case errors.As(err, &value):
		return withHint(fmt.Errorf("%s: %w", at, value.Err), badValueHint)
	}
	var wrapped *pg.Error
	if errors.As(err, &wrapped) {
		return fmt.Errorf("%s: %w", at, err)
	}
	return pg.Wrap(err, "%s", at)
}

// badValueHint is about values that the convert stage refuses.
const badValueHint = "the target's version has no such value, or the file was not written by pghaul"

// placeOf finds the row and the column that an error is about; both are empty when it does not say. The row of damage is in its own text.
func (t *loadTable) placeOf(err error) (row, column string) {
	var damage *format.Error
	var server *pgconn.PgError
	var value *convert.Error
	switch {
	case errors.As(err, &damage):
		if damage.Column > 0 && damage.Column <= len(t.columns) {
			column = string(t.columns[damage.Column-1].Name)
		}
	case errors.As(err, &value):
		return strconv.FormatInt(value.Row, 10), string(value.Column)
	case errors.As(err, &server):
		for line := range strings.SplitSeq(server.Where, "\n") {
			if m := atLine.FindStringSubmatch(line); m != nil {
				return m[1], t.realColumn(m[2])
			}
		}
	}
	return row, column
}

// realColumn gives the column that a COPY's CONTEXT means: in a staging table they are numbered.
func (t *loadTable) realColumn(context string) string {
	name, _, _ := strings.Cut(context, ":")
	number, staged := strings.CutPrefix(name, "c")
	if n, err := strconv.Atoi(number); staged && err == nil && t.throughStaging() {
		if sent := t.sentColumns(); n > 0 && n <= len(sent) {
			return string(sent[n-1].column.Name)
		}
	}
	return name
}
