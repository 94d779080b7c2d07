package restore

import (
	"context"
	"errors"
	"time"

	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pg"
)

// What a migrate does when a server goes away: the origin's death ends it at once, because nobody can give the rows of its snapshot any more. A session of
// the origin that is lost alone, and a target that comes back, are taken in good part: the segment is loaded again, and the journal knows whether it
// was in already.

const (
	segmentTries    = 5               // of one segment
	defaultPatience = 5 * time.Minute // for a target that went away
	firstPause      = 100 * time.Millisecond
	longestPause    = 5 * time.Second
)

// watchOrigin cancels the run when the origin has died.
func (j *job) watchOrigin(ctx context.Context, cancel context.CancelCauseFunc) {
	select {
	case <-j.origin.Gone():
		cancel(j.origin.Alive(ctx))
	case <-ctx.Done():
	}
}

// live tells a migrate from a restore.
func (j *job) live() bool { return j.origin.Snapshot() != "" }

// mustCopyAgain tells that a later run, under another snapshot, will have no use for the rows that are in.
func (j *job) mustCopyAgain() bool { return j.live() && j.loaded.Load() > 0 && !j.copiedAll }

// patient tells whether a lost session is reason to try again and not to end.
func (j *job) patient(ctx context.Context, err error) bool {
	return j.live() && j.journal != nil && ctx.Err() == nil && pg.ConnectionLost(err)
}

// again prepares another try of a segment, or gives the error that ends the job.
func (w *worker) again(ctx context.Context, t *loadTable, i, try int, err error) error {
	if !w.patient(ctx, err) || try >= segmentTries {
		return err
	}
	if gone := w.origin.Alive(ctx); gone != nil {
		return gone
	}
	w.o.Tracker.Warn("connection lost while copying %s; copying it again under the same snapshot: %v", t.entry.Segments[i].Path, err)
	if !w.conn.IsClosed() {
		return nil
	}
	w.lost.Store(true)
	w.close()
	w.table = nil
	return w.comeBack(ctx, w.connect)
}

// comeBack calls connect until it has reached the target, with growing pauses, as long as the options' patience lasts.
func (j *job) comeBack(ctx context.Context, connect func(context.Context) error) error {
	patience := j.o.Patience
	if patience <= 0 {
		patience = defaultPatience
	}
	until := time.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := connect(ctx)
		if err == nil || !pg.ConnectionLost(err) && !errors.Is(err, errLocked) || ctx.Err() != nil {
			return err
		}
		if time.Now().Add(pause).After(until) {
			return pg.Wrap(err, "the target did not come back within %s", patience)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// renewLeader replaces the leader's session if it was lost.
func (j *job) renewLeader(ctx context.Context) error {
	if err := j.leader.Exec(ctx, "SELECT 1"); err == nil || !j.patient(ctx, err) {
		return err
	}
	return j.comeBack(ctx, func(ctx context.Context) error {
		c, err := pg.Connect(ctx, j.o.DSN, pg.Options{Purpose: pg.ForCatalog, AppName: appName, Role: j.o.Role})
		if err != nil {
			return err
		}
		if j.replica {
			if err := c.Exec(ctx, setReplica); err != nil {
				closeConn(c)
				return err
			}
		}
		closeConn(j.leader)
		j.leader = c
		return nil
	})
}

// recheck asks the journal, after the target went away, whether all segments are still in: a crash empties unlogged tables, and the journal of their
// segments with them. It tells whether some have to be loaded once more.
func (j *job) recheck(ctx context.Context) (missing bool, err error) {
	if err := j.renewLeader(ctx); err != nil {
		return false, err
	}
	if err := j.journal.readSegments(ctx, j.leader); err != nil {
		return false, err
	}
	for _, t := range j.plan.tables {
		var left []int
		waiting := make(map[int]bool, len(t.left))
		for _, i := range t.left {
			waiting[i] = true
		}
		for i := range t.entry.Segments {
			seg := &t.entry.Segments[i]
			if waiting[i] || j.journal.done(t, seg) {
				continue
			}
			left = append(left, i)
			t.progress.Unwind(seg.Rows, seg.RawBytes)
			j.loaded.Add(-1)
		}
		if len(left) > 0 {
			missing = true
			t.left = left
			j.o.Tracker.Warn("table %s lost its rows with the target's crash: they are copied again", t.name)
		}
	}
	return missing, nil
}

// errLocked says that somebody else, or our own session that the server has not missed yet, holds the lock.
var errLocked = errors.New("another restore holds the lock")

// relock takes the lock again after its session was lost.
func (j *job) relock(ctx context.Context) error {
	return j.comeBack(ctx, func(ctx context.Context) error {
		c, err := pg.Connect(ctx, j.o.DSN, pg.Options{Purpose: pg.ForCatalog, AppName: appName, Role: j.o.Role})
		if err != nil {
			return err
		}
		got, err := c.TryAdvisoryLock(ctx, lockKey)
		if err == nil && !got {
			err = errLocked
		}
		if err != nil {
			closeConn(c)
			return err
		}
		closeConn(j.lock.conn)
		j.lock.conn = c
		return nil
	})
}

// attempt loads a segment in one transaction. done tells that it was in already. begun is called before the first row moves.
func (w *worker) attempt(ctx context.Context, t *loadTable, i int, count *flow.Tally, begun func()) (done bool, err error) {
	seg := &t.entry.Segments[i]
	if err := w.prepare(ctx, t); err != nil {
		return false, err
	}
	done, err = w.begin(ctx, t, seg)
	if err != nil {
		return false, w.rollback(err)
	}
	if done {
		return true, nil
	}
	begun()
	if err := w.copySegment(ctx, t, i, count); err != nil {
		return false, w.rollback(err)
	}
	if w.staging != nil {
		if err := w.unstage(ctx, t, seg.Rows); err != nil {
			return false, w.rollback(err)
		}
	}
	return false, w.commit(ctx, t, seg)
}
