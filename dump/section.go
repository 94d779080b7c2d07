package dump

import (
	"fmt"
	"slices"
)

// Sections of a dump, as pg_dump has them.
const (
	PreData  = "pre-data"  // what is there before rows: types, functions, empty tables
	Data     = "data"      // rows, large objects, the state of sequences
	PostData = "post-data" // indexes, constraints, triggers, rules
)

var sections = []string{PreData, Data, PostData}

// checkSections brings Sections, DataOnly and SchemaOnly together: what the latter two say is in them alone.
func (o *Options) checkSections() error {
	if len(o.Sections) == 0 {
		return nil
	}
	for _, s := range o.Sections {
		if !slices.Contains(sections, s) {
			return fmt.Errorf("section %q is none of pre-data, data, post-data", s)
		}
	}
	if o.DataOnly || o.SchemaOnly {
		return fmt.Errorf("chosen sections exclude data only and schema only")
	}
	has := func(s string) bool { return slices.Contains(o.Sections, s) }
	o.DataOnly = has(Data) && !has(PreData) && !has(PostData)
	o.SchemaOnly = !has(Data)
	if o.DataOnly || has(PreData) && has(PostData) {
		o.Sections = nil
		return nil
	}
	o.Sections = slices.DeleteFunc(slices.Clone(sections), func(s string) bool { return !has(s) })
	return nil
}

// sectionsLeft are the sections of definitions that are not chosen, when only one of them is.
func (o *Options) sectionsLeft() (left []string) {
	for _, s := range []string{PreData, PostData} {
		if len(o.Sections) > 0 && !slices.Contains(o.Sections, s) {
			left = append(left, s)
		}
	}
	return left
}
