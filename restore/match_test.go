package restore

import (
	"slices"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

func column(name, typ string) format.Column {
	return format.Column{Name: format.Name(name), Type: typ, TypeSchema: "pg_catalog", TypeName: format.Name(strings.Fields(typ)[0]), Carried: format.CarriedBinary}
}

func onTarget(c format.Column, change ...func(*pg.TargetColumn)) pg.TargetColumn {
	t := pg.TargetColumn{Column: c}
	for _, f := range change {
		f(&t)
	}
	return t
}

func required(t *pg.TargetColumn)  { t.Required = true }
func filled(t *pg.TargetColumn)    { t.Filled = true }
func generated(t *pg.TargetColumn) { t.Generated, t.Filled = "stored", true }

func TestMatchColumns(t *testing.T) {
	other := column("m", "mood")
	other.TypeSchema = "o"
	cases := []struct {
		name   string
		dump   []format.Column
		target []pg.TargetColumn
		want   []string // objects of the errors
	}{
		{"equal", []format.Column{column("a", "integer")}, []pg.TargetColumn{onTarget(column("a", "integer"))}, nil},
		{"another order", []format.Column{column("a", "integer"), column("b", "integer")}, []pg.TargetColumn{onTarget(column("b", "integer")), onTarget(column("a", "integer"))}, nil},
		{"more on the target", []format.Column{column("a", "integer")}, []pg.TargetColumn{onTarget(column("x", "text")), onTarget(column("a", "integer"))}, nil},
		{"more, filled", []format.Column{column("a", "integer")}, []pg.TargetColumn{onTarget(column("x", "text"), required, filled), onTarget(column("a", "integer"))}, nil},
		{"more, required", []format.Column{column("a", "integer")}, []pg.TargetColumn{onTarget(column("x", "text"), required), onTarget(column("a", "integer"))}, []string{"s.t.x"}},
		{"given, required", []format.Column{column("a", "integer")}, []pg.TargetColumn{onTarget(column("a", "integer"), required)}, nil},
		{"less on the target", []format.Column{column("a", "integer"), column("b", "text")}, []pg.TargetColumn{onTarget(column("a", "integer"))}, []string{"s.t.b"}},
		{"wider", []format.Column{column("a", "integer")}, []pg.TargetColumn{onTarget(column("a", "bigint"))}, []string{"s.t.a"}},
		{"modifier", []format.Column{column("a", "numeric (5,2)")}, []pg.TargetColumn{onTarget(column("a", "numeric (7,2)"))}, []string{"s.t.a"}},
		{"schema of the type", []format.Column{column("m", "mood")}, []pg.TargetColumn{onTarget(other)}, []string{"s.t.m"}},
		{"case of the name", []format.Column{column("A", "integer")}, []pg.TargetColumn{onTarget(column("a", "integer"))}, []string{"s.t.A"}},
		{"generated", []format.Column{column("a", "integer")}, []pg.TargetColumn{onTarget(column("a", "integer"), generated)}, []string{"s.t.a"}},
		{"no columns", nil, nil, nil},
		{"no columns, generated only", nil, []pg.TargetColumn{onTarget(column("a", "integer"), generated)}, nil},
		{"no columns, some on the target", nil, []pg.TargetColumn{onTarget(column("a", "integer"))}, []string{"s.t"}},
		{"everything", []format.Column{column("a", "integer"), column("b", "text")}, []pg.TargetColumn{onTarget(column("a", "text")), onTarget(column("c", "text"), required)}, []string{"s.t.a", "s.t.b", "s.t.c"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := &findings{}
			matchColumns(f, "s.t", c.dump, c.target)
			var got []string
			for _, x := range f.list {
				got = append(got, x.Object)
				if x.Severity != SeverityError || x.Hint == "" {
					t.Errorf("finding %+v", x)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("findings about %q, want %q", got, c.want)
			}
		})
	}
}

func TestMatchLabels(t *testing.T) {
	mood := func(labels ...format.Name) format.Type {
		return format.Type{OID: 20000, Schema: "public", Name: "mood", Kind: format.KindEnum, Labels: labels}
	}
	cases := []struct {
		name   string
		target pg.Types
		want   string // part of the finding; "": none
	}{
		{"equal", pg.Types{5: {Type: mood("sad", "ok")}}, ""},
		{"another order and more", pg.Types{5: {Type: mood("ok", "new", "sad")}}, ""},
		{"missing", pg.Types{5: {Type: mood("ok")}}, `"sad"`},
		{"another kind", pg.Types{5: {Type: format.Type{Schema: "public", Name: "mood", Kind: format.KindDomain}}}, "domain"},
		{"not there", pg.Types{}, ""}, // found by the column's type
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := &findings{}
			matchLabels(f, []format.Type{mood("sad", "ok")}, c.target)
			switch {
			case c.want == "" && len(f.list) > 0:
				t.Errorf("findings %+v", f.list)
			case c.want != "" && (len(f.list) != 1 || !strings.Contains(f.list[0].Dump+f.list[0].Target, c.want)):
				t.Errorf("findings %+v, want one about %s", f.list, c.want)
			}
		})
	}
}
