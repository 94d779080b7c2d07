package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/internal/filter"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/report"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/restore"
)

// restorePhases are the words that --stop-after knows.
var restorePhases = []string{restore.PhasePreflight, restore.PhaseClean, restore.PhasePreData, restore.PhaseData, restore.PhaseLargeObjects, restore.PhaseSequences, restore.PhaseProof,
	restore.PhasePostData, restore.PhaseMatViews, restore.PhaseAnalyze, restore.PhaseRename}

// restoreFlags are restore's flags as given.
type restoreFlags struct {
	conn       connection
	job        *jobFlags
	onExisting string
	yes        bool
	filters    []string
	large      largeObjects
	o          restore.Options
}

func (a *app) restoreCommand() *cobra.Command {
	r := &restoreFlags{job: newJobFlags(), onExisting: string(restore.Fail)}
	c := &cobra.Command{
		Use:     "restore DIR|FILE|- DSN",
		Short:   "load a dump into a database, with proof",
		GroupID: groupJobs,
		Long: "pghaul restore loads a dump into the database that DSN (or -d) names: it checks that\n" +
			"the dump is undamaged and fits, makes the definitions, loads the rows, proves that\n" +
			"every row arrived, and makes indexes and constraints. A single data FILE, or a stream\n" +
			"of one (\"-\"), goes into the table of its name, which must be there, in one\n" +
			"transaction.",
		Args: exactly(1, 2, "the folder DIR of the dump, or a FILE (\"-\": standard input)"),
		Annotations: map[string]string{usageLines: "restore [OPTION]... DIR|FILE|- DSN\nrestore [OPTION]... DIR|FILE|- -d DBNAME", exitLines: "0,1,2,3,4,130",
			environment: connectionEnvironment + "\nPGHAUL_PG_BINDIR\tfolder of pg_restore (as --pg-bindir)"},
		Example: "  pghaul restore shop-2026-11-30 shop_copy\n" +
			"  pghaul restore --create shop-2026-11-30 \"service=standby dbname=shop\"\n" +
			"  pghaul restore --data-only --on-existing truncate -t orders shop-2026-11-30 -d shop\n" +
			"  pghaul dump shop -t orders -f - | pghaul restore - archive --map orders=shop.orders",
		RunE: func(c *cobra.Command, args []string) error { return a.restore(c, r, args) },
	}
	r.flags(c)
	return c
}

func (r *restoreFlags) flags(c *cobra.Command) {
	o := &r.o
	groupOf(c, "What to restore", false, func(f flags) {
		f.parts(&o.Choice, &r.filters)
		f.boolean(&o.DataOnly, "data-only", "", "rows and sequences, into tables that exist")
		f.boolean(&o.SchemaOnly, "schema-only", "", "definitions, no rows")
		f.sections(&o.Sections, restore.Sections...)
		r.large.flags(f, "restored")
		f.leaveOut(o, "restores")
	})
	groupOf(c, "How to restore", false, func(f flags) {
		f.intoTarget(o, &r.onExisting, "restore")
		f.stopAfter(o)
		f.boolean(&r.yes, "yes", "", "ask no questions")
		f.text(&o.Role, "role", "", "ROLE", "SET ROLE before anything")
		f.text(&o.PgBinDir, "pg-bindir", "", "DIR", "folder of pg_restore (else PATH, then the usual places)")
	})
	r.job.flags(c, "parallel connections")
	r.conn.flags(c)
}

func (r *restoreFlags) options(a *app, c *cobra.Command, args []string) (restore.Options, error) {
	o := r.o
	if err := exclusivePairs(c, "data-only schema-only", "section data-only", "section schema-only", "clean data-only", "data-only create", "resume no-journal", "journal-schema no-journal"); err != nil {
		return o, err
	}
	o.OnExisting = restore.OnExisting(r.onExisting)
	rowsAlone := o.DataOnly || isSingle(args[0]) || slices.Contains(o.Sections, restore.SectionData) && !slices.Contains(o.Sections, restore.SectionPreData)
	if err := checkTarget(c, &o, rowsAlone); err != nil {
		return o, err
	}
	var err error
	if o.LargeObjects, err = r.large.choice(c); err != nil {
		return o, err
	}
	if err := a.readFilters(r.filters, func(rule filter.Rule) string { return filterRestore(&o.Choice, rule) }); err != nil {
		return o, err
	}
	if o.DSN, err = r.conn.target(args[1:]); err != nil {
		return o, err
	}
	o.Dir, o.Jobs, o.Tool = args[0], r.job.jobs, tool()
	return o, nil
}

