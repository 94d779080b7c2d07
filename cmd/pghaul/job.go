package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bytehaul/pghaul/internal/hint"
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
}

func newJobFlags() *jobFlags {
	return &jobFlags{jobs: min(runtime.NumCPU(), defaultJobs), progress: "auto"}
}

func (j *jobFlags) flags(c *cobra.Command, jobs string) {
	groupOf(c, "Job options", false, func(f flags) {
		f.number(&j.jobs, "jobs", "j", "N", jobs+"\n(number of CPUs, at most 8)", 1, maxJobs)
		f.choice(&j.progress, "progress", "", "how to show progress, on standard error\n(auto: bar on a terminal, else plain)", "auto", "bar", "plain", "json", "none")
		f.boolean(&j.asJSON, "json", "", "write the report as one JSON document")
	})
	if err := c.RegisterFlagCompletionFunc("progress", cobra.FixedCompletions([]string{"auto", "bar", "plain", "json", "none"}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag was defined three lines above
	}
}

// work runs a job under an observer. do gets a function for details, which is nil unless they are wanted, and one that asks a question.
func (a *app) work(ctx context.Context, j *jobFlags, t *progress.Tracker, do func(*session) error) (err error) {
	o := watch.Options{Mode: a.progressMode(j.progress), Out: a.stderr, Quiet: a.quiet, Width: a.width}
	if a.log != nil {
		o.Log = a.log
	}
	if warning := sched.Batch(); warning != nil && a.verbose {
		fmt.Fprintf(a.stderr, "pghaul: not scheduled as batch work, which is slower: %v\n", warning)
	}
	ob := watch.Start(t, o)
	a.interrupt.speak(ob.Say)
	s := &session{ctx: ctx, app: a, observer: ob}
	err = do(s)
	t.Finish(err) // no change where the job has said so itself
	ob.Stop()
	a.interrupt.speak(nil)
	return err
}

// session is a job's line to the person at the terminal.
type session struct {
	ctx      context.Context // of the job: ends a question too
	app      *app
	observer *watch.Observer
	warned   int // warnings that gates have shown
}

// logf gives the function for details; nil when nobody wants them.
func (s *session) logf() func(string, ...any) {
	if !s.app.verbose {
		return nil
	}
	return func(format string, args ...any) { s.observer.Say(fmt.Sprintf(format, args...)) }
}

// confirm asks a question that is answered by typing a word in, while nothing is drawn.
func (s *session) confirm(question, word string) (yes bool, err error) {
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

// width is the terminal's, 0 when unknown.
func (a *app) width() int {
	w, _, err := term.GetSize(int(a.stderr.Fd()))
	if err != nil {
		return 0
	}
	return w
}

// openLog opens the file that --log-file names.
func (a *app) openLog() (err error) {
	if a.logFile != "" {
		a.log, err = os.OpenFile(a.logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	}
	return err
}

// report writes the end-of-job report to standard output.
func (a *app) report(j *jobFlags, r *report.Report) error {
	if j.asJSON {
		return writeJSON(a.stdout, r.Document())
	}
	_, err := io.WriteString(a.stdout, r.Text())
	return err
}
