package restore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgtools"
)

// Names of the phases, in their order.
const (
	PhasePreflight    = "preflight"
	PhasePreData      = "pre-data"
	PhaseData         = "data"
	PhaseLargeObjects = "large-objects"
	PhaseSequences    = "sequences"
	PhaseProof        = "proof"
	PhasePostData     = "post-data"
	PhaseMatViews     = "matviews"
	PhaseAnalyze      = "analyze"
	PhaseRename       = "rename"
)

// maxJobs bounds the default number of data connections.
const maxJobs = 8

// appName is what the target's pg_stat_activity shows of us.
const appName = "pghaul restore"

// job is a restore under way.
type job struct {
	o      Options
	origin Origin
	folder *folder // the origin, when it is a dump
	m      *format.Manifest
	sum    *Summary
	plan   *plan

	leader    *pg.Conn      // catalog session of the target, or of a maintenance database
	onTarget  bool          // it is the target's
	checking  bool          // nothing is written: a check or a comparison, no restore
	verified  *VerifyReport // of the dump's files, when a check has looked at them already
	lock      *lockHolder
	blocked   *lockWatch     // nil: not begun
	tools     *pgtools.Tools // nil when no archive is needed
	archive   *archive
	journal   *journal              // nil with NoJournal
	resumed   bool                  // the journal was there
	complete  bool                  // it has all segments
	created   bool                  // this run made the database
	dropFirst bool                  // it is there, and is to be dropped before
	replica   bool                  // rows are loaded without firing triggers, see quiet
	damaged   map[string]bool       // files, by path below the dump
	monetary  string                // lc_monetary of the target
	misread   map[misreading]string // samples that the target reads otherwise, and how
	usedDrops map[string]bool       // of --drop-column
	ours      map[pg.Qualified]bool // relations that hold rows by an earlier run
	phase     string
	gaps      []journalGap // of the present phase

	loaded atomic.Int64 // segments

	copiedAll bool        // nothing is needed of the origin's rows any more
	copyAgain bool        // an earlier run has copied rows of another snapshot
	unsure    atomic.Bool // see Failed
	lost      atomic.Bool // the target went away since the journal was read
}

// step is one phase.
type step struct {
	name string
	run  func(context.Context) error
}

// Run restores a dump. When ctx ends, queries end on the server too, and the error is a [*Failed] that wraps the context's error. A preflight that
// finds problems is a [*Refused]. Run returns when every goroutine, connection and child process that it made is gone.
func Run(ctx context.Context, o Options) (*Summary, error) {
	j, err := openJob(o)
	if err != nil {
		return nil, err
	}
	defer j.close()
	defer o.Control.Follow(o.Tracker.SetPaused)()
	if j.folder != nil {
		o.Tracker.SetSource(j.o.Dir)
	} else if s := j.single(); s != nil {
		o.Tracker.SetSource(s.name)
	}
	o.Tracker.SetTarget(o.DSN.String())
	return j.sum, canceled(ctx, j.runSteps(ctx))
}

// openJob reads a dump's manifest and chooses what to load. The caller closes the job.
func openJob(o Options) (*job, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	j := &job{o: o, origin: o.Origin}
	if o.Origin == nil {
		var err error
		if j.folder, err = openFolder(o.Dir); err != nil {
			return nil, err
		}
		j.origin = j.folder
	}
	j.m = j.origin.Manifest()
	j.sum = &Summary{Manifest: j.m, Alone: j.o.parts.withoutRows()}
	if !o.NoJournal {
		j.journal = newJournal(o.JournalSchema, j.m.DumpID)
		j.journal.live, j.journal.snapshot = j.live(), j.origin.Snapshot()
	}
	var err error
	if j.plan, err = newPlan(&j.o, j.m); err != nil {
		j.close()
		return nil, err
	}
	return j, nil
}

