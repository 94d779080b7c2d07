package restore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/restore"
)

func stateOf(t *testing.T, s progress.Snapshot, name string) progress.Check {
	t.Helper()
	i := slices.IndexFunc(s.Checks, func(c progress.Check) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no check %q in %+v", name, s.Checks)
	}
	return s.Checks[i]
}

func TestPreflightIsSeenCheckByCheck(t *testing.T) {
	source := pgtest.DB(t, `CREATE TABLE a (id int, n numeric); INSERT INTO a VALUES (1, 2)`)
	o := options(t, takeDump(t, source), pgtest.DB(t))
	var compared []restore.Comparison
	o.Compared = func(c []restore.Comparison) { compared = c }
	mustRestore(t, o)
	for _, c := range o.Tracker.Snapshot().Checks {
		if c.State != progress.CheckOK {
			t.Errorf("%+v", c)
		}
	}
	if c := stateOf(t, o.Tracker.Snapshot(), "files"); c.Text != "1 data file, whole and undamaged" {
		t.Errorf("%q", c.Text)
	}
	if len(compared) != 1 || len(compared[0].Columns) != 2 || compared[0].Columns[1].Verdict != restore.Same || len(compared[0].Samples) == 0 || !compared[0].Samples[0].Same {
		t.Errorf("%+v", compared)
	}
}

func TestRefusedCheckNamesTheColumns(t *testing.T) {
	source := pgtest.DB(t, `CREATE TABLE a (id int, n numeric, w int2); INSERT INTO a VALUES (1, 2, 3)`)
	o := options(t, takeDump(t, source), pgtest.DB(t, `CREATE TABLE a (id text, n timestamptz, w int8)`))
	o.DataOnly = true
	var compared []restore.Comparison
	o.Compared = func(c []restore.Comparison) { compared = c }
	_, err := restore.Run(context.Background(), o)
	var refused *restore.Refused
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	c := stateOf(t, o.Tracker.Snapshot(), "tables and columns")
	if c.State != progress.CheckProblem || c.Text != "2 problems" || len(c.Details) != 2 || !strings.HasPrefix(c.Details[0], "problem: public.a.id: ") {
		t.Errorf("%+v", c)
	}
	var verdicts []restore.Verdict
	for _, c := range compared[0].Columns {
		verdicts = append(verdicts, c.Verdict)
	}
	if !compared[0].Refused || !slices.Equal(verdicts, []restore.Verdict{restore.Castable, restore.NoFit, restore.Converts}) {
		t.Errorf("%+v", compared)
	}
}
