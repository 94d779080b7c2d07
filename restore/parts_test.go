package restore_test

import (
	"context"
	"errors"
	"os"
	"os/user"
	"strconv"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

func TestCreate(t *testing.T) {
	admin := pgtest.Cluster(t).DSN("postgres")
	pgtest.SQL(t, admin, `CREATE ROLE cr_owner; CREATE ROLE cr_guest`)
	source := pgtest.DB(t, `CREATE TABLE a (id int); INSERT INTO a VALUES (1);
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = "$user", public, "odd, name"', current_database()); EXECUTE format('ALTER DATABASE %I SET work_mem = %L', current_database(), '8MB');
EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); EXECUTE format('ALTER DATABASE %I OWNER TO cr_owner', current_database());
EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); EXECUTE format('GRANT CREATE ON DATABASE %I TO cr_guest WITH GRANT OPTION', current_database()); END $$;`)
	target := pgtest.Cluster(t).DSN(`made "here"`)
	t.Cleanup(func() {
		pgtest.SQL(t, admin, `DROP DATABASE IF EXISTS "made ""here""" WITH (FORCE)`)
		pgtest.SQL(t, source, `SET default_transaction_read_only = off; DO $$ BEGIN EXECUTE format('ALTER DATABASE %I OWNER TO postgres', current_database()); END $$; DROP OWNED BY cr_owner, cr_guest; DROP ROLE cr_owner, cr_guest`)
	})
	dir := takeDump(t, source)
	o := options(t, dir, target)
	o.Create = true
	sum := mustRestore(t, o)
	if len(sum.Gaps) > 0 {
		t.Errorf("gaps: %+v", sum.Gaps)
	}
	for _, query := range []string{
		`SELECT setconfig FROM pg_db_role_setting WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())`,
		`SELECT datdba::regrole, encoding, datcollate, datctype FROM pg_database WHERE datname = current_database()`,
		`SELECT grantee::regrole, privilege_type, is_grantable FROM pg_database, aclexplode(datacl) WHERE datname = current_database() ORDER BY 1, 2`,
		`SELECT * FROM a`,
	} {
		same(t, source, target, query)
	}
	refusal(t, o, "preflight A", "exists already")

	t.Run("missing role is a gap", func(t *testing.T) {
		editManifest(t, dir, func(m *format.Manifest) { m.Source.Owner = "nobody_here" })
		pgtest.SQL(t, admin, `DROP DATABASE "made ""here""" WITH (FORCE)`)
		sum := mustRestore(t, o)
		if len(sum.Gaps) != 1 || sum.Gaps[0].SQLState != "42704" || sum.Gaps[0].Kind != "DATABASE" {
			t.Errorf("gaps: %+v", sum.Gaps)
		}
	})
	t.Run("missing locale", func(t *testing.T) {
		editManifest(t, dir, func(m *format.Manifest) { m.Source.Server.Collate = "xx_XX.UTF-8" })
		pgtest.SQL(t, admin, `DROP DATABASE "made ""here""" WITH (FORCE)`)
		refusal(t, o, "preflight A", "xx_XX.UTF-8", "install the locale")
		if got := pgtest.SQL(t, admin, `SELECT count(*) FROM pg_database WHERE datname = 'made "here"'`); got != "0" {
			t.Error("the database was made")
		}
	})
}

// editManifest changes a dump's manifest, and the sums with it.
func editManifest(t *testing.T, dir string, change func(*format.Manifest)) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	m, err := format.ReadManifest(root)
	if err != nil {
		t.Fatal(err)
	}
	change(m)
	for _, name := range []string{format.ManifestName, format.ChecksumName} {
		if err := root.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := format.WriteManifest(root, m); err != nil {
		t.Fatal(err)
	}
}

func TestSchemaOfALaterVersion(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, threeTables))
	editManifest(t, dir, func(m *format.Manifest) { m.Source.Server.VersionNum = 990000 })
	target := pgtest.DB(t)
	refusal(t, options(t, dir, target), "preflight A", "PostgreSQL 99", "--data-only")
	untouched(t, target)
}

func TestMissingExtension(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, threeTables))
	editManifest(t, dir, func(m *format.Manifest) {
		m.Extensions = append(m.Extensions, format.Extension{Name: "no_such_extension", Version: "1"})
	})
	refusal(t, options(t, dir, pgtest.DB(t)), "preflight A", "extension no_such_extension", "install")
}

