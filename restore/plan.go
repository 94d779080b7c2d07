package restore

import (
	"slices"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/convert"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/progress"
)

// loadTable is one table of the dump on its way into the target.
type loadTable struct {
	entry   *format.ManifestTable
	name    pg.Qualified    // in the dump
	own     pg.Qualified    // on the target
	into    pg.Qualified    // where its rows go: itself, or its root
	columns []format.Column // in the order of the files; shared, like the other lists, by tables that are alike
	known   *known          // what the first file's header says of types

	target   *pg.Target // of into, once it is known to fit
	fits     []fit      // of the columns, in the order of the files
	filled   []fit      // columns that the dump lacks
	staged   bool       // through a staging table: some column is text, or cast by the server
	convert  *convert.Plan
	graph    convert.Graph // from the dump's types to the target's
	back     convert.Graph // and back
	freeze   bool          // its one segment goes in with TRUNCATE and COPY FREEZE
	after    []*loadTable
	progress *progress.Table

	left    []int // segments that no worker has taken, guarded by the queue
	running int
	effort  float64 // of what is left, for the queue
}

// config tells that the table belongs to an extension, which fills it in part when it is made.
func (t *loadTable) config() bool { return t.entry.ExtensionConfig }

// done tells that all segments are in.
func (t *loadTable) done() bool { return len(t.left) == 0 && t.running == 0 }

// effortLeft sums up what no worker has taken yet.
func (t *loadTable) effortLeft() (sum float64) {
	for _, i := range t.left {
		sum += t.effortOf(i)
	}
	return sum
}

// effortOf is what loading a segment costs. The rows of one that is not counted yet are its share of the table's.
func (t *loadTable) effortOf(segment int) float64 {
	s := &t.entry.Segments[segment]
	rows := s.Rows
	if !counted(s) {
		rows = t.entry.Rows / int64(len(t.entry.Segments))
	}
	return flow.Effort(sizeOf(s), rows, len(t.entry.Columns))
}

// sizeOf gives the size of a segment, which is an estimate before it is counted.
func sizeOf(s *format.ManifestSegment) int64 {
	if counted(s) {
		return s.RawBytes
	}
	return s.StoredBytes
}

// sentColumns are the columns that go to the target, in the order of the files: all but the dropped ones.
func (t *loadTable) sentColumns() []fit {
	sent := make([]fit, 0, len(t.fits))
	for _, f := range t.fits {
		if f.verdict != Dropped {
			sent = append(sent, f)
		}
	}
	return sent
}

// columnNames are the names of the columns that go to the target, in the order of the files.
func (t *loadTable) columnNames() []format.Name {
	sent := t.sentColumns()
	names := make([]format.Name, len(sent))
	for i, f := range sent {
		names[i] = f.column.Name
	}
	return names
}

// known are the types that the columns of tables reach, and their samples. Tables whose files say the same share them.
type known struct {
	types   pg.Types
	samples map[uint32][]format.Sample
}

func newKnown(meta *format.Meta, names *mapping) *known {
	k := &known{types: make(pg.Types, len(meta.Types)), samples: make(map[uint32][]format.Sample, len(meta.Samples))}
	for _, node := range names.types(meta.Types) {
		k.types[node.OID] = &pg.Type{Type: node}
	}
	for _, s := range meta.Samples {
		k.samples[s.OID] = s.Values
	}
	return k
}

// knownTypes finds what tables share by the identity of their lists, which an [Origin] shares.
type knownTypes map[knownKey]*known

type knownKey struct {
	types   *format.Type
	samples *format.Samples
}

// of gives the types, under their names on the target, and the samples of a table.
func (k knownTypes) of(meta *format.Meta, names *mapping) *known {
	if len(meta.Types) == 0 || len(meta.Samples) == 0 {
		return newKnown(meta, names)
	}
	key := knownKey{&meta.Types[0], &meta.Samples[0]}
	if k[key] == nil {
		k[key] = newKnown(meta, names)
	}
	return k[key]
}

// sourceTypes is the type graph that the files describe, which must not be changed.
func (t *loadTable) sourceTypes() pg.Types {
	if t.known == nil { // its file is damaged
		return nil
	}
	return t.known.types
}

// plan is what a restore is going to load.
type plan struct {
	choice    *choice
	tables    []*loadTable
	sequences []format.Sequence
	matviews  []format.MatView
	segments  int
	mapped    *mapping // names of what is there already
	rename    *mapping // new names of what this restore makes
}

