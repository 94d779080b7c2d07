package restore

import (
	"testing"

	"github.com/bytehaul/pghaul/format"
)

// A hint is copied: no text of a file reaches it but as the name of a builtin type.
func TestTypeSQL(t *testing.T) {
	for _, c := range []struct{ schema, name, text, want string }{
		{"pg_catalog", "int4", "integer", "integer"},
		{"pg_catalog", "numeric", "numeric(10,2)", "numeric(10,2)"},
		{"pg_catalog", "numeric", "numeric(3,-2)", "numeric(3,-2)"},
		{"pg_catalog", "timestamptz", "timestamp(3) with time zone", "timestamp(3) with time zone"},
		{"pg_catalog", "_text", "text[]", "text[]"},
		{"pg_catalog", "char", `"char"`, `"pg_catalog"."char"`},
		{"public", "_mood", "public.mood[]", `"public"."mood"[]`},
		{"public", "_mood", "public._mood", `"public"."_mood"`},
		{"public", "mood", "public.mood", `"public"."mood"`},
		{"public", "int4", "integer", `"public"."int4"`},
		{"pg_catalog", "int4", "int); DROP TABLE x; --", `"pg_catalog"."int4"`},
		{"pg_catalog", "int4", "int default evil(1)", `"pg_catalog"."int4"`},
		{"pg_catalog", "interval", "interval day to second(3)", "interval day to second(3)"},
		{"pg_catalog", "varchar", "character varying(20)[]", "character varying(20)[]"},
		{"s", `a"b`, "x", `"s"."a""b"`},
	} {
		got := typeSQL(format.Column{TypeSchema: format.Name(c.schema), TypeName: format.Name(c.name), Type: c.text})
		if got != c.want {
			t.Errorf("%s.%s %q: %s, want %s", c.schema, c.name, c.text, got, c.want)
		}
	}
}
