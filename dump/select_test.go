package dump_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/internal/progress"
)

const choices = `CREATE SCHEMA s; CREATE SCHEMA "S t"; CREATE TABLE a (x serial, y int GENERATED ALWAYS AS IDENTITY); CREATE TABLE b (x int); CREATE TABLE s.a (x serial); CREATE TABLE "S t"."B" (x int);
CREATE SEQUENCE other_name OWNED BY b.x; CREATE SEQUENCE free; CREATE SEQUENCE s.free; CREATE VIEW v AS SELECT 1 AS one; CREATE UNLOGGED TABLE u (x int); INSERT INTO u VALUES (1);
CREATE TABLE parted (x int) PARTITION BY LIST (x); CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1); CREATE TABLE s.parted_2 PARTITION OF parted FOR VALUES IN (2);
CREATE SCHEMA pghaul_journal; CREATE TABLE pghaul_journal.j (x int); CREATE MATERIALIZED VIEW s.mv AS SELECT 1 AS x`

// archived gives the names of a kind of entries in a dump's schema archive.
func archived(t *testing.T, dir, kind string) []string {
	t.Helper()
	var names []string
	for line := range strings.Lines(tool(t, dir, nil, pgTool(t, "pg_restore"), "-l", format.SchemaName)) {
		if _, rest, ok := strings.Cut(line, " 1259 "); ok { // 215; 1259 16385 TABLE public orders postgres
			_, rest, _ = strings.Cut(rest, " ")
			if name, ok := strings.CutPrefix(strings.TrimSuffix(strings.TrimSpace(rest), " postgres"), kind+" "); ok && !strings.HasPrefix(name, "ATTACH ") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// TestChoices: the tables and sequences of a dump are those that pg_dump takes by the same options.
func TestChoices(t *testing.T) {
	dsn := pgtest.DB(t, choices)
	for what, set := range map[string]func(*dump.Options){
		"all": func(*dump.Options) {}, "-n s": func(o *dump.Options) { o.Schemas = []string{"s"} }, "-n public": func(o *dump.Options) { o.Schemas = []string{"public"} },
		`-n "S t"`: func(o *dump.Options) { o.Schemas = []string{`"S t"`} }, "-N s": func(o *dump.Options) { o.ExcludeSchemas = []string{"s"} }, "-N *": func(o *dump.Options) { o.ExcludeSchemas = []string{"p*", `"S*"`} },
		"-t a": func(o *dump.Options) { o.Tables = []string{"a"} }, "-t *.a": func(o *dump.Options) { o.Tables = []string{"*.a"} }, "-t b -t s.free": func(o *dump.Options) { o.Tables = []string{"b", "s.free"} },
		"-T a": func(o *dump.Options) { o.ExcludeTables = []string{"a"} }, "-T s.*": func(o *dump.Options) { o.ExcludeTables = []string{"s.*"} }, "-t a -n s": func(o *dump.Options) { o.Tables, o.Schemas = []string{"a"}, []string{"s"} },
		"-t a -N public": func(o *dump.Options) { o.Tables, o.ExcludeSchemas = []string{"a"}, []string{"public"} }, "-t *.a -T s.a": func(o *dump.Options) { o.Tables, o.ExcludeTables = []string{"*.a"}, []string{"s.a"} },
		"-T a_x_seq": func(o *dump.Options) { o.ExcludeTables = []string{"a_x_seq", "a_y_seq"} }, "-t a_x_seq": func(o *dump.Options) { o.Tables = []string{"a_x_seq"} }, "-t parted": func(o *dump.Options) { o.Tables = []string{"parted"} },
		"-t parted*": func(o *dump.Options) { o.Tables = []string{"parted*"} }, "-T parted": func(o *dump.Options) { o.ExcludeTables = []string{"parted"} }, "-t v": func(o *dump.Options) { o.Tables = []string{"v"} },
		"-n s -N s": func(o *dump.Options) { o.Schemas, o.ExcludeSchemas = []string{"s"}, []string{"s"} },
	} {
		o := options(t, dsn)
		set(&o)
		run(t, o)
		m := manifest(t, o.Dir)
		var tables, sequences []string
		for _, k := range m.Tables {
			tables = append(tables, string(k.Schema)+" "+string(k.Name))
		}
		for _, k := range m.Sequences {
			sequences = append(sequences, string(k.Schema)+" "+string(k.Name))
		}
		slices.Sort(tables)
		slices.Sort(sequences)
		want := slices.DeleteFunc(archived(t, o.Dir, "TABLE"), func(name string) bool { return name == "public parted" })
		if !slices.Equal(tables, want) {
			t.Errorf("%s: tables %q, pg_dump takes %q", what, tables, want)
		}
		if want := archived(t, o.Dir, "SEQUENCE"); !slices.Equal(sequences, want) {
			t.Errorf("%s: sequences %q, pg_dump takes %q", what, sequences, want)
		}
		if want := archived(t, o.Dir, "MATERIALIZED VIEW"); len(m.MatViews) != len(want) {
			t.Errorf("%s: materialized views %v, pg_dump takes %q", what, m.MatViews, want)
		}
	}
}

func TestChoicesLeftOut(t *testing.T) {
	dsn := pgtest.DB(t, choices, `CREATE EXTENSION hstore; SELECT lo_from_bytea(0, 'x'); CREATE FOREIGN DATA WRAPPER w; CREATE SERVER far FOREIGN DATA WRAPPER w; CREATE FOREIGN TABLE ft (a int) SERVER far`)
	for what, c := range map[string]struct {
		set  func(*dump.Options)
		want []string
	}{
		"-n s":                 {func(o *dump.Options) { o.Schemas = []string{"s"} }, []string{"extension hstore", "large objects 1 large objects"}},
		"-t parted":            {func(o *dump.Options) { o.Tables = []string{"parted"} }, []string{"extension hstore", "large objects 1 large objects", "partition parted_1", "partition parted_2"}},
		"--exclude-table-data": {func(o *dump.Options) { o.ExcludeTableData = []string{"a"} }, []string{"foreign table data ft", "table data a"}},
		"--no-unlogged-data":   {func(o *dump.Options) { o.NoUnloggedData = true }, []string{"foreign table data ft", "table data u"}},
		"--schema-only":        {func(o *dump.Options) { o.SchemaOnly = true }, []string{"data all rows", "foreign table data ft", "large objects 1 large objects"}},
		"--data-only":          {func(o *dump.Options) { o.DataOnly = true }, []string{"foreign table data ft", "schema all definitions"}},
	} {
		o := options(t, dsn)
		o.Tracker = progress.New("dump", "read", "parse", "convert", "write")
		c.set(&o)
		run(t, o)
		m := manifest(t, o.Dir)
		var got []string
		for _, l := range m.LeftOut {
			if l.Why == "" {
				t.Errorf("%s: %s %s is left out without a reason", what, l.Kind, l.Name)
			}
			got = append(got, l.Kind+" "+string(l.Name))
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s leaves out %q, want %q", what, got, c.want)
		}
		if o.SchemaOnly && len(m.Tables) != 0 || o.DataOnly && m.LargeObjects != 1 {
			t.Errorf("%s: %d tables, %d large objects", what, len(m.Tables), m.LargeObjects)
		}
	}
}

func TestChoicesRefused(t *testing.T) {
	dsn := pgtest.DB(t, choices)
	for part, set := range map[string]func(*dump.Options){
		`no matching tables were found for "nosuch"`:          func(o *dump.Options) { o.Tables = []string{"nosuch"} },
		`no matching schemas were found for "nosuch"`:         func(o *dump.Options) { o.Schemas = []string{"nosuch"} },
		`no matching tables were found for pattern "nosuch"`:  func(o *dump.Options) { o.Tables, o.StrictNames = []string{"a", "nosuch"}, true },
		`no matching schemas were found for pattern "nosuch"`: func(o *dump.Options) { o.Schemas, o.StrictNames = []string{"s", "nosuch"}, true },
		"too many dotted names":                               func(o *dump.Options) { o.Tables = []string{"x.y.z.w"} },
		"unterminated":                                        func(o *dump.Options) { o.ExcludeTables = []string{`"x`} },
		"invalid regular expression":                          func(o *dump.Options) { o.Tables = []string{"x("} },
		`--where pattern "nosuch"`:                            func(o *dump.Options) { o.Where = map[string]string{"nosuch": "true"} },
		"two --where conditions":                              func(o *dump.Options) { o.Where = map[string]string{"a": "true", "public.a": "true"} },
		"42703":                                               func(o *dump.Options) { o.Where = map[string]string{"a": "nosuch = 1"} },
		"42601":                                               func(o *dump.Options) { o.Where = map[string]string{"a": "x = "} },
	} {
		o := options(t, dsn)
		set(&o)
		fails(context.Background(), t, o, part)
	}
}

// TestRefused: what cannot be dumped is named before anything is written.
func TestRefused(t *testing.T) {
	noLeak(t)
	dsn := pgtest.DB(t, `CREATE EXTENSION pg_trgm; CREATE TABLE fine (a int); CREATE TABLE "No w" (a int, "in g" gtrgm, n pg_node_tree); CREATE TABLE mine (a int); CREATE TABLE hidden (a int)`)
	o := options(t, dsn)
	err := fails(context.Background(), t, o, `"public.No w.in g"`)
	var refused *dump.Refused
	if !errors.As(err, &refused) || len(refused.Problems) != 2 || !strings.Contains(refused.Problems[1].Object, "No w.n") || !strings.Contains(refused.Problems[0].Hint, `-T '"public"."No w"'`) {
		t.Errorf("%v: %+v", err, refused)
	}
	o.ExcludeTables = []string{`"public"."No w"`} // as the hint says
	if sum := run(t, o); sum.Files != 4 {
		t.Errorf("%+v", sum)
	}

	admin := pgtest.Cluster(t).DSN("postgres")
	pgtest.SQL(t, admin, `CREATE ROLE dump_poor LOGIN`)
	t.Cleanup(func() {
		pgtest.SQL(t, dsn, `DROP OWNED BY dump_poor`)
		pgtest.SQL(t, admin, `DROP ROLE dump_poor`)
	})
	pgtest.SQL(t, dsn, `GRANT SELECT ON fine, "No w" TO dump_poor; GRANT SELECT (a) ON mine TO dump_poor`)
	for _, how := range []func(*dump.Options){func(o *dump.Options) { o.Role = "dump_poor" }, func(o *dump.Options) { o.DSN = parse(t, dsn+"&user=dump_poor") }} {
		o = options(t, dsn)
		how(&o)
		err = fails(context.Background(), t, o, `"public.hidden"`)
		if refused = nil; !errors.As(err, &refused) || len(refused.Problems) != 2 || refused.Problems[0].Object != "public.mine" || !strings.Contains(refused.Problems[0].Why, "SELECT") {
			t.Errorf("%v", err)
		}
		o = options(t, dsn)
		how(&o)
		o.Tables = []string{"fine"}
		if sum := run(t, o); len(sum.Manifest.Tables) != 1 {
			t.Errorf("%+v", sum)
		}
	}
	pgtest.SQL(t, dsn, `CREATE SEQUENCE fine_numbers OWNED BY fine.a`)
	o = options(t, dsn)
	o.Role, o.Tables = "dump_poor", []string{"fine"}
	err = fails(context.Background(), t, o, `"public.fine_numbers": the role has no SELECT privilege on the sequence`)
	if refused = nil; !errors.As(err, &refused) || refused.Problems[0].Hint == "" {
		t.Errorf("%v", err)
	}
	pgtest.SQL(t, dsn, `DROP SEQUENCE fine_numbers; ALTER TABLE fine ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON fine USING (false)`)
	o = options(t, dsn)
	o.Role, o.Tables = "dump_poor", []string{"fine"}
	fails(context.Background(), t, o, "row-level security")
}

// TestHostileDatabase: what the database prefers for its sessions does not matter.
func TestHostileDatabase(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE t (d date, f float8, s text[]); INSERT INTO t VALUES ('2009-08-10', 0.1::float8 + 0.2, '{a,NULL}')`)
	plain := options(t, dsn)
	run(t, plain)
	for _, set := range []string{"default_transaction_read_only = on", "default_transaction_isolation = serializable", "search_path = nowhere", "DateStyle = 'German'", "array_nulls = off", "extra_float_digits = -15", "client_encoding = latin1", "statement_timeout = '1ms'",
		"standard_conforming_strings = off", "quote_all_identifiers = on", "bytea_output = escape", "idle_in_transaction_session_timeout = '1ms'", "lock_timeout = '1ms'"} {
		pgtest.SQL(t, pgtest.Cluster(t).DSN("postgres"), `ALTER DATABASE "`+parse(t, dsn).Config.Database+`" SET `+set)
	}
	o := options(t, dsn)
	run(t, o)
	a, b := table(t, manifest(t, plain.Dir), "public.t"), table(t, manifest(t, o.Dir), "public.t")
	if a.RowDigest != b.RowDigest || b.Rows != 1 {
		t.Errorf("%+v, without settings %+v", b, a)
	}
}
