package restore_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// untouched demands that a refused restore has left nothing behind.
func untouched(t *testing.T, dsn string, tables ...string) {
	t.Helper()
	if got := pgtest.SQL(t, dsn, `SELECT count(*) FROM pg_namespace WHERE nspname = 'pghaul_journal'`); got != "0" {
		t.Error("a journal was made")
	}
	for _, table := range tables {
		if got := pgtest.SQL(t, dsn, `SELECT count(*) FROM `+table); got != "0" {
			t.Errorf("table %s has %s rows after a refusal", table, got)
		}
	}
}

const threeTables = `CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE a (id int, v text, m mood); INSERT INTO a SELECT g, 'v' || g, 'ok' FROM generate_series(1, 100) g;
CREATE TABLE b (id int, n numeric(5,2)); INSERT INTO b VALUES (1, 1.5);
CREATE TABLE c (id int); INSERT INTO c VALUES (1), (2);`

func TestDataOnlyDrift(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, threeTables))
	cases := map[string]struct {
		target string
		words  []string
	}{
		"other type":      {`CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE a (id date, v text, m mood); CREATE TABLE b (id int, n numeric(7,3)); CREATE TABLE c (id int);`, []string{"public.a.id", "type integer", "type date", "public.b.n", "numeric(5,2)", "numeric(7,3)"}},
		"missing table":   {`CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE a (id int, v text, m mood); CREATE TABLE c (id int);`, []string{"public.b:", "no such table"}},
		"missing column":  {`CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE a (id int, m mood); CREATE TABLE b (id int, n numeric(5,2)); CREATE TABLE c (id int);`, []string{"public.a.v", "no such column"}},
		"needed column":   {`CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE a (id int, v text, m mood); CREATE TABLE b (id int, n numeric(5,2), x int NOT NULL); CREATE TABLE c (id int);`, []string{"public.b.x", "NOT NULL without a default"}},
		"missing label":   {`CREATE TYPE mood AS ENUM ('ok'); CREATE TABLE a (id int, v text, m mood); CREATE TABLE b (id int, n numeric(5,2)); CREATE TABLE c (id int);`, []string{"type public.mood", `"sad"`}},
		"generated":       {`CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE a (id int, v text GENERATED ALWAYS AS ('x') STORED, m mood); CREATE TABLE b (id int, n numeric(5,2)); CREATE TABLE c (id int);`, []string{"public.a.v", "generated"}},
		"rows":            {`CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE a (id int, v text, m mood); CREATE TABLE b (id int, n numeric(5,2)); CREATE TABLE c (id int); INSERT INTO b VALUES (1, 1)`, []string{"public.b:", "holds rows already", "--on-existing truncate"}},
		"trigger":         {`CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE a (id int, v text, m mood); CREATE TABLE b (id int, n numeric(5,2)); CREATE TABLE c (id int); CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; CREATE TRIGGER tr_x BEFORE INSERT ON c FOR EACH ROW EXECUTE FUNCTION f(); ALTER TABLE c ENABLE ALWAYS TRIGGER tr_x`, []string{"public.c:", "tr_x"}},
		"circle":          {`CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE a (id int PRIMARY KEY, v text, m mood); CREATE TABLE b (id int, n numeric(5,2), UNIQUE (id)); CREATE TABLE c (id int PRIMARY KEY REFERENCES b (id)); ALTER TABLE b ADD FOREIGN KEY (id) REFERENCES c`, []string{"circle", "public.b", "public.c"}},
		"another kind":    {`CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE a (id int, v text, m mood); CREATE TABLE b (id int, n numeric(5,2)); CREATE VIEW c AS SELECT 1 AS id`, []string{"public.c:", "another kind"}},
		"all are named":   {`CREATE TABLE a (id date, v text); CREATE TABLE c (id text);`, []string{"public.a.id", "public.a.m", "public.b:", "public.c.id"}},
		"schema and type": {`CREATE SCHEMA o; CREATE TYPE o.mood AS ENUM ('sad', 'ok'); CREATE TABLE a (id int, v text, m o.mood); CREATE TABLE b (id int, n numeric(5,2)); CREATE TABLE c (id int);`, []string{"public.a.m", "public.mood", "o.mood"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			target := pgtest.DB(t, c.target)
			o := options(t, dir, target)
			o.DataOnly = true
			refusal(t, o, "preflight A", c.words...)
			if name != "another kind" {
				untouched(t, target, "c")
			}
		})
	}
}

