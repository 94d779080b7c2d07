package convert

import (
	"encoding/binary"
	"fmt"

	"github.com/bytehaul/pghaul/format"
)

// Column is what happens to one column of the file.
type Column struct {
	Name  format.Name
	Drop  bool // not sent: the target lacks it
	Widen Widening
	// Opaque values are not looked into: text that stands for a value, or bytes that another type reads alike.
	Opaque bool
	inner  *node
}

// Plan is what happens to each row. It may be used by several goroutines.
type Plan struct {
	columns []Column
	live    int  // columns that are sent
	resized bool // lengths change: rows are written anew
	touched bool // something happens at all
}

// Graph finds what is to be done inside the values of a type: its source's nodes by their OIDs there, the target's OIDs by name.
type Graph struct {
	Source        map[uint32]format.Type
	TargetOID     func(schema, name format.Name) (oid uint32, ok bool)
	SourceVersion int // server_version_num
	TargetVersion int
}

// NewPlan makes the plan for columns in file order; oids are their types on the source. Types that the target lacks are an error.
func NewPlan(columns []Column, oids []uint32, g Graph) (*Plan, error) {
	p := &Plan{columns: append([]Column(nil), columns...)}
	compiled := nodes{}
	for i := range p.columns {
		c := &p.columns[i]
		if c.Drop {
			p.resized, p.touched = true, true
			continue
		}
		p.live++
		if c.Widen != Keep {
			p.resized, p.touched = true, true
			continue
		}
		if c.Opaque {
			continue
		}
		var err error
		if c.inner, err = g.node(oids[i], 0, compiled); err != nil {
			return nil, fmt.Errorf("column %q: %w", string(c.Name), err)
		}
		p.touched = p.touched || c.inner != nil
	}
	return p, nil
}

// Identity tells that rows stay as they are.
func (p *Plan) Identity() bool { return !p.touched }

// InPlace tells that lengths stay as they are: Rewrite does it.
func (p *Plan) InPlace() bool { return !p.resized }

// firstUserOID is where OIDs begin that differ between databases; see FirstGenbkiObjectId in src/include/access/transam.h.
const firstUserOID = 10000

// The versions from which on the infinities of two types exist.
const (
	intervalInfinity = 170000
	numericInfinity  = 140000
)

// nodes are the types that are compiled already: a graph has far more paths than nodes.
type nodes map[uint32]*node

// node compiles the work inside of a type; nil where there is none.
func (g Graph) node(oid uint32, depth int, compiled nodes) (*node, error) {
	if n, ok := compiled[oid]; ok {
		return n, nil
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("types are nested more than %d deep", maxDepth)
	}
	t, ok := g.Source[oid]
	if !ok {
		return nil, fmt.Errorf("the dump does not describe the type with OID %d", oid)
	}
	n, err := g.compile(t, depth, compiled)
	if err == nil {
		compiled[oid] = n
	}
	return n, err
}

func (g Graph) compile(t format.Type, depth int, compiled nodes) (*node, error) {
	switch t.Kind {
	case format.KindArray:
		return g.arrayNode(t, depth, compiled)
	case format.KindComposite:
		return g.compositeNode(t, depth, compiled)
	case format.KindDomain:
		return g.node(t.Element, depth+1, compiled)
	case format.KindRange, format.KindMultirange:
		inner, err := g.node(t.Element, depth+1, compiled)
		if inner == nil || err != nil {
			return nil, err
		}
		return &node{kind: t.Kind, element: inner}, nil
	}
	if t.Schema == "pg_catalog" {
		switch {
		case t.Name == "interval" && g.SourceVersion >= intervalInfinity && g.TargetVersion < intervalInfinity:
			return &node{kind: format.KindBase, check: noIntervalInfinity}, nil
		case t.Name == "interval" && g.SourceVersion < intervalInfinity && g.TargetVersion >= intervalInfinity:
			return &node{kind: format.KindBase, check: noLargestInterval}, nil
		case t.Name == "numeric" && g.SourceVersion >= numericInfinity && g.TargetVersion < numericInfinity:
			return &node{kind: format.KindBase, check: noNumericInfinity}, nil
		}
	}
	return nil, nil
}

