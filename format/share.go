package format

import (
	"hash/maphash"
	"slices"
)

// Shared keeps one copy of what many tables have alike: names and lists of columns. A hundred thousand tables are seldom of as many makes. What it gives must
// not be changed. The zero value is ready. It is not safe for concurrent use.
type Shared struct {
	texts map[string]string
	lists map[uint64][][]Column
	seed  maphash.Seed
}

// text gives the first of all strings that are equal to s.
func (s *Shared) text(t string) string {
	if t == "" {
		return ""
	}
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	if known, ok := s.texts[t]; ok {
		return known
	}
	s.texts[t] = t
	return t
}

// Name gives the first of all names that are equal to n.
func (s *Shared) Name(n Name) Name { return Name(s.text(string(n))) }

// Columns gives the first of all lists that are equal to list, which may be used for another one afterwards.
func (s *Shared) Columns(list []Column) []Column {
	if list == nil {
		return nil
	}
	if s.lists == nil {
		s.lists, s.seed = map[uint64][][]Column{}, maphash.MakeSeed()
	}
	var h maphash.Hash
	h.SetSeed(s.seed)
	for i := range list {
		maphash.WriteComparable(&h, list[i])
	}
	sum := h.Sum64()
	for _, known := range s.lists[sum] {
		if slices.Equal(known, list) {
			return known
		}
	}
	c := slices.Clip(slices.Clone(list))
	for i := range c {
		s.column(&c[i])
	}
	s.lists[sum] = append(s.lists[sum], c)
	return c
}

// column lets a column have the strings that others have.
func (s *Shared) column(c *Column) {
	for _, n := range []*Name{&c.Name, &c.TypeSchema, &c.TypeName, &c.Collation} {
		*n = s.Name(*n)
	}
	for _, t := range []*string{&c.Type, &c.Identity, &c.Generated, &c.Cast, (*string)(&c.Carried)} {
		*t = s.text(*t)
	}
}

// table lets a table of a manifest have what others have. The digest of a table of one segment is the segment's.
func (s *Shared) table(t *ManifestTable) {
	t.Schema, t.Name, t.Kind, t.Where = s.Name(t.Schema), s.Name(t.Name), s.text(t.Kind), s.text(t.Where)
	t.Columns = s.Columns(t.Columns)
	t.Segments = slices.Clip(t.Segments)
	if len(t.Segments) == 1 && t.Segments[0].RowDigest == t.RowDigest {
		t.Segments[0].RowDigest = t.RowDigest
	}
	if t.RowDigest == noRows {
		t.RowDigest = noRows
		for i := range t.Segments {
			if t.Segments[i].RowDigest == noRows {
				t.Segments[i].RowDigest = noRows
			}
		}
	}
	if t.Root != nil {
		t.Root.Schema, t.Root.Name, t.Root.Kind = s.Name(t.Root.Schema), s.Name(t.Root.Name), s.text(t.Root.Kind)
	}
}

// noRows is the digest of no rows.
var noRows = RowDigest{}.String()
