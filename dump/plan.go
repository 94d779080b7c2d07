package dump

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/progress"
)

// pageSize is the server's BLCKSZ; other sizes make segments larger or smaller than asked, and nothing else.
const pageSize = 8192

// table is one table whose rows the dump carries.
type table struct {
	rel       *pg.Relation
	columns   []format.Column // of the rows, in file order; shared by tables that are alike
	condition string          // SQL of --where or of an extension's configuration; "": all rows
	entry     format.ManifestTable
	segments  []*segment
	progress  *progress.Table
}

// segment is one file to be.
type segment struct {
	table *table
	no    int // from 1
	pages *format.CTIDRange
	bytes int64 // of heap and TOAST, about
	path  string

	effort float64 // see flow.Effort: those that take longest go first

	done format.ManifestSegment // when it is finished
}

// plan is all that is decided before the first row is read.
type plan struct {
	source     format.Source
	tables     []*table
	segments   []*segment // longest first
	sequences  []format.Sequence
	matviews   []format.MatView
	extensions []format.Extension
	roles      []format.Name
	largeObjs  int64
	types      pg.Types
	samples    map[uint32]format.Samples
	carried    []CarriedColumn // not plain binary
	leftOut    []format.LeftOut
	warnings   []string
}

// makePlan reads the catalog under the leader's snapshot.
func makePlan(ctx context.Context, o *Options, l *leader, sel *selection) (*plan, error) {
	p := &plan{}
	held := make([]uint32, len(l.tables))
	for i, k := range l.tables {
		held[i] = k.OID
	}
	relations, err := l.conn.Relations(ctx, held)
	if err != nil {
		return nil, err
	}
	byOID := make(map[uint32]*pg.Relation, len(relations))
	for _, r := range relations {
		byOID[r.OID] = r
	}
	if err := p.catalog(ctx, o, l, sel, relations); err != nil {
		return nil, err
	}
	if !o.SchemaOnly {
		if err := p.chooseTables(ctx, o, l, sel, byOID); err != nil {
			return nil, err
		}
	}
	p.leaveOut(o, sel, relations)
	return p, nil
}

// catalog reads what the manifest says beside the tables.
func (p *plan) catalog(ctx context.Context, o *Options, l *leader, sel *selection, relations []*pg.Relation) (err error) {
	if p.source, err = l.conn.Database(ctx); err != nil {
		return err
	}
	if p.source.Snapshot, err = l.moment(ctx); err != nil {
		return err
	}
	if p.extensions, err = l.conn.Extensions(ctx); err != nil {
		return err
	}
	if err := sel.checkExtensions(p.extensions); err != nil {
		return err
	}
	if err := sel.checkServers(ctx, l.conn); err != nil {
		return err
	}
	if p.roles, err = l.conn.Roles(ctx); err != nil {
		return err
	}
	if p.matviews, err = l.conn.MatViews(ctx); err != nil {
		return err
	}
	p.matviews = sel.matviews(p.matviews, relations)
	var unreadable []Problem
	if p.sequences, err = l.conn.Sequences(ctx, func(k pg.SequenceKey) bool {
		chosen := sel.hasSequence(k)
		if chosen && !k.MaySelect {
			unreadable = append(unreadable, Problem{Object: string(k.Schema + "." + k.Name), Why: "the role has no SELECT privilege on the sequence", Hint: "GRANT SELECT ON SEQUENCE"})
		}
		return chosen && k.MaySelect
	}); err != nil {
		return err
	}
	if len(unreadable) > 0 {
		return &Refused{Problems: unreadable}
	}
	if p.largeObjs, err = l.conn.LargeObjects(ctx); err != nil {
		return err
	}
	if p.largeObjs > 0 && !o.withLargeObjects(sel) {
		p.leftOut = append(p.leftOut, format.LeftOut{Kind: "large objects", Name: format.Name(fmt.Sprintf("%d large objects", p.largeObjs)), Why: "not chosen"})
		p.largeObjs = 0
	}
	return p.hidden(ctx, o, sel, l.conn)
}

