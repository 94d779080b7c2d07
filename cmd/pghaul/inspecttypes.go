package main

import (
	"fmt"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/show"
)

// maxTypeDepth ends the tree of a file whose types go round in circles.
const maxTypeDepth = 32

// typesText draws the types of the columns as a tree, each at its first use; plain builtin types stand together in one line.
func typesText(m *format.Meta) string {
	t := typeTree{byOID: map[uint32]*format.Type{}, seen: map[uint32]bool{}}
	for i := range m.Types {
		t.byOID[m.Types[i].OID] = &m.Types[i]
	}
	var plain []string
	for _, c := range m.Columns {
		node := t.byOID[c.OID]
		switch {
		case t.seen[c.OID] || node == nil:
		case node.Kind == format.KindBase && node.Extension == nil:
			t.seen[c.OID] = true
			plain = append(plain, typeName(node.Schema, node.Name))
		default:
			t.draw(c.OID, "", "  ", "  ", 0)
		}
	}
	if len(plain) > 0 {
		return wrap("  base: "+strings.Join(plain, ", "), "        ", 100) + t.b.String()
	}
	return t.b.String()
}

type typeTree struct {
	b     strings.Builder
	byOID map[uint32]*format.Type
	seen  map[uint32]bool
}

// draw writes a type and what it is made of. first is what stands before the type itself, rest before the lines below it.
func (t *typeTree) draw(oid uint32, label, first, rest string, depth int) {
	node := t.byOID[oid]
	if node == nil {
		fmt.Fprintf(&t.b, "%s%stype with OID %d, not described\n", first, label, oid)
		return
	}
	fmt.Fprintf(&t.b, "%s%s%s\n", first, label, nodeText(node))
	if t.seen[oid] || depth >= maxTypeDepth {
		return
	}
	t.seen[oid] = true
	type child struct {
		label string
		oid   uint32
	}
	var children []child
	if node.Element != 0 {
		children = append(children, child{"of ", node.Element})
	}
	for _, f := range node.Fields {
		children = append(children, child{show.Text(string(f.Name)) + " ", f.OID})
	}
	for i, c := range children {
		if i == len(children)-1 {
			t.draw(c.oid, c.label, rest+"└─ ", rest+"   ", depth+1)
		} else {
			t.draw(c.oid, c.label, rest+"├─ ", rest+"│  ", depth+1)
		}
	}
}

func nodeText(n *format.Type) string {
	s := typeName(n.Schema, n.Name)
	if n.Kind != format.KindBase {
		s += " (" + show.Text(string(n.Kind)) + ")"
	}
	if n.Extension != nil {
		s += " of extension " + show.Text(string(n.Extension.Name)) + " " + show.Text(n.Extension.Version)
	}
	if len(n.Labels) > 0 {
		labels := make([]string, len(n.Labels))
		for i, l := range n.Labels {
			labels[i] = "'" + show.Text(string(l)) + "'"
		}
		s += ": " + show.Fit(strings.Join(labels, " < "), 160)
	}
	return s
}

// typeName leaves out the schema that every server has.
func typeName(schema, name format.Name) string {
	if schema == "pg_catalog" {
		return show.Text(string(name))
	}
	return show.Table(schema, name)
}

// wrap breaks text at spaces into lines of at most width bytes.
func wrap(s, indent string, width int) string {
	var b strings.Builder
	for len(s) > width {
		at := strings.LastIndexByte(s[:width+1], ' ')
		if at <= len(indent) {
			break
		}
		b.WriteString(s[:at] + "\n")
		s = indent + s[at+1:]
	}
	b.WriteString(s + "\n")
	return b.String()
}
