package pg

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Blocked is a session that waits for a lock, and one that is in its way.
type Blocked struct {
	PID      int32
	Relation string // that it wants to lock, with its schema; empty: another kind of lock
	By       int32
	ByApp    string // application_name
	ByState  string // idle in transaction, active …
}

// BlockedSessions lists the sessions of these application names in this database that wait for a lock which a session of another name holds or waits for.
func (c *Conn) BlockedSessions(ctx context.Context, apps []string) ([]Blocked, error) {
	rows, err := c.Query(ctx, `SELECT w.pid, coalesce((SELECT l.relation::pg_catalog.regclass::text FROM pg_catalog.pg_locks l
  WHERE l.pid = w.pid AND NOT l.granted AND l.relation IS NOT NULL LIMIT 1), ''), u.pid, coalesce(b.application_name, ''), coalesce(b.state, '')
 FROM pg_catalog.pg_stat_activity w CROSS JOIN LATERAL unnest(pg_catalog.pg_blocking_pids(w.pid)) AS u(pid) LEFT JOIN pg_catalog.pg_stat_activity b ON b.pid = u.pid
 WHERE w.datname = pg_catalog.current_database() AND w.wait_event_type = 'Lock' AND w.application_name = ANY($1) AND NOT coalesce(b.application_name, '') = ANY($1)
 ORDER BY w.pid, u.pid`, apps)
	if err != nil {
		return nil, Wrap(err, "sessions that wait for locks")
	}
	return collect(rows, "sessions that wait for locks", func(row pgx.CollectableRow) (b Blocked, err error) {
		return b, row.Scan(&b.PID, &b.Relation, &b.By, &b.ByApp, &b.ByState)
	})
}