func TestDataOnlyFits(t *testing.T) {
	source := pgtest.DB(t, threeTables)
	dir := takeDump(t, source)
	// Another order, a column with a default, a label more, an identity, foreign keys: all load.
	target := pgtest.DB(t, `CREATE TYPE mood AS ENUM ('new', 'ok', 'sad'); CREATE TABLE c (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
CREATE TABLE a (m mood, extra text NOT NULL DEFAULT 'filled', id int, v text); CREATE TABLE b (n numeric(5,2), id int REFERENCES c);`)
	o := options(t, dir, target)
	o.DataOnly = true
	sum := mustRestore(t, o)
	same(t, source, target, `SELECT id, v, m FROM a ORDER BY id`)
	same(t, source, target, `SELECT id, n FROM b`)
	same(t, source, target, `SELECT id FROM c ORDER BY 1`)
	if got := pgtest.SQL(t, target, `SELECT DISTINCT extra FROM a`); got != "filled" {
		t.Errorf("extra = %q", got)
	}
	if sum.Proven != 3 {
		t.Errorf("%d tables proven, want 3", sum.Proven)
	}
}

func TestRefusedBeforeAnything(t *testing.T) {
	source := pgtest.DB(t, threeTables)
	dir := takeDump(t, source)
	t.Run("tables exist", func(t *testing.T) {
		target := pgtest.DB(t, `CREATE TABLE c (id int)`)
		refusal(t, options(t, dir, target), "preflight A", "public.c:", "exists already", "--data-only")
		untouched(t, target, "c")
	})
	t.Run("truncate with outsiders", func(t *testing.T) {
		target := pgtest.DB(t, `CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE a (id int PRIMARY KEY, v text, m mood); CREATE TABLE outside (x int REFERENCES a);`)
		o := options(t, dir, target)
		o.DataOnly, o.OnExisting, o.Tables = true, restore.Truncate, []string{"a"}
		refusal(t, o, "preflight A", "public.outside", "not chosen")
		untouched(t, target, "a")
	})
	t.Run("row security", func(t *testing.T) {
		target := pgtest.DB(t, `DROP ROLE IF EXISTS rls_loader; CREATE ROLE rls_loader LOGIN; CREATE TABLE c (id int); ALTER TABLE c ENABLE ROW LEVEL SECURITY; ALTER TABLE c FORCE ROW LEVEL SECURITY; ALTER TABLE c OWNER TO rls_loader`)
		t.Cleanup(func() { pgtest.SQL(t, target, `DROP OWNED BY rls_loader; DROP ROLE rls_loader`) })
		o := options(t, dir, target)
		o.DSN.Config.User, o.DataOnly, o.NoJournal, o.Tables = "rls_loader", true, true, []string{"c"}
		refusal(t, o, "preflight A", "public.c:", "row-level security", "0A000")
	})
	t.Run("foreign journal", func(t *testing.T) {
		target := pgtest.DB(t, `CREATE SCHEMA pghaul_journal`)
		refusal(t, options(t, dir, target), "preflight A", "schema pghaul_journal", "no journal")
	})
	t.Run("nothing to resume", func(t *testing.T) {
		o := options(t, dir, pgtest.DB(t))
		o.Resume = true
		refusal(t, o, "preflight A", "nothing to resume")
	})
	t.Run("no such pattern", func(t *testing.T) {
		o := options(t, dir, pgtest.DB(t))
		o.Tables = []string{"nosuch*"}
		if _, err := restore.Run(context.Background(), o); err == nil || !bytes.Contains([]byte(err.Error()), []byte("nosuch*")) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("missing database", func(t *testing.T) {
		o := options(t, dir, pgtest.Cluster(t).DSN("nosuch"))
		var hint interface{ Hint() string }
		if _, err := restore.Run(context.Background(), o); !errors.As(err, &hint) {
			t.Errorf("error %v has no hint", err)
		}
	})
	t.Run("definitions missing", func(t *testing.T) {
		dir := takeDump(t, source, func(o *dump.Options) { o.DataOnly = true })
		refusal(t, options(t, dir, pgtest.DB(t)), "preflight A", "schema.pgdump", "--data-only")
	})
	t.Run("unfinished dump", func(t *testing.T) {
		if _, err := restore.Run(context.Background(), options(t, t.TempDir(), pgtest.DB(t))); !errors.Is(err, format.ErrUnfinished) {
			t.Errorf("error %v, want %v", err, format.ErrUnfinished)
		}
	})
	t.Run("encoding", func(t *testing.T) {
		ascii := pgtest.Cluster(t).DSN("ascii_db")
		pgtest.SQL(t, pgtest.Cluster(t).DSN("postgres"), `CREATE DATABASE ascii_db ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`)
		t.Cleanup(func() { pgtest.SQL(t, pgtest.Cluster(t).DSN("postgres"), `DROP DATABASE ascii_db WITH (FORCE)`) })
		pgtest.SQL(t, ascii, `SET client_encoding = 'SQL_ASCII'; CREATE TABLE raw (t text); INSERT INTO raw VALUES (E'caf\351')`)
		dir := takeDump(t, ascii)
		refusal(t, options(t, dir, pgtest.DB(t)), "preflight A", "SQL_ASCII", "--create")
		o := options(t, dir, pgtest.Cluster(t).DSN("ascii_copy"))
		o.Create = true
		t.Cleanup(func() {
			pgtest.SQL(t, pgtest.Cluster(t).DSN("postgres"), `DROP DATABASE IF EXISTS ascii_copy WITH (FORCE)`)
		})
		mustRestore(t, o)
		if got := pgtest.SQL(t, pgtest.Cluster(t).DSN("ascii_copy"), `SELECT encode(textsend(t), 'hex') FROM raw`); got != "636166e9" {
			t.Errorf("bytes %s", got)
		}
	})
}

func TestDamagedFileLoadsNothing(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, threeTables))
	files, err := filepath.Glob(filepath.Join(dir, "data", "*public.a*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"flipped": func() []byte { b := bytes.Clone(whole); b[len(b)*3/4] ^= 4; return b }(), "cut": whole[:len(whole)-100], "longer": append(bytes.Clone(whole), 0), "empty": nil,
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(files[0], damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			target := pgtest.DB(t)
			refusal(t, options(t, dir, target), "preflight A", "0001.pgcopy")
			untouched(t, target)
			if got := pgtest.SQL(t, target, `SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace`); got != "0" {
				t.Errorf("%s relations were made", got)
			}
		})
	}
}

