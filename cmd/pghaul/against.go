package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/internal/filter"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/report"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/restore"
)

// againstFlags are verify's flags as given; all but the job's are about a server.
type againstFlags struct {
	job        *jobFlags
	conn       connection
	against    string
	onExisting string
	filters    []string
	large      largeObjects
	o          restore.CheckOptions
}

// The headings of the flags that need --against.
const (
	groupAgainst = "Check against a server"
	groupAsked   = "The restore that is asked about"
)

func (v *againstFlags) flags(c *cobra.Command) {
	o := &v.o
	groupOf(c, groupAgainst, false, func(f flags) {
		f.text(&v.against, "against", "", "DSN", "the database that a restore would go into")
		f.boolean(&o.Rehearse, "rehearse", "", "make the definitions in a scratch database beside it, which\nis dropped at the end")
		f.boolean(&o.DryLoad, "dry-load", "", "send every row to the server, which keeps none: finds values\nthat it refuses (from PostgreSQL 12 on)")
		f.text(&o.PgBinDir, "pg-bindir", "", "DIR", "folder of pg_restore (else PATH, then the usual places)")
	})
	groupOf(c, groupAsked, false, func(f flags) {
		f.parts(&o.Choice, &v.filters)
		f.boolean(&o.DataOnly, "data-only", "", "rows and sequences, into tables that exist\n(assumed when any of the tables does)")
		f.boolean(&o.SchemaOnly, "schema-only", "", "definitions, no rows")
		f.sections(&o.Sections, restore.Sections...)
		v.large.flags(f, "restored")
		f.boolean(&o.Create, "create", "", "into a database that is still to be made")
		f.choice(&v.onExisting, "on-existing", "", "what to do with rows that a table holds already (fail)", "fail", "truncate", "append")
		f.boolean(&o.AllowCast, "allow-cast", "", "let the server cast values where a column has another type")
		f.list(&o.DropColumns, "drop-column", "", "TABLE.COLUMN", "leave a column behind that the target lacks")
		f.boolean(&o.NoOwner, "no-owner", "", "leave ownership to the user that restores")
		f.boolean(&o.NoPrivileges, "no-privileges", "", "no GRANTs")
		f.text(&o.Role, "role", "", "ROLE", "SET ROLE before anything")
		f.text(&o.JournalSchema, "journal-schema", "", "SCHEMA", "where the target keeps the journal (pghaul_journal)")
		f.boolean(&o.NoJournal, "no-journal", "", "keep no journal")
	})
	v.job.flags(c, "files read at the same time, and parallel connections")
	v.conn.flags(c)
}

// asked tells whether a server is to be asked.
func (v *againstFlags) asked(c *cobra.Command) bool {
	return c.Flags().Changed("against") || v.conn.database != "" || v.firstOfServer(c) != ""
}

