package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/pg"
)

// Error says what the first problem is and how many there are; Findings has them all.
func (r *Refused) Error() string {
	n := 0
	var first *Finding
	for i := range r.Findings {
		if r.Findings[i].Severity != SeverityError {
			continue
		}
		if n++; n == 1 {
			first = &r.Findings[i]
		}
	}
	if first == nil {
		return r.Phase + " found a problem"
	}
	text := fmt.Sprintf("%s: %s: %s", r.Phase, first.Object, first.says())
	if n > 1 {
		text += fmt.Sprintf(" (and %d more)", n-1)
	}
	return text
}

// says puts both sides of a finding into one phrase.
func (f *Finding) says() string {
	switch {
	case f.Dump == "":
		return f.Target
	case f.Target == "":
		return f.Dump
	}
	return "the " + f.Side() + ": " + f.Dump + "; the target: " + f.Target
}

// Says puts both sides into one phrase, for people.
func (f *Finding) Says() string { return f.says() }

// Side is what Dump speaks of: a dump, or the source of a migrate.
func (f *Finding) Side() string {
	if f.live {
		return "source"
	}
	return "dump"
}

// Failed is the error of a restore that stopped part-way: what is done stays done, and says what is left.
type Failed struct {
	Phase         string // where it stopped
	Loaded, Of    int    // segments
	JournalSchema string // where the journal is kept; empty: there is none, and no --resume
	Database      string // of the target
	Created       bool   // the database was made by this restore, and stays
	Again         bool   // the rows came from a live origin, not all of them did, and its snapshot goes with this run
	Unsure        bool   // whether the last rows are in is not known: the answer to their COMMIT did not come, and no journal tells
	Err           error  // context.Canceled for a cancelled one
}

// Unwrap gives the cause.
func (f *Failed) Unwrap() error { return f.Err }

// Error names the phase, the cause, and how far the restore came.
func (f *Failed) Error() string {
	return fmt.Sprintf("%s: %s; it did not finish: %s", f.Phase, f.Err, f.Left())
}

// Left says how far the restore came, and what stays.
func (f *Failed) Left() string {
	var b strings.Builder
	if f.Of > 0 {
		fmt.Fprintf(&b, "%d of %d segments are loaded", f.Loaded, f.Of)
	} else {
		b.WriteString("no rows were to be loaded")
	}
	if f.Unsure {
		b.WriteString("; whether another one is can't be told, because the answer to its COMMIT was lost")
	}
	if f.Created {
		fmt.Fprintf(&b, "; database %q was made and stays", f.Database)
	}
	return b.String()
}

// Hint says how to go on.
func (f *Failed) Hint() string {
	first := ""
	if own := hint.Of(f.Err); own != "" {
		first = own + "; then "
	} else if pg.State(f.Err) == "53100" {
		first = "the target's disk is full: make room; then "
	} else if f.Phase == PhaseData && slices.Contains(notFoundStates, pg.State(f.Err)) {
		first = "a function that the table's constraints or columns call finds nothing with an empty search_path: ALTER FUNCTION … SET search_path on the target; then "
	}
	switch {
	case f.Phase == PhaseData && f.JournalSchema != "" && pg.State(f.Err) == pg.StateUniqueViolation:
		return first + fmt.Sprintf("a row of the table has the key already: take such rows out of it, and go on by --resume; or give this restore up (DROP SCHEMA %s CASCADE) and load beside, into a table of another name (--map OLD=NEW)",
			pg.QuoteIdent(f.JournalSchema))
	case f.Again && f.JournalSchema != "":
		return first + fmt.Sprintf("the journal (schema %s) is kept: the same command with --resume deletes the rows copied so far and copies all again, under a new snapshot; with --snapshot, while its holder lives, it goes on", f.JournalSchema)
	case f.Unsure:
		return first + "look into the table before you load anything again: its rows may all be in"
	case f.JournalSchema == "":
		return first + "start again with an empty target: without a journal the restore can't go on where it stopped"
	}
	return first + fmt.Sprintf("the journal (schema %s) is kept: the same command with --resume goes on from there", f.JournalSchema)
}

func withHint(err error, text string) error { return hint.With(err, text) }

// findings collects what a preflight sees; all of it, not only the first.
type findings struct {
	phase string
	live  bool // see Finding
	list  []Finding
	told  map[Finding]bool // by once
}

func (f *findings) add(x Finding) {
	x.live = f.live
	f.list = append(f.list, x)
}

// bad adds an error.
func (f *findings) bad(object, fromDump, target, hint string) {
	f.add(Finding{Severity: SeverityError, Object: object, Dump: fromDump, Target: target, Hint: hint, live: f.live})
}

// once is bad for what several tables find alike.
func (f *findings) once(object, fromDump, target, hint string) {
	x := Finding{Severity: SeverityError, Object: object, Dump: fromDump, Target: target, Hint: hint, live: f.live}
	if f.told == nil {
		f.told = map[Finding]bool{}
	}
	if !f.told[x] {
		f.told[x] = true
		f.add(x)
	}
}

// warn adds a warning.
func (f *findings) warn(object, fromDump, target, hint string) {
	f.add(Finding{Severity: SeverityWarning, Object: object, Dump: fromDump, Target: target, Hint: hint})
}

// refused gives the error that the findings make, if any of them is one.
func (f *findings) refused() error {
	if hasErrors(f.list) {
		return &Refused{Phase: f.phase, Findings: f.list}
	}
	return nil
}

// canceled tells a cancel from a failure.
func canceled(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	cause := context.Cause(ctx)
	if !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return cause
}
