package restore

import (
	"context"
	"fmt"
	"slices"

	"github.com/bytehaul/pghaul/internal/pg"
)

// disableTriggers keeps the triggers and foreign keys of tables that exist already from looking at the rows. The server lets few roles do that.
func (j *job) disableTriggers(ctx context.Context, f *findings) error {
	if !j.o.DisableTriggers {
		return nil
	}
	err := j.leader.Exec(ctx, setReplica)
	if pg.State(err) == pg.StateInsufficientPrivilege {
		how := "restore as a superuser"
		if j.leader.Version >= 150000 {
			how += ", or GRANT SET ON PARAMETER session_replication_role TO " + pg.QuoteIdent(j.o.DSN.Config.User)
		}
		f.bad("--disable-triggers", "", "the role may not set session_replication_role (SQLSTATE 42501)",
			how+"; or, as the tables' owner, DISABLE TRIGGER USER and drop the foreign keys for the time of the restore, and leave --disable-triggers out")
		return nil
	}
	j.replica = err == nil
	return pg.Wrap(err, "session_replication_role")
}

// checkKeys looks whether foreign keys that did not see the rows hold: they call themselves valid. One that does not is a gap.
func (j *job) checkKeys(ctx context.Context) error {
	keys, err := j.leader.KeyChecks(ctx, withRoots(slices.Values(j.targets())))
	if err != nil {
		return err
	}
	for _, k := range keys {
		violated, err := j.leader.Violated(ctx, k)
		switch {
		case err != nil && (pg.State(err) == "" || ctx.Err() != nil):
			return err
		case err != nil:
			j.gap(0, Gap{Kind: "FK CONSTRAINT", Name: keyName(k), SQLState: pg.State(err), Message: "not checked: " + err.Error()})
		case violated:
			j.gap(0, Gap{Kind: "FK CONSTRAINT", Name: keyName(k), SQLState: "23503",
				Message: fmt.Sprintf("rows of %s refer to rows that are not there: the constraint calls itself valid and is not", k.Table)})
		}
	}
	return nil
}

// keyName names a key as pg_restore's list does.
func keyName(k pg.KeyCheck) string { return k.Table.String() + " " + string(k.Name) }

// dataAgain is a data phase that is done: foreign keys that did not hold are looked at once more.
func (j *job) dataAgain(ctx context.Context, gaps []journalGap) error {
	if err := j.loud(ctx); err != nil {
		return err
	}
	if len(gaps) == 0 {
		return nil
	}
	if err := j.checkTablesKnown(ctx); err != nil {
		return err
	}
	return j.checkKeys(ctx)
}
