package format

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limits of what names and types a header or a manifest may speak of.
const (
	MaxName      = 1024    // bytes; PostgreSQL's NAMEDATALEN is 64 as built, and 256 at most in the wild
	MaxTypes     = 1 << 14 // nodes of the type graph of one table
	MaxTypeDepth = 64      // of types within types; the server bounds it by its stack
)

// checkName accepts what a server can have as a name. Empty is accepted: not everything has one.
func checkName(what string, n Name) error {
	switch {
	case len(n) > MaxName:
		return &Error{Kind: ErrLimit, Err: fmt.Errorf("%s of %d bytes, more than %d", what, len(n), MaxName)}
	case strings.IndexByte(string(n), 0) >= 0:
		return fmt.Errorf("%s %q holds a zero byte", what, string(n))
	}
	return nil
}

// checkNames is checkName for several.
func checkNames(what string, names ...Name) error {
	for _, n := range names {
		if err := checkName(what, n); err != nil {
			return err
		}
	}
	return nil
}

// check reports the first thing in a column that can't be.
func (c *Column) check() error {
	if err := checkNames("name", c.Name, c.TypeSchema, c.TypeName); err != nil {
		return err
	}
	switch {
	case c.Carried != CarriedBinary && c.Carried != CarriedText:
		return fmt.Errorf("column %q is carried in an unknown way, %q", string(c.Name), string(c.Carried))
	case c.Carried == CarriedBinary && c.Cast != "":
		return fmt.Errorf("column %q is carried as bytes, and by a cast, %q", string(c.Name), c.Cast)
	}
	return nil
}

// checkColumns also demands that no name stands for two columns.
func checkColumns(columns []Column) error {
	names := make([]Name, len(columns))
	for i := range columns {
		if err := columns[i].check(); err != nil {
			return err
		}
		names[i] = columns[i].Name
	}
	slices.Sort(names)
	for i, n := range names {
		if n == "" || i > 0 && n == names[i-1] {
			return fmt.Errorf("column %q is named twice or not at all", string(n))
		}
	}
	return nil
}

// check reports the first thing in META that can't be. What it accepts can be followed: the graph of types is small, flat and without circles.
func (m *Meta) check() error {
	if err := checkNames("name", m.Database, m.Table.Schema, m.Table.Name); err != nil {
		return err
	}
	if err := checkColumns(m.Columns); err != nil {
		return err
	}
	for _, s := range m.Samples {
		if err := checkNames("name of a type", s.Schema, s.Name); err != nil {
			return err
		}
	}
	return checkTypes(m.Types)
}

// checkTypes bounds the graph of types.
func checkTypes(types []Type) error {
	if len(types) > MaxTypes {
		return &Error{Kind: ErrLimit, Err: fmt.Errorf("%d types, more than %d", len(types), MaxTypes)}
	}
	g := typeGraph{byOID: make(map[uint32]*Type, len(types)), depth: make(map[uint32]int, len(types))}
	for i := range types {
		t := &types[i]
		if g.byOID[t.OID] != nil {
			return fmt.Errorf("type with OID %d is described twice", t.OID)
		}
		g.byOID[t.OID] = t
		if err := t.checkNames(); err != nil {
			return err
		}
	}
	for i := range types {
		if _, err := g.measure(types[i].OID, 0); err != nil {
			return err
		}
	}
	return nil
}

func (t *Type) checkNames() error {
	if err := checkNames("name of a type", t.Schema, t.Name); err != nil {
		return err
	}
	if t.Extension != nil {
		if err := checkName("name of an extension", t.Extension.Name); err != nil {
			return err
		}
	}
	if len(t.Fields) > MaxColumns {
		return &Error{Kind: ErrLimit, Err: fmt.Errorf("type %q has %d fields, more than %d", string(t.Name), len(t.Fields), MaxColumns)}
	}
	for _, f := range t.Fields {
		if err := checkName("name of a field", f.Name); err != nil {
			return err
		}
	}
	return checkNames("label", t.Labels...)
}

// typeGraph measures how deep types are nested.
type typeGraph struct {
	byOID map[uint32]*Type
	depth map[uint32]int // of what is below a type, once it is known; onPath while it is being found out
}

const onPath = -1

var errTypeCircle = errors.New("types go round in a circle")

// measure returns how many levels a type has, itself included. above is how many there are over it: the recursion ends at [MaxTypeDepth].
func (g *typeGraph) measure(oid uint32, above int) (int, error) {
	t := g.byOID[oid]
	if t == nil {
		return 0, nil // not described: whoever needs it says so
	}
	switch d, known := g.depth[oid]; {
	case known && d == onPath:
		return 0, fmt.Errorf("%w: %q is a part of itself", errTypeCircle, string(t.Name))
	case known:
		return d, nil
	case above >= MaxTypeDepth:
		return 0, &Error{Kind: ErrLimit, Err: fmt.Errorf("types are nested more than %d deep", MaxTypeDepth)}
	}
	g.depth[oid] = onPath
	deepest := 0
	part := func(oid uint32) error {
		d, err := g.measure(oid, above+1)
		deepest = max(deepest, d)
		return err
	}
	if t.Element != 0 {
		if err := part(t.Element); err != nil {
			return 0, err
		}
	}
	for _, f := range t.Fields {
		if err := part(f.OID); err != nil {
			return 0, err
		}
	}
	if deepest++; deepest > MaxTypeDepth {
		return 0, &Error{Kind: ErrLimit, Err: fmt.Errorf("types are nested more than %d deep", MaxTypeDepth)}
	}
	g.depth[oid] = deepest
	return deepest, nil
}
