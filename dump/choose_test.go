package dump_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// descs gives the kinds of entries in a dump's archive, each once.
func descs(t *testing.T, dir string, section string) string {
	t.Helper()
	var kinds []string
	args := []string{"-l", format.SchemaName}
	if section != "" {
		args = append(args, "--section="+section)
	}
	for line := range strings.Lines(tool(t, dir, nil, pgTool(t, "pg_restore"), args...)) {
		if _, rest, ok := strings.Cut(line, "; "); ok && !strings.HasPrefix(line, ";") {
			kinds = append(kinds, strings.Fields(rest)[2])
		}
	}
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), " ")
}

// TestWildcardSchemas: -t with a wildcard for schemas leaves the server's own tables and the journal alone, in the archive too.
func TestWildcardSchemas(t *testing.T) {
	dsn := pgtest.DB(t, choices)
	o := options(t, dsn)
	o.Tables = []string{"*.*"}
	run(t, o)
	m := manifest(t, o.Dir)
	if got, want := tableNames(m), "S t.B public.a public.b public.parted_1 public.u s.a s.parted_2"; got != want {
		t.Errorf("tables %s, want %s", got, want)
	}
	for _, name := range append(archived(t, o.Dir, "TABLE"), archived(t, o.Dir, "VIEW")...) {
		if strings.HasPrefix(name, "pg_catalog ") || strings.HasPrefix(name, "information_schema ") || strings.HasPrefix(name, "pghaul_journal ") {
			t.Errorf("the archive holds %s", name)
		}
	}
}

// TestChildren: partitions and children come and go with the tables that they belong to, with every pg_dump.
func TestChildren(t *testing.T) {
	dsn := pgtest.DB(t, choices, `CREATE TABLE kid () INHERITS (b); CREATE TABLE "grand.kid" () INHERITS (kid); INSERT INTO "grand.kid" VALUES (1)`)
	for what, c := range map[string]struct {
		set  func(*dump.Options)
		want string // tables
		defs string // in the archive
	}{
		"table":       {func(o *dump.Options) { o.TablesAndChildren = []string{"parted"} }, "public.parted_1 s.parted_2", "public parted public parted_1 s parted_2"},
		"inheritance": {func(o *dump.Options) { o.TablesAndChildren = []string{"b"} }, "public.b public.grand.kid public.kid", "public b public grand.kid public kid"},
		"exclude": {func(o *dump.Options) {
			o.Schemas, o.ExcludeTablesAndChildren = []string{"public"}, []string{"kid", "parted"}
		}, "public.a public.b public.u", "public a public b public u"},
		"exclude data":  {func(o *dump.Options) { o.Schemas, o.ExcludeTableDataAndChildren = []string{"s"}, []string{"parted"} }, "s.a", "s a s parted_2"},
		"and one alone": {func(o *dump.Options) { o.TablesAndChildren, o.Tables = []string{"kid"}, []string{"a"} }, "public.a public.grand.kid public.kid", "public a public grand.kid public kid"},
	} {
		o := options(t, dsn)
		c.set(&o)
		run(t, o)
		if got := tableNames(manifest(t, o.Dir)); got != c.want {
			t.Errorf("%s: tables %s, want %s", what, got, c.want)
		}
		if got := strings.Join(archived(t, o.Dir, "TABLE"), " "); got != c.defs {
			t.Errorf("%s: definitions %s, want %s", what, got, c.defs)
		}
	}
	o := options(t, dsn)
	o.TablesAndChildren, o.StrictNames = []string{"parted", "nosuch"}, true
	fails(context.Background(), t, o, `no matching tables were found for pattern "nosuch"`)
}