// isSingle tells a file, or a stream, from a folder and from what is not there.
func isSingle(path string) bool {
	info, err := os.Stat(path)
	return path == "-" || err == nil && !info.IsDir()
}

// openSingle opens a single file or a stream; nil: the path is a folder, or not there.
func (a *app) openSingle(c *cobra.Command, path string) (*restore.File, error) {
	if !isSingle(path) {
		return nil, nil
	}
	if err := checkInput(path); err != nil {
		return nil, err
	}
	if path == "-" && isTerminal(a.stdin) {
		return nil, usagef("standard input is a terminal, and no data file").hint("give a file, or a stream from a pipe")
	}
	return restore.OpenFile(c.Context(), path, a.stdin)
}

func (a *app) restore(c *cobra.Command, r *restoreFlags, args []string) error {
	o, err := r.options(a, c, args)
	if err != nil {
		return err
	}
	file, err := a.openSingle(c, args[0])
	if err != nil {
		return err
	}
	if file != nil {
		defer file.Close()
		o.Origin = file
	}
	if err := a.login(c, &r.conn.passwords, o.DSN); err != nil {
		return err
	}
	sum, tracker, err := a.runRestore(c.Context(), r.job, o, r.yes)
	if err != nil {
		return err
	}
	if err := a.report(r.job, restoreReport(tracker, sum, o.DSN.Config.Database)); err != nil {
		return err
	}
	if len(sum.Gaps) > 0 || sum.Stopped != "" {
		printHint(a.stderr, goOnHint(sum))
		return errIncomplete
	}
	return nil
}

// runRestore is a restore under an observer; demo shares it.
func (a *app) runRestore(ctx context.Context, j *jobFlags, o restore.Options, yes bool) (sum *restore.Summary, t *progress.Tracker, err error) {
	k := a.restoreTask(o, yes, &sum)
	err = a.work(ctx, j, k)
	var part *restore.Failed
	if err != nil && ctx.Err() != nil && !errors.As(err, &part) {
		err = &leftOver{err: err, text: "nothing was written to the target"}
	}
	return sum, k.tracker, err
}

// restoreTask is a restore whose summary goes to sum.
func (a *app) restoreTask(o restore.Options, yes bool, sum **restore.Summary) *task {
	t := progress.New("restore", "read", "parse", "convert", "insert")
	compared := &comparisons{}
	o.Tracker, o.Compared = t, compared.set
	return &task{tracker: t, jobs: o.Jobs, compared: compared, cancel: "what is loaded stays, and --resume goes on from there",
		do: func(s *session) (err error) {
			o.Logf, o.Control = s.logf(), s.control()
			if !yes {
				o.Confirm = s.confirm
			}
			if s.once {
				o.Begin = s.screen.begin
			}
			*sum, err = restore.Run(s.ctx, o)
			return err
		},
		ended: func(err error) *report.Report {
			if err != nil {
				return nil
			}
			return restoreReport(t, *sum, o.DSN.Config.Database)
		},
		next:  func() []string { return nextAfterLoad(*sum) },
		short: func() error { return shortOf(*sum) },
	}
}

// shortOf is the error of a load that is not complete.
func shortOf(sum *restore.Summary) error {
	if len(sum.Gaps) > 0 || sum.Stopped != "" {
		return errIncomplete
	}
	return nil
}

// nextAfterLoad says how a restore that is not complete becomes so.
func nextAfterLoad(sum *restore.Summary) []string {
	if len(sum.Gaps) > 0 || sum.Stopped != "" {
		return []string{goOnHint(sum)}
	}
	return nil
}

func restoreReport(t *progress.Tracker, sum *restore.Summary, database string) *report.Report {
	return loadReport(t, sum, database, "restored", "dump_id")
}

