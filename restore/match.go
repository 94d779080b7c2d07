package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/convert"
	"github.com/bytehaul/pghaul/internal/pg"
)

// fit decides how the rows of a table go into its target, and adds all that is wrong to f. types are the target's; those that its columns lack and the
// dump's values need are looked up by name. What was decided for a table that is alike holds for this one too.
func (j *job) fit(ctx context.Context, f *findings, t *loadTable, target []pg.TargetColumn, types *targetTypes) error {
	key, alike := j.alikeFit(t, target), false
	if twin := types.fitted[key]; twin != nil && key != (fitKey{}) {
		t.fits, t.filled, t.staged, t.convert, t.graph, t.back, alike = twin.fits, twin.filled, twin.staged, twin.convert, twin.graph, twin.back, true
	} else if err := j.fitColumns(ctx, t, target, types); err != nil {
		return err
	}
	name := t.into.String()
	t.emptyFindings(f, target)
	for _, list := range [][]fit{t.fits, t.filled} {
		for i := range list {
			fitFinding(f, name, &list[i], j.o.AllowCast)
		}
	}
	if err := j.checkOrder(ctx, f, t, types); err != nil {
		return err
	}
	if t.staged {
		t.freeze = false
		if err := j.checkStaging(ctx, f, t, types); err != nil {
			return err
		}
	}
	if alike {
		return nil
	}
	matchTypes(f, t, t.sourceTypes(), types)
	types.fitted[key] = t
	return j.planConversion(f, t, t.sourceTypes(), types)
}

// fitKey is equal for tables of which all is alike that decides how their rows go into their targets. The zero value is of a table that is like no other.
type fitKey struct {
	columns *format.Column
	count   int
	target  *pg.TargetColumn
	known   *known
}

func (j *job) alikeFit(t *loadTable, target []pg.TargetColumn) fitKey {
	if len(t.columns) == 0 || len(target) == 0 || len(j.o.DropColumns) > 0 { // which name tables
		return fitKey{}
	}
	return fitKey{&t.columns[0], len(t.columns), &target[0], t.known}
}

// targetTypes are the types of a target that its columns are of, or that the dump's types have the names of.
type targetTypes struct {
	byOID  pg.Types
	byName map[pg.Qualified]*pg.Type
	plain  map[uint32]format.Type // byOID, for the conversion back
	asked  map[pg.Qualified]bool  // for by name

	fitted map[fitKey]*loadTable    // tables that others are like
	rules  map[uint32][]format.Name // on INSERT, by relation; nil: not looked for yet
	oids   []uint32                 // of the relations that rows go into
	noTemp *bool                    // whether the role may not make temporary tables; nil: not asked yet
	server *format.Server           // nil: not asked yet
}

func newTargetTypes(types pg.Types) *targetTypes {
	tt := &targetTypes{byOID: pg.Types{}, byName: map[pg.Qualified]*pg.Type{}, plain: map[uint32]format.Type{}, asked: map[pg.Qualified]bool{}, fitted: map[fitKey]*loadTable{}}
	tt.add(types)
	return tt
}

func (tt *targetTypes) add(types pg.Types) {
	for oid, t := range types {
		tt.byOID[oid], tt.byName[pg.Qualified{Schema: t.Schema, Name: t.Name}], tt.plain[oid] = t, t, t.Type
	}
}

// oid gives the OID of a type by its name.
func (tt *targetTypes) oid(schema, name format.Name) (oid uint32, ok bool) {
	twin := tt.byName[pg.Qualified{Schema: schema, Name: name}]
	if twin == nil {
		return 0, false
	}
	return twin.OID, true
}