func TestChosenExtensions(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE EXTENSION hstore; CREATE EXTENSION citext; CREATE TABLE a (x int); CREATE INDEX ON a (x); SELECT lo_from_bytea(0, 'x')`)
	names := func(m *format.Manifest) string {
		var list []string
		for _, e := range m.Extensions {
			list = append(list, string(e.Name))
		}
		return strings.Join(list, " ")
	}
	for what, c := range map[string]struct {
		set    func(*dump.Options)
		want   string
		large  int64
		tables int
	}{
		"all":          {func(*dump.Options) {}, "citext hstore", 1, 1},
		"-e":           {func(o *dump.Options) { o.Extensions = []string{"h*"} }, "hstore", 0, 1},
		"-e -t":        {func(o *dump.Options) { o.Extensions, o.Tables = []string{"citext"}, []string{"a"} }, "citext", 0, 1},
		"-t":           {func(o *dump.Options) { o.Tables = []string{"a"} }, "", 0, 1},
		"-e, excluded": {func(o *dump.Options) { o.Extensions, o.ExcludeExtensions = []string{"*"}, []string{"citext"} }, "hstore", 0, 1},
		"-t, excluded": {func(o *dump.Options) { o.Tables, o.ExcludeExtensions = []string{"a"}, []string{"citext"} }, "", 0, 1},
	} {
		o := options(t, dsn)
		c.set(&o)
		run(t, o)
		m := manifest(t, o.Dir)
		if names(m) != c.want || m.LargeObjects != c.large || len(m.Tables) != c.tables {
			t.Errorf("%s: extensions %s, %d large objects, %d tables", what, names(m), m.LargeObjects, len(m.Tables))
		}
		made := tool(t, o.Dir, nil, pgTool(t, "pg_restore"), "-l", format.SchemaName)
		for _, name := range []string{"hstore", "citext"} {
			if has := strings.Contains(made, " EXTENSION - "+name); has != strings.Contains(c.want, name) {
				t.Errorf("%s: the archive makes %s: %t", what, name, has)
			}
		}
	}
	o := options(t, dsn)
	o.Extensions = []string{"nosuch"}
	fails(context.Background(), t, o, `no matching extensions were found for pattern "nosuch"`)
	o = options(t, dsn)
	o.ExcludeExtensions = []string{"citext"}
	hinted(t, fails(context.Background(), t, o, "cannot leave out single extensions"), "--pg-bindir")
}

func TestSections(t *testing.T) {
	// Without schema public: of a server before 15, a newer pg_dump dumps that with its privileges.
	dsn := pgtest.DB(t, `DROP SCHEMA public; CREATE SCHEMA s; CREATE TABLE s.a (x int PRIMARY KEY); INSERT INTO s.a VALUES (1)`)
	for what, c := range map[string]struct {
		sections []string
		pre      string
		post     string
		tables   int
	}{
		"pre-data":           {[]string{dump.PreData}, "SCHEMA TABLE", "", 0},
		"post-data":          {[]string{dump.PostData}, "", "CONSTRAINT", 0},
		"pre-data, data":     {[]string{dump.Data, dump.PreData}, "SCHEMA TABLE", "", 1},
		"data, post-data":    {[]string{dump.Data, dump.PostData}, "", "CONSTRAINT", 1},
		"pre-data post-data": {[]string{dump.PreData, dump.PostData}, "SCHEMA TABLE", "CONSTRAINT", 0},
		"all":                {[]string{dump.PreData, dump.Data, dump.PostData}, "SCHEMA TABLE", "CONSTRAINT", 1},
	} {
		o := options(t, dsn)
		o.Sections = c.sections
		run(t, o)
		m := manifest(t, o.Dir)
		if pre, post := descs(t, o.Dir, "pre-data"), descs(t, o.Dir, "post-data"); pre != c.pre || post != c.post || len(m.Tables) != c.tables {
			t.Errorf("%s: %s, %s, %d tables", what, pre, post, len(m.Tables))
		}
	}
	o := options(t, dsn)
	o.Sections = []string{dump.Data}
	run(t, o)
	if m := manifest(t, o.Dir); m.Schema != nil || len(m.Tables) != 1 {
		t.Errorf("%+v", m)
	}
	o = options(t, dsn)
	o.Sections = []string{"posdata"}
	fails(context.Background(), t, o, `"posdata" is none of`)
	o.Sections, o.DataOnly = []string{dump.Data}, true
	fails(context.Background(), t, o, "exclude")
}

func TestForeignData(t *testing.T) {
	file := filepath.Join(os.TempDir(), "pghaul-foreign-"+filepath.Base(t.TempDir())+strings.ReplaceAll(t.Name(), "/", "_")+".csv")
	if err := os.WriteFile(file, []byte("1,one\n2,\"two, too\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(file) })
	dsn := pgtest.DB(t, `CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw; CREATE SERVER "Other" FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE f (id int, name text) SERVER files OPTIONS (filename '`+file+`', format 'csv'); CREATE FOREIGN TABLE g (id int) SERVER "Other" OPTIONS (filename '/nosuch'); CREATE TABLE a (x int)`)
	o := options(t, dsn)
	o.ForeignServers = []string{"fil*"}
	sum := run(t, o)
	m := manifest(t, o.Dir)
	if f := table(t, m, "public.f"); f.Rows != 2 || f.Kind != "foreign table" {
		t.Errorf("%+v", f)
	}
	if tableNames(m) != "public.a public.f" || !strings.Contains(strings.Join(sum.Warnings, " "), "snapshot") {
		t.Errorf("%s, %q", tableNames(m), sum.Warnings)
	}
	if len(m.LeftOut) != 1 || m.LeftOut[0].Name != "g" {
		t.Errorf("left out: %+v", m.LeftOut)
	}
	o = options(t, dsn)
	o.ForeignServers = []string{"files", "nosuch"}
	hinted(t, fails(context.Background(), t, o, `no matching foreign servers were found for pattern "nosuch"`), "pg_foreign_server")
	o = options(t, dsn)
	o.ForeignServers = []string{`"Other"`}
	fails(context.Background(), t, o, "/nosuch")
}