func TestOnExisting(t *testing.T) {
	source := pgtest.DB(t, threeTables)
	dir := takeDump(t, source)
	const full = `CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE a (id int, v text, m mood); CREATE TABLE b (id int, n numeric(5,2)); CREATE TABLE c (id int);
INSERT INTO a VALUES (0, 'before', 'sad'); INSERT INTO c VALUES (7)`
	t.Run("truncate", func(t *testing.T) {
		target := pgtest.DB(t, full)
		o := options(t, dir, target)
		o.DataOnly, o.OnExisting = true, restore.Truncate
		asked := 0
		o.Confirm = func(question, word string) (bool, error) { asked++; return word == o.DSN.Config.Database, nil }
		sum := mustRestore(t, o)
		same(t, source, target, `SELECT * FROM a ORDER BY id`)
		same(t, source, target, `SELECT * FROM c ORDER BY id`)
		if asked != 1 || sum.Proven != 3 {
			t.Errorf("asked %d times, %d tables proven", asked, sum.Proven)
		}
	})
	t.Run("not confirmed", func(t *testing.T) {
		target := pgtest.DB(t, full)
		o := options(t, dir, target)
		o.DataOnly, o.OnExisting = true, restore.Truncate
		o.Confirm = func(string, string) (bool, error) { return false, nil }
		if _, err := restore.Run(context.Background(), o); err == nil {
			t.Fatal("no error")
		}
		untouched(t, target)
		if got := pgtest.SQL(t, target, `SELECT count(*) FROM a`); got != "1" {
			t.Errorf("%s rows, want the one from before", got)
		}
	})
	t.Run("append", func(t *testing.T) {
		target := pgtest.DB(t, full)
		o := options(t, dir, target)
		o.DataOnly, o.OnExisting = true, restore.Append
		sum := mustRestore(t, o)
		if got := pgtest.SQL(t, target, `SELECT count(*) FROM a`); got != "101" {
			t.Errorf("%s rows, want 101", got)
		}
		if len(sum.Unproven) != 3 || sum.Proven != 0 {
			t.Errorf("proven %d, unproven %v", sum.Proven, sum.Unproven)
		}
	})
	t.Run("append sets no sequence back", func(t *testing.T) {
		const tables = `CREATE TABLE s (id serial, down int); CREATE SEQUENCE down INCREMENT -1; CREATE SEQUENCE still; CREATE SEQUENCE begun; CREATE SEQUENCE next; ALTER SEQUENCE down OWNED BY s.down; ALTER SEQUENCE still OWNED BY s.down;`
		source := pgtest.DB(t, tables, `INSERT INTO s SELECT nextval('s_id_seq'), nextval('down') FROM generate_series(1, 10); SELECT setval('still', 7), setval('next', 10)`) // and begun has given no value away
		target := pgtest.DB(t, tables, `SELECT setval('s_id_seq', 500), setval('down', -500), setval('still', 3), setval('begun', 1), setval('next', 900, false)`)
		o := options(t, takeDump(t, source), target)
		o.DataOnly, o.OnExisting = true, restore.Append
		mustRestore(t, o)
		if got := pgtest.SQL(t, target, `SELECT concat_ws(' ', (SELECT last_value FROM s_id_seq), (SELECT last_value FROM down), (SELECT last_value FROM still), nextval('begun'), nextval('next'))`); got != "500 -500 7 2 900" {
			t.Errorf("the sequences are at %s", got)
		}
		o.OnExisting = restore.Truncate
		mustRestore(t, o)
		if got := pgtest.SQL(t, target, `SELECT concat_ws(' ', (SELECT last_value FROM s_id_seq), (SELECT last_value FROM down), (SELECT last_value FROM still), nextval('begun'), nextval('next'))`); got != "10 -10 7 1 11" {
			t.Errorf("in place of what was there the sequences are at %s", got)
		}
	})
	t.Run("truncate partitions", func(t *testing.T) {
		const parts = `CREATE TABLE p (a int, PRIMARY KEY (a)) PARTITION BY RANGE (a); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10); CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20);
CREATE TABLE q (a int REFERENCES p) PARTITION BY RANGE (a); CREATE TABLE q1 PARTITION OF q FOR VALUES FROM (0) TO (20);
CREATE TABLE h (t text) PARTITION BY HASH (t); CREATE TABLE h0 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 0); CREATE TABLE h1 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO p SELECT generate_series(0, 19); INSERT INTO q VALUES (3), (15); INSERT INTO h SELECT 't' || g FROM generate_series(1, 50) g;`
		source, target := pgtest.DB(t, parts), pgtest.DB(t, parts, `INSERT INTO q VALUES (4); INSERT INTO h VALUES ('more')`)
		o := options(t, takeDump(t, source), target)
		o.DataOnly, o.OnExisting = true, restore.Truncate
		sum := mustRestore(t, o)
		for _, table := range []string{"p", "q", "h"} {
			same(t, source, target, `SELECT count(*), md5(string_agg(x::text, ',' ORDER BY x)) FROM `+table+` x`)
		}
		if sum.Proven != 5 {
			t.Errorf("%d tables proven, want 5; not: %v", sum.Proven, sum.Unproven)
		}
	})
}
