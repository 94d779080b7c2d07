package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/filter"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/report"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/restore"
)

// migrateFlags are migrate's flags as given.
type migrateFlags struct {
	job        *jobFlags
	where      []string
	filters    []string
	large      largeObjects
	onExisting string
	yes        bool
	dryRun     bool
	passwords  passwords
	from       dump.Options
	to         restore.Options
}

func (a *app) migrateCommand() *cobra.Command {
	m := &migrateFlags{job: newJobFlags(), onExisting: string(restore.Fail), from: dump.Options{SegmentSize: defaultSegment}}
	c := &cobra.Command{
		Use:     "migrate SRC DST",
		Short:   "copy a database to another server, no files between",
		GroupID: groupJobs,
		Long: "pghaul migrate copies a database, or parts of it, from one server to another under one\n" +
			"snapshot, phase by phase: after each it shows what was done and what comes next, and\n" +
			"waits for your word, unless --yes is given. SRC and DST are connection URIs,\n" +
			"keyword=value pairs or databases' names.",
		Args: exactly(2, 2, "SRC and DST, the databases to copy from and to"),
		Annotations: map[string]string{usageLines: "migrate [OPTION]... SRC DST", exitLines: "0,1,2,3,4,130",
			environment: connectionEnvironment + "\nPGHAUL_PG_BINDIR\tfolder of pg_dump and pg_restore (as --pg-bindir)",
			notes: "Phases:\n" +
				"  preflight      both servers are looked at; nothing is written\n" +
				"  pre-data       schemas, types, functions, empty tables\n" +
				"  data           the rows; after it the source is let go\n" +
				"  large-objects, sequences\n" +
				"  proof          every row is read back and compared with what was copied\n" +
				"  post-data      indexes, constraints, triggers\n" +
				"  matviews, analyze\n" +
				"  (with --clean a phase clean before pre-data, with --map a phase rename at the end)\n" +
				"A run that ended early, by --stop-after or by a fault, goes on with --resume. When it\n" +
				"ended before all rows were copied its snapshot is gone, unless --snapshot names one that\n" +
				"another session still holds: then --resume deletes the rows and copies all again."},
		Example: "  pghaul migrate \"service=prod dbname=shop\" \"service=next dbname=shop\" --create\n" +
			"  pghaul migrate shop \"host=next dbname=shop\" --stop-after pre-data\n" +
			"  pghaul migrate shop \"host=next dbname=shop\" --resume --yes",
		RunE: func(c *cobra.Command, args []string) error { return a.migrate(c, m, args) },
	}
	m.flags(c, false)
	return c
}

func (m *migrateFlags) flags(c *cobra.Command, planOnly bool) {
	from, to := &m.from, &m.to
	groupOf(c, "What to migrate", false, func(f flags) {
		f.parts(&to.Choice, &m.filters)
		f.list(&from.ForeignServers, "include-foreign-data", "", "SERVER", "rows of the foreign tables of these servers too")
		f.list(&m.where, "where", "", "TABLE:CONDITION", "of this table only the rows that meet an SQL condition")
		f.boolean(&to.DataOnly, "data-only", "", "rows and sequences, into tables that exist")
		f.boolean(&to.SchemaOnly, "schema-only", "", "definitions, no rows")
		f.boolean(&from.NoUnloggedData, "no-unlogged-data", "", "not the rows of unlogged tables")
		f.sections(&to.Sections, restore.Sections...)
		m.large.flags(f, "copied")
		f.leaveOut(to, "connects to DST")
	})
	groupOf(c, "From the source", false, func(f flags) {
		f.size(&from.SegmentSize, "segment-size", "", "SIZE", "bytes of table in one piece, 64kB or more (256MB, or\nless where one table would keep the rest waiting);\n0: never split a table")
		f.duration(&from.LockTimeout, "lock-timeout", "", "TIME", "wait so long for table locks (for ever)")
		f.text(&from.Snapshot, "snapshot", "", "ID", "use an exported snapshot")
		f.boolean(&from.SerializableDeferrable, "serializable-deferrable", "", "wait for a moment without anomalies")
		f.text(&from.Role, "role", "", "ROLE", "SET ROLE on the source before anything")
	})
	groupOf(c, "Into the target", false, func(f flags) {
		f.intoTarget(to, &m.onExisting, "run")
	})
	if planOnly {
		groupOf(c, "Programs", false, func(f flags) {
			f.text(&to.PgBinDir, "pg-bindir", "", "DIR", "folder of pg_dump and pg_restore (else PATH, then the\nusual places)")
		})
		m.job.flags(c, "parallel connections to each server")
		groupOf(c, "Connection options", false, m.passwords.flags)
		return
	}
	groupOf(c, "Your hand", false, func(f flags) {
		f.boolean(&m.dryRun, "dry-run", "", "show the plan, as pghaul plan does, and copy nothing")
		f.stopAfter(to)
		f.boolean(&m.yes, "yes", "", "ask no questions, and wait at no gate between phases")
		f.text(&to.PgBinDir, "pg-bindir", "", "DIR", "folder of pg_dump and pg_restore (else PATH, then the\nusual places)")
	})
	m.job.flags(c, "parallel connections to each server")
	groupOf(c, "Connection options", false, m.passwords.flags)
}

