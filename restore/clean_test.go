package restore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

const cleaned = `CREATE SCHEMA s; CREATE TYPE s.mood AS ENUM ('ok'); CREATE TABLE s.a (id int PRIMARY KEY, m s.mood); CREATE TABLE s.b (a int REFERENCES s.a); CREATE TABLE "odd; ""name" (x int);
CREATE FUNCTION s.f() RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE VIEW s.v AS SELECT * FROM s.a; INSERT INTO s.a VALUES (1, 'ok'); INSERT INTO s.b VALUES (1); SELECT lo_from_bytea(4713, '\x01')`

func TestClean(t *testing.T) {
	source := pgtest.DB(t, cleaned)
	dir := takeDump(t, source)
	target := pgtest.DB(t, cleaned, `UPDATE s.a SET id = 1; INSERT INTO s.a VALUES (2, 'ok'); ALTER TABLE s.a ADD more int; CREATE TABLE s.mine (x int); DROP TABLE "odd; ""name"; CREATE TABLE mine (x int)`)
	o := options(t, dir, target)
	o.Clean = true
	var asked string
	answer := false
	o.Confirm = func(question, word string) (bool, error) {
		asked = question + " " + word
		return answer, nil
	}
	if _, err := restore.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "nothing was dropped") || !strings.Contains(hint.Of(err), "--yes") {
		t.Errorf("%v", err)
	}
	if database := o.DSN.Config.Database; !strings.HasSuffix(asked, " "+database) || !strings.Contains(asked, "s.a, s.b, s.v among it") {
		t.Errorf("question %q", asked)
	}
	untouched(t, target)
	answer = true
	sum := mustRestore(t, o)
	if len(sum.Gaps) > 0 || sum.Proven != 3 {
		t.Errorf("%+v", sum)
	}
	for _, want := range []string{"3 relations are there and will be dropped", "not there: public.odd", "DROP SCHEMA IF EXISTS s: not done"} {
		if text := strings.Join(sum.Warnings, "\n"); !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	for _, query := range []string{`SELECT * FROM s.a`, `SELECT * FROM s.b`, `SELECT conname FROM pg_constraint WHERE connamespace = 's'::regnamespace ORDER BY 1`, `SELECT count(*) FROM pg_largeobject`, `SELECT count(*) FROM "odd; ""name"`} {
		same(t, source, target, query)
	}
	if got := pgtest.SQL(t, target, `SELECT to_regclass('s.mine'), to_regclass('mine')`); got != "s.mine|mine" {
		t.Errorf("what is not in the dump: %s", got)
	}
	o.IfExists, o.Tables = true, []string{"s.b"} // of the chosen objects only
	pgtest.SQL(t, target, `INSERT INTO s.a VALUES (9, 'ok'); INSERT INTO s.b VALUES (9)`)
	mustRestore(t, o)
	if got := pgtest.SQL(t, target, `SELECT (SELECT count(*) FROM s.a), (SELECT count(*) FROM s.b)`); got != "2|1" {
		t.Error(got)
	}
}

