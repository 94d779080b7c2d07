package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bytehaul/pghaul/internal/control"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/internal/watch"
	"github.com/bytehaul/pghaul/restore"
	"github.com/bytehaul/pghaul/tui"
)

// screenJob is a job that a screen shows and steers. It runs on a goroutine of its own, whatever becomes of the screen: who starts it waits for it.
type screenJob struct {
	*progress.Tracker
	task    *task
	ctx     context.Context
	control *control.Control
	cancel  func() // the clean end
	kill    func() // the end at once, behind the screen's
	done    chan struct{}
	err     error // once done is closed
	panic   any   // likewise: what the job has panicked with

	mu     sync.Mutex
	asked  *question   // nil: none
	lines  *session    // asks where there is no screen any more
	n      int         // of questions
	long   *time.Timer // of a pause, until it is worth a warning; nil: there is none
	warned int         // warnings that gates have shown
}

// question is one that the job asks the operator.
type question struct {
	gate      tui.Gate
	passed    chan struct{} // closed when the operator has passed it
	elsewhere chan struct{} // closed when the screen has gone
}

// startJob starts a task; ctx is the job's.
func (a *app) startJob(ctx context.Context, k *task, cancel, kill func()) *screenJob {
	j := &screenJob{Tracker: k.tracker, task: k, ctx: ctx, control: control.New(max(k.jobs*2, defaultJobs)), cancel: cancel, kill: kill, done: make(chan struct{})}
	j.control.SetJobs(k.jobs)
	go func() {
		defer close(j.done)
		if a.log != nil {
			defer watch.Start(k.tracker, watch.Options{Mode: watch.None, Log: a.log}).Stop() // behind Finish, also of a job that panics
		}
		defer func() {
			if j.panic = recover(); j.panic != nil {
				j.err = fmt.Errorf("panic: %v", j.panic)
				k.tracker.Finish(j.err)
			}
		}()
		j.err = k.do(&session{ctx: ctx, app: a, screen: j})
		k.tracker.Finish(j.err)
	}()
	return j
}

// Done implements [tui.JobView].
func (j *screenJob) Done() <-chan struct{} { return j.done }

// Err implements [tui.JobView].
func (j *screenJob) Err() error {
	select {
	case <-j.done:
		return j.err
	default:
		return nil
	}
}

// Pause implements [tui.JobControl], as do the methods that follow.
func (j *screenJob) Pause() {
	j.control.Pause()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.long == nil {
		j.long = time.AfterFunc(longPause, j.warnOfPause)
	}
}

// Resume goes on.
func (j *screenJob) Resume() {
	j.control.Resume()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.long != nil {
		j.long.Stop()
		j.long = nil
	}
}

// longPause is how long a job stands still before its operator is told what that costs.
const longPause = 5 * time.Minute

// warnOfPause says what a job holds while it stands still.
func (j *screenJob) warnOfPause() {
	if !j.Paused() || j.ran() {
		return
	}
	what := "its transactions stay open, so that the target's vacuum removes no rows that die meanwhile"
	switch j.task.tracker.Snapshot().Job {
	case "dump":
		what = "its snapshot is held, so that the server's vacuum removes no rows that die meanwhile, and its tables cannot be altered"
	case "migrate":
		what = "the source's snapshot is held until all rows are copied, so that vacuum removes no rows that die meanwhile (on the target, too), and the tables cannot be altered"
	case "verify":
		return // holds nothing
	}
	j.task.tracker.Warn("paused for %s: %s; a proxy or a firewall may cut sessions that stand still", show.Clock(longPause), what)
}

// Paused tells whether the job stands still.
func (j *screenJob) Paused() bool { return j.control.Paused() }

// Jobs is the number of connections that are wanted.
func (j *screenJob) Jobs() int { return max(j.control.Jobs(), 1) }

// SetJobs asks for another number of connections.
func (j *screenJob) SetJobs(n int) { j.control.SetJobs(n) }

// Cancel ends the job cleanly.
func (j *screenJob) Cancel() { j.cancel() }

// Kill is for an operator who does not want to wait for the clean end.
func (j *screenJob) Kill() { j.kill() }

// errLines is the reason why a question is asked again, without a screen.
var errLines = errors.New("the screen has gone")

// confirm waits for the operator's word at a gate of the run screen. There is no other answer than the word; the other way is to cancel the job.
func (j *screenJob) confirm(ctx context.Context, text, word string) (bool, error) {
	err := j.wait(ctx, tui.Gate{Title: "This destroys rows", Next: []string{text}, Word: word})
	if errors.Is(err, errLines) {
		return j.lines.confirm(text, word)
	}
	return err == nil, err
}

// gate waits at a boundary between two phases.
func (j *screenJob) gate(ctx context.Context, at restore.GateInfo) error {
	g := tui.Gate{Title: "before " + at.Next}
	g.Done = append(g.Done, gateDone(at))
	for _, w := range at.Warnings[min(j.warned, len(at.Warnings)):] {
		g.Done = append(g.Done, "warning: "+w)
	}
	j.warned = len(at.Warnings)
	for _, missing := range at.Gaps {
		g.Done = append(g.Done, "missing: "+missing)
	}
	g.Next = []string{fmt.Sprintf("phase %d of %d, %s: %s", at.N+1, at.Of, at.Next, phaseMeaning[at.Next])}
	err := j.wait(ctx, g)
	if errors.Is(err, errLines) {
		return j.lines.gate(ctx, at)
	}
	return err
}

// begin asks behind the preflight whether to go on, before anything is written.
func (j *screenJob) begin(ctx context.Context, at restore.GateInfo) error {
	g := tui.Gate{Title: "Begin?"}
	for _, w := range at.Warnings {
		g.Done = append(g.Done, "warning: "+w)
	}
	g.Next = []string{"nothing has been written yet; next: " + phaseMeaning[at.Next]}
	err := j.wait(ctx, g)
	if errors.Is(err, errLines) {
		return j.lines.gate(ctx, at)
	}
	return err
}

