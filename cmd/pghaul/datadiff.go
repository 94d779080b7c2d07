package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/filter"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/report"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/restore"
)

// dataDiff compares the rows of two live databases.
func (a *app) dataDiff(c *cobra.Command, d *diffFlags, args []string) (err error) {
	for _, name := range []string{"dbname", "host", "port", "username"} {
		if c.Flags().Changed(name) {
			return usagef("options --data and --%s cannot be used together", name).hint("give both databases as connection strings: pghaul diff --data SRC DST")
		}
	}
	if len(args) != 2 {
		return usagef("diff --data: missing SRC and DST, the databases to compare").hint("see \"%s --help\"", c.CommandPath())
	}
	from := dump.Options{DataOnly: true, SegmentSize: defaultSegment, LargeObjects: new(bool), Jobs: d.job.jobs, Tool: tool(), Tables: d.o.Tables, ExcludeTables: d.o.ExcludeTables,
		Schemas: d.o.Schemas, ExcludeSchemas: d.o.ExcludeSchemas, ExcludeTableData: d.o.ExcludeTableData, StrictNames: d.o.StrictNames}
	balance(&from, false)
	if err := a.readFilters(d.filters, func(r filter.Rule) string { return filterDump(&from, r) }); err != nil {
		return err
	}
	to := restore.Options{Jobs: d.job.jobs, Tool: tool(), Map: d.maps}
	for _, given := range to.Map {
		if err := restore.CheckMap(given); err != nil {
			return usagef("option --map: %v", err).hint("write SCHEMA=SCHEMA, or SCHEMA.TABLE=SCHEMA.TABLE")
		}
	}
	if from.DSN, err = (&connection{}).source(args[:1]); err != nil {
		return err
	}
	if to.DSN, err = (&connection{}).source(args[1:]); err != nil {
		return err
	}
	found, tracker, err := a.runDataDiff(c.Context(), d.job, from, to)
	if err != nil {
		return err
	}
	if d.job.asJSON {
		err = writeJSON(a.stdout, dataDiffReport(tracker, found, true).Document())
	} else {
		_, err = io.WriteString(a.stdout, dataDiffText(found, a.verbose))
	}
	if err == nil && !found.OK() {
		err = errFound
	}
	return err
}

func (a *app) runDataDiff(ctx context.Context, j *jobFlags, from dump.Options, to restore.Options) (found *restore.DataDiff, t *progress.Tracker, err error) {
	t = progress.New("diff", "read", "parse", "check")
	from.Tracker, to.Tracker = t, t
	err = a.work(ctx, j, &task{tracker: t, jobs: j.jobs, cancel: "nothing was written",
		do: func(s *session) (err error) {
			from.Logf, to.Logf, to.Control = s.logf(), s.logf(), nil
			t.StartPhase(dump.PhasePlan, 0, 0)
			live, err := dump.Open(s.ctx, from)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, live.Close()) }()
			to.Origin = live
			found, err = restore.DiffData(s.ctx, to)
			return err
		},
		ended: func(err error) *report.Report {
			if err != nil {
				return nil
			}
			return dataDiffReport(t, found, a.verbose)
		},
	})
	return found, t, err
}

func dataDiffReport(t *progress.Tracker, found *restore.DataDiff, all bool) *report.Report {
	return &report.Report{Progress: t.Report(), Outcome: dataDiffVerdict(found),
		Facts: []report.Fact{{Key: "ok", Value: found.OK()}, {Key: "comparison", Value: found, Text: dataDiffText(found, all)}}}
}

// dataDiffText is the comparison for people; tables that are the same are listed with all alone.
func dataDiffText(found *restore.DataDiff, all bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s → %s\n\n", show.Text(found.Source), show.Text(found.Target))
	g := show.NewGrid("", "table", "rows are", ">source", ">target", "")
	for i := range found.Tables {
		t := &found.Tables[i]
		if t.State == restore.DataSame && !all {
			continue
		}
		target := "?"
		if t.TargetRows != nil {
			target = show.Count(*t.TargetRows)
		}
		note := t.Note
		if t.State == restore.DataDifferent && *t.TargetRows == t.SourceRows {
			note = "as many rows, others among them"
		}
		g.Row(show.Text(t.Table), string(t.State), show.Count(t.SourceRows), target, show.Line(note))
	}
	if g.Len() > 0 {
		b.WriteString(g.String() + "\n")
	}
	b.WriteString(dataDiffVerdict(found) + "\n")
	return b.String()
}

func dataDiffVerdict(found *restore.DataDiff) string {
	same, rows := 0, int64(0)
	for i := range found.Tables {
		if s := found.Tables[i].State; s == restore.DataSame || s == restore.DataSameRows {
			same++
		}
		rows += found.Tables[i].SourceRows
	}
	tables := show.Plural(int64(len(found.Tables)), "table", "tables")
	if found.OK() {
		return fmt.Sprintf("the same: %s of %s", show.Plural(rows, "row", "rows"), tables)
	}
	return fmt.Sprintf("not the same: %d of %s differ, or could not be compared", len(found.Tables)-same, tables)
}
