package dump

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// leader holds the transaction whose snapshot all others read under, and the locks on all tables. When it dies the tables that are not
// dumped yet have lost their locks, so its death ends the dump.
type leader struct {
	mu       sync.Mutex // one caller of ping at a time
	gone     error      // what ping found, for good
	conn     *pg.Conn
	snapshot string
	tables   []pg.Key // chosen tables and partition roots, locked
	foreign  bool     // the snapshot is somebody else's (--snapshot)
	voidHint string   // what its death means
}

// lockTries bounds how often the list of tables may change between looking and locking.
const lockTries = 10

// lead lists, locks, exports, and lists again: a different second list starts over. A query before the lock would freeze the snapshot, and a
// table truncated in between would count 0 rows without an error.
func lead(ctx context.Context, o *Options, conn *pg.Conn, sel *selection) (*leader, error) {
	var changed string
	for range lockTries {
		l := &leader{conn: conn, snapshot: o.Snapshot, foreign: o.Snapshot != ""}
		again, what, err := l.try(ctx, o, sel)
		if err == nil && !again {
			return l, nil
		}
		if rollback := conn.Exec(ctx, "ROLLBACK"); rollback != nil {
			return nil, errors.Join(err, rollback)
		}
		if err != nil {
			return nil, err
		}
		changed = what
		o.logf("tables changed while they were being locked (%s): once more", what)
	}
	return nil, withHint(fmt.Errorf("tables were created, dropped or renamed %d times while they were being locked, the last time: %s", lockTries, changed),
		"run the dump when no migration of the schema is under way")
}

// try does one round. again tells that the tables changed, and what changed.
func (l *leader) try(ctx context.Context, o *Options, sel *selection) (again bool, what string, err error) {
	all, err := l.conn.Keys(ctx)
	if err != nil {
		return false, "", err
	}
	if l.tables, err = sel.lockable(ctx, l.conn, all); err != nil {
		return false, "", err
	}
	if err := l.begin(ctx, o); err != nil {
		return false, "", err
	}
	if what, err = l.lock(ctx, o); what != "" || err != nil {
		return what != "", what, err
	}
	if !l.foreign {
		if err := l.conn.QueryRow(ctx, "SELECT pg_catalog.pg_export_snapshot()").Scan(&l.snapshot); err != nil {
			return false, "", pg.Wrap(err, "export of the snapshot")
		}
	}
	if all, err = l.conn.Keys(ctx); err != nil {
		return false, "", err
	}
	now, err := sel.lockable(ctx, l.conn, all)
	if err != nil {
		return false, "", err
	}
	if l.foreign {
		l.leaveOutLater(o, now)
	}
	if what := difference(l.tables, now); what != "" {
		if l.foreign {
			return false, "", withHint(fmt.Errorf("the snapshot %q shows other tables than there are now: %s", o.Snapshot, difference(now, l.tables)), "take the snapshot again")
		}
		return true, what, nil
	}
	return false, "", nil
}

// leaveOutLater takes the tables out of the list that were created after somebody else's snapshot, which shows seen alone.
func (l *leader) leaveOutLater(o *Options, seen []pg.Key) {
	shown := make(map[uint32]bool, len(seen))
	for _, k := range seen {
		shown[k.OID] = true
	}
	l.tables = slices.DeleteFunc(l.tables, func(k pg.Key) bool {
		if !shown[k.OID] {
			o.logf("table %s was created after the snapshot: left out", k.String())
		}
		return !shown[k.OID]
	})
}

func (l *leader) begin(ctx context.Context, o *Options) error {
	mode := "REPEATABLE READ READ ONLY"
	if o.SerializableDeferrable && !l.foreign {
		mode = "SERIALIZABLE READ ONLY DEFERRABLE"
	}
	sql := "BEGIN ISOLATION LEVEL " + mode
	if l.foreign {
		sql += "; SET TRANSACTION SNAPSHOT " + pg.QuoteLiteral(o.Snapshot)
	}
	if o.LockTimeout > 0 {
		sql += fmt.Sprintf("; SET LOCAL lock_timeout = %d", max(1, o.LockTimeout.Milliseconds()))
	}
	return pg.Wrap(l.conn.Exec(ctx, sql), "start of the leading transaction")
}

// lockBatch is the number of tables in one LOCK statement.
const lockBatch = 500

// lock takes ACCESS SHARE on every chosen table. what names a table that vanished since it was listed.
func (l *leader) lock(ctx context.Context, o *Options) (what string, err error) {
	for part := range slices.Chunk(l.tables, lockBatch) {
		names := make([]string, len(part))
		for i, t := range part {
			names[i] = "ONLY " + pg.QuoteName(t.Schema, t.Name)
		}
		err := l.conn.Exec(ctx, "LOCK TABLE "+strings.Join(names, ", ")+" IN ACCESS SHARE MODE")
		switch pg.State(err) {
		case "":
			if err != nil {
				return "", pg.Wrap(err, "lock of the tables")
			}
		case pg.StateUndefinedTable, pg.StateInvalidSchema:
			return err.Error(), nil
		case pg.StateLockNotAvailable:
			return "", withHint(pg.Wrap(err, "not all of %d tables could be locked within %s", len(l.tables), o.LockTimeout),
				"another session holds an ACCESS EXCLUSIVE lock or waits for one; see pg_locks, or give a longer --lock-timeout")
		default:
			return "", pg.Wrap(err, "lock of the tables")
		}
	}
	return "", nil
}

// difference names the first table that is not the same in both lists. One that was rewritten in between is the same: the snapshot is younger than
// its lock, and somebody else's snapshot is looked at in the plan.
func difference(before, after []pg.Key) string {
	was := make(map[uint32]pg.Key, len(before))
	for _, k := range before {
		was[k.OID] = k
	}
	for _, k := range after {
		old, known := was[k.OID]
		switch {
		case !known:
			return k.String() + " was created"
		case old.Schema != k.Schema || old.Name != k.Name || old.Kind != k.Kind:
			return k.String() + " was renamed"
		}
		delete(was, k.OID)
	}
	for _, k := range was {
		return k.String() + " was dropped"
	}
	return ""
}

// pingEvery is how often the leader shows that it lives.
const pingEvery = 2 * time.Second

// pingLimit is how long the leader may take for an answer.
const pingLimit = time.Minute

// watch lets ping ask the leader until done is closed or ctx ends. Its error is the reason to end the dump.
func watch(ctx context.Context, ping func() error, done <-chan struct{}) error {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-done:
			return nil
		case <-tick.C:
		}
		if err := ping(); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// ping asks whether the leader lives. A ping that is cancelled ends the leader's transaction, so ctx must be the whole job's, not that of a part
// of it which ends with the first failure.
func (l *leader) ping(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone != nil {
		return l.gone
	}
	ctx, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	if err := l.conn.Exec(ctx, "SELECT 1"); err != nil {
		l.gone = withHint(pg.Wrap(err, "the session that holds the snapshot and the locks is gone"), cmp.Or(l.voidHint, "the dump is void, because tables not yet dumped may have changed; run it again"))
	}
	return l.gone
}

// moment reads where the snapshot stands. The LSN is approximate: nothing ties it to the snapshot.
func (l *leader) moment(ctx context.Context) (format.Snapshot, error) {
	lsn, at, err := l.conn.WALPosition(ctx)
	s := format.Snapshot{LSN: lsn, Time: at.UTC().Format(time.RFC3339Nano)}
	return s, pg.Wrap(err, "position in the WAL")
}