// TestCleanRefused: what something else depends on stays, and with it everything.
func TestCleanRefused(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, cleaned))
	target := pgtest.DB(t, cleaned, `CREATE TABLE mine (a int REFERENCES s.a)`)
	o := options(t, dir, target)
	o.Clean = true
	refused := refusal(t, o, "clean", "2BP01", "mine_a_fkey", "nothing was dropped")
	if refused != nil && refused.Findings[0].Hint == "" {
		t.Errorf("%+v", refused)
	}
	untouched(t, target)
	if got := pgtest.SQL(t, target, `SELECT count(*) FROM s.b`); got != "1" {
		t.Error("something was dropped")
	}
	for want, set := range map[string]func(*restore.Options){"--clean and --data-only exclude": func(o *restore.Options) { o.DataOnly = true }, "--if-exists is for": func(o *restore.Options) { o.Clean, o.IfExists = false, true }} {
		o := options(t, dir, target)
		o.Clean = true
		set(&o)
		if _, err := restore.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestCleanPartitions: a partition that the dump does not have goes with no root.
func TestCleanPartitions(t *testing.T) {
	const tree = `CREATE TABLE p (x int) PARTITION BY LIST (x); CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); INSERT INTO p VALUES (1)`
	dir := takeDump(t, pgtest.DB(t, tree))
	target := pgtest.DB(t, tree, `CREATE TABLE "P 2" PARTITION OF p FOR VALUES IN (2) PARTITION BY LIST (x); CREATE TABLE p2b PARTITION OF "P 2" FOR VALUES IN (2); INSERT INTO p VALUES (2)`)
	o := options(t, dir, target)
	o.Clean = true
	refusal(t, o, "preflight A", "public.P 2: ", "public.p2b: ", "it would go too, with its rows", "DETACH PARTITION")
	untouched(t, target)
	pgtest.SQL(t, target, `ALTER TABLE p DETACH PARTITION "P 2"`)
	asked := false
	o.Confirm = func(string, string) (bool, error) { // while it waits for an answer
		pgtest.SQL(t, target, `CREATE TABLE p3 PARTITION OF p FOR VALUES IN (3)`)
		asked = true
		return true, nil
	}
	refusal(t, o, "clean", "public.p3: ")
	untouched(t, target)
	if got := pgtest.SQL(t, target, `SELECT count(*), to_regclass('p3') IS NOT NULL FROM p`); got != "1|t" || !asked {
		t.Errorf("asked %t: %s", asked, got)
	}
	pgtest.SQL(t, target, `DROP TABLE p3`)
	o.Confirm = nil
	mustRestore(t, o)
	if got := pgtest.SQL(t, target, `SELECT (SELECT count(*) FROM p), (SELECT count(*) FROM "P 2")`); got != "1|1" {
		t.Error(got)
	}
}

// TestCleanExtensions: an extension goes with its members, which is said; left out, it stays, and what needs it is made with it.
// TestCleanInheritedConstraints: keys of partitions and constraints of children, which the server drops with those that they belong to and not before, stand in
// nobody's way, whatever the order of the names.
func TestCleanInheritedConstraints(t *testing.T) {
	const tree = `CREATE TABLE o (id int PRIMARY KEY, v int, UNIQUE (id, v)) PARTITION BY RANGE (id); CREATE TABLE o_1 PARTITION OF o FOR VALUES FROM (0) TO (100) PARTITION BY RANGE (id);
CREATE TABLE o_1_1 PARTITION OF o_1 DEFAULT; CREATE TABLE a_2 PARTITION OF o DEFAULT; CREATE INDEX ON o (v); CREATE TABLE ref (id int REFERENCES o);
CREATE TABLE p (x int); CREATE TABLE pc (CONSTRAINT positive CHECK (x > 0) NOT VALID) INHERITS (p); ALTER TABLE p ADD CONSTRAINT positive CHECK (x > 0) NOT VALID;
INSERT INTO o SELECT g, g FROM generate_series(1, 200) g; INSERT INTO ref VALUES (7); INSERT INTO pc VALUES (1)`
	source := pgtest.DB(t, tree)
	dir := takeDump(t, source)
	target := pgtest.DB(t, tree, `INSERT INTO o VALUES (999); INSERT INTO ref VALUES (999)`)
	o := options(t, dir, target)
	o.Clean = true
	if sum := mustRestore(t, o); len(sum.Gaps) > 0 {
		t.Errorf("gaps %+v", sum.Gaps)
	}
	for _, query := range []string{`SELECT count(*), sum(id) FROM o`, `SELECT * FROM ref`, `SELECT * FROM pc`,
		`SELECT string_agg(conrelid::regclass || conname || pg_get_constraintdef(oid) || coninhcount || convalidated, ',' ORDER BY conrelid::regclass::text, conname) FROM pg_constraint WHERE connamespace = 'public'::regnamespace`,
		`SELECT string_agg(pg_get_indexdef(indexrelid), ',' ORDER BY indexrelid::regclass::text) FROM pg_index WHERE indrelid >= 16384`} {
		same(t, source, target, query)
	}
}

func TestCleanExtensions(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, `CREATE EXTENSION hstore; CREATE TABLE a (h hstore); INSERT INTO a VALUES ('x=>1')`))
	target := pgtest.DB(t, `CREATE EXTENSION hstore; CREATE TABLE a (h hstore)`)
	const born = `SELECT oid FROM pg_extension WHERE extname = 'hstore'`
	before := pgtest.SQL(t, target, born)
	o := options(t, dir, target)
	o.Clean, o.ExcludeExtensions = true, []string{"hstore"}
	sum := mustRestore(t, o)
	if text := strings.Join(sum.Warnings, "\n"); strings.Contains(text, "extensions are there") || len(sum.Gaps) > 0 || pgtest.SQL(t, target, born) != before {
		t.Errorf("left out: %q, %+v", text, sum.Gaps)
	}
	o.ExcludeExtensions = nil
	sum = mustRestore(t, o)
	if text := strings.Join(sum.Warnings, "\n"); !strings.Contains(text, "1 extensions are there and will be dropped") || len(sum.Gaps) > 0 || pgtest.SQL(t, target, born) == before {
		t.Errorf("%q, %+v", text, sum.Gaps)
	}
	if got := pgtest.SQL(t, target, `SELECT h -> 'x' FROM a`); got != "1" {
		t.Error(got)
	}
}

