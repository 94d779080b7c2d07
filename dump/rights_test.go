package dump_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// TestReadOnlyRole: a role that may read every table is told, before anything is written, what it may not read, and what will be missing.
func TestReadOnlyRole(t *testing.T) {
	admin := pgtest.Cluster(t).DSN("postgres")
	pgtest.SQL(t, admin, `CREATE ROLE reads_all LOGIN; GRANT pg_read_all_data TO reads_all; CREATE ROLE its_group; GRANT its_group TO reads_all`)
	dsn := pgtest.DB(t, `CREATE TABLE a (id int); INSERT INTO a VALUES (1), (2); CREATE TABLE b (id int); ALTER TABLE b ENABLE ROW LEVEL SECURITY; CREATE TABLE c (id int); ALTER TABLE c ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON c USING (true);
SELECT lo_from_bytea(1, 'a'), lo_from_bytea(2, 'b'), lo_from_bytea(3, 'c'), lo_from_bytea(4, 'd'), lo_from_bytea(5, 'e'); GRANT SELECT ON LARGE OBJECT 2 TO PUBLIC; GRANT SELECT ON LARGE OBJECT 3 TO its_group; ALTER LARGE OBJECT 4 OWNER TO its_group; GRANT UPDATE ON LARGE OBJECT 5 TO reads_all;
CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w; CREATE USER MAPPING FOR its_group SERVER s OPTIONS (password 'x');
CREATE SUBSCRIPTION read_by_none CONNECTION 'host=nowhere' PUBLICATION p WITH (connect = false, slot_name = NONE)`)
	t.Cleanup(func() {
		pgtest.SQL(t, dsn, `DROP SUBSCRIPTION read_by_none`)
		pgtest.SQL(t, dsn, `DROP OWNED BY reads_all, its_group CASCADE; DROP ROLE reads_all, its_group`)
	})
	problems := func(o dump.Options) string {
		var refused *dump.Refused
		if err := fails(context.Background(), t, o, "refused"); !errors.As(err, &refused) {
			t.Fatalf("error %v", err)
		}
		text := ""
		for _, p := range refused.Problems {
			text += p.Object + ": " + p.Why + " (" + p.Hint + ")\n"
		}
		return text
	}
	reader := func() dump.Options {
		o := options(t, dsn)
		o.DSN = parse(t, dsn+"&user=reads_all")
		return o
	}
	if got, want := problems(reader()), "large object 1: the role may not read it, nor 1 more (GRANT SELECT ON LARGE OBJECT, or leave them out with --no-large-objects)\n"; got != want {
		t.Errorf("problems\n%s, want\n%s", got, want)
	}
	pgtest.SQL(t, dsn, `GRANT SELECT ON LARGE OBJECT 1 TO reads_all; GRANT SELECT ON LARGE OBJECT 5 TO reads_all`)
	if got := problems(reader()); strings.Count(got, "\n") != 2 || !strings.HasPrefix(got, "public.b: row-level security") || !strings.Contains(got, "public.c: row-level security would hide rows from the role (dump with a role that has BYPASSRLS") {
		t.Errorf("problems\n%s", got)
	}
	o := reader()
	o.ExcludeTableData = []string{"b", "c"} // whose rows are not wanted
	sum := run(t, o)
	if m := sum.Manifest; len(m.Tables) != 1 || m.Tables[0].Rows != 2 || m.LargeObjects != 5 {
		t.Errorf("%+v", m)
	}
	text := strings.Join(sum.Manifest.Warnings, "\n")
	if !strings.Contains(text, "subscription read_by_none is left out") || !strings.Contains(text, "user mappings, 1 of them") {
		t.Errorf("warnings %q", text)
	}
	pgtest.SQL(t, dsn, `ALTER ROLE reads_all BYPASSRLS`)
	if sum := run(t, reader()); len(sum.Manifest.Tables) != 3 {
		t.Errorf("%d tables", len(sum.Manifest.Tables))
	}
}
