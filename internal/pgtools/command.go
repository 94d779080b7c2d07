package pgtools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// defaultGrace is how long an interrupted program may take to end before it is killed.
const defaultGrace = 10 * time.Second

// Error says that a program did not do its work.
type Error struct {
	Tool     string   // pg_dump or pg_restore
	Args     []string // as started; they never hold a password
	ExitCode int      // -1 when it did not start or a signal ended it
	Stderr   string   // the last part of what it said, at most 1 MiB
	Err      error    // the context's cause after a cancel, else os/exec's

	cancelled bool
}

// Error is the last line of stderr that says something, else how the program ended.
func (e *Error) Error() string {
	if e.cancelled { // it says that it was interrupted, and not why
		return e.Tool + ": " + e.Err.Error()
	}
	if line := meaningfulLine(e.Stderr); line != "" {
		return e.Tool + ": " + escapeControl(strings.TrimPrefix(strings.TrimPrefix(line, e.Tool+": "), "error: "))
	}
	return e.Tool + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Dump runs pg_dump with the arguments, connected as conn says, and returns what it
// wrote to stderr, by line (the last MiB). Where it writes its archive is for the
// arguments to say (-f). The error is an *Error.
func (t *Tools) Dump(ctx context.Context, conn Conn, args ...string) ([]string, error) {
	var log lineLog
	err := t.run(ctx, t.PgDump, conn, nil, &log, args)
	return log.lines(), err
}

// Run runs another program that takes -w and -d as pg_dump does (psql), connected as conn
// says, and returns what it wrote to stderr, by line (the last MiB). The error is an *Error.
func (t *Tools) Run(ctx context.Context, path string, conn Conn, args ...string) ([]string, error) {
	var log lineLog
	err := t.run(ctx, path, conn, nil, &log, args)
	return log.lines(), err
}

// RunBetween runs a program that takes --source and --target (pgcopydb), both on the same server, and returns what it
// wrote to stderr, by line (the last MiB). The error is an *Error.
func (t *Tools) RunBetween(ctx context.Context, path string, source, target Conn, args ...string) ([]string, error) {
	var log lineLog
	from, err := source.connString()
	if err != nil {
		return nil, &Error{Tool: filepath.Base(path), Args: args, ExitCode: -1, Err: err}
	}
	to, err := target.connString()
	if err != nil {
		return nil, &Error{Tool: filepath.Base(path), Args: args, ExitCode: -1, Err: err}
	}
	err = t.start(ctx, path, source, nil, &log, append(args, "--source", from, "--target", to))
	return log.lines(), err
}

// Result is what a pg_restore that came to its end says.
type Result struct {
	// Failed are the statements that the server refused, in order. An entry whose
	// second statement fails too (its owner, say) is there twice.
	Failed []FailedEntry
	// Ignored is pg_restore's own count of them.
	Ignored int
	// Stderr is what it said, by line (the last MiB).
	Stderr []string
}

// Restore runs pg_restore with the arguments, connected as conn says; with a zero Conn
// it writes a script to stdout (-f -), or lists (-l). A pg_restore that came to its end
// although the server refused some statements is no error: see Result. The error is
// an *Error; what failed before it is in the Result still.
func (t *Tools) Restore(ctx context.Context, conn Conn, stdout io.Writer, args ...string) (*Result, error) {
	log := lineLog{}
	var parser restoreParser
	log.each = parser.line
	if !conn.isZero() {
		// It names the entry that fails, and shields a refused statement's text from
		// the notices of the next, with -v only.
		args = append([]string{"-v"}, args...)
	}
	err := t.run(ctx, t.PgRestore, conn, stdout, &log, args)
	parser.flush()
	res := &Result{Failed: parser.failed, Ignored: parser.ignored, Stderr: log.lines()}
	var e *Error
	if errors.As(err, &e) && e.ExitCode == 1 && parser.finished && ctx.Err() == nil {
		err = nil // exit code 1 and the closing count: all else was done
	}
	return res, err
}

// List returns the table of contents of an archive. Further arguments choose among its
// entries (--section=post-data …).
func (t *Tools) List(ctx context.Context, archive string, args ...string) ([]TOCEntry, error) {
	var out strings.Builder
	if _, err := t.Restore(ctx, Conn{}, &out, append(args, "-l", archive)...); err != nil {
		return nil, err
	}
	return ParseTOC(strings.NewReader(out.String()))
}

// run runs a program to its end. Its stderr goes to log, and to t.Line.
func (t *Tools) run(ctx context.Context, path string, conn Conn, stdout io.Writer, log *lineLog, args []string) error {
	if !conn.isZero() {
		connString, err := conn.connString()
		if err != nil {
			return &Error{Tool: filepath.Base(path), Args: args, ExitCode: -1, Err: err}
		}
		// -w: it must never ask at the terminal, which is ours.
		args = append([]string{"-w", "-d", connString}, args...)
	}
	return t.start(ctx, path, conn, stdout, log, args)
}

// start is run with all arguments made up; conn gives the password.
func (t *Tools) start(ctx context.Context, path string, conn Conn, stdout io.Writer, log *lineLog, args []string) (err error) {
	tool := filepath.Base(path)
	var env []string
	if !conn.isZero() {
		passFile, remove, err := conn.writePassFile()
		if err != nil {
			return &Error{Tool: tool, Args: args, ExitCode: -1, Err: err}
		}
		defer func() {
			if rerr := remove(); rerr != nil {
				err = errors.Join(err, fmt.Errorf("remove the password file: %w", rerr))
			}
		}()
		if passFile != "" {
			env = append(env, "PGPASSFILE="+passFile)
		} else if own := os.Getenv("PGPASSFILE"); own != "" {
			env = append(env, "PGPASSFILE="+own)
		}
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = childEnv(os.Environ(), env)
	cmd.Stdout, cmd.Stderr = stdout, log
	log.also = t.Line
	cmd.SysProcAttr = childAttr()
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
	cmd.WaitDelay = cmp.Or(t.grace, defaultGrace)
	runErr := runOnOwnThread(cmd, t.Thread)
	log.flush()
	if runErr == nil {
		return nil
	}
	e := &Error{Tool: tool, Args: args, ExitCode: -1, Stderr: log.text(), Err: runErr}
	if cmd.ProcessState != nil {
		e.ExitCode = cmd.ProcessState.ExitCode()
	}
	if ctx.Err() != nil {
		e.Err, e.cancelled = context.Cause(ctx), true
	}
	return e
}

// runOnOwnThread runs a command on a thread that lives as long as the command: the
// parent-death signal comes when the thread that forked ends.
func runOnOwnThread(cmd *exec.Cmd, prepare func() (undo func())) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if prepare != nil {
			defer prepare()()
		}
		done <- cmd.Run()
	}()
	return <-done
}
