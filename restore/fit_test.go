package restore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/convert"
	"github.com/bytehaul/pghaul/internal/pg"
)

// column is a column of a builtin type without a modifier.
func column(name, typ string) format.Column {
	return format.Column{Name: format.Name(name), Type: typ, TypeSchema: "pg_catalog", TypeName: format.Name(typ), Typmod: -1, Carried: format.CarriedBinary}
}

// limited is a column with a modifier as the server keeps it.
func limited(typ string, typmod int32) format.Column {
	c := column("v", typ)
	c.Typmod, c.Type = typmod, fmt.Sprintf("%s(%d)", typ, typmod)
	return c
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

func TestFitTable(t *testing.T) {
	a, b := column("a", "int4"), column("b", "text")
	cases := []struct {
		name   string
		dump   []format.Column
		target []pg.TargetColumn
		drop   string
		want   []string // column verdict
	}{
		{"equal", []format.Column{a}, []pg.TargetColumn{onTarget(a)}, "", []string{"a same"}},
		{"another order", []format.Column{a, b}, []pg.TargetColumn{onTarget(b), onTarget(a)}, "", []string{"a same", "b same"}},
		{"more on the target", []format.Column{a}, []pg.TargetColumn{onTarget(b), onTarget(a)}, "", []string{"a same", "b filled"}},
		{"more, required and filled", []format.Column{a}, []pg.TargetColumn{onTarget(b, required, filled), onTarget(a)}, "", []string{"a same", "b filled"}},
		{"more, required", []format.Column{a}, []pg.TargetColumn{onTarget(b, required), onTarget(a)}, "", []string{"a same", "b refused"}},
		{"more, generated", []format.Column{a}, []pg.TargetColumn{onTarget(b, generated), onTarget(a)}, "", []string{"a same"}},
		{"less on the target", []format.Column{a, b}, []pg.TargetColumn{onTarget(a)}, "", []string{"a same", "b refused"}},
		{"less, dropped", []format.Column{a, b}, []pg.TargetColumn{onTarget(a)}, "b", []string{"a same", "b dropped"}},
		{"dropped but there", []format.Column{a, b}, []pg.TargetColumn{onTarget(a), onTarget(b)}, "b", []string{"a same", "b same"}},
		{"case of the name", []format.Column{column("A", "int4")}, []pg.TargetColumn{onTarget(a)}, "", []string{"A refused", "a filled"}},
		{"generated", []format.Column{a}, []pg.TargetColumn{onTarget(a, generated)}, "", []string{"a refused"}},
		{"no columns", nil, nil, "", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range fitTable(c.dump, c.target, nil, loosening{drop: func(n format.Name) bool { return string(n) == c.drop }}) {
				name := f.column.Name
				if name == "" {
					name = f.target.Name
				}
				got = append(got, string(name)+" "+string(f.verdict))
				if f.verdict == NoFit && f.hint == "" {
					t.Errorf("%s is refused without a hint", name)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestFitTypes(t *testing.T) {
	enum := format.Column{Name: "v", Type: "public.mood", TypeSchema: "public", TypeName: "mood", OID: 20000, Typmod: -1, Carried: format.CarriedBinary}
	citext := format.Column{Name: "v", Type: "public.citext", TypeSchema: "public", TypeName: "citext", OID: 20001, Typmod: -1, Carried: format.CarriedBinary}
	fake := citext
	fake.OID = 20002
	elsewhere := enum
	elsewhere.TypeSchema, elsewhere.Type = "other", "other.mood"
	seg := format.Column{Name: "v", Type: "public.seg", TypeSchema: "public", TypeName: "seg", OID: 20003, Typmod: -1, Carried: format.CarriedText, Cast: pg.CastText}
	types := pg.Types{20000: {Type: format.Type{OID: 20000, Schema: "public", Name: "mood", Kind: format.KindEnum}},
		20001: {Type: format.Type{OID: 20001, Schema: "public", Name: "citext", Kind: format.KindBase, Extension: &format.Extension{Name: "citext"}}},
		20002: {Type: format.Type{OID: 20002, Schema: "public", Name: "citext", Kind: format.KindBase}}}
	numeric := func(precision, scale int32) format.Column { return limited("numeric", (precision<<16|scale)+4) }
	cases := []struct {
		name       string
		dump, into format.Column
		want       Verdict
		widen      convert.Widening
	}{
		{"int2 to int4", column("v", "int2"), column("v", "int4"), Converts, convert.Int2ToInt4},
		{"int2 to int8", column("v", "int2"), column("v", "int8"), Converts, convert.Int2ToInt8},
		{"int4 to int8", column("v", "int4"), column("v", "int8"), Converts, convert.Int4ToInt8},
		{"float4 to float8", column("v", "float4"), column("v", "float8"), Converts, convert.Float4ToFloat8},
		{"int8 to int4", column("v", "int8"), column("v", "int4"), Castable, 0},
		{"int8 to timestamptz", column("v", "int8"), column("v", "timestamptz"), Castable, 0},
		{"int4 to float8", column("v", "int4"), column("v", "float8"), Converts, convert.Int4ToFloat8},
		{"int4 to float4", column("v", "int4"), column("v", "float4"), Castable, 0},
		{"int8 to float8", column("v", "int8"), column("v", "float8"), Castable, 0},
		{"int8 to numeric", column("v", "int8"), column("v", "numeric"), Converts, convert.Int8ToNumeric},
		{"int2 to numeric(5)", column("v", "int2"), numeric(5, 0), Converts, convert.Int2ToNumeric},
		{"int2 to numeric(4)", column("v", "int2"), numeric(4, 0), Castable, 0},
		{"int4 to numeric(12,2)", column("v", "int4"), numeric(12, 2), Converts, convert.Int4ToNumeric},
		{"int4 to numeric(11,2)", column("v", "int4"), numeric(11, 2), Castable, 0},
		{"int4 to numeric(12,-2)", column("v", "int4"), numeric(12, -2&0x7ff), Castable, 0},
		{"int8 to numeric(1000,981)", column("v", "int8"), numeric(1000, 981), Converts, convert.Int8ToNumeric},
		{"int8 to numeric(18)", column("v", "int8"), numeric(18, 0), Castable, 0},
		{"float4 to numeric", column("v", "float4"), column("v", "numeric"), Castable, 0},
		{"timestamp to timestamptz", column("v", "timestamp"), column("v", "timestamptz"), Castable, 0},
		{"bytea to text", column("v", "bytea"), column("v", "text"), Castable, 0},
		{"varchar to text", limited("varchar", 13), column("v", "text"), Converts, 0},
		{"text to varchar", column("v", "text"), column("v", "varchar"), Converts, 0},
		{"text to varchar(9)", column("v", "text"), limited("varchar", 13), Castable, 0},
		{"varchar(9) to varchar(10)", limited("varchar", 13), limited("varchar", 14), Converts, 0},
		{"varchar(9) to varchar", limited("varchar", 13), column("v", "varchar"), Converts, 0},
		{"varchar(10) to varchar(9)", limited("varchar", 14), limited("varchar", 13), Castable, 0},
		{"varchar to varchar(9)", column("v", "varchar"), limited("varchar", 13), Castable, 0},
		{"char(3) to char(5)", limited("bpchar", 7), limited("bpchar", 9), Castable, 0},
		{"char to text", limited("bpchar", 7), column("v", "text"), Converts, 0},
		{"name to text", column("v", "name"), column("v", "text"), Converts, 0},
		{"numeric(5,2) to numeric(7,2)", numeric(5, 2), numeric(7, 2), Converts, 0},
		{"numeric(5,2) to numeric", numeric(5, 2), column("v", "numeric"), Converts, 0},
		{"numeric(7,2) to numeric(5,2)", numeric(7, 2), numeric(5, 2), Castable, 0},
		{"numeric(5,2) to numeric(7,1)", numeric(5, 2), numeric(7, 1), Castable, 0},
		{"numeric to numeric(5,2)", column("v", "numeric"), numeric(5, 2), Castable, 0},
		{"timestamp(3) to timestamp(6)", limited("timestamp", 3), limited("timestamp", 6), Converts, 0},
		{"timestamp to timestamp(6)", column("v", "timestamp"), limited("timestamp", 6), Converts, 0},
		{"timestamp to timestamp(0)", column("v", "timestamp"), limited("timestamp", 0), Castable, 0},
		{"interval to interval day to hour", column("v", "interval"), limited("interval", 1<<16|65535), Castable, 0},
		{"bit(3) to bit(5)", limited("bit", 3), limited("bit", 5), Castable, 0},
		{"varbit(3) to varbit(5)", limited("varbit", 3), limited("varbit", 5), Converts, 0},
		{"enum to text", enum, column("v", "text"), Converts, 0},
		{"enum to varchar(9)", enum, limited("varchar", 13), Castable, 0},
		{"enum of another schema", enum, elsewhere, Castable, 0},
		{"citext to text", citext, column("v", "text"), Converts, 0},
		{"a stranger called citext to text", fake, column("v", "text"), Castable, 0},
		{"text to enum", column("v", "text"), enum, Castable, 0},
		{"seg", seg, seg, Staged, 0},
		{"seg to text", seg, column("v", "text"), Castable, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := fitTable([]format.Column{c.dump}, []pg.TargetColumn{onTarget(c.into)}, types, loosening{drop: func(format.Name) bool { return false }})[0]
			if f.verdict != c.want || f.widen != c.widen {
				t.Errorf("%s with widening %d (%s), want %s with %d", f.verdict, f.widen, f.note, c.want, c.widen)
			}
			if f.verdict == Castable && (f.hint == "" || !f.staged()) {
				t.Errorf("a cast without a hint, or not staged: %+v", f)
			}
		})
	}
}
