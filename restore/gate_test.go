package restore_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

const gated = `CREATE TABLE a (id int PRIMARY KEY, v text); INSERT INTO a SELECT g, 'v' || g FROM generate_series(1, 2000) g`

func TestGatesStandBetweenThePhases(t *testing.T) {
	source, target := pgtest.DB(t, gated), pgtest.DB(t)
	o := options(t, takeDump(t, source), target)
	var seen []restore.GateInfo
	o.Gate = func(_ context.Context, at restore.GateInfo) error {
		if phase := o.Tracker.Snapshot().Phase; phase.Name != at.Done || !phase.Ended {
			t.Errorf("the gate behind %s is asked in phase %+v", at.Done, phase)
		}
		seen = append(seen, at)
		return nil
	}
	mustRestore(t, o)
	var done []string
	for i, at := range seen {
		done = append(done, at.Done)
		if at.N != i+1 || at.Of != len(seen)+1 {
			t.Errorf("%s is %d of %d", at.Done, at.N, at.Of)
		}
		if i > 0 && seen[i-1].Next != at.Done {
			t.Errorf("after %s came %s, not %s", seen[i-1].Done, at.Done, seen[i-1].Next)
		}
		if rows := at.Rows; at.N < 3 && rows != 0 || at.N >= 3 && rows != 2000 {
			t.Errorf("after %s: %d rows", at.Done, rows)
		}
	}
	want := []string{restore.PhasePreflight, restore.PhasePreData, restore.PhaseData, restore.PhaseSequences, restore.PhaseProof, restore.PhasePostData, restore.PhaseMatViews}
	if !slices.Equal(done, want) {
		t.Errorf("gates behind %v, want %v", done, want)
	}
}

func TestAGateEndsARestoreThatCanGoOn(t *testing.T) {
	source, target := pgtest.DB(t, gated), pgtest.DB(t)
	o := options(t, takeDump(t, source), target)
	no := errors.New("the operator says no")
	o.Gate = func(_ context.Context, at restore.GateInfo) error {
		if at.Done == restore.PhaseData {
			return no
		}
		return nil
	}
	_, err := restore.Run(context.Background(), o)
	var failed *restore.Failed
	if !errors.Is(err, no) || !errors.As(err, &failed) || failed.Phase != restore.PhaseData || failed.Loaded != 1 {
		t.Fatalf("%v", err)
	}
	again := options(t, o.Dir, target)
	again.Resume = true
	var before []string
	again.Gate = func(_ context.Context, at restore.GateInfo) error {
		before = append(before, at.Next)
		return nil
	}
	mustRestore(t, again)
	if slices.Contains(before, restore.PhaseData) || !slices.Contains(before, restore.PhaseSequences) {
		t.Errorf("gates in front of %v: what is done needs none", before)
	}
	same(t, source, target, "SELECT count(*), md5(string_agg(a::text, ',' ORDER BY id)) FROM a")
}

func TestNothingIsWrittenBeforeTheBeginning(t *testing.T) {
	source, target := pgtest.DB(t, gated), pgtest.DB(t)
	o := options(t, takeDump(t, source), target)
	no := errors.New("the operator says no")
	o.Begin = func(_ context.Context, at restore.GateInfo) error {
		if at.Next != restore.PhasePreData || pgtest.SQL(t, target, "SELECT count(*) FROM pg_namespace WHERE nspname = 'pghaul_journal'") != "0" {
			t.Errorf("asked too late: %+v", at)
		}
		return no
	}
	_, err := restore.Run(context.Background(), o)
	var failed *restore.Failed
	if !errors.Is(err, no) || errors.As(err, &failed) {
		t.Errorf("%v", err)
	}
	if n := pgtest.SQL(t, target, "SELECT count(*) FROM pg_namespace WHERE nspname = 'pghaul_journal'"); n != "0" {
		t.Error("a journal was made")
	}
}

func TestACancelAtAGateEndsAtOnce(t *testing.T) {
	source, target := pgtest.DB(t, gated), pgtest.DB(t)
	o := options(t, takeDump(t, source), target)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o.Gate = func(ctx context.Context, at restore.GateInfo) error {
		cancel()
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if _, err := restore.Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
}
