package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/filter"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/report"
	"github.com/bytehaul/pghaul/internal/show"
)

// defaultSegment is the default of --segment-size in bytes.
const defaultSegment = 256 << 20

// dumpFlags are dump's flags as given.
type dumpFlags struct {
	conn     connection
	job      *jobFlags
	to       string
	compress string
	where    []string
	filters  []string
	large    largeObjects
	o        dump.Options
}

func (a *app) dumpCommand() *cobra.Command {
	d := &dumpFlags{job: newJobFlags(), compress: "zstd:1", o: dump.Options{SegmentSize: defaultSegment}}
	c := &cobra.Command{
		Use:     "dump [DSN] -f DIR",
		Short:   "dump a database, or parts of it",
		GroupID: groupJobs,
		Long: "pghaul dump takes a database, or parts of it, under one snapshot into a folder of\n" +
			"self-describing binary COPY files. DSN is a connection URI, keyword=value pairs or\n" +
			"a database's name; without one the PG* environment counts, as for psql.",
		Args: exactly(0, 1, "the DSN"),
		Annotations: map[string]string{usageLines: "dump [OPTION]... [DSN] -f DIR\ndump [OPTION]... [DSN] -t TABLE -f FILE.pgcopy[.zst]|-", exitLines: "0,1,2,3,130",
			environment: connectionEnvironment + "\nPGHAUL_PG_BINDIR\tfolder of pg_dump (as --pg-bindir)"},
		Example: "  pghaul dump shop -f shop-2026-11-30\n" +
			"  pghaul dump \"service=prod\" -n sales -j 4 -f sales\n" +
			"  pghaul dump shop -t orders --where \"orders:placed_at >= '2026-01-01'\" -f - | zstd > orders.pgcopy.zst",
		RunE: func(c *cobra.Command, args []string) error { return a.dump(c, d, args) },
	}
	d.flags(c)
	return c
}

func (d *dumpFlags) flags(c *cobra.Command) {
	groupOf(c, "Output options", false, func(f flags) {
		f.text(&d.to, "file", "f", "DIR|FILE|-", "new or empty folder for the dump; for a single table\nalso a file (.pgcopy, .pgcopy.zst) or -, standard output")
		f.boolean(&d.o.OverwriteUnfinished, "overwrite-unfinished", "", "remove first what an unfinished dump has left in DIR,\nif that is all that is there")
		f.text(&d.compress, "compress", "Z", "METHOD", "zstd[:LEVEL] or none (zstd:1; to - none)")
		f.size(&d.o.SegmentSize, "segment-size", "", "SIZE", "bytes of table per file, 64kB or more (256MB, or less\nwhere one table would keep the rest waiting);\n0: never split a table")
	})
	groupOf(c, "What to dump", false, func(f flags) {
		f.list(&d.o.Tables, "table", "t", "PATTERN", "these tables only")
		f.list(&d.o.ExcludeTables, "exclude-table", "T", "PATTERN", "not these tables")
		f.list(&d.o.Schemas, "schema", "n", "PATTERN", "these schemas only")
		f.list(&d.o.ExcludeSchemas, "exclude-schema", "N", "PATTERN", "not these schemas")
		f.list(&d.o.Extensions, "extension", "e", "PATTERN", "these extensions only")
		f.list(&d.o.ExcludeExtensions, "exclude-extension", "", "PATTERN", "not these extensions (with pg_dump 17 and later)")
		f.list(&d.o.ExcludeTableData, "exclude-table-data", "", "PATTERN", "not the rows of these tables")
		f.list(&d.o.TablesAndChildren, "table-and-children", "", "PATTERN", "as -t, with all partitions and children")
		f.list(&d.o.ExcludeTablesAndChildren, "exclude-table-and-children", "", "PATTERN", "as -T, with all partitions and children")
		f.list(&d.o.ExcludeTableDataAndChildren, "exclude-table-data-and-children", "", "PATTERN", "not the rows of these tables, their partitions and\nchildren")
		f.list(&d.filters, "filter", "", "FILE", "choose by the rules in FILE, as pg_dump 17 does\n(-: standard input)")
		f.boolean(&d.o.StrictNames, "strict-names", "", "every PATTERN must match something")
		f.list(&d.where, "where", "", "TABLE:CONDITION", "of this table only the rows that meet an SQL condition")
		f.boolean(&d.o.DataOnly, "data-only", "", "no definitions")
		f.boolean(&d.o.SchemaOnly, "schema-only", "", "no rows")
		f.sections(&d.o.Sections, dump.PreData, dump.Data, dump.PostData)
		f.list(&d.o.ForeignServers, "include-foreign-data", "", "SERVER", "rows of the foreign tables of these servers too")
		f.boolean(&d.o.NoUnloggedData, "no-unlogged-data", "", "not the rows of unlogged tables")
		d.large.flags(f, "dumped")
	})
	groupOf(c, "How to dump", false, func(f flags) {
		f.duration(&d.o.LockTimeout, "lock-timeout", "", "TIME", "wait so long for table locks (for ever)")
		f.text(&d.o.Snapshot, "snapshot", "", "ID", "use an exported snapshot")
		f.boolean(&d.o.SerializableDeferrable, "serializable-deferrable", "", "wait for a moment without anomalies")
		f.text(&d.o.Role, "role", "", "ROLE", "SET ROLE before anything")
		f.text(&d.o.PgBinDir, "pg-bindir", "", "DIR", "folder of pg_dump (else PATH, then the usual places)")
	})
	d.job.flags(c, "parallel connections")
	d.conn.flags(c)
}

