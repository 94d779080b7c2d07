package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/notify"
	"github.com/bytehaul/pghaul/internal/sched"
	"github.com/bytehaul/pghaul/internal/shelf"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/internal/workbench"
	"github.com/bytehaul/pghaul/restore"
	"github.com/bytehaul/pghaul/tui"
)

// home is the program without a command, on a terminal: the home screen, from which jobs are started.
func (a *app) home(c *cobra.Command, l *look) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	state, err := workbench.LoadState(workbench.StatePath())
	if err != nil {
		fmt.Fprintf(a.stderr, "pghaul: what was remembered is left aside: %s\n", show.Line(err.Error()))
	}
	_ = sched.Batch() // faster with it, right without
	a.sweep(false)
	habits, defaults, err := a.habits(c.Root())
	if err != nil {
		return err
	}
	jobs := &homeJobs{app: a, ctx: c.Context(), state: state, habits: habits}
	o, closeInput, err := l.options(a, tui.NewHome(tui.HomeOptions{Jobs: jobs, State: state, Dir: dir, Defaults: defaults, Command: equivalent, Dumps: func() ([]shelf.Dump, error) { return workbench.Dumps(dir) }}))
	if err != nil {
		return err
	}
	defer closeInput()
	showing, hide := context.WithCancel(context.Background())
	defer hide()
	defer context.AfterFunc(c.Context(), func() { // a signal from outside: the jobs end cleanly, and so does the screen
		jobs.wait()
		hide()
	})()
	return jobs.after(a.showScreen(showing, o))
}

// homeJobs starts the jobs of the home screen, and waits for them.
type homeJobs struct {
	app   *app
	ctx   context.Context
	state *workbench.State

	habits map[string]*jobFlags // by the commands' names

	mu    sync.Mutex
	all   []*homeJob
	noted sync.WaitGroup
}

type homeJob struct {
	*screenJob
	over func(error) error // the report at the end, of a job that outlives the screen
}

// start runs a task and remembers its end.
func (h *homeJobs) start(k *task, note workbench.Job, over func(error) error) tui.RunOptions {
	ctx, cancel := context.WithCancelCause(h.ctx)
	j := &homeJob{screenJob: h.app.startJob(ctx, k, func() { cancel(errInterrupted{os.Interrupt}) }, func() {}), over: over}
	h.mu.Lock()
	h.all = append(h.all, j)
	h.mu.Unlock()
	h.noted.Go(func() {
		<-j.done
		s := k.tracker.Snapshot()
		note.Ended, note.OK, note.Bytes, note.Millis = time.Now().UTC(), j.err == nil, s.MovedBytes, (s.Elapsed - s.PausedFor).Milliseconds()
		note.Result = fmt.Sprintf("%s, %s in %s s", show.Plural(s.Rows, "row", "rows"), show.Size(s.Bytes), seconds(s.Elapsed))
		if j.err != nil {
			note.Result = j.ended().Err.Error()
		}
		if err := h.state.Note(note); err != nil {
			k.tracker.Log("what was done is not remembered: " + err.Error())
		}
		h.app.logFailed(note.Kind, j.err)
		h.notify(ctx, j, note.Kind)
		cancel(nil)
	})
	return j.screen("the program ends when the job has ended; its progress is shown in lines")
}

// notify runs the operator's command at the end of a job. What it writes goes into the job's log: the screen is not its own.
func (h *homeJobs) notify(ctx context.Context, j *homeJob, kind string) {
	habit := h.habits[kind]
	if habit.notify == "" {
		return
	}
	code := h.app.exitCode(ctx, j.err)
	if j.err == nil && j.task.short != nil && j.task.short() != nil {
		code = h.app.exitCode(ctx, j.task.short())
	}
	var out, said strings.Builder
	e := &jobEnd{hook: notify.Hook{Command: habit.notify, Timeout: habit.notifyTimeout, Out: &out}, job: kind}
	if end := j.ended(); end.Report != nil {
		e.report = end.Report.Document()
	} else if end.Err != nil {
		said.WriteString(end.Err.Error())
	}
	var trouble strings.Builder
	e.run(&trouble, code, said.String())
	for line := range strings.Lines(out.String() + trouble.String()) {
		j.task.tracker.Log("--notify: " + strings.TrimSpace(line))
	}
}

