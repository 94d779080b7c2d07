package restore

import (
	"context"
	"fmt"
	"strings"

	"github.com/bytehaul/pghaul/format"
)

// PlanReport is what a migrate with the same options would do. Sizes are the source's own estimates: nothing is counted.
type PlanReport struct {
	Source       string      `json:"source"` // server and database, for people
	Target       string      `json:"target"`
	From         string      `json:"from_version"`
	To           int         `json:"to_version"` // server_version_num
	Tables       []PlanTable `json:"tables"`
	Segments     int         `json:"segments"`
	Bytes        int64       `json:"bytes"` // of heap and TOAST
	Sequences    int         `json:"sequences"`
	LargeObjects int64       `json:"large_objects"`
	MatViews     int         `json:"matviews"`
	Phases       []PlanPhase `json:"phases"`
	Locks        []PlanLock  `json:"locks"`
	Estimate     Estimate    `json:"estimate"`
	Findings     []Finding   `json:"findings"` // errors would refuse the migrate
}

// OK says whether the migrate would begin.
func (r *PlanReport) OK() bool { return !hasErrors(r.Findings) }

// PlanTable is one table whose rows would be copied.
type PlanTable struct {
	Schema   format.Name  `json:"schema"`
	Name     format.Name  `json:"name"`
	Into     string       `json:"into,omitempty"` // the table that its rows go into, when that is another
	Rows     *int64       `json:"rows"`           // null: the source has no estimate
	Bytes    int64        `json:"bytes"`          // of heap and TOAST
	Segments int          `json:"segments"`
	Staged   bool         `json:"staged"` // through a temporary table on the target, which takes the space of a segment
	Frozen   bool         `json:"frozen"` // in one transaction with TRUNCATE, by COPY FREEZE
	There    bool         `json:"there"`  // the target has the table
	Columns  []PlanColumn `json:"columns"`
}

// PlanColumn is how a column's values travel.
type PlanColumn struct {
	Name    format.Name     `json:"name"`
	Type    string          `json:"type,omitempty"` // empty: the source lacks it
	Carried format.Carriage `json:"carried,omitempty"`
	Cast    string          `json:"cast,omitempty"`
	OIDs    bool            `json:"oids,omitempty"` // of types, rewritten on the way
	Verdict Verdict         `json:"verdict"`
	Target  string          `json:"target,omitempty"` // type
	Why     string          `json:"why,omitempty"`
}

// Plain tells of a column that goes as it is.
func (c *PlanColumn) Plain() bool {
	return c.Verdict == Same && !c.OIDs && c.Carried == format.CarriedBinary
}

// PlanPhase is one phase and about how long it takes.
type PlanPhase struct {
	Name    string   `json:"name"`
	Seconds *float64 `json:"seconds"` // null: nothing to estimate it by
}

// PlanLock is what a migrate holds, on which server, and for how long.
type PlanLock struct {
	Server string `json:"server"` // source, target
	Lock   string `json:"lock"`
	On     string `json:"on"`
	During string `json:"during"`
}

// Preview asks both servers what a migrate with the same options would do, and measures for a moment how fast they are. It leaves nothing behind: what it
// writes on the target is rolled back. What is wrong is a finding; the error is for what could not be looked at.
func Preview(ctx context.Context, o Options) (_ *PlanReport, err error) {
	defer func() { o.Tracker.Finish(err) }()
	j, err := openJob(o)
	if err != nil {
		return nil, err
	}
	defer j.close()
	j.checking = true
	j.phase = PhasePreflight
	f := &findings{phase: phaseA, live: j.live()}
	j.o.Tracker.StartPhase(PhasePreflight, 1, 2)
	if err := j.connect(ctx, f); err != nil {
		return nil, canceled(ctx, err)
	}
	r := &PlanReport{Source: j.o.Tracker.Snapshot().Source, Target: j.o.DSN.String(), From: j.m.Source.Server.Version, Findings: []Finding{}, Tables: []PlanTable{}, Locks: []PlanLock{}}
	if f.refused() == nil {
		r.To = j.leader.Version
		if err := j.examine(ctx, f); err != nil {
			return nil, canceled(ctx, err)
		}
		if err := j.lookAtTables(ctx); err != nil {
			return nil, canceled(ctx, err)
		}
	}
	j.describePlan(r)
	j.o.Tracker.StartPhase("measure", 2, 2)
	if err := j.estimate(ctx, r); err != nil {
		return nil, canceled(ctx, err)
	}
	r.Findings = append(r.Findings, f.list...)
	return r, nil
}