// options checks the flags and makes dump's options of them.
func (d *dumpFlags) options(a *app, c *cobra.Command, args []string) (dump.Options, error) {
	o := d.o
	if err := exclusivePairs(c, "data-only schema-only", "section data-only", "section schema-only", "include-foreign-data schema-only", "snapshot serializable-deferrable"); err != nil {
		return o, err
	}
	if d.to == "" {
		return o, usagef("dump: missing -f").hint("give a folder for the dump: -f DIR")
	}
	var err error
	if o.DSN, err = d.conn.source(args); err != nil {
		return o, err
	}
	if o.Compression, err = format.ParseCompression(d.compress); err != nil {
		return o, usagef("option --compress: %v", err)
	}
	if err := checkSegmentSize(c, &o); err != nil {
		return o, err
	}
	if o.Where, err = parseWhere(d.where); err != nil {
		return o, err
	}
	if o.LargeObjects, err = d.large.choice(c); err != nil {
		return o, err
	}
	if err := a.readFilters(d.filters, func(r filter.Rule) string { return filterDump(&o, r) }); err != nil {
		return o, err
	}
	o.Jobs, o.Tool = d.job.jobs, tool()
	return o, d.destination(c, &o)
}

// destination tells a folder from a file and from standard output.
func (d *dumpFlags) destination(c *cobra.Command, o *dump.Options) error {
	var file bool
	switch {
	case strings.HasSuffix(d.to, format.ExtPlain):
		o.File, file = d.to, true
		if !c.Flags().Changed("compress") {
			o.Compression = format.Compression{}
		}
	case strings.HasSuffix(d.to, format.ExtZstd):
		o.File, file = d.to, true
		if o.Compression.Level == 0 {
			return usagef("option --file: %s files are compressed, but --compress says none", format.ExtZstd)
		}
	case d.to == "-":
		file = true
		if !c.Flags().Changed("compress") {
			o.Compression = format.Compression{}
		}
	default:
		o.Dir = d.to
	}
	if strings.HasSuffix(d.to, format.ExtPlain) && o.Compression.Level > 0 {
		return usagef("option --file: %s files are not compressed, but --compress says %s", format.ExtPlain, o.Compression).hint("call the file %s%s", strings.TrimSuffix(d.to, format.ExtPlain), format.ExtZstd)
	}
	switch {
	case file && len(o.Tables)+len(o.TablesAndChildren) == 0:
		return usagef("a single file holds a single table: name it with -t").hint("or give a folder: -f DIR")
	case file && (o.SchemaOnly || len(o.Sections) > 0 && !slices.Contains(o.Sections, dump.Data)):
		return usagef("a single file holds rows alone, but --schema-only leaves them out")
	case d.to == "-" && d.job.asJSON:
		return usagef("options --file=- and --json both want standard output")
	}
	return nil
}