// manifestOf points at a segment of another table: the file's own word counts.
func TestSwappedFiles(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, `CREATE TABLE a (id int); INSERT INTO a VALUES (1); CREATE TABLE b (id int); INSERT INTO b VALUES (2);`))
	editManifest(t, dir, func(m *format.Manifest) {
		a, b := &m.Tables[0], &m.Tables[1]
		a.Segments, b.Segments = b.Segments, a.Segments
		a.Bytes, b.Bytes, a.RowDigest, b.RowDigest = b.Bytes, a.Bytes, b.RowDigest, a.RowDigest
	})
	target := pgtest.DB(t)
	refusal(t, options(t, dir, target), "preflight A", "0001.pgcopy")
	untouched(t, target)
}

func TestChosenParts(t *testing.T) {
	source := pgtest.DB(t, varied, `CREATE SCHEMA other; CREATE TABLE other.x (id serial, o int REFERENCES shop.orders); INSERT INTO other.x (o) VALUES (1), (2); CREATE SCHEMA third;`)
	dir := takeDump(t, source)
	relations := `SELECT coalesce(string_agg(n.nspname || '.' || relname, ' ' ORDER BY n.nspname, relname), '') FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE n.nspname IN ('shop', 'other') AND relkind IN ('r', 'p', 'v', 'm')`
	cases := []struct {
		name   string
		change func(*restore.Options)
		want   string // relations
		rows   int64
		warn   string
	}{
		{"a table", func(o *restore.Options) { o.Tables = []string{"shop.orders"} }, "shop.orders", 20000, "orders_customer_fkey is left out"},
		{"two tables", func(o *restore.Options) { o.Tables = []string{"shop.orders", "customers"} }, "shop.customers shop.orders", 21000, ""},
		{"a partitioned table", func(o *restore.Options) { o.Tables = []string{"shop.ev"} }, "shop.ev shop.ev_1 shop.ev_2", 1000, ""},
		{"a type comes along", func(o *restore.Options) { o.Tables = []string{"types"} }, "shop.types", 500, ""},
		{"a schema", func(o *restore.Options) { o.Schemas = []string{"other"} }, "other.x", 2, "x_o_fkey is left out"},
		{"not a schema", func(o *restore.Options) { o.ExcludeSchemas = []string{"shop"} }, "other.x", 2, ""},
		{"definitions only", func(o *restore.Options) { o.SchemaOnly, o.Tables = true, []string{"other.x"} }, "other.x", 0, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			target := pgtest.DB(t)
			o := options(t, dir, target)
			c.change(&o)
			sum := mustRestore(t, o)
			if len(sum.Gaps) > 0 {
				t.Errorf("gaps: %+v", sum.Gaps)
			}
			if got := pgtest.SQL(t, target, relations); got != c.want {
				t.Errorf("relations %s, want %s", got, c.want)
			}
			if sum.Rows != c.rows {
				t.Errorf("%d rows, want %d", sum.Rows, c.rows)
			}
			if text := strings.Join(sum.Warnings, "\n"); !strings.Contains(text, c.warn) {
				t.Errorf("warnings %q lack %q", text, c.warn)
			}
			if c.name == "two tables" {
				same(t, source, target, `SELECT last_value, is_called FROM shop.orders_id_seq`)
				same(t, source, target, `SELECT conname FROM pg_constraint WHERE conrelid = 'shop.orders'::regclass ORDER BY 1`)
			}
			want := "1"
			if !o.SchemaOnly && len(o.Tables)+len(o.Schemas) == 0 {
				want = "0"
			}
			if got := pgtest.SQL(t, target, `SELECT count(*) FROM pg_largeobject_metadata`); (got == "0") != (want == "1") {
				t.Errorf("%s large objects", got)
			}
		})
	}
	t.Run("all definitions", func(t *testing.T) {
		target := pgtest.DB(t)
		o := options(t, dir, target)
		o.SchemaOnly = true
		mustRestore(t, o)
		for query, want := range map[string]string{`SELECT count(*) FROM shop.orders`: "0", `SELECT count(*) FROM pg_largeobject_metadata`: "0", `SELECT count(*) FROM pg_indexes WHERE indexname = 'orders_price'`: "1"} {
			if got := pgtest.SQL(t, target, query); got != want {
				t.Errorf("%s: %s, want %s", query, got, want)
			}
		}
	})
	t.Run("no such schema", func(t *testing.T) {
		o := options(t, dir, pgtest.DB(t))
		o.Schemas = []string{"nosuch"}
		if _, err := restore.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "nosuch") {
			t.Errorf("error %v", err)
		}
	})
}

