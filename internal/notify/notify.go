// Package notify runs an operator's command at the end of a job: to send a mail, to touch a monitor's file, to raise an alarm.
//
// What the command gets: PGHAUL_JOB, PGHAUL_OUTCOME, PGHAUL_EXIT_CODE and PGHAUL_REPORT in its environment, which is ours without passwords otherwise. The report is
// a file of JSON that only its owner can read, and that is gone when the command has ended.
package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// DefaultTimeout is how long a command may take when nobody says otherwise.
const DefaultTimeout = time.Minute

// Hook is a command for the end of a job.
type Hook struct {
	Command string        // for sh -c
	Timeout time.Duration // then it is killed, with all that it started
	Out     io.Writer     // gets what it writes: both its standard output and its standard error
}

// End is how a job has ended.
type End struct {
	Job      string // dump, verify, restore, migrate
	Outcome  string // done, failed, found, incomplete, cancelled
	ExitCode int
	Report   any // becomes the file's JSON
}

// Run runs the command and waits for it. It does not end with a job's context: a job that was cancelled has an end too.
func (h *Hook) Run(e End) (err error) {
	path, err := writeReport(e.Report)
	if err != nil {
		return err
	}
	defer func() {
		if e := os.Remove(path); !errors.Is(e, fs.ErrNotExist) { // the command may have moved it to where it is wanted
			err = errors.Join(err, e)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), h.Timeout)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", h.Command)
	c.Env = append(environment(os.Environ()), "PGHAUL_JOB="+e.Job, "PGHAUL_OUTCOME="+e.Outcome, "PGHAUL_EXIT_CODE="+strconv.Itoa(e.ExitCode), "PGHAUL_REPORT="+path)
	c.Stdout, c.Stderr = h.Out, h.Out
	c.WaitDelay = time.Second // for what it has started and left holding our pipe
	inGroup(c)
	err = c.Run()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("it took longer than %v, and was killed", h.Timeout)
	case errors.Is(err, exec.ErrWaitDelay):
		return nil // it has ended well, and left something in the background
	}
	return err
}

// environment is ours without passwords.
func environment(all []string) (kept []string) {
	for _, v := range all {
		name, _, _ := strings.Cut(v, "=")
		if !strings.Contains(strings.ToUpper(name), "PASSWORD") {
			kept = append(kept, v)
		}
	}
	return kept
}

// writeReport writes the file, which only its owner can read, and returns its path.
func writeReport(report any) (path string, err error) {
	f, err := os.CreateTemp("", "pghaul-report-*.json") // 0600
	if err != nil {
		return "", err
	}
	e := json.NewEncoder(f)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := errors.Join(e.Encode(report), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}