// parseWhere reads TABLE:CONDITION; a colon inside double quotes belongs to the name.
func parseWhere(given []string) (map[string]string, error) {
	m := map[string]string{}
	for _, s := range given {
		at, quoted := -1, false
		for i := 0; i < len(s) && at < 0; i++ {
			switch {
			case s[i] == '"':
				quoted = !quoted
			case s[i] == ':' && !quoted:
				at = i
			}
		}
		if at <= 0 || strings.TrimSpace(s[at+1:]) == "" {
			return nil, usagef("option --where: %q is not TABLE:CONDITION", s)
		}
		if _, twice := m[s[:at]]; twice {
			return nil, usagef("option --where: two conditions for %q", s[:at]).hint("join them with AND")
		}
		m[s[:at]] = strings.TrimSpace(s[at+1:])
	}
	return m, nil
}

func (a *app) dump(c *cobra.Command, d *dumpFlags, args []string) error {
	o, err := d.options(a, c, args)
	if err != nil {
		return err
	}
	if d.to == "-" {
		if isTerminal(a.stdout) {
			return usagef("a dump is binary: it is not written to a terminal").hint("redirect standard output, or give -f a file or a folder")
		}
		o.Out = a.stdout
	}
	if err := a.login(c, &d.conn.passwords, o.DSN); err != nil {
		return err
	}
	sum, tracker, err := a.runDump(c.Context(), d.job, o)
	if err != nil || d.to == "-" {
		return err
	}
	return a.report(d.job, dumpReport(tracker, sum, d.to))
}

// runDump is a dump under an observer; demo shares it.
func (a *app) runDump(ctx context.Context, j *jobFlags, o dump.Options) (sum *dump.Summary, t *progress.Tracker, err error) {
	k := a.dumpTask(o, &sum)
	err = a.work(ctx, j, k)
	if err != nil && ctx.Err() != nil {
		err = &leftOver{err: err, text: leftOfDump(o.Dir, o.File)}
	}
	return sum, k.tracker, err
}

// dumpTask is a dump whose summary goes to sum.
func (a *app) dumpTask(o dump.Options, sum **dump.Summary) *task {
	t := progress.New("dump", "read", "parse", "convert", "write")
	o.Tracker = t
	to := cmp.Or(o.Dir, o.File, "-")
	return &task{tracker: t, jobs: o.Jobs, phases: []string{dump.PhasePlan, dump.PhaseData, dump.PhaseFinish}, cancel: "the files made so far are removed",
		do: func(s *session) (err error) {
			o.Logf, o.Control = s.logf(), s.control()
			*sum, err = dump.Run(s.ctx, o)
			return err
		},
		ended: func(err error) *report.Report {
			if err != nil {
				return nil
			}
			return dumpReport(t, *sum, to)
		},
		next: func() []string {
			if o.Dir == "" {
				return nil
			}
			return []string{"verify it: pghaul verify " + shellWord(to), "restore it: pghaul restore " + shellWord(to) + " DSN"}
		},
	}
}

// shellWord is a path as a shell takes it.
func shellWord(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+-", r)
	}) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// leftOver is the error of a cancelled job, with a word on what is left of it.
type leftOver struct {
	err  error
	text string
}

func (l *leftOver) Error() string { return l.err.Error() }
func (l *leftOver) Unwrap() error { return l.err }

func leftOfDump(paths ...string) string {
	for _, p := range paths {
		if p == "" {
			continue
		}
		entries, err := os.ReadDir(p)
		if err == nil && len(entries) > 0 {
			return fmt.Sprintf("%s holds %d files of an unfinished dump, which is not usable: remove it, or dump again with --overwrite-unfinished", p, len(entries))
		}
		if _, err := os.Lstat(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err.Error()
		}
	}
	return "no file is left of the dump"
}

