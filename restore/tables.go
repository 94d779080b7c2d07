package restore

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/bytehaul/pghaul/internal/pg"
)

// checkExisting looks at the tables that the target has before anything is written. With definitions to restore there must be none of the same
// name; without, all of them must be there and fit.
func (j *job) checkExisting(ctx context.Context, f *findings) error {
	if err := j.checkLargeObjects(ctx, f); err != nil {
		return err
	}
	if j.o.parts.rows && !j.o.parts.pre {
		return j.checkTablesAndTypes(ctx, f)
	}
	if j.resumed || !j.o.parts.pre || j.o.Clean {
		return nil
	}
	there, err := j.existing(ctx)
	for _, q := range there {
		f.bad(q.String(), "to be made", "exists already", "restore into an empty database, or only the rows with --data-only")
	}
	return err
}

// existing gives the dump's tables, and the roots of its partitions, that the target has already.
func (j *job) existing(ctx context.Context) ([]pg.Qualified, error) {
	var names []pg.Qualified
	for _, t := range j.plan.tables {
		if t.config() {
			continue // its extension may be there
		}
		names = append(names, t.name)
		if t.entry.Root != nil {
			names = append(names, pg.Qualified{Schema: t.entry.Root.Schema, Name: t.entry.Root.Name})
		}
	}
	found, err := j.leader.Targets(ctx, names)
	var there []pg.Qualified
	for _, q := range names {
		if found[q] != nil {
			there = append(there, q)
			delete(found, q) // each once
		}
	}
	return there, err
}

// checkLargeObjects refuses OIDs that are taken.
func (j *job) checkLargeObjects(ctx context.Context, f *findings) error {
	if j.archive == nil || j.resumed || j.o.Clean || !j.hasLargeObjects() {
		return nil
	}
	there, err := j.leader.LargeObjectsThere(ctx, j.archive.largeObjects())
	for _, oid := range there {
		f.bad(fmt.Sprintf("large object %d", oid), "to be made", "exists already", "remove it with lo_unlink, or restore into an empty database")
	}
	return err
}

// preflightB checks, before the first row, that what pre-data has made is what the rows need.
func (j *job) preflightB(ctx context.Context) error {
	f := &findings{phase: phaseB, live: j.live()}
	if err := j.checkTablesAndTypes(ctx, f); err != nil {
		return err
	}
	if f.refused() != nil {
		for _, g := range j.gaps {
			f.warn(g.Kind+" "+g.Name, "", g.Message, "")
		}
		what := "schemas and tables were made, without rows"
		how := "DROP DATABASE removes them all"
		if j.journal != nil {
			how += "; or make good what is missing and go on with --resume"
		}
		f.warn("database "+j.o.DSN.Config.Database, "", what, how)
		return &Refused{Phase: phaseB, Findings: f.list}
	}
	for _, x := range f.list {
		j.warn("%s: %s", x.Object, x.says())
	}
	return nil
}

// checkTablesAndTypes checks what needs the definitions: the tables, and the samples of types that are not builtin.
func (j *job) checkTablesAndTypes(ctx context.Context, f *findings) error {
	defer j.compared()
	if err := j.checks(ctx, f, named{"tables and columns", j.checkTables, j.fineTables}); err != nil || f.refused() != nil {
		return err
	}
	return j.checks(ctx, f, named{"samples of all types", j.checkOtherSamples, j.fineSamples})
}

// checkTables looks for every table that rows go into: it must be there, take them, and have the columns they need. Then it puts the
// tables into an order that foreign keys allow.
func (j *job) checkTables(ctx context.Context, f *findings) error {
	found, err := j.leader.Targets(ctx, j.plan.names())
	if err != nil {
		return err
	}
	columns, types, err := j.targetColumns(ctx, found)
	if err != nil {
		return err
	}
	j.ours = j.journalled()
	full, closed, err := j.filled(ctx, found)
	if err != nil {
		return err
	}
	asked := map[pg.Qualified]bool{}
	for _, t := range j.plan.tables {
		target := found[t.into]
		if target == nil {
			f.bad(t.into.String(), "has rows for it", "no such table", j.missingHint(t))
			continue
		}
		t.target = target
		j.checkTable(f, t)
		if err := j.fit(ctx, f, t, columns[target.OID], types); err != nil {
			return err
		}
		if !asked[t.into] && !t.config() {
			asked[t.into] = true
			t.checkRows(f, full[target.OID], closed[target.OID])
		}
	}
	j.checkDrops(f)
	return j.orderTables(ctx, f)
}

// filled gives those of the targets that hold rows which nobody wants there, and those that the role may not look into. On a resumed restore the rows
// may be ours.
func (j *job) filled(ctx context.Context, found map[pg.Qualified]*pg.Target) (full, closed map[uint32]bool, err error) {
	if j.o.OnExisting == Append || j.o.OnExisting == Truncate && (j.journal == nil || !j.journal.phases[phaseTruncate]) {
		return nil, nil, nil
	}
	var list []*pg.Target
	closed = map[uint32]bool{}
	seen := map[uint32]bool{}
	for _, t := range j.plan.tables {
		target := found[t.into]
		if target == nil || t.config() || j.ours[t.into] || seen[target.OID] || !strings.ContainsRune("rpf", rune(target.Kind)) {
			continue
		}
		seen[target.OID] = true
		list = append(list, target)
	}
	full, unseen, err := j.leader.WithRows(ctx, list)
	for _, t := range unseen {
		closed[t.OID] = true
	}
	return full, closed, err
}