// newPlan chooses what to load out of a manifest.
func newPlan(o *Options, m *format.Manifest) (*plan, error) {
	c, err := newChoice(o)
	if err != nil {
		return nil, err
	}
	p := &plan{choice: c, mapped: &mapping{}, rename: &mapping{}}
	names, err := newMapping(o.Map, m)
	if err != nil {
		return nil, err
	}
	if o.parts.pre {
		p.rename = names
	} else {
		p.mapped = names
	}
	viaRoot := map[pg.Qualified]bool{}
	var shared format.Shared
	for i := range m.Tables {
		e := &m.Tables[i]
		t := &loadTable{entry: e, name: pg.Qualified{Schema: e.Schema, Name: e.Name}}
		t.own = p.mapped.of(t.name)
		t.into = t.own
		chosen := c.hasRows(t.name)
		if e.Root != nil {
			root := pg.Qualified{Schema: e.Root.Schema, Name: e.Root.Name}
			chosen = c.hasRows(t.name, root)
			if e.ViaRoot {
				t.into, viaRoot[root] = p.mapped.of(root), true
			}
		}
		if !chosen {
			continue
		}
		t.columns = shared.Columns(p.mapped.columns(storedColumns(e.Columns)))
		for i := range e.Segments {
			t.left = append(t.left, i)
		}
		p.segments += len(e.Segments)
		p.tables = append(p.tables, t)
	}
	for _, s := range m.Sequences {
		if p.setsSequence(o, &s) {
			p.sequences = append(p.sequences, s)
		}
	}
	for _, v := range m.MatViews {
		if v.Populated && c.has(pg.Qualified{Schema: v.Schema, Name: v.Name}) {
			p.matviews = append(p.matviews, v)
		}
	}
	p.chooseFreeze(o, viaRoot)
	return p, nil
}

// setsSequence tells whether a sequence is chosen: with tables chosen one by one, all for now, for those that belong to them are known by the target alone.
// Into a table that is there, the state of its sequence goes with its rows: set back without them, it would give numbers that rows have already.
func (p *plan) setsSequence(o *Options, s *format.Sequence) bool {
	c := p.choice
	switch {
	case c.byTables():
		return true
	case !o.parts.pre && s.Owner != nil && !c.hasRows(pg.Qualified{Schema: s.Owner.Schema, Name: s.Owner.Table}):
		return false
	}
	return c.has(pg.Qualified{Schema: s.Schema, Name: s.Name})
}

// storedColumns are those whose values are in the rows.
func storedColumns(all []format.Column) []format.Column {
	if !slices.ContainsFunc(all, func(c format.Column) bool { return c.Generated != "" }) {
		return all
	}
	stored := make([]format.Column, 0, len(all))
	for _, c := range all {
		if c.Generated == "" {
			stored = append(stored, c)
		}
	}
	return stored
}

// freezeFrom is the least length of rows, in bytes, that are loaded with TRUNCATE and COPY FREEZE.
const freezeFrom = 1 << 20

// chooseFreeze marks the tables that this restore makes or empties, as far as the dump tells: the target may have reasons against it.
// A partition stays out when rows may come into it through its root too, and a small table, for which a file of its own costs more than freezing saves.
func (p *plan) chooseFreeze(o *Options, viaRoot map[pg.Qualified]bool) {
	for _, t := range p.tables {
		ours := o.parts.pre || o.OnExisting == Truncate
		shared := t.entry.Root != nil && viaRoot[pg.Qualified{Schema: t.entry.Root.Schema, Name: t.entry.Root.Name}]
		t.freeze = ours && len(t.entry.Segments) == 1 && t.entry.Bytes >= freezeFrom && !shared && !t.config() && t.into == t.own
	}
}

// track makes the tables known to the tracker.
func (p *plan) track(tracker *progress.Tracker) {
	for _, t := range p.tables {
		exact := t.entry.RowDigest != ""
		t.progress = tracker.AddTable(progress.TableInfo{Name: t.name.String(), Rows: t.entry.Rows, RowsExact: exact, Bytes: t.entry.Bytes, BytesExact: exact,
			Segments: len(t.entry.Segments), Columns: len(t.columns), Describe: described{t.entry}})
	}
}

// names are the relations that rows go into, each once.
func (p *plan) names() []pg.Qualified {
	seen := map[pg.Qualified]bool{}
	var list []pg.Qualified
	for _, t := range p.tables {
		if !seen[t.into] {
			seen[t.into] = true
			list = append(list, t.into)
		}
	}
	return list
}