// TestResumeDestroysNothing: what an interrupted restore has loaded is in no danger from options that it was not started with.
func TestResumeDestroysNothing(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, `CREATE TABLE a AS SELECT generate_series(1, 10) AS x`))
	for name, c := range map[string]struct {
		setup      string
		start, end func(*restore.Options)
		want       string
	}{
		"clean":    {``, func(*restore.Options) {}, func(o *restore.Options) { o.Clean = true }, "--clean"},
		"truncate": {`CREATE TABLE a (x int)`, func(o *restore.Options) { o.DataOnly = true }, func(o *restore.Options) { o.OnExisting = restore.Truncate }, "--on-existing=truncate"},
		"append":   {`CREATE TABLE a (x int)`, func(o *restore.Options) { o.DataOnly, o.OnExisting = true, restore.Append }, func(o *restore.Options) { o.OnExisting = restore.Fail }, "--on-existing=append"},
		"triggers": {`CREATE TABLE a (x int)`, func(o *restore.Options) { o.DataOnly, o.DisableTriggers = true, true }, func(o *restore.Options) { o.DisableTriggers = false }, "--disable-triggers"},
	} {
		target := pgtest.DB(t, c.setup)
		o := options(t, dir, target)
		c.start(&o)
		o.StopAfter = restore.PhaseData
		mustRestore(t, o)
		same := o
		c.end(&o)
		o.Resume, o.StopAfter = true, ""
		refusal(t, o, "preflight A", c.want, "go on with the options that it was started with")
		if got := pgtest.SQL(t, target, `SELECT count(*) FROM a`); got != "10" {
			t.Errorf("%s: %s rows", name, got)
		}
		same.Resume, same.StopAfter = true, ""
		if sum := mustRestore(t, same); len(sum.Gaps) > 0 {
			t.Errorf("%s: %+v", name, sum.Gaps)
		}
	}
}

