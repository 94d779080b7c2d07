package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/internal/filter"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/restore"
)

// diffFlags are diff's flags as given.
type diffFlags struct {
	conn    connection
	job     *jobFlags
	data    bool
	maps    []string // with data
	filters []string
	o       restore.DiffOptions
}

func (a *app) diffCommand() *cobra.Command {
	d := &diffFlags{job: newJobFlags()}
	c := &cobra.Command{
		Use:     "diff DIR DSN",
		Short:   "compare a dump's tables with those of a database",
		GroupID: groupJobs,
		Long: "pghaul diff compares the tables of a dump with those of the database that DSN (or -d)\n" +
			"names, column by column, as \"pghaul restore --data-only\" would match them: what goes as\n" +
			"it is, what is converted, what needs a cast, what would be refused, and why. It reads\n" +
			"definitions alone; \"pghaul verify --against\" looks at rows, triggers and privileges too.\n\n" +
			"pghaul diff --data compares the rows of two live databases: it counts and digests them\n" +
			"table by table, each side under a snapshot of its own. What writers have changed since\n" +
			"a migrate is what differs.",
		Args: exactly(1, 2, "the folder DIR of the dump"),
		Annotations: map[string]string{usageLines: "diff [OPTION]... DIR DSN\ndiff [OPTION]... DIR -d DBNAME\ndiff --data [OPTION]... SRC DST", exitLines: "0,1,2,3,130", environment: connectionEnvironment,
			notes: "Verdicts:\n" +
				"  same      the values go as they are\n" +
				"  converts  value by value, without loss\n" +
				"  staged    carried as text, through a staging table\n" +
				"  castable  by a cast on the server: refused without --allow-cast\n" +
				"  filled    the dump lacks it: the target's default\n" +
				"  dropped   the target lacks it, as --drop-column allows\n" +
				"  refused   a restore would not begin\n" +
				"A table whose columns are all the same is one line; -v lists its columns."},
		Example: "  pghaul diff shop-2026-11-30 shop\n" +
			"  pghaul diff --json -t 'shop.*' shop-2026-11-30 \"service=standby dbname=shop\"",
		RunE: func(c *cobra.Command, args []string) error {
			if d.data {
				return a.dataDiff(c, d, args)
			}
			return a.diff(c, d, args)
		},
	}
	o := &d.o
	groupOf(c, "What to compare", false, func(f flags) {
		f.parts(&o.Choice, &d.filters)
		f.boolean(&o.AllowCast, "allow-cast", "", "as with restore: the server may cast values")
		f.list(&o.DropColumns, "drop-column", "", "TABLE.COLUMN", "as with restore: leave a column behind that the target lacks")
		f.boolean(&d.data, "data", "", "compare the rows of two live databases")
		f.list(&d.maps, "map", "", "OLD=NEW", "with --data: a schema, or a table, has another name in DST")
	})
	d.job.flags(c, "with --data: parallel connections to each server")
	d.conn.flags(c)
	return c
}

func (a *app) diff(c *cobra.Command, d *diffFlags, args []string) (err error) {
	o := d.o
	if len(d.maps) > 0 {
		return usagef("option --map is for --data")
	}
	if o.DSN, err = d.conn.target(args[1:]); err != nil {
		return err
	}
	if err := a.readFilters(d.filters, func(rule filter.Rule) string { return filterRestore(&o.Choice, rule) }); err != nil {
		return err
	}
	o.Dir = args[0]
	if err := a.login(c, &d.conn.passwords, o.DSN); err != nil {
		return err
	}
	r, err := restore.Diff(c.Context(), o)
	if err != nil {
		return err
	}
	if d.job.asJSON {
		err = writeJSON(a.stdout, struct {
			OK bool `json:"ok"`
			*restore.DiffReport
		}{r.OK(), r})
	} else {
		_, err = io.WriteString(a.stdout, diffText(r, a.verbose))
	}
	if err == nil && !r.OK() {
		err = errFound
	}
	return err
}

// diffText is the comparison for people. With all, the columns of tables without a difference are listed too.
func diffText(r *restore.DiffReport, all bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s → %s\n\n", show.Text(r.Path), show.Text(r.Target))
	refused := 0
	g := show.NewGrid("", "table", "column", "verdict", "dump", "target", "")
	for i := range r.Tables {
		if r.Tables[i].Refused {
			refused++
		}
		diffRows(g, &r.Tables[i], all)
	}
	if g.Len() > 0 {
		b.WriteString(g.String() + "\n")
	}
	hints := columnHints(r)
	for _, list := range [][]restore.Finding{r.Types, r.Findings} {
		if len(list) > 0 {
			b.WriteString(findingsText(list) + "\n")
		}
	}
	if len(hints) > 0 {
		b.WriteString("what to do:\n" + strings.Join(hints, "") + "\n")
	}
	switch tables := show.Plural(int64(len(r.Tables)), "table", "tables"); {
	case r.OK():
		fmt.Fprintf(&b, "fits: the rows of %s can be loaded\n", tables)
	case refused == 0:
		fmt.Fprintf(&b, "does not fit: a restore of the rows would be refused\n")
	default:
		fmt.Fprintf(&b, "does not fit: a restore of the rows would be refused, for %d of %s\n", refused, tables)
	}
	return b.String()
}

// diffRows writes a table's lines.
func diffRows(g *show.Grid, t *restore.DiffTable, all bool) {
	name, why := show.Table(t.Schema, t.Name), ""
	if t.Into != "" {
		why = "through " + show.Text(t.Into)
	}
	switch {
	case t.Missing:
		g.Row(name, "", "missing", "", "", why)
		return
	case len(t.Columns) == 0 && t.Refused:
		g.Row(name, "", string(restore.NoFit), "", "", "see below")
		return
	case t.Same() && !all:
		if why == "" {
			why = show.Plural(int64(len(t.Columns)), "column", "columns")
		}
		g.Row(name, "", string(restore.Same), "", "", why)
		return
	}
	for i, c := range t.Columns {
		if i > 0 {
			name = ""
		}
		g.Row(name, show.Text(string(c.Name)), string(c.Verdict), show.Text(c.Dump), show.Text(c.Target), show.Line(c.Why))
	}
}

// columnHints says what to do about columns and missing tables, a line each; a hint that several have is said once.
func columnHints(r *restore.DiffReport) (lines []string) {
	said := map[string]bool{}
	add := func(object, hint string) {
		if hint != "" && !said[hint] {
			said[hint] = true
			lines = append(lines, "  "+object+": "+show.Line(hint)+"\n")
		}
	}
	for i := range r.Tables {
		t := &r.Tables[i]
		name := show.Table(t.Schema, t.Name)
		if t.Missing {
			add(name, "make the table, restore the definitions too (without --data-only), or leave it out with -T")
		}
		for _, c := range t.Columns {
			if c.Refused {
				add(name+"."+show.Text(string(c.Name)), c.Hint)
			}
		}
	}
	return lines
}

// findingsText lists findings for people: the severity and the object in a line, under it what each side says and what to do.
func findingsText(list []restore.Finding) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%s: %s\n", f.Severity, show.Text(f.Object))
		for _, side := range []struct{ name, text string }{{f.Side(), f.Dump}, {"target", f.Target}, {"do", f.Hint}} {
			if side.text != "" {
				fmt.Fprintf(&b, "  %-7s %s\n", side.name, show.Line(side.text))
			}
		}
	}
	return b.String()
}