// hidden refuses large objects that the role may not read, and says what pg_dump will pass over in silence.
func (p *plan) hidden(ctx context.Context, o *Options, sel *selection, conn *pg.Conn) error {
	if p.largeObjs > 0 && !o.DataOnly {
		unreadable, err := conn.HiddenLargeObjects(ctx)
		if err != nil {
			return err
		}
		if len(unreadable) > 0 {
			why := "the role may not read it"
			if more := len(unreadable) - 1; more > 0 {
				why += fmt.Sprintf(", nor %d more", more)
			}
			return &Refused{Problems: []Problem{{Object: fmt.Sprintf("large object %d", unreadable[0]), Why: why, Hint: "GRANT SELECT ON LARGE OBJECT, or leave them out with --no-large-objects"}}}
		}
	}
	if o.DataOnly || sel.partial() {
		return nil
	}
	subscriptions, err := conn.HiddenSubscriptions(ctx)
	if err != nil {
		return err
	}
	for _, name := range subscriptions {
		p.leftOut = append(p.leftOut, format.LeftOut{Kind: "subscription", Name: name, Why: "only a superuser may read it"})
		p.warnings = append(p.warnings, fmt.Sprintf("subscription %s is left out: only a superuser may read it", name))
	}
	mappings, err := conn.HiddenUserMappings(ctx)
	if mappings > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf("user mappings, %d of them, are without their options: only their server's owner may read these", mappings))
	}
	return err
}

// matviews gives those of the materialized views that belong to the dump, in their order.
func (s *selection) matviews(views []format.MatView, relations []*pg.Relation) []format.MatView {
	chosen := map[pg.Qualified]bool{}
	for _, r := range relations {
		if r.Kind == 'm' && !r.Extension && s.has(r.OID, r.Schema) {
			chosen[pg.Qualified{Schema: r.Schema, Name: r.Name}] = true
		}
	}
	kept := []format.MatView{}
	for _, v := range views {
		if chosen[pg.Qualified{Schema: v.Schema, Name: v.Name}] {
			kept = append(kept, v)
		}
	}
	return kept
}

// chooseTables decides on tables, columns, types and segments.
func (p *plan) chooseTables(ctx context.Context, o *Options, l *leader, sel *selection, byOID map[uint32]*pg.Relation) error {
	foreign, err := p.foreignTables(o, sel, byOID)
	if err != nil {
		return err
	}
	var oids []uint32
	for _, k := range append(slices.Clone(l.tables), foreign...) {
		oids = append(oids, k.OID)
		if r := byOID[k.OID]; r != nil && r.Parent != 0 {
			oids = append(oids, r.Parent)
		}
	}
	slices.Sort(oids)
	columns, err := l.conn.Columns(ctx, slices.Compact(oids))
	if err != nil {
		return err
	}
	hashed, err := l.conn.HashedByForm(ctx)
	if err != nil {
		return err
	}
	parents, err := l.conn.PartitionParents(ctx)
	if err != nil {
		return err
	}
	conditions, err := sel.conditions(ctx, o, l.conn)
	if err != nil {
		return err
	}
	for _, k := range append(slices.Clone(l.tables), foreign...) {
		r := byOID[k.OID]
		if r == nil || r.Filenode != r.FilenodeNow {
			return withHint(fmt.Errorf("table %s was truncated or rewritten after the snapshot was taken", k), "run the dump again")
		}
		if t := p.chooseTable(o, sel, r, byOID, columns); t != nil {
			t.condition = conditions[r.OID]
			if r.Config {
				t.condition = withoutWhere(r.Condition)
				t.entry.ExtensionConfig = true
			} else {
				t.entry.Where = t.condition
			}
			for up := parents[r.OID]; up != 0; up = parents[up] {
				t.entry.ViaRoot = t.entry.ViaRoot || hashed[up]
			}
			p.tables = append(p.tables, t)
		}
	}
	if err := p.checkPolicies(ctx, l.conn); err != nil {
		return err
	}
	if err := p.checkTypes(ctx, o, l.conn); err != nil {
		return err
	}
	p.cutSegments(o, l.conn.Version)
	return nil
}

// kindForeign is the kind of a table whose rows another server has.
const kindForeign = "foreign table"

