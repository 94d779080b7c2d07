package shelf

import (
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
)

// choosing are the options of a dump that decide about what is in it, as a manifest names them.
var choosing = []string{"schema", "exclude-schema", "table", "table-and-children", "exclude-table", "exclude-table-and-children", "exclude-table-data",
	"exclude-table-data-and-children", "extension", "exclude-extension", "include-foreign-data", "section", "data-only", "schema-only", "no-unlogged-data", "large-objects"}

// choiceOf says what of a database a dump holds, by the options that chose it: "" is all of it. Two dumps of one choice can stand for each other.
func choiceOf(m *format.Manifest) string {
	var parts []string
	for _, name := range choosing {
		if value, given := m.Options[name]; given {
			parts = append(parts, "--"+name+"="+value)
		}
	}
	var conditions []string
	for i := range m.Tables {
		if t := &m.Tables[i]; t.Where != "" {
			conditions = append(conditions, "--where="+string(t.Schema)+"."+string(t.Name)+":"+t.Where)
		}
	}
	slices.Sort(conditions)
	return strings.Join(append(parts, conditions...), " ")
}