// journalled are the relations that hold rows of this dump by an earlier run.
func (j *job) journalled() map[pg.Qualified]bool {
	ours := map[pg.Qualified]bool{}
	if !j.resumed {
		return ours
	}
	for _, t := range j.plan.tables {
		if j.journal.filled[t.into.SQL()] {
			ours[t.into] = true
		}
	}
	return ours
}

func (j *job) missingHint(t *loadTable) string {
	if j.single() != nil {
		return "make the table first, as far as the file tells: " + createTable(t.into, j.plan.mapped.columns(t.entry.Columns))
	}
	if j.o.DataOnly {
		return "make the table, or restore the definitions too (without --data-only)"
	}
	return "its definition failed: see the gaps"
}

// targetColumns loads the columns of the target's tables and the graph of their types.
func (j *job) targetColumns(ctx context.Context, found map[pg.Qualified]*pg.Target) (map[uint32][]pg.TargetColumn, *targetTypes, error) {
	var relations []uint32
	for _, t := range found {
		relations = append(relations, t.OID)
	}
	columns, err := j.leader.TargetColumns(ctx, relations)
	if err != nil {
		return nil, nil, err
	}
	of := map[uint32]bool{}
	for _, list := range columns {
		for i := range list {
			of[list[i].OID] = true
		}
	}
	types, err := j.leader.LoadTypes(ctx, keysOf(of))
	if err != nil {
		return nil, nil, err
	}
	tt := newTargetTypes(types)
	tt.oids = relations
	return columns, tt, nil
}

// checkKind refuses relations that take no rows.
func (t *loadTable) checkKind(f *findings) bool {
	if strings.ContainsRune("rpf", rune(t.target.Kind)) {
		return true
	}
	f.bad(t.into.String(), "a table", "a relation of another kind", "rename it, or leave the table out with -T")
	return false
}

// checkTable looks for what would keep rows out, or change them on their way in.
func (j *job) checkTable(f *findings, t *loadTable) {
	name := t.into.String()
	if !t.checkKind(f) {
		return
	}
	if t.target.Kind == 'p' && t.into == t.own && t.entry.Kind != "partitioned table" {
		f.warn(name, "a table", "a partitioned table: the rows are routed", "")
	}
	if j.resumed && !j.o.DataOnly && t.done() {
		return // nothing goes in: what post-data has made is in nobody's way
	}
	if t.target.RowSecurity {
		f.bad(name, "", "row-level security applies to this role (SQLSTATE 0A000)", "restore as the table's owner or with a role that has BYPASSRLS")
	}
	if !t.target.MayInsert {
		f.bad(name, "", "the role may not INSERT", "GRANT INSERT ON TABLE")
	}
	if len(t.target.OnInsert) > 0 && t.config() {
		f.warn(name, "", "trigger "+strings.Join(t.target.OnInsert, ", ")+" of the extension fires for every row", "")
	} else if len(t.target.OnInsert) > 0 {
		f.bad(name, "", "trigger "+strings.Join(t.target.OnInsert, ", ")+" would fire for every row", "ALTER TABLE … DISABLE TRIGGER for the time of the restore")
	}
	if j.o.OnExisting == Truncate && len(t.target.OnTruncate) > 0 {
		f.bad(name, "", "trigger "+strings.Join(t.target.OnTruncate, ", ")+" would fire on TRUNCATE", "ALTER TABLE … DISABLE TRIGGER for the time of the restore")
	}
	if j.o.OnExisting == Truncate && !t.target.MayTruncate {
		f.bad(name, "", "the role may not TRUNCATE", "GRANT TRUNCATE ON TABLE")
	}
	if t.target.Kind != 'r' || !t.target.MayTruncate || len(t.target.OnTruncate) > 0 {
		t.freeze = false
	}
}

// checkRows refuses rows that are there already, unless they are to be removed or kept.
func (t *loadTable) checkRows(f *findings, full, closed bool) {
	switch {
	case closed:
		f.warn(t.into.String(), "", "the role may not SELECT: whether there are rows is unknown", "GRANT SELECT ON TABLE")
	case full && t.target.Kind == 'f':
		f.bad(t.into.String(), t.rowsFor(), "a foreign table, whose server holds rows already", "leave its rows out with --exclude-table-data")
	case full:
		f.bad(t.into.String(), t.rowsFor(), "holds rows already", "--on-existing truncate deletes them, --on-existing append keeps them")
	}
}

// rowsFor says how many rows there are for a table.
func (t *loadTable) rowsFor() string {
	switch {
	case t.entry.RowDigest != "":
		return fmt.Sprintf("%d rows", t.entry.Rows)
	case t.entry.Rows < 0:
		return "rows"
	}
	return fmt.Sprintf("about %d rows", t.entry.Rows)
}

// targets are the relations that rows go into, each once.
func (j *job) targets() []*pg.Target {
	seen := map[uint32]bool{}
	var list []*pg.Target
	for _, t := range j.plan.tables {
		if t.target != nil && !t.config() && !seen[t.target.OID] {
			seen[t.target.OID] = true
			list = append(list, t.target)
		}
	}
	return list
}

// withRoots gives the OIDs of tables, and of the roots of their partition trees.
func withRoots(targets iter.Seq[*pg.Target]) (oids []uint32) {
	for t := range targets {
		oids = append(oids, t.OID)
		if t.Root != 0 {
			oids = append(oids, t.Root)
		}
	}
	return oids
}