// check fills in what was not given, and refuses what can't be.
func (o *Options) check() error {
	if o.Jobs <= 0 {
		o.Jobs = min(runtime.NumCPU(), maxJobs)
	}
	if o.OnExisting == "" {
		o.OnExisting = Fail
	}
	if o.JournalSchema == "" {
		o.JournalSchema = pg.JournalSchema
	}
	if o.SearchPath != "" {
		if err := CheckSearchPath(o.SearchPath); err != nil {
			return err
		}
	}
	if o.Origin == nil {
		dir, err := filepath.Abs(o.Dir)
		if err != nil {
			return err
		}
		o.Dir = dir
	}
	if err := o.checkSingle(); err != nil {
		return err
	}
	if err := o.setParts(); err != nil {
		return err
	}
	switch {
	case o.DSN == nil:
		return errors.New("a restore needs a target")
	case o.OnExisting != Fail && o.OnExisting != Truncate && o.OnExisting != Append:
		return fmt.Errorf("on existing rows: %q is none of fail, truncate, append", string(o.OnExisting))
	case o.Create && o.DataOnly:
		return errors.New("a new database has no tables: --create and --data-only exclude each other")
	case o.DisableTriggers && !(o.DataOnly && o.parts.rows):
		return withHint(errors.New("--disable-triggers is for tables that are there already"), "add --data-only")
	case o.OnExisting != Fail && !(o.DataOnly && o.parts.rows):
		return withHint(fmt.Errorf("--on-existing %s is for tables that are there already", o.OnExisting), "add --data-only")
	case len(o.Map) > 0 && o.parts.pre != o.parts.post:
		return errors.New("new names come behind the definitions: --map with one section of these alone can't be done")
	case o.Clean && !o.parts.definitions():
		return errors.New("with rows alone nothing is made anew: --clean and --data-only exclude each other")
	case o.IfExists && !o.Clean:
		return withHint(errors.New("--if-exists is for what is dropped"), "add --clean")
	case o.Resume && o.NoJournal:
		return errors.New("without a journal nothing can be resumed")
	}
	return nil
}

func (j *job) logf(form string, args ...any) {
	if j.o.Logf != nil {
		j.o.Logf(form, args...)
	}
}

func (j *job) warn(form string, args ...any) {
	text := fmt.Sprintf(form, args...)
	j.sum.Warnings = append(j.sum.Warnings, text)
	j.o.Tracker.Warn("%s", text)
}

// gap records something that could not be made; entry is its number in the archive, or 0.
func (j *job) gap(entry int, g Gap) {
	g.Message = strings.Replace(g.Message, " (SQLSTATE "+g.SQLState+")", "", 1) // it has a field of its own
	j.gaps = append(j.gaps, journalGap{Phase: j.phase, Entry: entry, Gap: g})
	j.sum.Gaps = append(j.sum.Gaps, g)
	j.o.Tracker.Gap(g.Kind, g.Name, g.SQLState, g.Message)
}

// steps are the phases that the options ask for.
func (j *job) steps() []step {
	o, p := &j.o, j.o.parts
	all := []struct {
		step
		wanted bool
	}{
		{step{PhasePreflight, j.preflightA}, true},
		{step{PhaseClean, j.clean}, o.cleans()},
		{step{PhasePreData, j.preData}, p.pre},
		{step{PhaseData, j.data}, p.rows},
		{step{PhaseLargeObjects, j.largeObjects}, j.hasLargeObjects()},
		{step{PhaseSequences, j.sequences}, p.sequences},
		{step{PhaseProof, j.proof}, p.rows && !o.NoProve},
		{step{PhasePostData, j.postData}, p.post},
		{step{PhaseMatViews, j.matviews}, p.matviews()},
		{step{PhaseAnalyze, j.analyze}, p.rows && !o.NoAnalyze},
		{step{PhaseRename, j.renameAll}, !j.plan.rename.empty()},
	}
	var steps []step
	for _, s := range all {
		if s.wanted {
			steps = append(steps, s.step)
		}
	}
	return steps
}

// hasLargeObjects tells whether large objects are to be restored.
func (j *job) hasLargeObjects() bool {
	return j.m.LargeObjects > 0 && j.o.parts.rows && j.plan.choice.large()
}

