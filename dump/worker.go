package dump

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/control"
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
	source   *source // nil: not connected
	compress *flow.Compress
	backends *pg.Backends
	pulse    func() error // the leader's: see leader.ping
	pool     *pipeline.Pool
}

// segmentTries is how often a segment is read when its connection is lost and the leader still lives.
const segmentTries = 3

// run takes segments from the queue until there are none, or it is one worker too many.
func (w *worker) run(ctx context.Context, q *queue, place *control.Place) (err error) {
	defer w.disconnect()
	if level := w.job.options.Compression.Level; level > 0 {
		if w.compress, err = flow.NewCompress(level); err != nil {
			return err
		}
	}
	if place.Added() { // the server may have no room for it
		if w.source, err = newSource(ctx, w.job, w.backends); err != nil {
			return err
		}
	}
	place.Ready()
	for place.Stay() {
		if err := w.job.options.Control.Wait(ctx); err != nil {
			return err
		}
		s := q.next()
		if s == nil {
			return nil
		}
		if err := w.segmentWithRetry(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) segmentWithRetry(ctx context.Context, s *segment) error {
	part := s.table.progress.Part(s.no - 1)
	part.Start()
	for try := 1; ; try++ {
		counted := &flow.Tally{To: part}
		err := w.segment(ctx, s, counted)
		if err == nil {
			part.End(nil)
			return nil
		}
		again := w.job.options.Out == nil // what went down a pipe cannot be taken back
		if again && ctx.Err() == nil && pg.ConnectionLost(err) && try < segmentTries {
			w.disconnect()
			if ping := w.pulse(); ping != nil {
				part.End(ping)
				return ping
			}
			part.Unwind(counted.Rows, counted.Bytes)
			w.job.options.Tracker.Warn("connection lost while reading %s, segment %d; reading it again under the same snapshot: %v", s.table.rel, s.no, err)
			continue
		}
		part.End(err)
		return fmt.Errorf("table %s, segment %d: %w", s.table.rel, s.no, err)
	}
}

func (w *worker) disconnect() {
	if w.source != nil {
		w.source.close()
		w.source = nil
	}
}

// segment reads one segment into its file. A file that is not whole is gone when it returns.
func (w *worker) segment(ctx context.Context, s *segment, count flow.Counter) (err error) {
	if w.source == nil {
		if w.source, err = newSource(ctx, w.job, w.backends); err != nil {
			return err
		}
	}
	sql, err := w.source.open(ctx, s, w.job.plan.types)
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
		Source: &flow.ServerSource{Conn: w.source.conn, SQL: sql},
		Stages: []pipeline.Stage{&flow.Parse{Walker: walker, Count: count}},
		Sink:   &flow.FileSink{Writer: out},
		Pool:   w.pool,
		Hold:   w.job.options.Control.Wait,
	}
	if w.compress != nil {
		lane.Stages = append(lane.Stages, w.compress)
	}
	lane.Meters = flow.LaneMeters(w.job.options.Tracker.Meters(), len(lane.Stages))
	if err := pipeline.Run(ctx, lane); err != nil {
		return diskHint(copyError(s.table, "COPY TO", err))
	}
	totals := walker.Totals()
	stored, err := out.Commit(totals)
	if err != nil {
		return diskHint(err)
	}
	s.done = format.ManifestSegment{StoredFile: stored, Rows: totals.Rows, RawBytes: totals.Length, RowDigest: totals.Digest.String(), CTIDRange: s.pages}
	return nil
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
