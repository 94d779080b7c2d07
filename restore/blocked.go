package restore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bytehaul/pghaul/internal/pg"
)

// blockedEvery is how often somebody looks whether our sessions wait for locks. A wait that is seen twice is told.
const blockedEvery = 2 * time.Second

// blockedApps are the sessions that work for a restore.
var blockedApps = []string{appName, "pg_restore"}

// lockWatch tells of locks of others that a restore waits for. A restore waits as long as it takes; what it waits for must not be a secret.
type lockWatch struct {
	stop context.CancelFunc
	done sync.WaitGroup
}

// watchBlocked begins to look, until the job is closed. Jobs that end soon do not need the session that it takes, nor is a server that does not let us
// have one a reason to stop.
func (j *job) watchBlocked(ctx context.Context) {
	if j.blocked != nil || j.o.Tracker == nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	j.blocked = &lockWatch{stop: stop}
	dsn := j.o.DSN
	j.blocked.done.Go(func() {
		if err := j.tellBlocked(ctx, dsn); err != nil && ctx.Err() == nil {
			j.logf("locks of others on the target: %v", err)
		}
	})
}

func (j *job) tellBlocked(ctx context.Context, dsn *pg.DSN) error {
	tick := time.NewTicker(blockedEvery)
	defer tick.Stop()
	var c *pg.Conn
	defer func() { closeConn(c) }()
	seen, told := map[pg.Blocked]bool{}, map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if c == nil {
			var err error
			if c, err = pg.Connect(ctx, dsn, pg.Options{AppName: "pghaul monitor"}); err != nil {
				return err
			}
		}
		list, err := c.BlockedSessions(ctx, blockedApps)
		if err != nil {
			return err
		}
		now := map[pg.Blocked]bool{}
		for _, b := range list {
			now[b] = true
			if text := blockedText(b); seen[b] && !told[text] {
				told[text] = true
				j.o.Tracker.Warn("%s", text)
			}
		}
		seen = now
	}
}

// blockedText is what an operator must know to do something about it.
func blockedText(b pg.Blocked) string {
	what, by := "a lock", ""
	if b.Relation != "" {
		what = "a lock on " + b.Relation
	}
	if b.ByApp != "" {
		by = fmt.Sprintf(" (%q", b.ByApp)
	}
	if b.ByState != "" {
		by += map[bool]string{true: " (", false: ", "}[by == ""] + b.ByState
	}
	if by != "" {
		by += ")"
	}
	return fmt.Sprintf("waiting for %s, which session %d%s holds or waits for before us: let it end, or end it by pg_terminate_backend(%d)", what, b.By, by, b.By)
}

// close ends the looking. On nil it does nothing.
func (w *lockWatch) close() {
	if w == nil {
		return
	}
	w.stop()
	w.done.Wait()
}
