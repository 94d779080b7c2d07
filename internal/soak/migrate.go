package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

func (r *round) migrateArgs(resume bool) []string {
	args := []string{"migrate", "--yes", "--progress=json", "-j", fmt.Sprint(1 + r.seed%3), "--segment-size", []string{"64kB", "256kB", "1MB"}[r.seed/3%3]}
	if resume {
		args = append(args, "--resume")
	}
	return append(r.manner(args), r.source.dsn(), r.target.dsn())
}

// tries is how often a database is migrated anew, in place of what is there, when no fault has ended a run.
const tries = 4

// migrateIt migrates until it is done, while a writer changes the source.
func (r *round) migrateIt(ctx context.Context) (err error) {
	w := startWriter(ctx, r.source)
	oneServer := r.source.server == r.target.server
	r.mapped = r.rnd.IntN(4) == 0
	r.tell("migrate; the source may crash: %t; both on one server: %t; into another schema: %t", r.mayCrash, oneServer, r.mapped)
	for try := 0; err == nil && r.struckTimes == 0 && try < tries; try++ {
		if r.clean = try > 0 && !r.mapped; !r.clean {
			err = r.target.fresh(ctx)
		}
		r.emptied = nil
		if err == nil {
			err = r.untilDone(ctx, "migrate", func() *fault { return randomFaultOfMigrate(r.rnd, r.mayCrash, oneServer) })
		}
		if err == nil {
			err = r.fillEmptied(ctx)
		}
	}
	w.stop()
	if err != nil {
		return err
	}
	r.tell("the writer committed %d times", w.commits)
	if w.commits == 0 {
		return errors.New("the writer never came to write")
	}
	if err := r.moveBack(ctx); err != nil {
		return err
	}
	return errors.Join(checkWritten(ctx, r.source), checkWritten(ctx, r.target))
}

// lostUnlogged is said when the target has crashed behind the last row: the snapshot is gone by then, and with it what unlogged tables held.
const lostUnlogged = "is unlogged, and empty after a crash"

// leaveEmptied does as the hint of such a refusal says: go on without these rows.
func (r *round) leaveEmptied(ctx context.Context) (err error) {
	c, err := pgx.Connect(ctx, r.source.direct())
	if err != nil {
		return err
	}
	defer hangUp(ctx, c)
	r.emptied, err = names(ctx, c, `SELECT format('"public"."%s"', replace(relname, '"', '""')) FROM pg_class WHERE relkind = 'r' AND relpersistence = 'u'`)
	r.tell("the rows of %q follow at the end", r.emptied)
	return err
}

// fillEmptied copies them, when all else is done.
func (r *round) fillEmptied(ctx context.Context) error {
	if r.emptied == nil {
		return nil
	}
	args := []string{"migrate", "--yes", "--progress=json", "--data-only", "--no-journal", "--disable-triggers"}
	for _, name := range r.emptied {
		args = append(args, "--table="+name)
	}
	r.emptied, r.clean = nil, false
	j, _, err := r.under(ctx, nil, "migrate", append(r.manner(args), r.source.dsn(), r.target.dsn())...)
	if err != nil {
		return err
	}
	if j.code != 0 {
		return j.failed("0: nothing was in its way")
	}
	c, err := pgx.Connect(ctx, r.target.direct())
	if err != nil {
		return err
	}
	defer hangUp(ctx, c)
	_, err = c.Exec(ctx, `DO $$ DECLARE v text; BEGIN FOR v IN SELECT oid::regclass FROM pg_class WHERE relkind = 'm' ORDER BY relname LOOP EXECUTE 'REFRESH MATERIALIZED VIEW ' || v; END LOOP; END $$`)
	return err
}
