package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/restore"
)

func (a *app) planCommand() *cobra.Command {
	m := &migrateFlags{job: newJobFlags(), onExisting: string(restore.Fail), dryRun: true, from: dump.Options{SegmentSize: defaultSegment}}
	c := &cobra.Command{
		Use:     "plan SRC DST",
		Short:   "show what a migrate would do, and for how long",
		GroupID: groupJobs,
		Long: "pghaul plan asks both servers what \"pghaul migrate\" with the same options would do: which\n" +
			"tables in how many segments, how each column travels, what would be refused, which locks\n" +
			"are taken and for how long, and about how long the rows take, by a sample of a few\n" +
			"seconds. It leaves nothing behind: the sample on the target is rolled back.",
		Args: exactly(2, 2, "SRC and DST, the databases to copy from and to"),
		Annotations: map[string]string{usageLines: "plan [OPTION]... SRC DST", exitLines: "0,1,2,3,130",
			environment: connectionEnvironment + "\nPGHAUL_PG_BINDIR\tfolder of pg_dump and pg_restore (as --pg-bindir)"},
		Example: "  pghaul plan \"service=prod dbname=shop\" \"service=next dbname=shop\"\n" +
			"  pghaul plan --json -n sales shop \"host=next dbname=shop\"",
		RunE: func(c *cobra.Command, args []string) error {
			if err := m.options(a, c, args); err != nil {
				return err
			}
			return a.plan(c.Context(), m)
		},
	}
	m.flags(c, true)
	return c
}

// plan shows what a migrate would do.
func (a *app) plan(ctx context.Context, m *migrateFlags) error {
	var r *restore.PlanReport
	m.from.Preview = true
	t := progress.New("plan", "read", "parse", "convert", "insert")
	m.from.Tracker, m.to.Tracker = t, t
	err := a.work(ctx, m.job, &task{tracker: t, jobs: m.to.Jobs, cancel: "nothing was written", do: func(s *session) (err error) {
		m.from.Logf, m.to.Logf = s.logf(), s.logf()
		t.StartPhase(dump.PhasePlan, 0, 0)
		return a.withSource(s.ctx, m, func() (err error) {
			r, err = restore.Preview(s.ctx, m.to)
			return err
		})
	}})
	if err != nil {
		return err
	}
	if m.job.asJSON {
		err = writeJSON(a.stdout, struct {
			OK bool `json:"ok"`
			*restore.PlanReport
		}{r.OK(), r})
	} else {
		_, err = io.WriteString(a.stdout, planText(r, a.verbose))
	}
	if err == nil && !r.OK() {
		err = errFound
	}
	return err
}

// planText is the plan for people. With all, every column is listed, else those that do not go as they are.
func planText(r *restore.PlanReport, all bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s → %s\n\n", show.Text(r.Source), show.Text(r.Target))
	g := show.NewGrid("", "table", ">rows", ">size", ">segments", "")
	for i := range r.Tables {
		t := &r.Tables[i]
		rows := "?"
		if t.Rows != nil {
			rows = "~" + show.Count(*t.Rows)
		}
		g.Row(show.Table(t.Schema, t.Name), rows, show.Size(t.Bytes), show.Count(int64(t.Segments)), show.Line(tableRemark(t)))
	}
	if g.Len() > 0 {
		b.WriteString(g.String())
	}
	fmt.Fprintf(&b, "%s in %s, %s; %s, %s, %s\n\n", show.Plural(int64(len(r.Tables)), "table", "tables"), show.Plural(int64(r.Segments), "segment", "segments"), show.Size(r.Bytes),
		show.Plural(int64(r.Sequences), "sequence", "sequences"), show.Plural(r.LargeObjects, "large object", "large objects"),
		show.Plural(int64(r.MatViews), "materialized view", "materialized views"))
	b.WriteString(planColumns(r, all))
	b.WriteString(planSteps(r))
	b.WriteString("estimate:\n")
	for _, line := range r.Estimate.BasedOn {
		fmt.Fprintf(&b, "  %s\n", show.Line(line))
	}
	if s := r.Estimate.Seconds; s != nil {
		fmt.Fprintf(&b, "  so about %s of rows take about %s s; indexes, constraints and views are not estimated\n", show.Size(r.Estimate.RowBytes), show.Fixed(*s))
	}
	b.WriteString("\n" + planVerdict(r))
	return b.String()
}

// planSteps lists the phases and the locks.
func planSteps(r *restore.PlanReport) string {
	var b strings.Builder
	b.WriteString("phases:\n")
	for i, p := range r.Phases {
		about, what := "", phaseMeaning[p.Name]
		if p.Seconds != nil {
			about = fmt.Sprintf(" (about %s s)", show.Fixed(*p.Seconds))
		}
		if what != "" {
			what = ": " + what
		}
		fmt.Fprintf(&b, "  %d %s%s%s\n", i+1, p.Name, about, what)
	}
	b.WriteString("locks:\n")
	for _, l := range r.Locks {
		fmt.Fprintf(&b, "  %s: %s on %s, %s\n", l.Server, l.Lock, show.Text(l.On), l.During)
	}
	return b.String()
}

// planVerdict lists what was found, and says whether a migrate would begin.
func planVerdict(r *restore.PlanReport) string {
	text := findingsText(r.Findings)
	if r.OK() {
		return text + "a migrate would begin: " + nothingAgainst(r.Findings) + "\n"
	}
	n := 0
	for _, f := range r.Findings {
		if f.Severity == restore.SeverityError {
			n++
		}
	}
	return text + fmt.Sprintf("a migrate would be refused: %s\n", show.Plural(int64(n), "problem", "problems"))
}

// nothingAgainst is the verdict on findings without an error. What it warns of does not stop a job, but may leave it incomplete.
func nothingAgainst(findings []restore.Finding) string {
	n := 0
	for _, f := range findings {
		if f.Severity == restore.SeverityWarning {
			n++
		}
	}
	if n == 0 {
		return "nothing stands against it"
	}
	return "nothing stops it, but see to " + show.Plural(int64(n), "warning", "warnings") + " first"
}

// tableRemark says what is particular about a table.
func tableRemark(t *restore.PlanTable) string {
	var parts []string
	if t.Into != "" {
		parts = append(parts, "into "+t.Into)
	}
	if t.Staged {
		parts = append(parts, "through a temporary table")
	}
	if t.Frozen {
		parts = append(parts, "frozen")
	}
	return strings.Join(parts, ", ")
}

// planColumns lists the columns that do not go as they are.
func planColumns(r *restore.PlanReport, all bool) string {
	g := show.NewGrid("", "column", "type", "travels as", "verdict", "target", "")
	for i := range r.Tables {
		t := &r.Tables[i]
		for k := range t.Columns {
			c := &t.Columns[k]
			if c.Plain() && !all {
				continue
			}
			how := string(c.Carried)
			switch {
			case c.OIDs:
				how += ", OIDs rewritten"
			case c.Cast != "" && c.Cast != string(format.CarriedText):
				how += " by " + c.Cast
			}
			g.Row(show.Table(t.Schema, t.Name)+"."+show.Text(string(c.Name)), show.Text(c.Type), how, string(c.Verdict), show.Text(c.Target), show.Line(c.Why))
		}
	}
	if g.Len() == 0 {
		return ""
	}
	return g.String() + "\n"
}