// firstOfServer is the first given flag that makes no sense without a server.
func (v *againstFlags) firstOfServer(c *cobra.Command) string {
	names := []string{"rehearse", "dry-load", "pg-bindir", "data-only", "schema-only", "section", "large-objects", "no-large-objects", "create", "on-existing", "allow-cast",
		"drop-column", "no-owner", "no-privileges", "role", "journal-schema", "no-journal", "host", "port", "username", "no-password", "password"}
	for _, name := range append(names, choiceNames...) {
		if c.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

func (v *againstFlags) options(a *app, c *cobra.Command, path string) (restore.CheckOptions, error) {
	o := v.o
	if err := exclusivePairs(c, "data-only schema-only", "section data-only", "section schema-only", "data-only create", "journal-schema no-journal", "rehearse data-only",
		"rehearse schema-only", "rehearse section", "dry-load schema-only", "against dbname"); err != nil {
		return o, err
	}
	o.OnExisting = restore.OnExisting(v.onExisting)
	switch {
	case v.against == "" && v.conn.database == "":
		return o, usagef("option --%s is for a check against a server", v.firstOfServer(c)).hint("name the database with --against DSN, or -d DBNAME")
	case o.OnExisting != restore.Fail && !o.DataOnly && !isSingle(path):
		return o, usagef("option --on-existing is for tables that are there already").hint("add --data-only")
	case o.Create && o.DryLoad && !o.Rehearse:
		return o, usagef("a database that is still to be made has no tables for a dry load").hint("add --rehearse")
	}
	var err error
	if o.LargeObjects, err = v.large.choice(c); err != nil {
		return o, err
	}
	if err := a.readFilters(v.filters, func(rule filter.Rule) string { return filterRestore(&o.Choice, rule) }); err != nil {
		return o, err
	}
	var args []string
	if v.against != "" {
		args = []string{v.against}
	}
	if o.DSN, err = v.conn.target(args); err != nil {
		return o, err
	}
	if isSingle(path) && (o.Rehearse || path == "-" && o.DryLoad) {
		return o, usagef("%s is not a folder: --rehearse is for whole dumps, and --dry-load for what can be read twice", path)
	}
	o.Dir, o.Jobs, o.Tool = path, v.job.jobs, tool()
	return o, nil
}

// check verifies a dump and asks a server about it.
func (a *app) check(c *cobra.Command, v *againstFlags, path string) error {
	o, err := v.options(a, c, path)
	if err != nil {
		return err
	}
	file, err := a.openSingle(c, path)
	if err != nil {
		return err
	}
	if file != nil {
		defer file.Close()
		o.Origin = file
	}
	if err := a.login(c, &v.conn.passwords, o.DSN); err != nil {
		return err
	}
	found, tracker, err := a.runCheck(c.Context(), v.job, o)
	if err != nil {
		return err
	}
	printDamages(a, found.Files)
	if err := a.report(v.job, checkReport(tracker, found)); err != nil {
		return err
	}
	if !found.OK() {
		return errFound
	}
	return nil
}

func (a *app) runCheck(ctx context.Context, j *jobFlags, o restore.CheckOptions) (found *restore.CheckReport, t *progress.Tracker, err error) {
	t = progress.New("verify", "read", "parse", "check")
	if o.DryLoad {
		t = progress.New("verify", "read", "parse", "convert", "check")
	}
	o.Tracker = t
	err = a.work(ctx, j, &task{tracker: t, jobs: o.Jobs, cancel: "nothing was changed",
		do: func(s *session) (err error) {
			o.Logf, o.Control = s.logf(), s.control()
			found, err = restore.Check(s.ctx, o)
			return err
		},
		ended: func(err error) *report.Report {
			if err != nil {
				return nil
			}
			return checkReport(t, found)
		},
		next: func() []string { return damageLines(found.Files) },
	})
	return found, t, err
}

func checkReport(t *progress.Tracker, found *restore.CheckReport) *report.Report {
	r := verifyReport(t, found.Files)
	for i := range r.Facts {
		if r.Facts[i].Key == "ok" {
			r.Facts[i].Value = found.OK()
		}
	}
	if found.As == "" && len(found.Findings) == 0 {
		return r // the dump's manifest can't be read
	}
	r.Facts = append(r.Facts, report.Fact{Key: "against", Value: found, Text: checkText(found)})
	damaged := r.Outcome
	r.Outcome += "\n"
	errors := 0
	for _, f := range found.Findings {
		if f.Severity == restore.SeverityError {
			errors++
		}
	}
	switch {
	case errors > 0:
		r.Outcome += fmt.Sprintf("%s into %s would be refused, or end incomplete: %s", restoreName(found), show.Text(found.Target), show.Plural(int64(errors), "problem", "problems"))
	case !found.OK():
		r.Outcome = damaged
	default:
		r.Outcome += fmt.Sprintf("%s into %s would begin: %s", restoreName(found), show.Text(found.Target), nothingAgainst(found.Findings))
	}
	return r
}

// restoreName is the restore that was asked about.
func restoreName(found *restore.CheckReport) string {
	if found.As == "" {
		return "a restore"
	}
	return "pghaul " + found.As
}

// checkText is what a check has found about the target, for people.
func checkText(found *restore.CheckReport) string {
	var b strings.Builder
	b.WriteString(findingsText(found.Findings))
	if found.Rehearsed {
		b.WriteString("rehearsed: the definitions were made in a scratch database, which is dropped again\n")
	}
	if d := found.DryLoad; d != nil {
		fmt.Fprintf(&b, "dry load: %s of %s went through every receive function, modifier, domain and cast\n", show.Plural(d.Rows, "row", "rows"), show.Plural(int64(d.Tables), "table", "tables"))
		if len(d.Skipped) > 0 {
			names := make([]string, len(d.Skipped))
			for i, n := range d.Skipped {
				names[i] = show.Text(n)
			}
			fmt.Fprintf(&b, "dry load: not sent: %s\n", strings.Join(names, ", "))
		}
		fmt.Fprintf(&b, "dry load: not checked: %s\n", strings.Join(d.NotChecked, ", "))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
