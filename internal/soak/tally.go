package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// tally counts what was tried, and what became of it.
type tally struct {
	faults map[string]*count // by fault
	phases map[string]int    // phases of a restore in which a fault ended it
	rows   int64             // compared
	tables int
}

type count struct {
	tried    int // injected
	struck   int // and the job did not come to its end
	survived int // and the round ended equal
}

func newTally() *tally { return &tally{faults: map[string]*count{}, phases: map[string]int{}} }

func (t *tally) of(fault string) *count {
	if t.faults[fault] == nil {
		t.faults[fault] = &count{}
	}
	return t.faults[fault]
}

// print shows the table of the whole run.
func (t *tally) print(w io.Writer, seed uint64, rounds int, took time.Duration, good bool) {
	fmt.Fprintf(w, "\n%-47s %7s %7s %9s\n", "fault", "tried", "struck", "survived")
	var sum count
	for _, name := range slices.Sorted(maps.Keys(t.faults)) {
		c := t.faults[name]
		fmt.Fprintf(w, "%-47s %7d %7d %9d\n", name, c.tried, c.struck, c.survived)
		sum.tried, sum.struck, sum.survived = sum.tried+c.tried, sum.struck+c.struck, sum.survived+c.survived
	}
	fmt.Fprintf(w, "%-47s %7d %7d %9d\n\n", "all", sum.tried, sum.struck, sum.survived)
	fmt.Fprint(w, "restores ended in phase:")
	for _, name := range slices.Sorted(maps.Keys(t.phases)) {
		fmt.Fprintf(w, " %s %d", name, t.phases[name])
	}
	verdict := "nothing lost, nothing twice"
	if !good {
		verdict = "NOT as it should be, see above"
	}
	fmt.Fprintf(w, "\nseed %d: %d rounds in %s, %d tables and %d rows compared: %s\n", seed, rounds, took.Round(time.Second), t.tables, t.rows, verdict)
}