// foreignTables are the chosen foreign tables of the servers whose rows are asked for. They take no lock, and another server's rows are under no snapshot of ours.
func (p *plan) foreignTables(o *Options, sel *selection, byOID map[uint32]*pg.Relation) (keys []pg.Key, err error) {
	if len(sel.servers) == 0 || o.SchemaOnly {
		return nil, nil
	}
	var problems []Problem
	for _, r := range byOID {
		if r.Kind != 'f' || r.Extension || !namedBy(sel.servers, r.Server) || !sel.has(r.OID, r.Schema) {
			continue
		}
		if !r.MaySelect {
			problems = append(problems, Problem{Object: r.String(), Why: "the role has no SELECT privilege on the foreign table", Hint: "GRANT SELECT, or leave it out with -T"})
		}
		keys = append(keys, pg.Key{OID: r.OID, Schema: r.Schema, Name: r.Name, Kind: r.Kind, MaySelect: r.MaySelect})
	}
	if len(problems) > 0 {
		return nil, &Refused{Problems: problems}
	}
	slices.SortFunc(keys, func(a, b pg.Key) int { return strings.Compare(a.String(), b.String()) }) // one dump is as another
	if len(keys) > 0 {
		p.warnings = append(p.warnings, "rows of foreign tables are as their servers have them when they are read: they belong to no snapshot of this one")
	}
	return keys, nil
}

// checkPolicies refuses tables of which the role would not see all rows.
func (p *plan) checkPolicies(ctx context.Context, conn *pg.Conn) error {
	byOID := map[uint32]*table{}
	oids := make([]uint32, len(p.tables))
	for i, t := range p.tables {
		byOID[t.rel.OID], oids[i] = t, t.rel.OID
	}
	filtered, err := conn.PoliciesApply(ctx, oids)
	if err != nil || len(filtered) == 0 {
		return err
	}
	problems := make([]Problem, len(filtered))
	for i, oid := range filtered {
		problems[i] = Problem{Object: byOID[oid].rel.String(), Why: "row-level security would hide rows from the role", Hint: "dump with a role that has BYPASSRLS, or leave it out with -T"}
	}
	return &Refused{Problems: problems}
}

// withoutWhere gives the condition of an extension's configuration table: its script says WHERE before it.
func withoutWhere(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 5 && strings.EqualFold(s[:5], "WHERE") {
		s = s[5:]
	}
	return strings.TrimSpace(s)
}

// chooseTable gives the table of a relation whose rows belong to the dump, or nil.
func (p *plan) chooseTable(o *Options, sel *selection, r *pg.Relation, byOID map[uint32]*pg.Relation, columns map[uint32][]format.Column) *table {
	left := func(why string) *table {
		p.leftOut = append(p.leftOut, format.LeftOut{Kind: "table data", Schema: r.Schema, Name: r.Name, Why: why})
		return nil
	}
	switch {
	case r.Kind == 'p':
		return nil // its rows are in its partitions
	case sel.dataOff[r.OID]:
		return left("--exclude-table-data")
	case r.Persistence == 'u' && o.NoUnloggedData:
		return left("--no-unlogged-data")
	}
	t := &table{rel: r, columns: storedColumns(columns[r.OID])}
	t.entry = format.ManifestTable{Schema: r.Schema, Name: r.Name, Kind: "table", Unlogged: r.Persistence == 'u'}
	switch {
	case r.Kind == 'f':
		t.entry.Kind = kindForeign
	case r.Partition:
		t.entry.Kind = "partition"
	}
	if root := byOID[r.Parent]; root != nil {
		t.entry.Root = &format.Table{Schema: root.Schema, Name: root.Name, Kind: "partitioned table"}
		t.columns = inOrderOf(t.columns, columns[root.OID])
	}
	t.entry.Columns = t.columns
	if r.RowOIDs {
		const why = "servers from 12 on have no WITH OIDS"
		p.leftOut = append(p.leftOut, format.LeftOut{Kind: "row OIDs", Schema: r.Schema, Name: r.Name, Why: why})
		p.warnings = append(p.warnings, fmt.Sprintf("the OIDs of the rows of table %s are left out: %s", r, why))
	}
	return t
}

// storedColumns are those whose values are in the rows: generated ones are computed again on the target.
func storedColumns(all []format.Column) []format.Column {
	generated := func(c format.Column) bool { return c.Generated != "" }
	if all != nil && !slices.ContainsFunc(all, generated) {
		return all
	}
	return slices.DeleteFunc(append([]format.Column{}, all...), generated)
}