// loadReport is the report of a restore or a migrate: what it did, and how the origin's ID is called.
func loadReport(t *progress.Tracker, sum *restore.Summary, database, did, id string) *report.Report {
	r := &report.Report{Progress: t.Report()}
	r.Facts = []report.Fact{
		{Key: id, Value: sum.Manifest.DumpID},
		{Key: "tables_proven", Value: sum.Proven},
		{Key: "tables_unproven", Value: append([]string{}, sum.Unproven...), Text: unprovenText(sum.Unproven)},
		{Key: "stopped_after", Value: sum.Stopped},
	}
	proven := ""
	switch {
	case sum.Proven > 0 && len(sum.Unproven) == 0:
		proven = fmt.Sprintf(", every row proven in %s", show.Plural(int64(sum.Proven), "table", "tables"))
	case sum.Proven > 0:
		proven = fmt.Sprintf(", %s proven, %d not", show.Plural(int64(sum.Proven), "table", "tables"), len(sum.Unproven))
	}
	r.Outcome = fmt.Sprintf("%s %s into %s in %s s%s", did, show.Plural(sum.Rows, "row", "rows"), show.Text(database), seconds(r.Progress.Elapsed), proven)
	switch {
	case sum.Alone != "":
		r.Outcome = outcomeWithoutRows(sum, database, did, r.Progress.Elapsed)
	case sum.Stopped != "":
		r.Outcome = fmt.Sprintf("incomplete: stopped after phase %s, as asked; %s in %s", sum.Stopped, show.Plural(sum.Rows, "row", "rows"), show.Text(database))
	case len(sum.Gaps) > 0:
		r.Outcome = fmt.Sprintf("incomplete: the rows are there (%s%s), but %s could not be made", show.Plural(sum.Rows, "row", "rows"), proven,
			show.Plural(int64(len(sum.Gaps)), "object", "objects"))
	}
	return r
}

// outcomeWithoutRows is the outcome of what was asked to restore no rows.
func outcomeWithoutRows(sum *restore.Summary, database, did string, took time.Duration) string {
	switch {
	case sum.Stopped != "":
		return fmt.Sprintf("incomplete: stopped after phase %s, as asked; no rows were asked for", sum.Stopped)
	case len(sum.Gaps) > 0:
		return fmt.Sprintf("incomplete: %s alone, without rows, are in %s, but %s could not be made", sum.Alone, show.Text(database), show.Plural(int64(len(sum.Gaps)), "object", "objects"))
	}
	return fmt.Sprintf("%s %s alone, without rows, into %s in %s s", did, sum.Alone, show.Text(database), seconds(took))
}

// goOnHint says how a restore that is not complete becomes so.
func goOnHint(sum *restore.Summary) string {
	if sum.Again {
		return "the large objects are not there yet, and the snapshot is gone: --resume deletes the rows and copies all again; --stop-after large-objects is the place to stop at"
	}
	const insufficientPrivilege = "42501"
	if slices.ContainsFunc(sum.Gaps, func(g restore.Gap) bool { return g.SQLState == insufficientPrivilege }) {
		return "the role lacks rights (42501): restore as one that has them, or with --no-owner and --no-privileges; the same command with --resume tries again what is missing"
	}
	if restore.NeedsSearchPath(sum.Gaps) {
		return "the same command with --resume goes on from here; for functions that name no schemas add --search-path (servers before 17), or ALTER FUNCTION … SET search_path"
	}
	const undefinedObject = "42704" // a role, an extension's type
	if slices.ContainsFunc(sum.Gaps, func(g restore.Gap) bool { return g.SQLState == undefinedObject }) {
		return "make what is said to be missing (roles: pg_dumpall --globals-only of the source); then the same command with --resume makes the rest"
	}
	return "the same command with --resume goes on from here"
}

func unprovenText(names []string) string {
	if len(names) == 0 {
		return ""
	}
	shown := make([]string, len(names))
	for i, n := range names {
		shown[i] = show.Line(n)
	}
	return "not proven: " + strings.Join(shown, ", ")
}
