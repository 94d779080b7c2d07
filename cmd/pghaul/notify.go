package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/bytehaul/pghaul/internal/notify"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
)

// jobEnd is what is told to the command that --notify names.
type jobEnd struct {
	hook   notify.Hook
	job    string
	report map[string]any // nil: the job has not come to one
}

// atEnd remembers that a command is to be run when the program has an exit code.
func (a *app) atEnd(j *jobFlags, t *progress.Tracker) {
	if j.notify != "" {
		a.jobEnd = &jobEnd{hook: notify.Hook{Command: j.notify, Timeout: j.notifyTimeout, Out: a.stderr}, job: t.Snapshot().Job}
	}
}

// outcomes are the words for exit codes.
var outcomes = map[int]string{exitDone: "done", exitFailed: "failed", exitUsage: "failed", exitFound: "found", exitIncomplete: "incomplete", exitCancelled: "cancelled", exitPipe: "failed"}

// notify runs the command of a job that has ended. Whatever comes of it, the exit code stays.
func (a *app) notify(w io.Writer, code int, said string) {
	if a.jobEnd != nil {
		a.jobEnd.run(w, code, said)
	}
}

// run tells the command.
func (e *jobEnd) run(w io.Writer, code int, said string) {
	if e.report == nil {
		e.report = map[string]any{"job": e.job}
	}
	e.report["ok"], e.report["exit_code"], e.report["outcome_word"] = code == exitDone, code, outcomes[code]
	if said = strings.TrimSpace(said); said != "" {
		e.report["error"] = said
	}
	if err := e.hook.Run(notify.End{Job: e.job, Outcome: outcomes[code], ExitCode: code, Report: e.report}); err != nil {
		fmt.Fprintf(w, "pghaul: warning: --notify: %s\n", show.Line(err.Error()))
	}
}
