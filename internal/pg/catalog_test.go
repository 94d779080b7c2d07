package pg_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// relationsByName lists the relations of a session's database.
func relationsByName(t *testing.T, c *pg.Conn) map[string]*pg.Relation {
	t.Helper()
	keys, err := c.Keys(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	held := make([]uint32, len(keys)) // nobody is in the way here
	for i, k := range keys {
		held[i] = k.OID
	}
	list, err := c.Relations(context.Background(), held)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]*pg.Relation{}
	for _, r := range list {
		m[r.String()] = r
	}
	return m
}

func TestRelations(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE plain (a int); INSERT INTO plain SELECT generate_series(1, 10000); ANALYZE plain; CREATE UNLOGGED TABLE quick (a text);
INSERT INTO quick SELECT string_agg(md5(g::text), '') FROM generate_series(1, 5000) g; ALTER TABLE quick ALTER a SET STORAGE EXTERNAL; UPDATE quick SET a = a || 'x';
CREATE TABLE top (a int, b int) PARTITION BY LIST (a); CREATE TABLE mid PARTITION OF top FOR VALUES IN (1) PARTITION BY RANGE (b); CREATE TABLE leaf PARTITION OF mid FOR VALUES FROM (0) TO (9);
CREATE TABLE parent (a int); CREATE TABLE child () INHERITS (parent); CREATE MATERIALIZED VIEW full_mv AS SELECT 1 AS a; CREATE MATERIALIZED VIEW empty_mv AS SELECT 1 AS a WITH NO DATA;
CREATE VIEW v AS SELECT 1 AS a; CREATE TEMP TABLE tmp (a int); CREATE FOREIGN DATA WRAPPER w; CREATE SERVER far FOREIGN DATA WRAPPER w; CREATE FOREIGN TABLE ft (a int) SERVER far;
CREATE SCHEMA pghaul_journal; CREATE TABLE pghaul_journal.j (a int); CREATE SCHEMA "pgx"; CREATE TABLE pgx.here (a int); CREATE TABLE gone (a int); DROP TABLE gone;`)
	m := relationsByName(t, connect(t, dsn, pg.Options{}))
	var got []string
	for name, r := range m {
		got = append(got, fmt.Sprintf("%s %c%c partition=%v populated=%v heap=%v server=%s", name, r.Kind, r.Persistence, r.Partition, r.Populated, r.Heap, r.Server))
		if r.Filenode != r.FilenodeNow || !r.MaySelect || r.Owner != "postgres" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	slices.Sort(got)
	want := []string{
		"pgx.here rp partition=false populated=true heap=true server=", "public.child rp partition=false populated=true heap=true server=", "public.empty_mv mp partition=false populated=false heap=true server=",
		"public.ft fp partition=false populated=true heap=false server=far", "public.full_mv mp partition=false populated=true heap=true server=", "public.leaf rp partition=true populated=true heap=true server=",
		"public.mid pp partition=true populated=true heap=false server=", "public.parent rp partition=false populated=true heap=true server=", "public.plain rp partition=false populated=true heap=true server=",
		"public.quick ru partition=false populated=true heap=true server=", "public.top pp partition=false populated=true heap=false server=",
	}
	if !slices.Equal(got, want) {
		t.Errorf("relations\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r := m["public.plain"]; r.Pages < 40 || r.Pages > 60 || r.Tuples != 10000 || r.ToastBytes != 0 {
		t.Errorf("size of plain: %+v", r)
	}
	if r := m["public.quick"]; r.ToastBytes < 160000 {
		t.Errorf("TOAST of quick: %d", r.ToastBytes)
	}
	if top := m["public.top"].OID; m["public.leaf"].Parent != top || m["public.mid"].Parent != top || m["public.child"].Parent != 0 {
		t.Errorf("roots: leaf %d, mid %d, child %d; top is %d", m["public.leaf"].Parent, m["public.mid"].Parent, m["public.child"].Parent, top)
	}
	parents, err := connect(t, dsn, pg.Options{}).PartitionParents(context.Background())
	if err != nil || len(parents) != 2 || parents[m["public.leaf"].OID] != m["public.mid"].OID {
		t.Errorf("parents %v, %v", parents, err)
	}
}

// TestRelationsDoNotWait: a list of relations must come although somebody rewrites one of them.
func TestRelationsDoNotWait(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE held (a text); CREATE MATERIALIZED VIEW mv AS SELECT 1 AS a; CREATE TABLE free (a int)`)
	holder := connect(t, dsn, pg.Options{})
	if err := holder.Exec(context.Background(), "BEGIN; LOCK TABLE public.held IN ACCESS EXCLUSIVE MODE; REFRESH MATERIALIZED VIEW public.mv; TRUNCATE public.held"); err != nil {
		t.Fatal(err)
	}
	c := connect(t, dsn, pg.Options{})
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	if err := c.Exec(ctx, "SET lock_timeout = '50ms'"); err != nil { // waiting shows as an error
		t.Fatal(err)
	}
	if _, err := c.Relations(ctx, nil); err != nil {
		t.Errorf("relations: %v", err)
	}
	if _, err := c.Keys(ctx); err != nil {
		t.Errorf("keys: %v", err)
	}
}