// options checks the flags and gives each side its own.
func (m *migrateFlags) options(a *app, c *cobra.Command, args []string) (err error) {
	if err := exclusivePairs(c, "data-only schema-only", "section data-only", "section schema-only", "clean data-only", "data-only create", "resume no-journal", "journal-schema no-journal",
		"snapshot serializable-deferrable"); err != nil {
		return err
	}
	from, to := &m.from, &m.to
	if from.DSN, err = (&connection{}).source(args[:1]); err != nil {
		return err
	}
	if to.DSN, err = (&connection{}).source(args[1:]); err != nil {
		return err
	}
	if err = checkSegmentSize(c, from); err != nil {
		return err
	}
	if from.Where, err = parseWhere(m.where); err != nil {
		return err
	}
	if from.LargeObjects, err = m.large.choice(c); err != nil {
		return err
	}
	to.LargeObjects = from.LargeObjects
	to.OnExisting = restore.OnExisting(m.onExisting)
	rowsAlone := to.DataOnly || slices.Contains(to.Sections, restore.SectionData) && !slices.Contains(to.Sections, restore.SectionPreData)
	if err := checkTarget(c, to, rowsAlone); err != nil {
		return err
	}
	if !m.yes && !m.dryRun && !isTerminal(a.stdin) {
		return usagef("migrate asks before each phase, and there is no terminal to ask at").hint("give --yes to run through, with --stop-after PHASE to end in between")
	}
	from.Jobs, from.Tool, to.Jobs, to.Tool = m.job.jobs, tool(), m.job.jobs, tool()
	if err := m.share(a); err != nil {
		return err
	}
	return a.login(c, &m.passwords, from.DSN, to.DSN)
}

// share gives the source's side what is chosen.
func (m *migrateFlags) share(a *app) error {
	from, to := &m.from, &m.to
	from.Tables, from.ExcludeTables, from.Schemas, from.ExcludeSchemas = to.Tables, to.ExcludeTables, to.Schemas, to.ExcludeSchemas
	from.Extensions, from.ExcludeExtensions, from.ExcludeTableData, from.StrictNames = to.Extensions, to.ExcludeExtensions, to.ExcludeTableData, to.StrictNames
	from.DataOnly, from.SchemaOnly, from.PgBinDir = to.DataOnly, to.SchemaOnly, to.PgBinDir
	err := a.readFilters(m.filters, func(r filter.Rule) string {
		why := filterRestore(&to.Choice, r)
		if filterDump(from, r) == "" {
			return ""
		}
		return why
	})
	to.ExcludeTableData, to.StrictNames = nil, false // the source has seen to them
	for _, s := range to.Sections {
		if s == restore.SectionSequences { // which a source reads in any case
			continue
		}
		from.Sections = append(from.Sections, s)
	}
	if len(to.Sections) > 0 && len(from.Sections) == 0 {
		none := false
		from.Sections, from.LargeObjects = []string{dump.Data}, &none
	}
	return err
}

func (a *app) migrate(c *cobra.Command, m *migrateFlags, args []string) error {
	if err := m.options(a, c, args); err != nil {
		return err
	}
	if m.dryRun {
		return a.plan(c.Context(), m)
	}
	sum, tracker, err := a.runMigrate(c.Context(), m)
	if err != nil {
		return err
	}
	if err := a.report(m.job, loadReport(tracker, sum, m.to.DSN.Config.Database, "migrated", "source_id")); err != nil {
		return err
	}
	if len(sum.Gaps) > 0 || sum.Stopped != "" {
		printHint(a.stderr, goOnHint(sum))
		return errIncomplete
	}
	return nil
}

// runMigrate is a migrate under an observer: the source is opened here, and the target's side runs with it.
func (a *app) runMigrate(ctx context.Context, m *migrateFlags) (sum *restore.Summary, t *progress.Tracker, err error) {
	k := a.migrateTask(m, &sum)
	err = a.work(ctx, m.job, k)
	var part *restore.Failed
	if err != nil && ctx.Err() != nil && !errors.As(err, &part) {
		err = &leftOver{err: err, text: "nothing was written to the target"}
	}
	return sum, k.tracker, err
}