// inOrderOf sorts a partition's columns as its root has them, so that the digests of all partitions add up to the root's.
func inOrderOf(columns, root []format.Column) []format.Column {
	place := make(map[format.Name]int, len(root))
	for i, c := range root {
		place[c.Name] = i
	}
	order := func(a, b format.Column) int { return place[a.Name] - place[b.Name] }
	if slices.IsSortedFunc(columns, order) {
		return columns
	}
	return slices.SortedStableFunc(slices.Values(columns), order)
}

// checkTypes loads the type graph and decides how each column travels. A column with no way is refused.
func (p *plan) checkTypes(ctx context.Context, o *Options, conn *pg.Conn) (err error) {
	var oids []uint32
	for _, t := range p.tables {
		for _, c := range t.columns {
			oids = append(oids, c.OID)
		}
	}
	if p.types, err = conn.LoadTypes(ctx, oids); err != nil {
		return err
	}
	var problems []Problem
	var shared format.Shared
	for _, t := range p.tables {
		columns := slices.Clone(t.columns)
		for i := range columns {
			c := &columns[i]
			carry := p.types.Carry(c.OID)
			c.Carried, c.Cast, c.OIDs = carry.Carried, carry.Cast, carry.OIDs
			object := func() string { return t.rel.String() + "." + string(c.Name) }
			switch {
			case carry.Refused:
				problems = append(problems, Problem{Object: object(), Why: carry.Why,
					Hint: fmt.Sprintf("leave the table out with -T '%s.%s'", pg.QuoteIdent(t.rel.Schema), pg.QuoteIdent(t.rel.Name))})
			case carry.Why != "":
				object := object()
				p.carried = append(p.carried, CarriedColumn{Column: object, Type: c.Type, Carried: c.Carried, Cast: c.Cast, OIDs: carry.OIDs, Why: carry.Why})
				o.logf("column %s (%s) is carried as %s: %s", object, c.Type, c.Carried, carry.Why)
			}
		}
		t.columns = shared.Columns(columns)
		t.entry.Columns = t.columns
	}
	if len(problems) > 0 {
		return &Refused{Problems: problems}
	}
	return nil
}

// leaveOut names what the dump does not hold.
func (p *plan) leaveOut(o *Options, sel *selection, relations []*pg.Relation) {
	for _, r := range relations {
		switch {
		case r.Kind == 'f' && sel.has(r.OID, r.Schema) && !r.Extension && (o.SchemaOnly || !namedBy(sel.servers, r.Server)):
			p.leftOut = append(p.leftOut, format.LeftOut{Kind: "foreign table data", Schema: r.Schema, Name: r.Name, Why: "the rows belong to server " + string(r.Server)})
		case r.Kind == 'r' && r.Partition && sel.byTables() && sel.chosen[r.Parent] && !sel.chosen[r.OID]:
			why := "its partitioned table was chosen with -t, the partition was not (--table-and-children takes both)"
			p.leftOut = append(p.leftOut, format.LeftOut{Kind: "partition", Schema: r.Schema, Name: r.Name, Why: why})
			p.warnings = append(p.warnings, fmt.Sprintf("partition %s is left out: %s", r, why))
		}
	}
	if o.SchemaOnly {
		p.leftOut = append(p.leftOut, format.LeftOut{Kind: "data", Name: "all rows", Why: "--schema-only"})
	}
	if o.DataOnly {
		p.leftOut = append(p.leftOut, format.LeftOut{Kind: "schema", Name: "all definitions", Why: "--data-only"})
	}
	for _, s := range o.sectionsLeft() {
		p.leftOut = append(p.leftOut, format.LeftOut{Kind: "section", Name: format.Name(s), Why: "--section"})
	}
	if o.DataOnly || o.single() {
		return
	}
	p.extensions = slices.DeleteFunc(p.extensions, func(e format.Extension) bool {
		if sel.hasExtension(e.Name) {
			return false
		}
		why := "only chosen schemas, tables or extensions are dumped"
		if namedBy(sel.notExtensions, e.Name) {
			why = "excluded"
		}
		p.leftOut = append(p.leftOut, format.LeftOut{Kind: "extension", Name: e.Name, Why: why})
		return true
	})
}
