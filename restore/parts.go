package restore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Sections of a restore that can be chosen one by one, as pg_restore has them; the state of sequences is one of its own, for it has to be set again when
// writers move from the source to the target.
const (
	SectionPreData   = "pre-data"
	SectionData      = "data" // with sequences
	SectionPostData  = "post-data"
	SectionSequences = "sequences"
)

// Sections are their names in order.
var Sections = []string{SectionPreData, SectionData, SectionPostData, SectionSequences}

// parts are the sections that a restore does.
type parts struct{ pre, rows, post, sequences bool }

// setParts brings Sections, DataOnly and SchemaOnly together. From then on DataOnly tells that the tables are there already, SchemaOnly that neither
// rows nor sequences are restored.
func (o *Options) setParts() error {
	switch {
	case len(o.Sections) == 0 && o.DataOnly && o.SchemaOnly:
		return errors.New("data only and schema only exclude each other")
	case len(o.Sections) == 0:
		o.parts = parts{pre: !o.DataOnly, rows: !o.SchemaOnly, post: !o.DataOnly, sequences: !o.SchemaOnly}
		return nil
	case o.DataOnly || o.SchemaOnly:
		return errors.New("chosen sections exclude data only and schema only")
	}
	for _, s := range o.Sections {
		if !slices.Contains(Sections, s) {
			return fmt.Errorf("section %q is none of %s", s, strings.Join(Sections, ", "))
		}
	}
	has := func(s string) bool { return slices.Contains(o.Sections, s) }
	o.parts = parts{pre: has(SectionPreData), rows: has(SectionData), post: has(SectionPostData), sequences: has(SectionSequences) || has(SectionData)}
	o.DataOnly, o.SchemaOnly = !o.parts.pre, !o.parts.rows && !o.parts.sequences
	return nil
}

// definitions tells that the archive is needed for more than large objects.
func (p parts) definitions() bool { return p.pre || p.post }

// matviews tells whether materialized views are filled: with post-data, to which pg_restore counts that, and with rows alone; not with definitions alone.
func (p parts) matviews() bool {
	if p.post {
		return p.rows || !p.pre
	}
	return p.rows && !p.pre
}

// withoutRows names what is restored when that is no rows; else it is empty.
func (p parts) withoutRows() string {
	switch {
	case p.rows:
		return ""
	case !p.sequences:
		return "definitions"
	case !p.definitions():
		return "sequences"
	}
	return "definitions and sequences"
}

// String identifies the parts, so that a resumed restore does the same.
func (p parts) String() string {
	if p.pre == p.post && p.rows == p.sequences {
		return fmt.Sprintf("data-only=%t schema-only=%t", !p.pre, !p.rows)
	}
	text := "sections="
	for i, on := range []bool{p.pre, p.rows, p.post, p.sequences} {
		if on {
			text += Sections[i] + " "
		}
	}
	return text
}