func TestColumns(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN s_mail AS text NOT NULL;
CREATE TABLE t (z int GENERATED ALWAYS AS IDENTITY, gone int, "B b" varchar(7) COLLATE "C" NOT NULL, g int GENERATED ALWAYS AS (1 + 1) STORED, n numeric(10,2), d int GENERATED BY DEFAULT AS IDENTITY, m mood[], e s_mail, ts timestamp(3) with time zone);
ALTER TABLE t DROP gone; ALTER TABLE t ADD a "char"; CREATE TABLE nothing ();`)
	c := connect(t, dsn, pg.Options{})
	m := relationsByName(t, c)
	columns, err := c.Columns(context.Background(), []uint32{m["public.t"].OID, m["public.nothing"].OID})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range columns[m["public.t"].OID] {
		got = append(got, fmt.Sprintf("%s|%s|%s.%s|%v|%s|%s|%s|%s", k.Name, k.Type, k.TypeSchema, k.TypeName, k.NotNull, k.Identity, k.Generated, k.Collation, k.Carried))
	}
	want := []string{
		"z|integer|pg_catalog.int4|true|always|||binary", "B b|character varying(7)|pg_catalog.varchar|true|||pg_catalog.C|binary", "g|integer|pg_catalog.int4|false||stored||binary",
		"n|numeric(10,2)|pg_catalog.numeric|false||||binary", "d|integer|pg_catalog.int4|true|by default|||binary", "m|public.mood[]|public._mood|false||||binary",
		"e|public.s_mail|public.s_mail|false||||binary", "ts|timestamp(3) with time zone|pg_catalog.timestamptz|false||||binary", `a|"char"|pg_catalog.char|false||||binary`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("columns\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(columns[m["public.nothing"].OID]) != 0 {
		t.Errorf("a table without columns has %v", columns[m["public.nothing"].OID])
	}
}

func TestHashedByForm(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TYPE tr AS RANGE (subtype = text); CREATE DOMAIN dm AS mood;
CREATE TABLE h_int (a int) PARTITION BY HASH (a); CREATE TABLE h_ts (a timestamptz, b bigint) PARTITION BY HASH (a, b);
CREATE TABLE h_enum (a mood) PARTITION BY HASH (a); CREATE TABLE h_text (a text) PARTITION BY HASH (a); CREATE TABLE h_second (a int, b mood) PARTITION BY HASH (a, b);
CREATE TABLE h_expr (a int) PARTITION BY HASH ((a + 1)); CREATE TABLE h_domain (a dm) PARTITION BY HASH (a); CREATE TABLE h_array (a mood[]) PARTITION BY HASH (a); CREATE TABLE h_range (a tr) PARTITION BY HASH (a);
CREATE TABLE l_enum (a mood) PARTITION BY LIST (a); CREATE TABLE r_text (a text) PARTITION BY RANGE (a);
CREATE TABLE top (a int, b mood) PARTITION BY LIST (a); CREATE TABLE mid PARTITION OF top FOR VALUES IN (1) PARTITION BY HASH (b);`)
	c := connect(t, dsn, pg.Options{})
	hashed, err := c.HashedByForm(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for name, r := range relationsByName(t, c) {
		if hashed[r.OID] {
			got = append(got, strings.TrimPrefix(name, "public."))
		}
	}
	slices.Sort(got)
	if want := []string{"h_array", "h_domain", "h_enum", "h_expr", "h_range", "h_second", "h_text", "mid"}; !slices.Equal(got, want) {
		t.Errorf("hashed by form: %q, want %q", got, want)
	}
}

// TestSequences: those that pg_dump of the same choice would carry, with what they hold.
func TestSequences(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE SEQUENCE unused START 7; CREATE SEQUENCE used INCREMENT -1; SELECT nextval('used'), nextval('used'); CREATE SEQUENCE big AS bigint; SELECT setval('big', 9223372036854775807, false);
CREATE SCHEMA "odd ""S"; CREATE SEQUENCE "odd ""S"."x.y"; CREATE TABLE t (a serial, b int GENERATED ALWAYS AS IDENTITY); INSERT INTO t DEFAULT VALUES; CREATE TEMP SEQUENCE tmp; CREATE SCHEMA pghaul_journal; CREATE SEQUENCE pghaul_journal.j;`)
	list, err := connect(t, dsn, pg.Options{}).Sequences(context.Background(), func(pg.SequenceKey) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	owner := func(column format.Name) *format.SequenceOwner {
		return &format.SequenceOwner{Schema: "public", Table: "t", Column: column}
	}
	want := []format.Sequence{
		{Schema: `odd "S`, Name: "x.y", LastValue: 1}, {Schema: "public", Name: "big", LastValue: 9223372036854775807}, {Schema: "public", Name: "t_a_seq", LastValue: 1, IsCalled: true, Owner: owner("a")},
		{Schema: "public", Name: "t_b_seq", LastValue: 1, IsCalled: true, Owner: owner("b")}, {Schema: "public", Name: "unused", LastValue: 7}, {Schema: "public", Name: "used", LastValue: -2, IsCalled: true},
	}
	if !reflect.DeepEqual(list, want) {
		t.Errorf("%+v\nwant\n%+v", list, want)
	}
}