// fitColumns decides what becomes of each column, and finds the target's types of the names that the dump's types have.
func (j *job) fitColumns(ctx context.Context, t *loadTable, target []pg.TargetColumn, types *targetTypes) error {
	source := t.sourceTypes()
	fits := fitTable(t.columns, target, source, loosening{allowCast: j.o.AllowCast, drop: j.dropped(t)})
	t.fits, t.filled = fits[:len(t.columns)], fits[len(t.columns):]
	if err := j.namedTypes(ctx, source, types); err != nil {
		return err
	}
	for i := range t.fits {
		if t.fits[i].cast {
			if err := j.checkCast(ctx, &t.fits[i], types); err != nil {
				return err
			}
		}
	}
	// A column of a type without binary input keeps its table from any binary COPY, even when the dump lacks it or it is generated.
	t.staged = slices.ContainsFunc(t.fits, func(f fit) bool { return f.staged() }) || slices.ContainsFunc(target, func(c pg.TargetColumn) bool {
		node := types.byOID[c.OID]
		return node != nil && node.Kind == format.KindBase && !node.Receive
	})
	return nil
}

// emptyFindings tells of rows without columns, which COPY can't name, and of tables of which nothing would be loaded.
func (t *loadTable) emptyFindings(f *findings, target []pg.TargetColumn) {
	name := t.into.String()
	if len(t.columns) == 0 && slices.ContainsFunc(target, func(c pg.TargetColumn) bool { return c.Generated == "" }) {
		f.bad(name, "has no columns", fmt.Sprintf("has %d", len(target)), "COPY has no way to name no column: load this table by hand, or restore its definition too")
	}
	if len(t.columns) > 0 && len(t.sentColumns()) == 0 {
		f.bad(name, "all columns are dropped", "", "leave the table out with -T")
	}
}

// fitFinding tells what an operator must know about a column.
func fitFinding(f *findings, table string, c *fit, allowCast bool) {
	inDump := "no such column"
	object := table + "."
	if c.column.Name != "" {
		object, inDump = object+string(c.column.Name), "type "+c.column.Type
	} else {
		object += string(c.target.Name)
	}
	switch {
	case c.refused(allowCast):
		f.bad(object, inDump, c.note, c.hint)
	case c.verdict == Castable:
		f.warn(object, inDump, c.note, "the server casts each value: what it rounds or cuts is lost")
	case c.verdict == Dropped:
		f.warn(object, inDump, "no such column", "its values stay behind, as --drop-column says")
	}
}

// dropped tells which columns of a table the operator leaves behind.
func (j *job) dropped(t *loadTable) func(format.Name) bool {
	return func(column format.Name) bool {
		for _, given := range j.o.DropColumns {
			for _, name := range []pg.Qualified{t.name, t.into} {
				if given == name.String()+"."+string(column) || given == string(name.Name)+"."+string(column) {
					j.droppedUsed(given)
					return true
				}
			}
		}
		return false
	}
}

// droppedUsed notes that a --drop-column has found its column.
func (j *job) droppedUsed(given string) {
	if j.usedDrops == nil {
		j.usedDrops = map[string]bool{}
	}
	j.usedDrops[given] = true
}

// checkDrops refuses a --drop-column that names nothing: a misspelt one must not look like a done one.
func (j *job) checkDrops(f *findings) {
	for _, given := range j.o.DropColumns {
		if !j.usedDrops[given] {
			f.bad("--drop-column "+given, "no column of that name is missing on the target", "", "write it as SCHEMA.TABLE.COLUMN")
		}
	}
}

