package restore_test

import (
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// TestOwnerOfTheDatabase: what a role that is no superuser cannot make is said before the start, and is a gap that a superuser's --resume fills.
func TestOwnerOfTheDatabase(t *testing.T) {
	cluster := pgtest.Cluster(t)
	admin := cluster.DSN("postgres")
	pgtest.SQL(t, admin, `CREATE ROLE ord_owner LOGIN; CREATE ROLE "ord other"`)
	source := pgtest.DB(t, `CREATE EXTENSION pageinspect; CREATE EXTENSION hstore; CREATE TABLE a (id int, h hstore); INSERT INTO a VALUES (1, 'a=>1'); ALTER TABLE a OWNER TO "ord other"; CREATE INDEX a_id ON a (id);
CREATE OPERATOR FAMILY fam USING btree; CREATE FUNCTION ev() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
CREATE EVENT TRIGGER e1 ON sql_drop EXECUTE FUNCTION ev(); CREATE EVENT TRIGGER e2 ON sql_drop EXECUTE FUNCTION ev(); CREATE EVENT TRIGGER e3 ON sql_drop EXECUTE FUNCTION ev(); CREATE EVENT TRIGGER e4 ON sql_drop EXECUTE FUNCTION ev();
CREATE PUBLICATION p FOR TABLE a; SELECT lo_from_bytea(17, 'x')`)
	dir := takeDump(t, source)
	target := pgtest.DB(t, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I OWNER TO ord_owner', current_database()); END $$;`)
	t.Cleanup(func() {
		pgtest.SQL(t, target, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I OWNER TO postgres', current_database()); END $$; DROP OWNED BY ord_owner, "ord other" CASCADE`)
		pgtest.SQL(t, source, `DROP OWNED BY "ord other" CASCADE; DROP ROLE ord_owner, "ord other"`)
	})
	o := options(t, dir, target)
	o.DSN.Config.User, o.DSN.Given["user"] = "ord_owner", "ord_owner"
	refused := refusal(t, o, "preflight A", "extension pageinspect", "let a superuser create it")
	for _, f := range refused.Findings {
		if strings.Contains(f.Object, "hstore") {
			t.Errorf("a trusted extension: %+v", f)
		}
	}
	untouched(t, target)
	pgtest.SQL(t, target, `CREATE EXTENSION pageinspect; COMMENT ON EXTENSION pageinspect IS 'theirs'`)
	sum := mustRestore(t, o)
	text := strings.Join(sum.Warnings, "\n")
	for _, word := range []string{"event trigger e1, e2, e3 and 1 more: the dump: to be made; the target: only a superuser may", "operator family public.fam", "role ord_owner is no member of it", "comment on extension pageinspect stays"} {
		if !strings.Contains(text, word) {
			t.Errorf("warnings lack %q:\n%s", word, text)
		}
	}
	states := map[string]bool{}
	for _, g := range sum.Gaps {
		states[g.SQLState] = true
	}
	if sum.Proven != 1 || len(sum.Gaps) == 0 || len(states) != 1 || !states["42501"] {
		t.Errorf("%d proven, gaps %+v", sum.Proven, sum.Gaps)
	}

	o = options(t, dir, target)
	o.Resume = true
	wantGaps(t, mustRestore(t, o))
	same(t, source, target, `SELECT evtname, evtenabled FROM pg_event_trigger ORDER BY 1`)
	same(t, source, target, `SELECT relowner::regrole, relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 2`)
	same(t, source, target, `SELECT * FROM a`)
	untouched(t, target)
}

// TestOwnerLeavesThingsOut: what the options leave out is not spoken of.
func TestOwnerLeavesThingsOut(t *testing.T) {
	admin := pgtest.Cluster(t).DSN("postgres")
	pgtest.SQL(t, admin, `CREATE ROLE ord_guest LOGIN`)
	source := pgtest.DB(t, `CREATE TABLE a (id int); INSERT INTO a VALUES (1); CREATE SCHEMA s; CREATE TABLE s.b (id int); CREATE OPERATOR FAMILY s.fam USING btree; CREATE SUBSCRIPTION sub_of_nothing CONNECTION 'host=nowhere' PUBLICATION p WITH (connect = false, slot_name = NONE)`)
	dir := takeDump(t, source)
	pgtest.SQL(t, source, `DROP SUBSCRIPTION sub_of_nothing`)
	target := pgtest.DB(t, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I OWNER TO ord_guest', current_database()); END $$;`)
	t.Cleanup(func() {
		pgtest.SQL(t, target, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I OWNER TO postgres', current_database()); END $$; DROP OWNED BY ord_guest CASCADE; DROP ROLE ord_guest`)
	})
	o := options(t, dir, target)
	o.DSN.Config.User, o.DSN.Given["user"] = "ord_guest", "ord_guest"
	o.NoOwner, o.NoPrivileges, o.NoSubscriptions, o.ExcludeSchemas = true, true, true, []string{"s"}
	sum := mustRestore(t, o)
	wantGaps(t, sum)
	if text := strings.Join(sum.Warnings, "\n"); strings.Contains(text, "superuser") || strings.Contains(text, "ord_guest") {
		t.Errorf("warnings:\n%s", text)
	}
	if _, err := restore.Run(t.Context(), o); err == nil {
		t.Error("a second restore went through")
	}
}
