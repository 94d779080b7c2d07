package pg

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// SampleWaits looks at the wait events of backends once a second until ctx ends, on a session of its own, and reports their shares of all
// samples so far: "CPU" is a backend that runs and waits for nothing. It returns the error that ended it:
// a server that does not show them is no reason to end a job.
func SampleWaits(ctx context.Context, dsn *DSN, b *Backends, report func(map[string]float64)) error {
	return sampleWaits(ctx, dsn, time.Second, func(c *Conn) (pgx.Rows, error) {
		return c.Query(ctx, waitEvents+`pid = ANY($1)`, b.list())
	}, report)
}

// SampleDatabaseWaits is SampleWaits for all sessions in the database of dsn but its own, looked at once in every so often.
func SampleDatabaseWaits(ctx context.Context, dsn *DSN, every time.Duration, report func(map[string]float64)) error {
	return sampleWaits(ctx, dsn, every, func(c *Conn) (pgx.Rows, error) {
		return c.Query(ctx, waitEvents+`datname = pg_catalog.current_database() AND pid <> pg_catalog.pg_backend_pid() AND backend_type = 'client backend'`)
	}, report)
}

// waitEvents is a query of what backends that work wait for; the condition that chooses them follows.
const waitEvents = `SELECT CASE WHEN wait_event IS NULL THEN 'CPU' ELSE wait_event_type || '/' || wait_event END FROM pg_catalog.pg_stat_activity
 WHERE state = 'active' AND `

func sampleWaits(ctx context.Context, dsn *DSN, every time.Duration, look func(*Conn) (pgx.Rows, error), report func(map[string]float64)) error {
	c, err := Connect(ctx, dsn, Options{AppName: "pghaul monitor"})
	if err != nil {
		return err
	}
	defer c.Close()
	counts, total := map[string]int{}, 0
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		rows, err := look(c)
		if err == nil {
			var events []string
			if events, err = pgx.CollectRows(rows, pgx.RowTo[string]); err == nil {
				for _, e := range events {
					counts[e]++
					total++
				}
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if total > 0 {
			shares := make(map[string]float64, len(counts))
			for e, n := range counts {
				shares[e] = float64(n) / float64(total)
			}
			report(shares)
		}
	}
}