// dumpFromHome gives the options of a dump, or of a migrate's source, what the command line that does the same would give them.
func dumpFromHome(o dump.Options) dump.Options {
	o.Tool = tool()
	balance(&o, asksForSize(&o))
	return o
}

// Dump implements [tui.Jobs].
func (h *homeJobs) Dump(o dump.Options) tui.RunOptions {
	o = dumpFromHome(o)
	var sum *dump.Summary
	k := h.app.dumpTask(o, &sum)
	return h.start(k, workbench.Job{Kind: "dump", Source: o.DSN.String(), Target: o.Dir}, func(err error) error {
		if err != nil {
			return err
		}
		return h.app.report(newJobFlags(), dumpReport(k.tracker, sum, o.Dir))
	})
}

// Verify implements [tui.Jobs].
func (h *homeJobs) Verify(path string) tui.RunOptions {
	o := restore.VerifyOptions{Path: path, Jobs: h.habits["verify"].jobs}
	var found *restore.VerifyReport
	k := h.app.verifyTask(o, &found)
	return h.start(k, workbench.Job{Kind: "verify", Source: path}, func(err error) error {
		if err != nil {
			return err
		}
		if err := h.app.report(newJobFlags(), verifyReport(k.tracker, found)); err != nil || found.OK() {
			return err
		}
		return errFound
	})
}

// Restore implements [tui.Jobs].
func (h *homeJobs) Restore(o restore.Options) tui.RunOptions {
	o.Tool = tool()
	destroys := o.OnExisting == restore.Truncate
	var sum *restore.Summary
	k := h.app.restoreTask(o, false, &sum)
	do := k.do
	k.do = func(s *session) error {
		s.once = !destroys // what destroys asks for a word, which is word enough
		return do(s)
	}
	run := h.start(k, workbench.Job{Kind: "restore", Source: o.Dir, Target: o.DSN.String()}, func(err error) error {
		if err != nil {
			return err
		}
		return h.app.report(newJobFlags(), restoreReport(k.tracker, sum, o.DSN.Config.Database))
	})
	run.View = struct {
		*screenJob
		*comparisons
	}{run.View.(*screenJob), k.compared}
	return run
}

// Migrate implements [tui.Jobs].
func (h *homeJobs) Migrate(from dump.Options, to restore.Options, gates bool) tui.RunOptions {
	m := &migrateFlags{job: newJobFlags(), from: from, to: to, yes: !gates}
	m.from, m.to.Tool = dumpFromHome(from), tool()
	var sum *restore.Summary
	k := h.app.migrateTask(m, &sum)
	do := k.do
	k.do = func(s *session) error {
		s.once = true
		return do(s)
	}
	run := h.start(k, workbench.Job{Kind: "migrate", Source: from.DSN.String(), Target: to.DSN.String()}, func(err error) error {
		if err != nil {
			return err
		}
		return h.app.report(newJobFlags(), loadReport(k.tracker, sum, to.DSN.Config.Database, "migrated", "source_id"))
	})
	run.View = struct {
		*screenJob
		*comparisons
	}{run.View.(*screenJob), k.compared}
	return run
}

// wait returns when all jobs have ended and are remembered.
func (h *homeJobs) wait() { h.noted.Wait() }

// after waits for what still runs when the screen has gone, and gives its error.
func (h *homeJobs) after(shown error) error {
	h.mu.Lock()
	all := slices.Clone(h.all)
	h.mu.Unlock()
	var first error
	for _, j := range all {
		running := j.Err() == nil && !j.ran()
		err := h.app.afterScreen(shown, j.screenJob)
		shown = nil
		if running {
			first = errors.Join(first, j.over(err))
		}
	}
	h.wait()
	switch {
	case errors.Is(shown, tui.ErrAtOnce), shown == nil, errors.Is(shown, context.Canceled):
		return first
	}
	return errors.Join(first, shown)
}

// ran tells whether a job has ended.
func (j *screenJob) ran() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}
