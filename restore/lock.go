package restore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bytehaul/pghaul/internal/pg"
)

// lockKey is the advisory lock that a restore holds in its database: two restores never mix. The bytes are "pghaul".
const lockKey = 0x70676861756c

// lockPing is how often the session that holds the lock is asked whether it is alive.
const lockPing = 5 * time.Second

// lockHolder is the session that holds the lock for the whole run.
type lockHolder struct {
	conn *pg.Conn
	stop chan struct{}
	done sync.WaitGroup
}

// takeLock takes the lock, or refuses when another restore holds it.
func (j *job) takeLock(ctx context.Context) error {
	c, err := pg.Connect(ctx, j.o.DSN, pg.Options{Purpose: pg.ForCatalog, AppName: appName, Role: j.o.Role})
	if err != nil {
		return err
	}
	got, err := c.TryAdvisoryLock(ctx, lockKey)
	if err == nil && !got {
		f := &findings{phase: phaseA}
		f.bad("database "+j.o.DSN.Config.Database, "", "another restore is under way", "wait until it has ended; pg_stat_activity shows its sessions as "+appName)
		err = f.refused()
	}
	if err != nil {
		closeConn(c)
		return err
	}
	j.lock = &lockHolder{conn: c, stop: make(chan struct{})}
	return nil
}

// watchLock cancels the run when the session dies, because the lock dies with it. It ends with close.
func (j *job) watchLock(ctx context.Context, cancel context.CancelCauseFunc) {
	l := j.lock
	l.done.Go(func() {
		tick := time.NewTicker(lockPing)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				err := l.conn.Ping(ctx)
				if err != nil && j.patient(ctx, err) {
					err = j.relock(ctx)
				}
				if err != nil {
					cancel(fmt.Errorf("the session that holds the restore's lock: %w", err))
					return
				}
			case <-l.stop:
				return
			case <-ctx.Done():
				return
			}
		}
	})
}

// close gives the lock back. On nil it does nothing.
func (l *lockHolder) close() {
	if l == nil {
		return
	}
	close(l.stop)
	l.done.Wait()
	// By itself the server gives it back some moments after the session's end, in which a restore that follows would be refused.
	ctx, cancel := context.WithTimeout(context.Background(), lockPing)
	defer cancel()
	_ = l.conn.Exec(ctx, "SELECT pg_catalog.pg_advisory_unlock_all()") // a session that is gone has none
	closeConn(l.conn)
}