func TestLargeObjectsDataOnly(t *testing.T) {
	source := pgtest.DB(t, `SELECT lo_from_bytea(4711, '\x0102'), lo_from_bytea(4712, ''); COMMENT ON LARGE OBJECT 4711 IS 'seen'`)
	dir := takeDump(t, source)
	target := pgtest.DB(t)
	o := options(t, dir, target)
	o.DataOnly = true
	mustRestore(t, o)
	same(t, source, target, `SELECT oid, lo_get(oid), obj_description(oid, 'pg_largeobject') FROM pg_largeobject_metadata ORDER BY 1`)
	refusal(t, o, "preflight A", "large object 4711", "exists already")
}

// A statement too long for pg_restore's message to be sure to show it whole is taken out of the archive.
func TestGapWithALongStatement(t *testing.T) {
	long := strings.Repeat("long ", 10000)
	source := pgtest.DB(t, `CREATE TABLE a (id int); INSERT INTO a VALUES (1); CREATE TABLE helper (n int); INSERT INTO helper VALUES (1);
CREATE FUNCTION f(int, text) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1 + (SELECT n FROM helper); END $$;
CREATE INDEX long_index ON a (f(id, '`+long+`')); CREATE INDEX short_index ON a (f(id, 'x')); CREATE INDEX fine ON a (id)`)
	dir := takeDump(t, source)
	target := pgtest.DB(t)
	sum := mustRestore(t, options(t, dir, target))
	if len(sum.Gaps) != 2 {
		t.Fatalf("gaps: %+v", sum.Gaps)
	}
	for _, g := range sum.Gaps {
		if g.Kind != "INDEX" || g.SQLState != "42P01" || !strings.Contains(g.Message, "helper") || g.Name != "public.long_index" && g.Name != "public.short_index" {
			t.Errorf("gap %s %s %s: %.200s", g.Kind, g.Name, g.SQLState, g.Message)
		}
	}
	if got := pgtest.SQL(t, target, `SELECT count(*) FROM pg_indexes WHERE indexname = 'fine'`); got != "1" {
		t.Error("an index without a problem is missing")
	}
}

func TestOrdinaryRole(t *testing.T) {
	source := pgtest.DB(t, varied)
	dir := takeDump(t, source)
	target := pgtest.DB(t, `CREATE ROLE plain_owner LOGIN; DO $$ BEGIN EXECUTE format('ALTER DATABASE %I OWNER TO plain_owner', current_database()); END $$;`)
	t.Cleanup(func() {
		pgtest.SQL(t, target, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I OWNER TO postgres', current_database()); END $$; DROP OWNED BY plain_owner CASCADE; DROP ROLE plain_owner`)
	})
	o := options(t, dir, target)
	o.DSN.Config.User, o.NoOwner = "plain_owner", true
	o.DSN.Given["user"] = "plain_owner"
	sum := mustRestore(t, o)
	if len(sum.Gaps) > 0 || sum.Proven != len(sum.Manifest.Tables) {
		t.Errorf("gaps %+v, %d proven", sum.Gaps, sum.Proven)
	}
	sameState(t, source, target)
}

func TestNoJournal(t *testing.T) {
	source := pgtest.DB(t, threeTables)
	target := pgtest.DB(t)
	o := options(t, takeDump(t, source), target)
	o.NoJournal, o.NoProve, o.NoAnalyze, o.StopAfter = true, true, true, restore.PhaseData
	sum := mustRestore(t, o)
	untouched(t, target)
	same(t, source, target, `SELECT * FROM a ORDER BY id`)
	if sum.Proven != 0 || sum.Stopped != restore.PhaseData {
		t.Errorf("%+v", sum)
	}
}

// A row that the target refuses: the error says where, and nothing of the table is there.
func TestRefusedRow(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, `CREATE TABLE a (id int, price int); INSERT INTO a SELECT g, g FROM generate_series(1, 1000) g; CREATE TABLE b (id int); INSERT INTO b VALUES (1)`))
	target := pgtest.DB(t, `CREATE TABLE a (id int, price int CHECK (price <> 700)); CREATE TABLE b (id int)`)
	o := options(t, dir, target)
	o.DataOnly = true
	_, err := restore.Run(context.Background(), o)
	var failed *restore.Failed
	if !errors.As(err, &failed) {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{"table public.a, segment 1", "row 700", "23514", "did not finish"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
	if got := pgtest.SQL(t, target, `SELECT count(*) FROM a`); got != "0" {
		t.Errorf("%s rows", got)
	}
	if table := o.Tracker.Snapshot(); table.Tables.Failed != 1 || table.Rows > 1 {
		t.Errorf("tracker: %d failed tables, %d rows", table.Tables.Failed, table.Rows)
	}
	pgtest.SQL(t, target, `ALTER TABLE a DROP CONSTRAINT a_price_check`)
	o = options(t, dir, target)
	o.DataOnly, o.Resume = true, true
	if sum := mustRestore(t, o); sum.Proven != 2 {
		t.Errorf("%d tables proven", sum.Proven)
	}
}

// proofMisses restores 1000 rows of a and those of b, runs sql before they are proven, and demands that the proof, which change may direct, names a alone.
func proofMisses(t *testing.T, dir, target, sql string, change func(*restore.Options)) {
	t.Helper()
	o := options(t, dir, target)
	o.StopAfter = restore.PhaseData
	mustRestore(t, o)
	pgtest.SQL(t, target, sql)
	o = options(t, dir, target)
	o.Resume = true
	change(&o)
	if _, err := restore.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "public.a: expected 1000 rows") || strings.Contains(err.Error(), "public.b") {
		t.Errorf("error %v", err)
	}
}