func (g Graph) arrayNode(t format.Type, depth int, compiled nodes) (*node, error) {
	inner, err := g.node(t.Element, depth+1, compiled)
	if err != nil {
		return nil, err
	}
	to, err := g.target(t.Element)
	if err != nil {
		return nil, err
	}
	if inner == nil && to == t.Element {
		return nil, nil
	}
	return &node{kind: t.Kind, element: inner, from: t.Element, to: to}, nil
}

func (g Graph) compositeNode(t format.Type, depth int, compiled nodes) (*node, error) {
	n := &node{kind: t.Kind, fields: make([]field, len(t.Fields))}
	work := false
	for i, f := range t.Fields {
		inner, err := g.node(f.OID, depth+1, compiled)
		if err != nil {
			return nil, err
		}
		to, err := g.target(f.OID)
		if err != nil {
			return nil, err
		}
		n.fields[i] = field{from: f.OID, to: to, node: inner}
		work = work || inner != nil || to != f.OID
	}
	if !work {
		return nil, nil
	}
	return n, nil
}

// target gives the target's OID of a type of the source.
func (g Graph) target(oid uint32) (uint32, error) {
	if oid < firstUserOID {
		return oid, nil
	}
	t, ok := g.Source[oid]
	if !ok {
		return 0, fmt.Errorf("the dump does not describe the type with OID %d", oid)
	}
	to, ok := g.TargetOID(t.Schema, t.Name)
	if !ok {
		return 0, fmt.Errorf("the target has no type %q.%q", string(t.Schema), string(t.Name))
	}
	return to, nil
}

// Error is a value that cannot be converted. Row counts from 1 within what was given to the call.
type Error struct {
	Row    int64
	Column format.Name
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("row %d, column %q: %v", e.Row, string(e.Column), e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Rewrite converts whole rows in place. It needs InPlace, and takes the trailer for granted where it stands. It allocates nothing unless it fails.
func (p *Plan) Rewrite(rows []byte) error {
	for row := int64(1); len(rows) >= 2; row++ {
		if count := int16(binary.BigEndian.Uint16(rows)); count == -1 {
			return nil
		}
		rest := rows[2:]
		for i := range p.columns {
			c := &p.columns[i]
			value, after, err := next(rest)
			if err == nil && value != nil && c.inner != nil {
				err = c.inner.rewrite(value)
			}
			if err != nil {
				return &Error{Row: row, Column: c.Name, Err: err}
			}
			rest = after
		}
		rows = rest
	}
	return nil
}

// RewriteValue does in place what Rewrite does to the value of the first column, without the row around it.
func (p *Plan) RewriteValue(value []byte) error {
	if c := &p.columns[0]; c.inner != nil {
		return c.inner.rewrite(value)
	}
	return nil
}

// Append appends the converted rows, and the trailer if it is there, to dst. rows may be changed by it.
func (p *Plan) Append(dst, rows []byte) ([]byte, error) {
	for row := int64(1); len(rows) >= 2; row++ {
		if count := int16(binary.BigEndian.Uint16(rows)); count == -1 {
			return append(dst, rows[:2]...), nil
		}
		dst = binary.BigEndian.AppendUint16(dst, uint16(p.live))
		rest := rows[2:]
		for i := range p.columns {
			c := &p.columns[i]
			value, after, err := next(rest)
			if err == nil && !c.Drop {
				dst, err = c.append(dst, value)
			}
			if err != nil {
				return dst, &Error{Row: row, Column: c.Name, Err: err}
			}
			rest = after
		}
		rows = rest
	}
	return dst, nil
}

func (c *Column) append(dst, value []byte) ([]byte, error) {
	switch {
	case value == nil:
		return append(dst, 0xff, 0xff, 0xff, 0xff), nil
	case c.Widen != Keep:
		return c.Widen.append(dst, value)
	case c.inner != nil:
		if err := c.inner.rewrite(value); err != nil {
			return dst, err
		}
	}
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(value))), value...), nil
}