// behindPreflight is a gate for jobs that begin has asked already.
func (s *session) behindPreflight(ctx context.Context, at restore.GateInfo) error {
	if at.Done == restore.PhasePreflight {
		return nil
	}
	return s.gate(ctx, at)
}

// wait shows a gate and returns when the operator has passed it, or with ctx's cause, or errLines.
func (j *screenJob) wait(ctx context.Context, g tui.Gate) error {
	j.mu.Lock()
	if j.lines != nil {
		j.mu.Unlock()
		return errLines
	}
	j.n++
	g.N = j.n
	q := &question{gate: g, passed: make(chan struct{}), elsewhere: make(chan struct{})}
	j.asked = q
	j.mu.Unlock()
	defer func() {
		j.mu.Lock()
		j.asked = nil
		j.mu.Unlock()
	}()
	select {
	case <-q.passed:
		return nil
	case <-q.elsewhere:
		return errLines
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// askElsewhere lets questions be asked in lines from now on, one that waits included.
func (j *screenJob) askElsewhere(s *session) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = s
	if j.asked != nil {
		close(j.asked.elsewhere)
		j.asked = nil
	}
}

// Gate implements [tui.GateView].
func (j *screenJob) Gate() (tui.Gate, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.asked == nil {
		return tui.Gate{}, false
	}
	return j.asked.gate, true
}

// PassGate implements [tui.GateView].
func (j *screenJob) PassGate(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.asked != nil && j.asked.gate.N == n {
		close(j.asked.passed)
		j.asked = nil
	}
}

// ended is what the report screen shows.
func (j *screenJob) ended() tui.Ended {
	<-j.done
	k, err := j.task, j.err
	end := tui.Ended{}
	if k.ended != nil {
		end.Report = k.ended(err)
	}
	if err == nil {
		if k.next != nil {
			end.Next = k.next()
		}
		return end
	}
	end.Err, end.Hint = errors.New(describe(err)), hintFor(err)
	var refused *restore.Refused
	var stopped errInterrupted
	switch {
	case errors.As(err, &refused):
		end.Next = findingLines(refused.Findings)
	case errors.Is(err, context.Canceled), errors.As(err, &stopped):
		end.Err, end.Hint = errors.New("cancelled"), ""
		var part *restore.Failed
		if errors.As(err, &part) {
			end.Err, end.Hint = errors.New("cancelled in phase "+part.Phase+": "+part.Left()), part.Hint()
		}
	}
	return end
}

// findingLines are a preflight's findings, a line each.
func findingLines(findings []restore.Finding) (lines []string) {
	for _, f := range findings {
		line := f.Object + ": " + f.Says()
		if f.Severity == restore.SeverityWarning {
			line = "warning: " + line
		}
		if f.Hint != "" {
			line += " (" + f.Hint + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

// screen is the run screen of the job.
func (j *screenJob) screen(leaving string) tui.RunOptions {
	return tui.RunOptions{View: j, Control: j, Phases: j.task.phases, Leaving: leaving, CancelMeans: j.task.cancel, Details: j.task.details, Ended: j.ended}
}

// workOnScreen runs a job and shows it on the whole terminal. When the operator leaves, or the screen comes to grief, the job goes on in lines.
func (a *app) workOnScreen(ctx context.Context, f *jobFlags, k *task) error {
	if !isTerminal(a.stderr) {
		return errNoScreen()
	}
	o, closeInput, err := f.look.options(a, nil)
	if err != nil {
		return err
	}
	defer closeInput()
	var byKey atomic.Bool
	j := a.startJob(ctx, k, func() { byKey.Store(true); a.interrupt.trigger(os.Interrupt) }, func() {})
	o.Screen = tui.NewPlan(j.screen("the job goes on, and its progress is shown in lines"))
	showing, hide := context.WithCancel(context.Background())
	defer hide()
	go func() { // a signal from outside: nobody may sit at the terminal
		<-j.done
		if ctx.Err() != nil && !byKey.Load() {
			hide()
		}
	}()
	err = a.showScreen(showing, o)
	return a.afterScreen(err, j)
}

// showScreen runs the terminal UI. The terminal is as it was when it returns, and also when the program ends at once.
func (a *app) showScreen(ctx context.Context, o tui.Options) error {
	defer a.interrupt.onSecond(keepTerminal(o.Input, a.stderr))()
	a.interrupt.speak(func(string) {})
	defer a.interrupt.speak(nil)
	return tui.Run(ctx, o)
}

// afterScreen waits for a job whose screen has ended, for whatever reason.
func (a *app) afterScreen(shown error, j *screenJob) error {
	switch {
	case errors.Is(shown, tui.ErrAtOnce):
		a.interrupt.leave()
	case shown != nil && !errors.Is(shown, context.Canceled):
		fmt.Fprintf(a.stderr, "pghaul: the terminal UI has ended: %s\n", show.Line(firstLine(shown.Error())))
		var broke *tui.PanicError
		if errors.As(shown, &broke) && a.verbose {
			fmt.Fprintf(a.stderr, "%s\n", broke.Stack)
		}
	}
	j.Resume() // nobody is left who could
	select {
	case <-j.done:
	default:
		ob := a.observe(a.progressMode("auto"), j.Tracker, nil) // the job has one for the log
		j.askElsewhere(&session{ctx: j.ctx, app: a, observer: ob})
		<-j.done
		ob.Stop()
		a.interrupt.speak(nil)
	}
	if j.panic != nil {
		panic(j.panic)
	}
	return j.err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
