package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bytehaul/pghaul/internal/control"
	"github.com/bytehaul/pghaul/internal/dirlock"
	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/notify"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/report"
	"github.com/bytehaul/pghaul/internal/sched"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/internal/watch"
)

const (
	maxJobs     = 1000 // connections that -j may ask for
	defaultJobs = 8    // at most, without -j
)

// jobFlags are the flags that every job has.
type jobFlags struct {
	jobs     int
	progress string
	asJSON   bool
	look     look

	notify        string
	notifyTimeout time.Duration
}

func newJobFlags() *jobFlags {
	return &jobFlags{jobs: min(runtime.NumCPU(), defaultJobs), progress: "auto", notifyTimeout: notify.DefaultTimeout}
}

func (j *jobFlags) flags(c *cobra.Command, jobs string) {
	groupOf(c, "Job options", false, func(f flags) {
		f.number(&j.jobs, "jobs", "j", "N", jobs+"\n(number of CPUs, at most 8)", 1, maxJobs)
		f.choice(&j.progress, "progress", "", "how to show progress, on standard error\n(auto: bar on a terminal, else plain; tui: a screen of its own)", progressModes...)
		j.look.flags(f)
		f.boolean(&j.asJSON, "json", "", "write the report as one JSON document")
		f.text(&j.notify, "notify", "", "COMMAND", "run COMMAND (sh -c) at the end, however that is, with\nPGHAUL_JOB, PGHAUL_OUTCOME, PGHAUL_EXIT_CODE, PGHAUL_REPORT")
		f.duration(&j.notifyTimeout, "notify-timeout", "", "TIME", "kill COMMAND after so long (1min)")
	})
}

// progressModes are the words that --progress knows.
var progressModes = []string{"auto", "tui", "bar", "plain", "json", "none"}

// task is a job as a command sees it.
type task struct {
	tracker *progress.Tracker
	do      func(*session) error
	jobs    int
	phases  []string                       // in their order, for the terminal UI
	ended   func(err error) *report.Report // after do; nil: there is none
	next    func() []string                // after a good end: what to do next
	cancel  string                         // what is left after a cancel

	short    func() error // behind a good end: what is short of it all the same, found problems or gaps; nil: nothing can be
	compared *comparisons // with a target's tables; nil: there is none
}

// gcPercent lets the heap grow by a quarter before it is collected. Rows make no garbage, so a collection is rare; what a hundred thousand tables need is worth keeping small.
const gcPercent = 25

// work runs a job under an observer, or on a screen of its own.
func (a *app) work(ctx context.Context, j *jobFlags, k *task) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if warning := sched.Batch(); warning != nil && a.verbose {
		fmt.Fprintf(a.stderr, "pghaul: not scheduled as batch work, which is slower: %v\n", warning)
	}
	a.sweep(a.verbose && j.progress != "json")
	a.atEnd(j, k.tracker)
	if j.progress == "tui" {
		return a.workOnScreen(ctx, j, k)
	}
	return a.workInLines(ctx, a.progressMode(j.progress), k)
}

// sweep removes what runs that were killed have left of temporary folders, password files among them. Who cannot is no reason to do no job.
func (a *app) sweep(tell bool) {
	removed, err := dirlock.Sweep()
	if !tell {
		return
	}
	for _, path := range removed {
		fmt.Fprintf(a.stderr, "pghaul: removed %s, which a killed run has left\n", show.Text(path))
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "pghaul: what killed runs have left is not all removed: %s\n", show.Line(err.Error()))
	}
}

// workInLines runs a job under an observer that writes lines, or a bar.
func (a *app) workInLines(ctx context.Context, mode watch.Mode, k *task) error {
	ob := a.observe(mode, k.tracker, a.log)
	err := k.do(&session{ctx: ctx, app: a, observer: ob})
	k.tracker.Finish(err) // no change where the job has said so itself
	ob.Stop()
	a.interrupt.speak(nil)
	return err
}

