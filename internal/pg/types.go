package pg

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/format"
)

// firstUserOID is where OIDs begin that differ between databases: FirstGenbkiObjectId in src/include/access/transam.h.
// initdb gives those from there to 16383 (information_schema's domains, for one), users those above.
const firstUserOID = 10000

// Type is a node of the type graph with what decides how its values travel.
type Type struct {
	format.Type
	Send, Receive bool // binary output and input exist
	Recoded       bool // the database's encoding stands in its bytes, and would stand in the loaded value
}

// Types is the graph of types by OID.
type Types map[uint32]*Type

// LoadTypes reads the types of the given OIDs and all that they are made of.
func (c *Conn) LoadTypes(ctx context.Context, oids []uint32) (Types, error) {
	types := Types{}
	for next := missing(types, oids); len(next) > 0; {
		found, err := c.typeRows(ctx, next)
		if err != nil {
			return nil, err
		}
		var parts, composites, enums []uint32
		for _, t := range found {
			types[t.OID] = t
			switch t.Kind {
			case format.KindComposite:
				composites = append(composites, t.OID)
			case format.KindEnum:
				enums = append(enums, t.OID)
			}
			if t.Element != 0 {
				parts = append(parts, t.Element)
			}
		}
		fields, err := c.compositeFields(ctx, composites, types)
		if err != nil {
			return nil, err
		}
		if err := c.enumLabels(ctx, enums, types); err != nil {
			return nil, err
		}
		for _, oid := range next {
			if types[oid] == nil {
				return nil, fmt.Errorf("type with OID %d vanished while it was looked up", oid)
			}
		}
		next = missing(types, append(parts, fields...))
	}
	return types, nil
}

func missing(types Types, oids []uint32) []uint32 {
	next := slices.Clone(oids)
	slices.Sort(next)
	next = slices.Compact(next)
	return slices.DeleteFunc(next, func(oid uint32) bool { return types[oid] != nil || oid == 0 })
}

func (c *Conn) typeRows(ctx context.Context, oids []uint32) ([]*Type, error) {
	multirange, join := "coalesce(r.rngsubtype, 0::oid), 0::oid", ""
	if c.Version >= 140000 {
		multirange = "coalesce(r.rngsubtype, 0::oid), coalesce(m.rngtypid, 0::oid)"
		join = " LEFT JOIN pg_catalog.pg_range m ON m.rngmultitypid = t.oid"
	}
	rows, err := c.Query(ctx, `SELECT t.oid, n.nspname::text, t.typname::text, t.typtype::text, t.typelem, t.typbasetype,
 t.typoutput = 'pg_catalog.array_out'::regproc, t.typsend::oid <> 0, t.typreceive::oid <> 0, `+multirange+`,
 coalesce(x.extname::text, ''), coalesce(x.extversion, '')
 FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_catalog.pg_range r ON r.rngtypid = t.oid`+join+`
 LEFT JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e'
 LEFT JOIN pg_catalog.pg_extension x ON x.oid = d.refobjid WHERE t.oid = ANY($1) ORDER BY t.oid`, oids)
	if err != nil {
		return nil, Wrap(err, "list of types")
	}
	return collect(rows, "list of types", func(row pgx.CollectableRow) (*Type, error) {
		t := &Type{}
		var kind string
		var array bool
		var element, base, subtype, ranged uint32
		var ext format.Extension
		defer func() { // xml_send declares an encoding, UTF8 alone excepted, and xml_recv keeps the declaration in the text
			t.Recoded = t.Schema == "pg_catalog" && t.Name == "xml" && c.Encoding != "UTF8" && c.Encoding != "SQL_ASCII"
		}()
		err := row.Scan(&t.OID, &t.Schema, &t.Name, &kind, &element, &base, &array, &t.Send, &t.Receive, &subtype, &ranged, &ext.Name, &ext.Version)
		if ext.Name != "" {
			t.Extension = &ext
		}
		switch {
		case kind == "e":
			t.Kind = format.KindEnum
		case kind == "c":
			t.Kind = format.KindComposite
		case kind == "d":
			t.Kind, t.Element = format.KindDomain, base
		case kind == "r":
			t.Kind, t.Element = format.KindRange, subtype
		case kind == "m":
			t.Kind, t.Element = format.KindMultirange, ranged
		case array:
			t.Kind, t.Element = format.KindArray, element
		default:
			t.Kind = format.KindBase
		}
		return t, err
	})
}

func (c *Conn) compositeFields(ctx context.Context, composites []uint32, types Types) (parts []uint32, err error) {
	if len(composites) == 0 {
		return nil, nil
	}
	rows, err := c.Query(ctx, `SELECT t.oid, a.attname::text, a.atttypid FROM pg_catalog.pg_type t JOIN pg_catalog.pg_attribute a ON a.attrelid = t.typrelid
 WHERE t.oid = ANY($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY t.oid, a.attnum`, composites)
	if err != nil {
		return nil, Wrap(err, "attributes of composite types")
	}
	var oid uint32
	var f format.TypeField
	_, err = pgx.ForEachRow(rows, []any{&oid, &f.Name, &f.OID}, func() error {
		types[oid].Fields = append(types[oid].Fields, f)
		parts = append(parts, f.OID)
		return nil
	})
	return parts, Wrap(err, "attributes of composite types")
}

func (c *Conn) enumLabels(ctx context.Context, enums []uint32, types Types) error {
	if len(enums) == 0 {
		return nil
	}
	rows, err := c.Query(ctx, `SELECT enumtypid, enumlabel::text FROM pg_catalog.pg_enum WHERE enumtypid = ANY($1) ORDER BY enumtypid, enumsortorder`, enums)
	if err != nil {
		return Wrap(err, "labels of enums")
	}
	var oid uint32
	var label format.Name
	_, err = pgx.ForEachRow(rows, []any{&oid, &label}, func() error {
		types[oid].Labels = append(types[oid].Labels, label)
		return nil
	})
	return Wrap(err, "labels of enums")
}

// Reached gives the nodes that the OIDs reach, by OID: what a file's META lists.
func (t Types) Reached(oids []uint32) []format.Type {
	seen := map[uint32]bool{}
	var list []format.Type
	var visit func(oid uint32)
	visit = func(oid uint32) {
		node := t[oid]
		if node == nil || seen[oid] {
			return
		}
		seen[oid] = true
		list = append(list, node.Type)
		visit(node.Element)
		for _, f := range node.Fields {
			visit(f.OID)
		}
	}
	for _, oid := range oids {
		visit(oid)
	}
	slices.SortFunc(list, func(a, b format.Type) int { return int(int64(a.OID) - int64(b.OID)) })
	return list
}
