package restore

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// GateInfo is what a [Gate] is told: what was done, and what comes next. It is the gate's own.
type GateInfo struct {
	Done    string        // the phase that has ended
	Next    string        // the phase that begins when the gate lets it
	N, Of   int           // Done is phase N of Of
	Rows    int64         // that the target holds now, earlier runs of a resumed restore included
	Bytes   int64         // of those rows
	Took    time.Duration // Done, waits at gates left out
	Nothing bool          // there was nothing to do in Done
	Elapsed time.Duration // from the start of the restore, waits at gates included

	Warnings []string // all so far
	Gaps     []string // what could not be made so far, one line each
}

// Gate is asked between two phases and returns when the next one may begin. No transaction is open while it waits, and the advisory lock on the target
// stays. Its error ends the restore where it stands: a [*Failed] that wraps it, and --resume goes on from there. It returns soon after ctx has ended.
type Gate func(ctx context.Context, at GateInfo) error

// gate asks before the step behind done; what an earlier run has done already needs no word.
func (j *job) gate(ctx context.Context, steps []step, done int, started, begun time.Time) error {
	if j.o.Gate == nil || done+1 >= len(steps) || j.finished(steps[done+1].name) {
		return nil
	}
	info := GateInfo{Done: steps[done].name, Next: steps[done+1].name, N: done + 1, Of: len(steps), Elapsed: time.Since(started), Took: time.Since(begun), Nothing: j.idle(steps[done].name), Warnings: slices.Clone(j.sum.Warnings)}
	for _, g := range j.sum.Gaps {
		info.Gaps = append(info.Gaps, g.String())
	}
	if j.o.parts.rows {
		info.Rows, info.Bytes = j.held()
	}
	j.o.Tracker.EndPhase() // the wait is no part of it
	if err := j.o.Gate(ctx, info); err != nil {
		return fmt.Errorf("before %s: %w", info.Next, err)
	}
	return ctx.Err()
}

// idle tells that a phase had nothing to do, as far as the plan shows it.
func (j *job) idle(phase string) bool {
	switch phase {
	case PhaseData, PhaseProof, PhaseAnalyze:
		return len(j.plan.tables) == 0
	case PhaseSequences:
		return len(j.plan.sequences) == 0
	case PhaseMatViews:
		return len(j.plan.matviews) == 0
	case PhaseLargeObjects:
		return !j.hasLargeObjects()
	}
	return false
}

// begin asks once whether to begin at all.
func (j *job) begin(ctx context.Context, f *findings) error {
	if j.o.Begin == nil || j.checking {
		return nil
	}
	steps := j.steps()
	info := GateInfo{Done: PhasePreflight, N: 1, Of: len(steps)}
	if len(steps) > 1 {
		info.Next = steps[1].name
	}
	for _, x := range f.list {
		info.Warnings = append(info.Warnings, x.Object+": "+x.says())
	}
	if err := j.o.Begin(ctx, info); err != nil {
		return fmt.Errorf("before anything is written: %w", err)
	}
	return ctx.Err()
}

// held counts the rows of the tables that the target has whole.
func (j *job) held() (rows, bytes int64) {
	for _, t := range j.plan.tables {
		if t.done() {
			rows, bytes = rows+t.entry.Rows, bytes+t.entry.Bytes
		}
	}
	return rows, bytes
}