func TestMatViews(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE MATERIALIZED VIEW z_first AS SELECT 1 AS a; CREATE VIEW between AS SELECT a FROM z_first; CREATE MATERIALIZED VIEW m_second AS SELECT a FROM between;
CREATE MATERIALIZED VIEW a_third AS SELECT m.a FROM m_second m, z_first; CREATE MATERIALIZED VIEW b_alone AS SELECT 1 AS a WITH NO DATA;`)
	list, err := connect(t, dsn, pg.Options{}).MatViews(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := []format.MatView{{Schema: "public", Name: "b_alone"}, {Schema: "public", Name: "z_first", Populated: true}, {Schema: "public", Name: "m_second", Populated: true}, {Schema: "public", Name: "a_third", Populated: true}}
	if !slices.Equal(list, want) {
		t.Errorf("%+v\nwant\n%+v", list, want)
	}
}

// TestDatabase: what --create needs.
func TestDatabase(t *testing.T) {
	dsn := pgtest.DB(t)
	d := parse(t, dsn)
	admin := pgtest.Cluster(t).DSN("postgres")
	pgtest.SQL(t, admin, `CREATE ROLE pg15_owner`+"_x"+`; ALTER DATABASE "`+d.Config.Database+`" OWNER TO pg15_owner_x; GRANT CREATE ON DATABASE "`+d.Config.Database+`" TO pg15_owner_x WITH GRANT OPTION;
ALTER DATABASE "`+d.Config.Database+`" SET search_path = 'a=b', "C d"; ALTER DATABASE "`+d.Config.Database+`" SET work_mem = '7MB'`)
	t.Cleanup(func() {
		pgtest.SQL(t, admin, `ALTER DATABASE "`+d.Config.Database+`" OWNER TO postgres`)
		pgtest.SQL(t, dsn, `DROP OWNED BY pg15_owner_x`)
		pgtest.SQL(t, admin, `DROP ROLE pg15_owner_x`)
	})
	src, err := connect(t, dsn, pg.Options{}).Database(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if src.Owner != "pg15_owner_x" || string(src.Database) != d.Config.Database || src.Server.Encoding != "UTF8" || src.Server.SystemIdentifier == "" || src.Server.VersionNum < 100000 || !src.Server.IntegerDatetimes {
		t.Errorf("%+v", src)
	}
	if want := []format.DatabaseSetting{{Name: "search_path", Value: `"a=b", "C d"`}, {Name: "work_mem", Value: "7MB"}}; !slices.Equal(src.Settings, want) {
		t.Errorf("settings %+v, want %+v", src.Settings, want)
	}
	if !slices.Contains(src.ACL, format.Grant{Grantee: "pg15_owner_x", Privilege: "CREATE", Grantable: false}) && !slices.Contains(src.ACL, format.Grant{Grantee: "pg15_owner_x", Privilege: "CREATE", Grantable: true}) {
		t.Errorf("ACL %+v", src.ACL)
	}
}

// TestSQLNames: a name reaches a data session as that session spells it.
func TestSQLNames(t *testing.T) {
	for _, encoding := range []string{"LATIN1", "SQL_ASCII", "UTF8"} {
		dsn := encodedDB(t, "pg_names_"+strings.ToLower(encoding), encoding)
		pgtest.SQL(t, dsn, `SET client_encoding = 'UTF8'; CREATE TABLE "Straße ""x""" ("größe $1" int, b int, "select" int); INSERT INTO "Straße ""x""" VALUES (1, 2, 3)`)
		catalog, data := connect(t, dsn, pg.Options{}), connect(t, dsn, pg.Options{Purpose: pg.ForData})
		var rel *pg.Relation
		for _, rel = range relationsByName(t, catalog) {
		}
		columns, err := catalog.Columns(context.Background(), []uint32{rel.OID})
		if err != nil {
			t.Fatal(err)
		}
		names := []format.Name{columns[rel.OID][2].Name, columns[rel.OID][0].Name}
		table, quoted, err := data.SQLNames(context.Background(), rel.OID, rel.Schema, rel.Name, names, data.Encoding)
		if err != nil {
			t.Fatal(err)
		}
		list := strings.Join(quoted, ", ")
		n, err := data.ExecTag(context.Background(), "SELECT "+list+" FROM ONLY "+table)
		if err != nil || n != 1 {
			t.Errorf("%s: %d rows, %v", encoding, n, err)
		}
		if !strings.HasPrefix(list, `"select"`) {
			t.Errorf("%s: columns in another order: %q", encoding, list)
		}
	}
}