// migrateTask is a migrate whose summary goes to sum.
func (a *app) migrateTask(m *migrateFlags, sum **restore.Summary) *task {
	t := progress.New("migrate", "read", "parse", "convert", "insert")
	compared := &comparisons{}
	m.from.Tracker, m.to.Tracker, m.to.Compared = t, t, compared.set
	return &task{tracker: t, compared: compared, jobs: m.to.Jobs, phases: restorePhases, cancel: "what is copied stays, and --resume goes on from there",
		do: func(s *session) (err error) {
			m.from.Logf, m.to.Logf, m.to.Control = s.logf(), s.logf(), s.control()
			if !m.yes {
				m.to.Confirm, m.to.Gate = s.confirm, s.gate
			}
			if s.once {
				m.to.Begin = s.screen.begin
			}
			if s.once && !m.yes {
				m.to.Gate = s.behindPreflight
			}
			t.StartPhase(dump.PhasePlan, 0, 0)
			return a.withSource(s.ctx, m, func() (err error) {
				*sum, err = restore.Run(s.ctx, m.to)
				return err
			})
		},
		ended: func(err error) *report.Report {
			if err != nil {
				return nil
			}
			return loadReport(t, *sum, m.to.DSN.Config.Database, "migrated", "source_id")
		},
		next:  func() []string { return nextAfterLoad(*sum) },
		short: func() error { return shortOf(*sum) },
	}
}

// withSource opens the source, calls do with it as the target's origin, and closes it.
func (a *app) withSource(ctx context.Context, m *migrateFlags, do func() error) (err error) {
	live, err := a.openSource(ctx, m)
	if err != nil {
		return err
	}
	defer a.interrupt.onSecond(func() { _ = live.Discard() })() // the program ends, whatever comes of it
	defer func() { err = errors.Join(err, live.Close()) }()
	return do()
}

// openSource asks the target for its version, and opens the source for it. The caller closes it.
func (a *app) openSource(ctx context.Context, m *migrateFlags) (*dump.Live, error) {
	version, err := restore.TargetVersion(ctx, m.to.DSN, m.to.Create)
	if err != nil {
		return nil, err
	}
	m.from.ToolMajor = version / 10000
	live, err := dump.Open(ctx, m.from)
	if err != nil {
		return nil, err
	}
	m.to.Origin = live
	if chosen, excluded := live.Tables(); len(chosen) > 0 {
		m.to.Tables, m.to.ExcludeTables, m.to.Schemas, m.to.ExcludeSchemas = chosen, excluded, nil, nil
	}
	return live, nil
}

// errStopped is the operator's no at a gate.
var errStopped = errors.New("stopped here, as you said")

// gate shows what was done and what comes next, and asks whether to go on.
func (s *session) gate(ctx context.Context, at restore.GateInfo) error {
	if s.screen != nil {
		return s.screen.gate(ctx, at)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", gateDone(at))
	for _, w := range at.Warnings[min(s.warned, len(at.Warnings)):] {
		fmt.Fprintf(&b, "warning: %s\n", show.Line(w))
	}
	for _, g := range at.Gaps {
		fmt.Fprintf(&b, "missing: %s\n", show.Line(g))
	}
	s.warned = len(at.Warnings)
	fmt.Fprintf(&b, "next, phase %d of %d: %s (%s)\n", at.N+1, at.Of, at.Next, phaseMeaning[at.Next])
	for text := b.String() + "Go on? [Y/n] "; ; text = "Go on? yes or no: " {
		answer, err := s.ask("Go on with "+at.Next+"?", text)
		if err != nil {
			return err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "", "y", "yes":
			return nil
		case "n", "no", "q", "quit", endOfInput:
			return errStopped
		}
	}
}

// gateDone is what was done before a gate, in one line.
func gateDone(at restore.GateInfo) string {
	what := "took " + seconds(at.Took) + " s"
	switch {
	case at.Nothing:
		what = "there was nothing to do"
	case at.Done == restore.PhaseData, at.Done == restore.PhaseProof: // the others move none
		what = fmt.Sprintf("%s, %s, %s", show.Plural(at.Rows, "row", "rows"), show.Size(at.Bytes), what)
	}
	return fmt.Sprintf("%s is done: %s; %s s since the start", at.Done, what, seconds(at.Elapsed))
}

// phaseMeaning says what a phase does, for the gate before it.
var phaseMeaning = map[string]string{
	restore.PhaseClean:        "drops what is made anew",
	restore.PhasePreData:      "makes schemas, types, functions and empty tables",
	restore.PhaseData:         "copies the rows; the source keeps its snapshot and light locks meanwhile",
	restore.PhaseLargeObjects: "makes the large objects",
	restore.PhaseSequences:    "sets the sequences",
	restore.PhaseProof:        "reads every row back and compares; changes nothing",
	restore.PhasePostData:     "makes indexes, constraints and triggers; locks the tables",
	restore.PhaseMatViews:     "fills the materialized views",
	restore.PhaseAnalyze:      "gathers statistics for the planner",
	restore.PhaseRename:       "gives schemas and tables their new names",
}

var _ restore.Origin = (*dump.Live)(nil)
