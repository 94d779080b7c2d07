package restore

import (
	"context"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// DiffOptions of [Diff].
type DiffOptions struct {
	Dir string
	DSN *pg.DSN

	Choice // of the dump's tables

	AllowCast   bool     // the server may cast values whose type the target's column has not
	DropColumns []string // [schema.]table.column whose values stay behind
}

// DiffReport says how the tables of a dump fit those of a database, for a restore of rows alone.
type DiffReport struct {
	Path     string      `json:"dump"`
	DumpID   string      `json:"dump_id"`
	Target   string      `json:"target"`   // server and database, for people
	Tables   []DiffTable `json:"tables"`   // in the order of the dump
	Types    []Finding   `json:"types"`    // that differ in their make or their labels
	Findings []Finding   `json:"findings"` // on whole tables and options
}

// DiffTable is one table of the dump.
type DiffTable struct {
	Schema  format.Name  `json:"schema"`
	Name    format.Name  `json:"name"`
	Into    string       `json:"into,omitempty"` // the partitioned table through which the rows go, when they do
	Rows    int64        `json:"rows"`
	Missing bool         `json:"missing"` // on the target
	Refused bool         `json:"refused"` // as a whole, or for one of its columns
	Columns []DiffColumn `json:"columns"` // of the files, then those that the dump lacks; empty when there is nothing to compare with
}

// DiffColumn is one column: what the files hold, what the target has, and what would become of the values.
type DiffColumn struct {
	Name    format.Name `json:"name"`
	Verdict Verdict     `json:"verdict"`
	Refused bool        `json:"refused"`          // by a restore with the same options
	Dump    string      `json:"dump,omitempty"`   // type; empty: the dump lacks the column
	Target  string      `json:"target,omitempty"` // type; empty: the target lacks the column
	Why     string      `json:"why,omitempty"`
	Hint    string      `json:"hint,omitempty"` // what to do
}

// OK says whether a restore of the rows would be refused for nothing that a comparison sees.
func (r *DiffReport) OK() bool {
	return !slices.ContainsFunc(r.Tables, func(t DiffTable) bool { return t.Refused }) && !hasErrors(r.Types) && !hasErrors(r.Findings)
}

// Same says whether every column goes as it is.
func (t *DiffTable) Same() bool {
	return !t.Refused && !slices.ContainsFunc(t.Columns, func(c DiffColumn) bool { return c.Verdict != Same })
}

// Diff compares the tables of a dump with those of a database, column by column, as a restore of rows alone would match them. It reads the dump's
// manifest and headers, and the database's catalog. What differs is in the report; the error is for what could not be compared. Rows, triggers and
// privileges are [Check]'s to look at.
func Diff(ctx context.Context, o DiffOptions) (*DiffReport, error) {
	j, err := openJob(Options{Dir: o.Dir, DSN: o.DSN, Choice: o.Choice,
		AllowCast: o.AllowCast, DropColumns: o.DropColumns, DataOnly: true, NoJournal: true})
	if err != nil {
		return nil, err
	}
	defer j.close()
	j.checking = true
	if err := j.plan.choice.unmatched(false); err != nil {
		return nil, err
	}
	if err := j.connectTarget(ctx); err != nil {
		return nil, canceled(ctx, err)
	}
	f := &findings{phase: "comparison"}
	for _, check := range []func(context.Context, *findings) error{j.checkHeaders, j.checkNames} {
		if err := check(ctx, f); err != nil {
			return nil, err
		}
	}
	if err := f.refused(); err != nil {
		return nil, err
	}
	r := &DiffReport{Path: o.Dir, DumpID: j.m.DumpID, Target: o.DSN.String(), Tables: []DiffTable{}}
	types := &findings{}
	err = j.diffTables(ctx, r, types, f)
	r.Types, r.Findings = append([]Finding{}, types.list...), append([]Finding{}, f.list...)
	return r, canceled(ctx, err)
}

// diffTables compares table by table. What is wrong with types goes into types, what is wrong with tables into f.
func (j *job) diffTables(ctx context.Context, r *DiffReport, types, f *findings) error {
	found, err := j.leader.Targets(ctx, j.plan.names())
	if err != nil {
		return err
	}
	columns, graph, err := j.targetColumns(ctx, found)
	if err != nil {
		return err
	}
	for _, t := range j.plan.tables {
		d := DiffTable{Schema: t.name.Schema, Name: t.name.Name, Rows: t.entry.Rows, Columns: []DiffColumn{}}
		if t.into != t.own {
			d.Into = t.into.String()
		}
		t.target = found[t.into]
		if t.target == nil {
			d.Missing, d.Refused = true, true
			r.Tables = append(r.Tables, d)
			continue
		}
		if err := j.diffTable(ctx, &d, t, columns[t.target.OID], graph, types, f); err != nil {
			return err
		}
		r.Tables = append(r.Tables, d)
	}
	j.checkDrops(f)
	return nil
}

// diffTable compares one table that is there.
func (j *job) diffTable(ctx context.Context, d *DiffTable, t *loadTable, target []pg.TargetColumn, graph *targetTypes, types, f *findings) error {
	before := len(f.list)
	if !t.checkKind(f) {
		d.Refused = true
		return nil
	}
	if err := j.fitColumns(ctx, t, target, graph); err != nil {
		return err
	}
	for _, list := range [][]fit{t.fits, t.filled} {
		for i := range list {
			c := list[i].diff(j.o.AllowCast)
			d.Refused = d.Refused || c.Refused
			d.Columns = append(d.Columns, c)
		}
	}
	t.emptyFindings(f, target)
	matchTypes(types, t, t.sourceTypes(), graph)
	if t.staged {
		if err := j.checkStaging(ctx, f, t, graph); err != nil {
			return err
		}
	}
	d.Refused = d.Refused || hasErrors(f.list[before:])
	return nil
}

// diff is what a comparison says of a column.
func (f *fit) diff(allowCast bool) DiffColumn {
	d := DiffColumn{Name: f.column.Name, Verdict: f.verdict, Refused: f.refused(allowCast), Dump: f.column.Type, Why: f.note, Hint: f.hint}
	if f.target != nil {
		d.Target = f.target.Type
		if d.Name == "" {
			d.Name = f.target.Name
		}
		d.Why = strings.TrimPrefix(d.Why, "type "+f.target.Type) // which stands beside it
		d.Why = strings.TrimPrefix(d.Why, ": ")
	}
	if d.Verdict == Castable && d.Why == "" {
		d.Why = "only by a cast on the server, which may lose"
	}
	return d
}

// refused tells whether a column keeps a restore from beginning.
func (f *fit) refused(allowCast bool) bool {
	return f.verdict == NoFit || f.verdict == Castable && !allowCast
}

// hasErrors tells whether one of the findings refuses a restore.
func hasErrors(list []Finding) bool {
	return slices.ContainsFunc(list, func(x Finding) bool { return x.Severity == SeverityError })
}