// TestCleanInterrupted: what ends before the drops are committed drops nothing, and --resume goes on; behind them it drops nothing again.
func TestCleanInterrupted(t *testing.T) {
	source := pgtest.DB(t, cleaned)
	dir := takeDump(t, source)
	target := pgtest.DB(t, cleaned)
	holder, err := pg.Connect(context.Background(), parse(t, target), pg.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Exec(context.Background(), `BEGIN; LOCK TABLE s.a IN ACCESS SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error)
	o := options(t, dir, target)
	o.Clean = true
	go func() {
		_, err := restore.Run(ctx, o)
		result <- err
	}()
	ask(t, session(t, target), 1, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`)
	cancel()
	var failed *restore.Failed
	if err := <-result; !errors.As(err, &failed) || failed.Phase != restore.PhaseClean {
		t.Fatalf("%v", err)
	}
	holder.Close()
	if got := pgtest.SQL(t, target, `SELECT count(*) FROM s.b`); got != "1" {
		t.Error("something was dropped")
	}
	o.Resume, o.StopAfter = true, restore.PhaseData
	mustRestore(t, o)
	pgtest.SQL(t, target, `CREATE VIEW mine AS SELECT * FROM s.b`) // which a second drop would fail on
	o.StopAfter = ""
	if sum := mustRestore(t, o); len(sum.Gaps) > 0 || sum.Proven != 3 {
		t.Errorf("%+v", sum)
	}
	same(t, source, target, `SELECT * FROM s.a`)
}

// TestCleanTemplate: a template database that can't be dropped stays one.
func TestCleanTemplate(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, cleaned))
	admin := pgtest.Cluster(t).DSN("postgres")
	target := pgtest.Cluster(t).DSN("clean_template")
	pgtest.SQL(t, admin, `CREATE DATABASE clean_template IS_TEMPLATE true`)
	t.Cleanup(func() {
		pgtest.SQL(t, target, `DROP SUBSCRIPTION s`)
		pgtest.SQL(t, admin, `ALTER DATABASE clean_template IS_TEMPLATE false`)
		pgtest.SQL(t, admin, `DROP DATABASE clean_template WITH (FORCE)`)
	})
	pgtest.SQL(t, target, `CREATE SUBSCRIPTION s CONNECTION 'dbname=nowhere' PUBLICATION p WITH (connect = false, slot_name = NONE)`)
	ask(t, session(t, admin), 0, `SELECT count(*) FROM pg_stat_activity WHERE datname = 'clean_template'`)
	o := options(t, dir, target)
	o.Create, o.Clean = true, true
	refusal(t, o, "preflight A", "DROP DATABASE", "subscription")
	if got := pgtest.SQL(t, admin, `SELECT datistemplate FROM pg_database WHERE datname = 'clean_template'`); got != "t" {
		t.Error("it is no template any more")
	}
}

func TestCleanDatabase(t *testing.T) {
	admin := pgtest.Cluster(t).DSN("postgres")
	target := pgtest.Cluster(t).DSN("clean_made")
	t.Cleanup(func() { pgtest.SQL(t, admin, `DROP DATABASE IF EXISTS clean_made WITH (FORCE)`) })
	source := pgtest.DB(t, cleaned)
	dir := takeDump(t, source)
	pgtest.SQL(t, admin, `CREATE DATABASE clean_made`)
	pgtest.SQL(t, target, `CREATE TABLE mine (x int)`)
	o := options(t, dir, target)
	o.Create, o.Clean = true, true
	holder, err := pg.Connect(context.Background(), parse(t, target), pg.Options{AppName: "a guest"})
	if err != nil {
		t.Fatal(err)
	}
	refusal(t, o, "preflight A", "1 others are connected", "a guest", "pg_terminate_backend")
	if got := pgtest.SQL(t, target, `SELECT count(*) FROM mine`); got != "0" {
		t.Error(got)
	}
	holder.Close()
	ask(t, session(t, admin), 0, `SELECT count(*) FROM pg_stat_activity WHERE datname = 'clean_made'`)
	answer, asked := false, ""
	o.Confirm = func(question, word string) (bool, error) {
		asked = question
		return answer && word == "clean_made", nil
	}
	if _, err := restore.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "was not dropped") || !strings.Contains(asked, "all that is in it will be dropped") {
		t.Errorf("%v, %q", err, asked)
	}
	answer = true
	if sum := mustRestore(t, o); len(sum.Gaps) > 0 || !strings.Contains(strings.Join(sum.Warnings, "\n"), "will be dropped with all that is in it") {
		t.Errorf("%+v", sum)
	}
	same(t, source, target, `SELECT * FROM s.a`)
	if got := pgtest.SQL(t, target, `SELECT to_regclass('mine') IS NULL`); got != "t" {
		t.Error("the database is not a new one")
	}
	// Interrupted, it goes on in the database that it made.
	o.StopAfter = restore.PhaseData
	mustRestore(t, o)
	o.StopAfter, o.Resume, answer = "", true, false
	mustRestore(t, o)
	same(t, source, target, `SELECT * FROM s.b`)
}
