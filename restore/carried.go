package restore

import (
	"context"
	"slices"

	"github.com/bytehaul/pghaul/format"
)

// firstUserOID is where OIDs begin that differ between databases: FirstGenbkiObjectId in src/include/access/transam.h.
const firstUserOID = 10000

// checkCarried refuses columns whose bytes can't go into the target as they are: those carried as text, and those whose values hold the OIDs of
// types that have other OIDs there.
func (j *job) checkCarried(_ context.Context, f *findings) error {
	if j.o.SchemaOnly {
		return nil
	}
	const hint = "leave the table out with -T"
	for _, t := range j.plan.tables {
		graph := graphOf(t.types)
		for _, c := range t.columns {
			object := t.name.String() + "." + string(c.Name)
			switch {
			case c.Carried != format.CarriedBinary:
				f.bad(object, "type "+c.Type+" is carried as "+string(c.Carried)+", which this version does not load", "", hint)
			case holdsOIDs(graph, c.OID, nil):
				f.bad(object, "values of type "+c.Type+" hold OIDs of the source's types, which this version does not rewrite", "", hint)
			}
		}
	}
	return nil
}

func graphOf(types []format.Type) map[uint32]*format.Type {
	graph := make(map[uint32]*format.Type, len(types))
	for i := range types {
		graph[types[i].OID] = &types[i]
	}
	return graph
}

// holdsOIDs tells whether the bytes of a type hold OIDs that differ between databases: arrays hold that of their element, composites those of
// their fields.
func holdsOIDs(graph map[uint32]*format.Type, oid uint32, path []uint32) bool {
	node := graph[oid]
	if node == nil || slices.Contains(path, oid) {
		return false
	}
	path = append(path, oid)
	if node.Kind == format.KindArray && node.Element >= firstUserOID {
		return true
	}
	for _, field := range node.Fields {
		if field.OID >= firstUserOID || holdsOIDs(graph, field.OID, path) {
			return true
		}
	}
	return holdsOIDs(graph, node.Element, path)
}
