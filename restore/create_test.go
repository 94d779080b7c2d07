package restore

import (
	"slices"
	"testing"

	"github.com/bytehaul/pghaul/format"
)

func TestSettingSQL(t *testing.T) {
	cases := []struct{ name, value, want string }{
		{"work_mem", "64MB", `ALTER DATABASE "d""b" SET "work_mem" TO '64MB'`},
		{"search_path", `"$user", public, "we, ird"`, `ALTER DATABASE "d""b" SET "search_path" TO '$user', 'public', 'we, ird'`},
		{"search_path", ``, `ALTER DATABASE "d""b" SET "search_path" TO ''`},
		{"search_path", `""`, `ALTER DATABASE "d""b" SET "search_path" TO ''`},
		{"search_path", `"a""b"`, `ALTER DATABASE "d""b" SET "search_path" TO 'a"b'`},
		{"DateStyle", `ISO, DMY`, `ALTER DATABASE "d""b" SET "DateStyle" TO 'ISO, DMY'`},
		{"app.user", `it's`, `ALTER DATABASE "d""b" SET "app"."user" TO 'it''s'`},
		{"bad name; DROP TABLE x", `1`, ""},
		{"search_path", `"open`, ""},
		{"search_path", `a b"c" "d"`, `ALTER DATABASE "d""b" SET "search_path" TO 'a b"c" "d"'`},
		{"search_path", `"a" b`, ""},
		{"search_path", `a,`, ""},
	}
	for _, c := range cases {
		got, err := settingSQL(`d"b`, format.DatabaseSetting{Name: c.name, Value: c.value})
		if (err != nil) != (c.want == "") || got != c.want {
			t.Errorf("%s = %s: %s, %v, want %s", c.name, c.value, got, err, c.want)
		}
	}
}