// namedTypes finds the target's types of the names that the dump's types have, beside those that are known already.
func (j *job) namedTypes(ctx context.Context, source pg.Types, types *targetTypes) error {
	var missing []pg.Qualified
	for _, t := range source {
		if q := (pg.Qualified{Schema: t.Schema, Name: t.Name}); types.byName[q] == nil && !types.asked[q] {
			types.asked[q] = true
			missing = append(missing, q)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	oids, err := j.leader.TypeOIDs(ctx, missing)
	if err != nil {
		return err
	}
	more, err := j.leader.LoadTypes(ctx, oids)
	types.add(more)
	return err
}

// matchTypes compares the types inside of the columns that go as bytes with the target's types of the same names: their make, and every label of an enum.
func matchTypes(f *findings, t *loadTable, source pg.Types, types *targetTypes) {
	var oids []uint32
	for _, c := range t.fits {
		if c.column.Carried == format.CarriedBinary && (c.keepsType() || c.cast) {
			oids = append(oids, c.column.OID)
		}
	}
	for _, node := range source.Reached(oids) {
		twin := types.byName[pg.Qualified{Schema: node.Schema, Name: node.Name}]
		object := "type " + pg.TypeName(node)
		if twin == nil {
			f.once(object, "used by "+t.name.String(), "no such type", "make the type, or install the extension that it belongs to")
			continue
		}
		if twin.Kind == format.KindBase && !twin.Receive {
			f.once(object, "goes as bytes", "takes in text only (no binary input)", "restore on a server whose version of the type has binary input, or leave the table out with -T")
			continue
		}
		if what := sameShape(node, source, twin, types.byOID); what != "" {
			f.once(object, what, "", "make the type as it is in the dump")
			continue
		}
		matchLabels(f, object, node.Labels, twin.Labels)
	}
}

// checkOrder warns of ranges of texts, whose bounds the target sorts anew: it can refuse a range, and merge the parts of a multirange without a word. The proof finds that.
func (j *job) checkOrder(ctx context.Context, f *findings, t *loadTable, types *targetTypes) error {
	sorted := func(s format.Server) string {
		return fmt.Sprintf("texts are sorted by %s of %s in %s", s.Collate, s.Provider, s.Encoding)
	}
	for _, c := range t.columns {
		if !t.sourceTypes().RangesOfTexts(c.OID) {
			continue
		}
		if types.server == nil {
			target, err := j.leader.Server(ctx)
			if err != nil {
				return err
			}
			types.server = &target
		}
		if from, to := sorted(j.m.Source.Server), sorted(*types.server); from != to {
			f.warn(t.into.String()+"."+string(c.Name), "ranges of texts: "+from, to, "ranges can be refused, and multiranges merged, which the proof finds: do not use --no-prove")
		}
	}
	return nil
}

func matchLabels(f *findings, object string, inDump, target []format.Name) {
	var missing []string
	for _, l := range inDump {
		if !slices.Contains(target, l) {
			missing = append(missing, fmt.Sprintf("%q", string(l)))
		}
	}
	if len(missing) > 0 {
		f.once(object, "has label "+strings.Join(missing, ", "), "no such label", "ALTER TYPE … ADD VALUE")
	}
}

// planConversion makes the plan of the convert stage.
func (j *job) planConversion(f *findings, t *loadTable, source pg.Types, types *targetTypes) error {
	columns, oids := make([]convert.Column, len(t.fits)), make([]uint32, len(t.fits))
	for i, c := range t.fits {
		columns[i] = convert.Column{Name: c.column.Name, Drop: c.verdict == Dropped, Widen: c.widen, Opaque: c.column.Carried == format.CarriedText || c.verdict == Converts && !c.keepsType()}
		oids[i] = c.column.OID
	}
	t.graph = convert.Graph{Source: graphOf(source), SourceVersion: j.m.Source.Server.VersionNum, TargetVersion: j.leader.Version, TargetOID: types.oid}
	t.back = convert.Graph{Source: types.plain, TargetOID: func(schema, name format.Name) (uint32, bool) {
		for oid, node := range source {
			if node.Schema == schema && node.Name == name {
				return oid, true
			}
		}
		return 0, false
	}}
	var err error
	if t.convert, err = convert.NewPlan(columns, oids, t.graph); err != nil && f.refused() == nil {
		f.bad(t.into.String(), err.Error(), "", "make the type, or leave the table out with -T")
	}
	return nil
}

func graphOf(types pg.Types) map[uint32]format.Type {
	graph := make(map[uint32]format.Type, len(types))
	for oid, t := range types {
		graph[oid] = t.Type
	}
	return graph
}
