package restore

import (
	"fmt"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// matchColumns compares a table's columns in the dump with those of the target, by name: the order does not matter, the type must be the same.
// It adds all that is wrong to f.
func matchColumns(f *findings, table string, inDump []format.Column, target []pg.TargetColumn) {
	there := make(map[format.Name]*pg.TargetColumn, len(target))
	writable := 0
	for i := range target {
		there[target[i].Name] = &target[i]
		if target[i].Generated == "" {
			writable++
		}
	}
	given := make(map[format.Name]bool, len(inDump))
	for _, c := range inDump {
		given[c.Name] = true
		matchColumn(f, table+"."+string(c.Name), c, there[c.Name])
	}
	if len(inDump) == 0 && writable > 0 {
		f.bad(table, "has no columns", fmt.Sprintf("has %d", writable), "COPY has no way to name no column: load this table by hand, or restore its definition too")
	}
	for _, c := range target {
		if !given[c.Name] && c.Required && !c.Filled {
			f.bad(table+"."+string(c.Name), "no such column", "NOT NULL without a default", "give the column a default for the time of the restore")
		}
	}
}

func matchColumn(f *findings, object string, c format.Column, target *pg.TargetColumn) {
	switch {
	case target == nil:
		f.bad(object, c.Type, "no such column", "add the column to the target's table")
	case target.Generated != "":
		f.bad(object, c.Type, "a generated column, which takes no values", "make it an ordinary column for the time of the restore")
	case !sameType(c, target.Column):
		f.bad(object, typeOf(c), typeOf(target.Column), "change the type of the target's column: bytes of another type would be read wrongly")
	}
}

// sameType tells that the bytes mean the same: the type of the same schema-qualified name with the same modifier.
func sameType(a, b format.Column) bool {
	return a.TypeSchema == b.TypeSchema && a.TypeName == b.TypeName && a.Type == b.Type
}

func typeOf(c format.Column) string { return "type " + c.Type }

// matchLabels looks for every label of the dump's enums among those of the target's types of the same name.
func matchLabels(f *findings, inDump []format.Type, target pg.Types) {
	there := map[pg.Qualified]*pg.Type{}
	for _, t := range target {
		there[pg.Qualified{Schema: t.Schema, Name: t.Name}] = t
	}
	for _, t := range inDump {
		twin := there[pg.Qualified{Schema: t.Schema, Name: t.Name}]
		if t.Kind != format.KindEnum || twin == nil { // a column whose type is missing has been found by its name
			continue
		}
		object := "type " + pg.TypeName(t)
		if twin.Kind != format.KindEnum {
			f.bad(object, "an enum", "kind "+string(twin.Kind), "make the type as it is in the dump")
			continue
		}
		known := make(map[format.Name]bool, len(twin.Labels))
		for _, l := range twin.Labels {
			known[l] = true
		}
		var missing []string
		for _, l := range t.Labels {
			if !known[l] {
				missing = append(missing, fmt.Sprintf("%q", string(l)))
			}
		}
		if len(missing) > 0 {
			f.bad(object, "has label "+strings.Join(missing, ", "), "no such label", "ALTER TYPE … ADD VALUE")
		}
	}
}
