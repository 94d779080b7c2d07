package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/restore"
)

// The exit codes; CLI documentation and every command's help name them.
const (
	exitDone       = 0
	exitFailed     = 1
	exitUsage      = 2
	exitFound      = 3
	exitIncomplete = 4
	exitCancelled  = 130
	exitPipe       = 141 // as a shell reports a program that SIGPIPE has ended
)

// usageError is a command line that makes no sense.
type usageError struct {
	text string
	tip  string
}

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) *usageError {
	return &usageError{text: fmt.Sprintf(format, args...)}
}

// Hint says what to do.
func (e *usageError) Hint() string { return e.tip }

func (e *usageError) hint(format string, args ...any) *usageError {
	e.tip = fmt.Sprintf(format, args...)
	return e
}

// Findings of a check, and gaps of a restore, have been printed by the time these are returned.
var (
	errFound      = errors.New("the check found problems")
	errIncomplete = errors.New("incomplete")
)

// exitCode is the one place that knows which error ends in which code.
func (a *app) exitCode(ctx context.Context, err error) int {
	var (
		usage         *usageError
		dumpRefused   *dump.Refused
		targetRefused *restore.Refused
		partWay       *restore.Failed
		damage        *format.Error
		stopped       errInterrupted
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage), errors.Is(err, pg.ErrPasswordInDSN):
		return exitUsage
	case errors.As(context.Cause(ctx), &stopped):
		return exitCancelled // whatever the job made of that
	case errors.As(err, &dumpRefused), errors.As(err, &targetRefused), errors.Is(err, errFound):
		return exitFound
	case errors.As(err, &damage) && damage.Kind != format.ErrRead, errors.Is(err, format.ErrUnfinished):
		return exitFound
	case errors.Is(err, errIncomplete), errors.As(err, &partWay):
		return exitIncomplete
	case errors.Is(err, syscall.EPIPE):
		return exitPipe
	}
	return exitFailed
}

// end prints an error and returns the exit code.
func (a *app) end(ctx context.Context, err error) int {
	code := a.exitCode(ctx, err)
	var b strings.Builder
	switch {
	case code == exitDone, code == exitPipe, errors.Is(err, errFound), errors.Is(err, errIncomplete):
	case code == exitCancelled:
		printCancelled(&b, err)
	default:
		printError(&b, err)
	}
	fmt.Fprint(a.stderr, b.String())
	said := b.Len()
	a.notify(&b, code, b.String())
	fmt.Fprint(a.stderr, b.String()[said:])
	return a.endLog(code, err, b.String())
}

// printError writes what went wrong in one line, and what to do in another.
func printError(w io.Writer, err error) {
	var (
		dumpRefused   *dump.Refused
		targetRefused *restore.Refused
	)
	switch {
	case errors.As(err, &dumpRefused):
		for _, p := range dumpRefused.Problems {
			fmt.Fprintf(w, "pghaul: %s: %s\n", show.Text(p.Object), show.Line(p.Why))
			printHint(w, p.Hint)
		}
		return
	case errors.As(err, &targetRefused):
		printFindings(w, targetRefused.Findings)
		fmt.Fprintf(w, "pghaul: %s: refused, no row was written\n", show.Line(targetRefused.Phase))
		return
	}
	fmt.Fprintf(w, "pghaul: %s\n", show.Line(describe(err)))
	printHint(w, hintFor(err))
}

// printFindings writes one finding a line: the object, what the dump says, what the target says; and a hint once behind those that it is for.
func printFindings(w io.Writer, findings []restore.Finding) {
	for i, f := range findings {
		word := ""
		if f.Severity == restore.SeverityWarning {
			word = "warning: "
		}
		fmt.Fprintf(w, "pghaul: %s%s: %s\n", word, show.Text(f.Object), show.Line(f.Says()))
		if i+1 == len(findings) || findings[i+1].Hint != f.Hint {
			printHint(w, f.Hint)
		}
	}
}

func printHint(w io.Writer, hint string) {
	if hint != "" {
		fmt.Fprintf(w, "hint: %s\n", show.Line(hint))
	}
}

// printCancelled says what is left of a cancelled job.
func printCancelled(w io.Writer, err error) {
	var (
		left    *leftOver
		partWay *restore.Failed
	)
	switch {
	case errors.As(err, &left):
		fmt.Fprintf(w, "pghaul: cancelled: %s\n", show.Line(left.text))
	case errors.As(err, &partWay):
		fmt.Fprintf(w, "pghaul: cancelled in phase %s: %s\n", partWay.Phase, show.Line(partWay.Left()))
		printHint(w, partWay.Hint())
	default:
		fmt.Fprintln(w, "pghaul: cancelled")
	}
}