func dumpReport(t *progress.Tracker, sum *dump.Summary, to string) *report.Report {
	m := sum.Manifest
	r := &report.Report{Progress: t.Report()}
	r.Facts = []report.Fact{
		{Key: "path", Value: to},
		{Key: "files", Value: sum.Files},
		{Key: "stored_bytes", Value: sum.Stored},
	}
	if m != nil {
		r.Facts = append(r.Facts, report.Fact{Key: "dump_id", Value: m.DumpID}, report.Fact{Key: "left_out", Value: m.LeftOut, Text: leftOutText(m.LeftOut)})
	}
	r.Facts = append(r.Facts, report.Fact{Key: "carried", Value: carried(sum.Carried), Text: carriedText(sum.Carried)})
	ratio := ""
	if sum.RawBytes > sum.Stored {
		ratio = fmt.Sprintf(" (%.0f %% of the rows' %s)", 100*float64(sum.Stored)/float64(sum.RawBytes), show.Size(sum.RawBytes))
	}
	what := show.Plural(sum.Rows, "row", "rows")
	if m != nil && withoutRows(m) {
		what = "definitions alone, without rows,"
	}
	r.Outcome = fmt.Sprintf("dumped %s in %s s: %s in %s%s, %s", what, seconds(r.Progress.Elapsed), show.Size(sum.Stored),
		show.Plural(int64(sum.Files), "file", "files"), ratio, show.Text(to))
	return r
}

// withoutRows tells that rows were not asked for.
func withoutRows(m *format.Manifest) bool {
	return slices.ContainsFunc(m.LeftOut, func(l format.LeftOut) bool {
		return l.Kind == "data" || l.Kind == "section" && l.Name == dump.Data
	})
}

// carried is the list of columns that are not plain binary: empty, never null, in the document.
func carried(all []dump.CarriedColumn) []dump.CarriedColumn {
	return append([]dump.CarriedColumn{}, all...)
}

// maxCarried bounds the columns that are named; all are in the document, and in inspect.
const maxCarried = 20

// carriedText names the columns that are not plain binary, and why.
func carriedText(all []dump.CarriedColumn) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("not plain binary:")
	for i, c := range all {
		if i == maxCarried {
			fmt.Fprintf(&b, "\n  and %s, see --json or pghaul inspect", show.Plural(int64(len(all)-i), "more column", "more columns"))
			break
		}
		how := string(c.Carried)
		switch {
		case c.OIDs:
			how += ", OIDs rewritten by a restore"
		case c.Cast != string(format.CarriedText):
			how += ", by " + c.Cast
		}
		fmt.Fprintf(&b, "\n  %s (%s) %s: %s", show.Text(c.Column), show.Text(c.Type), how, show.Line(c.Why))
	}
	return b.String()
}

func leftOutText(all []format.LeftOut) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("left out:")
	for _, l := range all {
		name := show.Text(string(l.Name))
		if l.Schema != "" {
			name = show.Table(l.Schema, l.Name)
		}
		fmt.Fprintf(&b, "\n  %s %s: %s", show.Text(l.Kind), name, show.Line(l.Why))
	}
	return b.String()
}

func seconds(d time.Duration) string { return show.Seconds(d) }

// checkSegmentSize checks --segment-size. Without it, the plan may cut a large table finer than the default.
func checkSegmentSize(c *cobra.Command, o *dump.Options) error {
	if o.SegmentSize != 0 && o.SegmentSize < 64<<10 {
		return usagef("option --segment-size: %s is too small", formatSize(o.SegmentSize)).hint("64kB or more, or 0 to never split a table")
	}
	balance(o, c.Flags().Changed("segment-size"))
	return nil
}

// balance lets the plan cut a large table finer than the segment size, so that no connection waits for another, unless somebody has asked for that size.
func balance(o *dump.Options, asked bool) { o.Balance = !asked }

// asksForSize tells whether options that come from no command line ask for a segment size: what [equivalent] writes as --segment-size.
func asksForSize(o *dump.Options) bool { return o.SegmentSize != defaultSegment }
