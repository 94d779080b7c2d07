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
	c, err := Connect(ctx, dsn, Options{AppName: "pghaul monitor"})
	if err != nil {
		return err
	}
	defer c.Close()
	counts, total := map[string]int{}, 0
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		rows, err := c.Query(ctx, `SELECT CASE WHEN wait_event IS NULL THEN 'CPU' ELSE wait_event_type || '/' || wait_event END FROM pg_catalog.pg_stat_activity
 WHERE pid = ANY($1) AND state = 'active'`, b.list())
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
