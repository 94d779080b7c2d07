package format

import (
	"errors"
	"strings"
	"testing"
)

func TestMetaThatCannotBe(t *testing.T) {
	text := Column{Name: "c", Type: "text", TypeSchema: "pg_catalog", TypeName: "text", OID: 25, Carried: CarriedBinary}
	chain := func(n int) (list []Type) {
		for i := range uint32(n) {
			list = append(list, Type{OID: 100 + i, Name: "a", Kind: KindArray, Element: 101 + i})
		}
		return list
	}
	wide := func(n int) (list []Type) { // each of two of the next: 2^n paths
		for i := range uint32(n) {
			list = append(list, Type{OID: 100 + i, Name: "c", Kind: KindComposite, Fields: []TypeField{{Name: "x", OID: 101 + i}, {Name: "y", OID: 101 + i}}})
		}
		return list
	}
	tests := []struct {
		name   string
		change func(m *Meta)
		part   string // of the error; "": none
	}{
		{"plain", func(*Meta) {}, ""},
		{"as deep as can be", func(m *Meta) { m.Types = chain(MaxTypeDepth) }, ""},
		{"many paths", func(m *Meta) { m.Types = wide(MaxTypeDepth) }, ""},
		{"type that is not described", func(m *Meta) { m.Types = []Type{{OID: 1, Name: "d", Kind: KindDomain, Element: 77}} }, ""},
		{"too deep", func(m *Meta) { m.Types = chain(MaxTypeDepth + 1) }, "nested more than"},
		{"too deep, told from the bottom", func(m *Meta) {
			m.Types = chain(MaxTypeDepth + 1)
			for i, j := 0, len(m.Types)-1; i < j; i, j = i+1, j-1 {
				m.Types[i], m.Types[j] = m.Types[j], m.Types[i]
			}
		}, "nested more than"},
		{"too many", func(m *Meta) { m.Types = chain(MaxTypes + 1) }, "types, more than"},
		{"circle", func(m *Meta) { m.Types = append(chain(3), Type{OID: 103, Name: "d", Kind: KindDomain, Element: 100}) }, "circle"},
		{"domain of itself", func(m *Meta) { m.Types = []Type{{OID: 1, Name: "d", Kind: KindDomain, Element: 1}} }, "circle"},
		{"twice", func(m *Meta) { m.Types = []Type{{OID: 1, Name: "a"}, {OID: 1, Name: "b"}} }, "twice"},
		{"column twice", func(m *Meta) { m.Columns = []Column{text, text} }, "named twice"},
		{"column without a name", func(m *Meta) { m.Columns = []Column{{Carried: CarriedText}} }, "not at all"},
		{"bytes by a cast", func(m *Meta) { m.Columns[0].Cast = "text" }, "by a cast"},
		{"other carriage", func(m *Meta) { m.Columns[0].Carried = "pigeon" }, "unknown way"},
		{"zero byte", func(m *Meta) { m.Table.Name = "a\x00b" }, "zero byte"},
		{"long label", func(m *Meta) { m.Types = []Type{{OID: 1, Labels: []Name{Name(strings.Repeat("l", MaxName+1))}}} }, "more than 1024"},
		{"long name of an extension", func(m *Meta) {
			m.Types = []Type{{OID: 1, Extension: &Extension{Name: Name(strings.Repeat("l", MaxName+1))}}}
		}, "more than 1024"},
	}
	for _, tt := range tests {
		m := &Meta{Columns: []Column{text}}
		tt.change(m)
		p, err := encodeMeta(m)
		if err != nil {
			t.Fatal(err)
		}
		h := new(Header)
		err = h.UnmarshalBinary(sealed(goodHaul, chunk("META", string(p)), goodDgst))
		var e *Error
		switch {
		case tt.part == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.part != "" && (!errors.As(err, &e) || !strings.Contains(err.Error(), tt.part)):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.part)
		}
	}
}

func TestManifestThatCannotBe(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(m *Manifest)
		part   string
	}{
		"system table":     {func(m *Manifest) { m.Tables[0].Schema = "pg_catalog" }, "server's own"},
		"root without one": {func(m *Manifest) { m.Tables[0].Root = &Table{Schema: "public"} }, "server's own"},
		"system sequence":  {func(m *Manifest) { m.Sequences = []Sequence{{Schema: "information_schema", Name: "s"}} }, "server's own"},
		"system matview":   {func(m *Manifest) { m.MatViews = []MatView{{Schema: "pg_toast", Name: "s"}} }, "server's own"},
		"zero byte":        {func(m *Manifest) { m.Roles = []Name{"a\x00"} }, "zero byte"},
		"long name":        {func(m *Manifest) { m.Source.ACL = []Grant{{Grantee: Name(strings.Repeat("x", MaxName+1))}} }, "more than 1024"},
		"carriage":         {func(m *Manifest) { m.Tables[0].Columns[0].Carried = "pigeon" }, "unknown way"},
	} {
		m := sampleManifest()
		tt.change(m)
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), tt.part) {
			t.Errorf("%s: %v, want %q", name, err, tt.part)
		}
	}
}