// The proof reads the target, not our own counters.
func TestProofFindsAChangedRow(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, `CREATE TABLE a (id int, v text); INSERT INTO a SELECT g, 'v' FROM generate_series(1, 1000) g; CREATE TABLE b (id int); INSERT INTO b VALUES (1)`))
	for name, sql := range map[string]string{"changed": `UPDATE a SET v = 'w' WHERE id = 500`, "lost": `DELETE FROM a WHERE id = 1`, "doubled": `INSERT INTO a VALUES (7, 'v')`} {
		t.Run(name, func(t *testing.T) {
			target := pgtest.DB(t)
			proofMisses(t, dir, target, sql, func(*restore.Options) {})
			if got := pgtest.SQL(t, target, `SELECT count(*) FROM pghaul_journal.phase WHERE name = 'proof' AND finished IS NOT NULL`); got != "0" {
				t.Error("the proof is called done")
			}
		})
	}
}

// TestCreateProperties: a template, its limit of connections and its tablespace, where the target has that.
func TestCreateProperties(t *testing.T) {
	admin := pgtest.Cluster(t).DSN("postgres")
	space, err := os.MkdirTemp("", "pghaul-space-")
	if err != nil {
		t.Fatal(err)
	}
	if server, err := user.Lookup("postgres"); err == nil && os.Getuid() == 0 {
		uid, _ := strconv.Atoi(server.Uid)
		if err := os.Chown(space, uid, -1); err != nil {
			t.Fatal(err)
		}
	}
	pgtest.SQL(t, admin, `CREATE TABLESPACE made_space LOCATION '`+space+`'`)
	pgtest.SQL(t, admin, `CREATE DATABASE made_from TABLESPACE made_space CONNECTION LIMIT 7 IS_TEMPLATE true`)
	target := pgtest.Cluster(t).DSN("made_to")
	t.Cleanup(func() {
		for _, name := range []string{"made_from", "made_to"} {
			if pgtest.SQL(t, admin, `SELECT count(*) FROM pg_database WHERE datname = '`+name+`'`) == "1" {
				pgtest.SQL(t, admin, `ALTER DATABASE `+name+` IS_TEMPLATE false`)
				pgtest.SQL(t, admin, `DROP DATABASE `+name+` WITH (FORCE)`)
			}
		}
		pgtest.SQL(t, admin, `DROP TABLESPACE IF EXISTS made_space`)
		if err := os.RemoveAll(space); err != nil {
			t.Error(err)
		}
	})
	source := pgtest.Cluster(t).DSN("made_from")
	pgtest.SQL(t, source, `CREATE TABLE a AS SELECT 1 AS x`)
	dir := takeDump(t, source)
	o := options(t, dir, target)
	o.Create = true
	const properties = `SELECT datistemplate, datconnlimit, datallowconn, spcname FROM pg_database JOIN pg_tablespace t ON t.oid = dattablespace WHERE datname = current_database()`
	if sum := mustRestore(t, o); len(sum.Gaps) > 0 {
		t.Errorf("%+v", sum.Gaps)
	}
	same(t, source, target, properties)
	o.Clean, o.NoTablespaces = true, true // a template can be dropped too
	mustRestore(t, o)
	if got := pgtest.SQL(t, target, properties); got != "t|7|t|pg_default" {
		t.Error(got)
	}
	editManifest(t, dir, func(m *format.Manifest) {
		m.Source.Tablespace, m.Source.Labels = "nosuch_space", []format.SecurityLabel{{Provider: "nosuch", Label: "x"}}
	})
	o.NoTablespaces = false
	sum := mustRestore(t, o)
	if text := strings.Join(sum.Warnings, "\n"); !strings.Contains(text, "no such tablespace") {
		t.Errorf("warnings %q", text)
	}
	if len(sum.Gaps) != 1 || sum.Gaps[0].Kind != "SECURITY LABEL" {
		t.Errorf("%+v", sum.Gaps)
	}
}
