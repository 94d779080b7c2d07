package main

import (
	"context"
	"errors"
	"fmt"
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
		if err == nil {
			err = r.untilDone(ctx, "migrate", func() *fault { return randomFaultOfMigrate(r.rnd, r.mayCrash, oneServer) })
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
