package restore

import (
	"context"

	"github.com/bytehaul/pghaul/internal/pg"
)

// A crash of the server empties unlogged tables and puts unlogged sequences back to their start. When it comes after post-data has begun, the rows have to go in again
// while triggers and foreign keys are there already.

// quiet lets the leader's session, and by replica those of the workers, load rows without firing the triggers that post-data has made. A role that may not
// do that is told by the checks what is in the way.
func (j *job) quiet(ctx context.Context) error {
	if !j.resumed || j.o.DataOnly || j.complete || !j.journal.begun[PhasePostData] {
		return nil
	}
	err := j.leader.Exec(ctx, setReplica)
	if pg.State(err) == pg.StateInsufficientPrivilege {
		j.logf("triggers cannot be kept quiet: %v", err)
		return nil
	}
	j.replica = err == nil
	return pg.Wrap(err, "session_replication_role")
}

// loud ends quiet.
func (j *job) loud(ctx context.Context) error {
	if !j.replica {
		return nil
	}
	j.replica = false
	return pg.Wrap(j.leader.Exec(ctx, "SET session_replication_role = origin"), "session_replication_role")
}

const setReplica = "SET session_replication_role = replica"

// sequencesAgain sets those sequences that could not be set before, and those that a crash has put back.
func (j *job) sequencesAgain(ctx context.Context, gaps []journalGap) error {
	named := namedBy(gaps)
	wanted := func(q pg.Qualified) bool { return named(q) || named(j.plan.mapped.of(q)) }
	if j.journal.sequencesKept {
		return j.setSequences(ctx, wanted)
	}
	names := make([]pg.Qualified, len(j.plan.sequences))
	for i, s := range j.plan.sequences {
		names[i] = pg.Qualified{Schema: s.Schema, Name: s.Name}
	}
	found, err := j.leader.Targets(ctx, names)
	if err != nil {
		return err
	}
	return j.setSequences(ctx, func(q pg.Qualified) bool { return wanted(q) || found[q] != nil && found[q].Persistence == 'u' })
}