// observe starts an observer that writes to standard error, and to the log if there is one.
func (a *app) observe(mode watch.Mode, t *progress.Tracker, log *watch.Log) *watch.Observer {
	ob := watch.Start(t, watch.Options{Mode: mode, Out: a.stderr, Quiet: a.quiet, Width: func() int { return widthOf(a.stderr) }, Log: log})
	a.interrupt.speak(ob.Say)
	return ob
}

// session is a job's line to the person at the terminal.
type session struct {
	ctx      context.Context // of the job: ends a question too
	app      *app
	observer *watch.Observer // nil on a screen
	screen   *screenJob      // nil in lines
	warned   int             // warnings that gates have shown
	once     bool            // a restore asks behind its preflight, before anything is written
}

// control steers the job; nil: nobody does.
func (s *session) control() *control.Control {
	if s.screen == nil {
		return nil
	}
	return s.screen.control
}

// logf gives the function for details; nil when nobody wants them.
func (s *session) logf() func(string, ...any) {
	switch {
	case s.screen != nil:
		return func(format string, args ...any) { s.screen.Log(fmt.Sprintf(format, args...)) }
	case s.app.verbose:
		return func(format string, args ...any) { s.observer.Say(fmt.Sprintf(format, args...)) }
	}
	return nil
}

// confirm asks a question that is answered by typing a word in, while nothing is drawn.
func (s *session) confirm(question, word string) (yes bool, err error) {
	if s.screen != nil {
		return s.screen.confirm(s.ctx, question, word)
	}
	answer, err := s.ask(question, asksFor(question, word))
	return err == nil && answer == word, err
}

// asksFor is a question that is answered by typing a word in.
func asksFor(question, word string) string {
	return fmt.Sprintf("%s\nType %q to go on: ", show.Line(question), show.Text(word))
}

// ask writes text to the terminal and reads a line, while nothing is drawn.
func (s *session) ask(question, text string) (answer string, err error) {
	s.observer.Pause(func() { answer, err = s.app.ask(s.ctx, question, text) })
	return answer, err
}

// ask writes text to the terminal and reads a line. Without a terminal the question is in the error.
func (a *app) ask(ctx context.Context, question, text string) (answer string, err error) {
	tty, err := a.terminal()
	if err != nil {
		return "", hint.With(fmt.Errorf("%s There is no terminal to ask at", question), "give --yes if that is what you want")
	}
	defer tty.Close()
	fmt.Fprint(tty, text)
	typed := make(chan string, 1)
	go func() { // ends with the program when the job is cancelled: not every terminal's read can be interrupted
		line, err := bufio.NewReader(tty).ReadString('\n')
		if err != nil && line == "" {
			line = endOfInput
		}
		typed <- strings.TrimRight(line, "\r\n")
	}()
	select {
	case answer = <-typed:
		return answer, nil
	case <-ctx.Done():
		fmt.Fprintln(tty)
		return "", ctx.Err()
	}
}

// endOfInput is the answer of a terminal that has been closed: it is no word that is asked for.
const endOfInput = "\x04"

func (a *app) progressMode(given string) watch.Mode {
	switch {
	case given != "auto":
		return watch.Mode(given)
	case isTerminal(a.stderr):
		return watch.Bar
	}
	return watch.Plain
}

// widthOf is a terminal's width, 0 when unknown.
func widthOf(f *os.File) int {
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}

// report writes the end-of-job report to standard output.
func (a *app) report(j *jobFlags, r *report.Report) error {
	if a.jobEnd != nil {
		a.jobEnd.report = r.Document()
	}
	if j.asJSON {
		return writeJSON(a.stdout, r.Document())
	}
	width := 0
	if isTerminal(a.stdout) {
		width = widthOf(a.stdout)
	}
	_, err := io.WriteString(a.stdout, r.Text(width))
	return err
}