func (j *job) runSteps(ctx context.Context) error {
	steps := j.steps()
	stop := len(steps) - 1
	if j.o.StopAfter != "" {
		for stop = 0; stop < len(steps) && steps[stop].name != j.o.StopAfter; stop++ {
		}
		if stop == len(steps) {
			return fmt.Errorf("this restore has no phase %q to stop after", j.o.StopAfter)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() { j.watchOrigin(ctx, cancel) })
	names := make([]string, 0, stop+1)
	for _, s := range steps[:stop+1] {
		names = append(names, s.name)
	}
	j.o.Tracker.PlanPhases(names...)
	started := time.Now()
	for i, s := range steps[:stop+1] {
		j.phase, j.gaps = s.name, nil
		begun := time.Now()
		j.o.Tracker.StartPhase(s.name, i+1, len(steps))
		if err := j.runStep(ctx, s, i > 0); err != nil {
			return j.failed(canceled(ctx, err))
		}
		if i == 0 {
			j.watchLock(ctx, cancel)
		}
		j.letGo(steps[i+1:])
		if err := j.gate(ctx, steps[:stop+1], i, started, begun); err != nil {
			return j.failed(canceled(ctx, err))
		}
	}
	j.o.Tracker.EndPhase()
	j.total()
	if stop < len(steps)-1 {
		j.sum.Stopped = steps[stop].name
		j.sum.Again = j.mustCopyAgain()
		return nil
	}
	return j.end(ctx)
}

// runStep runs a phase, or what is left to do of one that an earlier run has done, and notes it in the journal. The first phase makes the journal: it is not in it.
func (j *job) runStep(ctx context.Context, s step, noted bool) (err error) {
	if err := j.o.Control.Wait(ctx); err != nil {
		return err
	}
	noted = noted && j.journal != nil
	switch {
	case j.finished(s.name):
		err = j.again(ctx, s.name)
	case noted:
		if err = j.journal.start(ctx, j.leader, s.name); err == nil {
			err = s.run(ctx)
		}
	default:
		err = s.run(ctx)
	}
	if err != nil || !noted {
		return err
	}
	return j.journal.finish(ctx, j.leader, s.name, j.gaps)
}

// letGo releases the origin when nothing but its definitions is needed any more. Large objects are in the archive, but they are of its snapshot too.
func (j *job) letGo(left []step) {
	to := func(phase string) bool {
		return slices.ContainsFunc(left, func(s step) bool { return s.name == phase && !j.finished(phase) })
	}
	if !to(PhaseData) {
		j.origin.Release()
		j.copiedAll = !to(PhaseLargeObjects)
	}
}

// finished tells whether an earlier run has done a phase. The rows of unlogged tables do not outlive a crash: then they are loaded and proven again.
func (j *job) finished(phase string) bool {
	if j.journal == nil || !j.journal.phases[phase] {
		return false
	}
	return phase != PhaseData && phase != PhaseProof || j.complete
}

// end drops the journal, unless gaps are left for another try.
func (j *job) end(ctx context.Context) error {
	if j.journal == nil || len(j.sum.Gaps) > 0 {
		return nil
	}
	return j.journal.drop(ctx, j.leader)
}

// total counts what the target holds now.
func (j *job) total() {
	if !j.o.parts.rows {
		return
	}
	j.sum.Rows, j.sum.Bytes = j.held()
}

// failed says how far the restore came. A refusal stays what it is, and so does what failed before anything was written.
func (j *job) failed(err error) error {
	var refused *Refused
	if errors.As(err, &refused) {
		return err
	}
	if j.phase == PhasePreflight && !j.created || j.single() != nil && j.loaded.Load() == 0 && !j.unsure.Load() {
		return err
	}
	f := &Failed{Phase: j.phase, Loaded: int(j.loaded.Load()), Of: j.plan.segments, Database: j.o.DSN.Config.Database, Created: j.created, Unsure: j.unsure.Load(), Err: err}
	if !j.o.parts.rows {
		f.Of = 0
	}
	f.Again = j.mustCopyAgain()
	if j.journal != nil {
		f.JournalSchema = j.journal.schema
	}
	return f
}

// close ends the sessions and the folder; an origin that was given is its maker's to close.
func (j *job) close() {
	j.blocked.close()
	j.lock.close()
	closeConn(j.leader)
	if j.folder != nil {
		j.folder.close()
	}
}

// closeConn ends a session and waits for what pgconn does about it in the background.
func closeConn(c *pg.Conn) {
	if c == nil {
		return
	}
	c.Close()
	select {
	case <-c.PgConn().CleanupDone():
	case <-time.After(10 * time.Second): // the network is gone; the socket is closed already
	}
}

// connectData opens a session that speaks the encoding of the rows.
func (j *job) connectData(ctx context.Context) (*pg.Conn, error) {
	return pg.Connect(ctx, j.o.DSN, pg.Options{Purpose: pg.ForData, Encoding: j.m.Source.Server.Encoding, AppName: appName, Role: j.o.Role})
}