func TestRoleSettingSQL(t *testing.T) {
	got, err := settingSQL(`d"b`, format.DatabaseSetting{Name: "work_mem", Value: "1MB", Role: `a"b`})
	if want := `ALTER ROLE "a""b" IN DATABASE "d""b" SET "work_mem" TO '1MB'`; got != want || err != nil {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

func TestGrantSQL(t *testing.T) {
	cases := []struct {
		grant format.Grant
		want  string
	}{
		{format.Grant{Privilege: "CONNECT"}, `GRANT CONNECT ON DATABASE "db" TO PUBLIC`},
		{format.Grant{Grantee: `a"b`, Privilege: "CREATE", Grantable: true}, `GRANT CREATE ON DATABASE "db" TO "a""b" WITH GRANT OPTION`},
		{format.Grant{Privilege: "ALL; DROP TABLE x"}, ""},
	}
	for _, c := range cases {
		got, err := grantSQL("db", c.grant)
		if (err != nil) != (c.want == "") || got != c.want {
			t.Errorf("%+v: %s, %v, want %s", c.grant, got, err, c.want)
		}
	}
}

// listing is what pg_restore -v -l prints: a table with all that belongs to it, another one, and what both need.
const listing = `;
; Archive created at 2026-11-30 17:00:00 UTC
;
5; 2615 16385 SCHEMA - shop postgres
850; 1247 16386 TYPE shop mood postgres
;	depends on: 5
215; 1259 16390 TABLE shop orders postgres
;	depends on: 850 5
214; 1259 16389 SEQUENCE shop orders_id_seq postgres
;	depends on: 215 5
3300; 0 0 SEQUENCE OWNED BY shop orders_id_seq postgres
;	depends on: 214
217; 1259 16400 TABLE shop customers postgres
;	depends on: 5
218; 1259 16401 VIEW shop v postgres
;	depends on: 215 217
219; 1259 16402 TABLE arch other postgres
3100; 2604 16391 DEFAULT shop orders id postgres
;	depends on: 214 215 214
3160; 2606 16395 CONSTRAINT shop orders orders_pkey postgres
;	depends on: 215
3161; 1259 16396 INDEX shop orders_note postgres
;	depends on: 215
3301; 0 0 COMMENT shop INDEX orders_note postgres
;	depends on: 3161
3162; 2606 16397 FK CONSTRAINT shop orders orders_customer_fkey postgres
;	depends on: 215 217 3163
3163; 2606 16398 CONSTRAINT shop customers customers_pkey postgres
;	depends on: 217
3170; 6104 16420 PUBLICATION - pub postgres
`

func TestArchiveChoice(t *testing.T) {
	a, err := parseArchive("schema.pgdump", listing)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name    string
		options Choice
		want    []int
		support []int
		left    []string
	}{
		{"one table", Choice{Tables: []string{"shop.orders"}}, []int{5, 850, 215, 214, 3300, 3100, 3160, 3161, 3301}, []int{5, 850}, []string{"shop.orders orders_customer_fkey"}},
		{"both tables", Choice{Tables: []string{"orders", "customers"}}, []int{5, 850, 215, 214, 3300, 217, 3100, 3160, 3161, 3301, 3162, 3163}, []int{5, 850}, nil},
		{"a schema", Choice{Schemas: []string{"shop"}}, []int{5, 850, 215, 214, 3300, 217, 218, 3100, 3160, 3161, 3301, 3162, 3163}, nil, nil},
		{"not a schema", Choice{ExcludeSchemas: []string{"shop"}}, []int{219, 3170}, nil, nil},
		{"not a table", Choice{ExcludeTables: []string{"customers"}}, []int{5, 850, 215, 214, 3300, 218, 219, 3100, 3160, 3161, 3301, 3170}, nil, []string{"shop.orders orders_customer_fkey"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			choice, err := newChoice(&Options{Choice: c.options})
			if err != nil {
				t.Fatal(err)
			}
			got := a.choose(choice)
			var entries, support []int
			for _, e := range a.entries {
				if got.entries[e.DumpID] {
					entries = append(entries, e.DumpID)
				}
				if got.support[e.DumpID] {
					support = append(support, e.DumpID)
				}
			}
			if !slices.Equal(entries, c.want) || !slices.Equal(support, c.support) || !slices.Equal(got.left, c.left) {
				t.Errorf("entries %v, support %v, left %v\nwant    %v, support %v, left %v", entries, support, got.left, c.want, c.support, c.left)
			}
		})
	}
}

func TestStatementsOf(t *testing.T) {
	const script = "--\n-- PostgreSQL database dump\n--\n\n\\restrict abc\n\nSET statement_timeout = 0;\nSELECT pg_catalog.set_config('search_path', '', false);\n\nSET default_tablespace = '';\n\n" +
		"--\n-- Name: t; Type: TABLE; Schema: public; Owner: -\n--\n\nCREATE TABLE public.t (\n    a text DEFAULT '\nSET x = 1;'\n);\n\n\\unrestrict abc\n"
	const want = "SET default_tablespace = '';\n-- Name: t; Type: TABLE; Schema: public; Owner: -\n--\n\nCREATE TABLE public.t (\n    a text DEFAULT '\nSET x = 1;'\n);\n\n"
	if got := statementsOf(script); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestStatementsOfAnyBody: a body may hold any line, that of psql's restricted mode too; only the one with the script's own word is none of it.
func TestStatementsOfAnyBody(t *testing.T) {
	const body = "-- Name: f(); Type: FUNCTION\n\nCREATE FUNCTION f() RETURNS text LANGUAGE sql AS '\n\\restrict me\n\\unrestrict me\n';\n"
	if got := statementsOf("\\restrict abc\n\nSET x = 1;\n" + body + "\\unrestrict abc\n"); got != body {
		t.Errorf("%q", got)
	}
}

func TestDropsOf(t *testing.T) {
	const script = "--\n-- PostgreSQL database dump\n--\n\n\\restrict abc\n\nSET statement_timeout = 0;\nSELECT pg_catalog.set_config('search_path', '', false);\n\n" +
		"DROP TABLE IF EXISTS public.\"a;\n-- Name: x; Type: TABLE\nb\";\nDROP FUNCTION IF EXISTS public.\"it's\"();\nSELECT pg_catalog.lo_unlink('1');\n" +
		"--\n-- Name: t; Type: TABLE\n--\n\nCREATE TABLE public.t (a int);\n\n\\unrestrict abc\n"
	want := []string{"DROP TABLE IF EXISTS public.\"a;\n-- Name: x; Type: TABLE\nb\"", "DROP FUNCTION IF EXISTS public.\"it's\"()", "SELECT pg_catalog.lo_unlink('1')"}
	if got := dropsOf(script); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestFindCycle(t *testing.T) {
	a, b, c, d := &loadTable{}, &loadTable{}, &loadTable{}, &loadTable{}
	a.after, b.after, d.after = []*loadTable{b}, []*loadTable{c}, []*loadTable{a, c}
	if got := findCycle([]*loadTable{d, a, b, c}); got != nil {
		t.Errorf("cycle %v where there is none", got)
	}
	c.after = []*loadTable{a}
	if got := findCycle([]*loadTable{d, a, b, c}); !slices.Equal(got, []*loadTable{a, b, c}) {
		t.Errorf("cycle of %d tables, want 3", len(got))
	}
}