// lookAtTables finds what the target has of the tables, where the checks have not looked already: a migrate of definitions too is refused by those that are there.
func (j *job) lookAtTables(ctx context.Context) error {
	if !j.onTarget || j.o.DataOnly || j.o.SchemaOnly {
		return nil
	}
	found, err := j.leader.Targets(ctx, j.plan.names())
	for _, t := range j.plan.tables {
		t.target = found[t.into]
	}
	return err
}

// describePlan fills in what is known without another question.
func (j *job) describePlan(r *PlanReport) {
	for _, t := range j.plan.tables {
		p := PlanTable{Schema: t.name.Schema, Name: t.name.Name, Bytes: t.entry.Bytes, Segments: len(t.entry.Segments), Frozen: t.freeze, There: t.target != nil, Columns: []PlanColumn{}}
		if t.into != t.name {
			p.Into = t.into.String()
		}
		if t.entry.Rows >= 0 {
			p.Rows = &t.entry.Rows
		}
		p.Staged = t.throughStaging()
		for i := range t.columns {
			c := t.plannedColumn(i, j.o.AllowCast)
			p.Staged = p.Staged || c.Carried == format.CarriedText
			p.Columns = append(p.Columns, c)
		}
		for i := range t.filled {
			d := t.filled[i].diff(j.o.AllowCast)
			p.Columns = append(p.Columns, PlanColumn{Name: d.Name, Verdict: d.Verdict, Target: d.Target, Why: d.Why})
		}
		p.Frozen = p.Frozen && !p.Staged
		r.Tables = append(r.Tables, p)
		r.Bytes += p.Bytes
		r.Segments += p.Segments
	}
	r.Sequences, r.MatViews = len(j.plan.sequences), len(j.plan.matviews)
	if j.hasLargeObjects() {
		r.LargeObjects = j.m.LargeObjects
	}
	for _, s := range j.steps() {
		r.Phases = append(r.Phases, PlanPhase{Name: s.name})
	}
	j.describeLocks(r)
}

// plannedColumn says how a column of the rows travels.
func (t *loadTable) plannedColumn(i int, allowCast bool) PlanColumn {
	c := t.columns[i]
	p := PlanColumn{Name: c.Name, Type: c.Type, Carried: c.Carried, Cast: c.Cast, OIDs: c.OIDs, Verdict: Same}
	switch {
	case len(t.fits) == len(t.columns):
		d := t.fits[i].diff(allowCast)
		p.Verdict, p.Target, p.Why = d.Verdict, d.Target, d.Why
	case c.Carried == format.CarriedText:
		p.Verdict, p.Why = Staged, "carried as text"
	}
	return p
}

// describeLocks says what is held, where, and how long.
func (j *job) describeLocks(r *PlanReport) {
	add := func(server, lock, on, during string) { r.Locks = append(r.Locks, PlanLock{server, lock, on, during}) }
	last := PhaseData
	if j.o.SchemaOnly {
		last = PhasePreflight
	}
	add("source", "ACCESS SHARE", "the tables to be copied", "from the start to the end of "+last+", waits at gates included: TRUNCATE, DROP and most forms of ALTER TABLE wait meanwhile")
	add("source", "snapshot", "the database", "as long: VACUUM removes no row that was deleted since")
	if j.archive != nil {
		add("source", "ACCESS SHARE", "all relations whose definitions are copied", "while pg_dump runs, before the first phase")
	}
	add("target", "advisory lock", "database "+j.o.DSN.Config.Database, "the whole run: no other restore begins")
	for _, s := range r.Phases {
		switch s.Name {
		case PhaseData:
			add("target", "ROW EXCLUSIVE", "each table", "while a segment of it is loaded")
			add("target", "ACCESS EXCLUSIVE", "tables of one segment that are new or emptied", "while they are loaded: TRUNCATE and COPY FREEZE")
		case PhaseProof:
			add("target", "ACCESS SHARE", "each table", "while it is read back")
		case PhasePostData:
			add("target", "SHARE, SHARE ROW EXCLUSIVE, ACCESS EXCLUSIVE", "each table", "while its indexes, foreign keys and triggers, and constraints are made")
		case PhaseMatViews:
			add("target", "ACCESS EXCLUSIVE", "each materialized view", "while it is filled")
		}
	}
}

// String names an estimate's basis in one line.
func (e *Estimate) String() string {
	if e.Seconds == nil {
		return "no estimate: " + strings.Join(e.BasedOn, "; ")
	}
	return fmt.Sprintf("about %.0f s for the rows: %s", *e.Seconds, strings.Join(e.BasedOn, "; "))
}
