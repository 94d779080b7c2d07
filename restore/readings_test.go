package restore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// inParts lets a proof read tables back in parts of a few pages, and gives what was said of that.
func inParts(o *restore.Options) *strings.Builder {
	o.Jobs = 3
	o.ReadInParts(16 << 10)
	said := &strings.Builder{}
	o.Logf = func(form string, args ...any) {
		if line := fmt.Sprintf(form, args...); strings.Contains(line, "is read back in") {
			said.WriteString(line + "\n")
		}
	}
	return said
}

func TestProofReadsLargeTablesInParts(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, `CREATE TABLE a (id int, v text); INSERT INTO a SELECT g, repeat('v', g % 300) FROM generate_series(1, 3000) g; CREATE TABLE b (id int); INSERT INTO b VALUES (1);
CREATE TABLE p (id int, v text) PARTITION BY RANGE (id); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (2000); CREATE TABLE p2 PARTITION OF p DEFAULT;
INSERT INTO p SELECT g, repeat('p', g % 300) FROM generate_series(1, 3000) g`))
	target := pgtest.DB(t)
	o := options(t, dir, target)
	said := inParts(&o)
	if sum := mustRestore(t, o); sum.Proven != 4 || len(sum.Unproven) > 0 {
		t.Errorf("%d tables proven, not %v", sum.Proven, sum.Unproven)
	}
	if pgtest.Version(t) >= 140000 && (!strings.Contains(said.String(), "table public.a is read back in ") || strings.Contains(said.String(), "public.b")) {
		t.Errorf("it said %q", said)
	}
}

func TestProofInPartsFindsAChangedRow(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, `CREATE TABLE a (id int, v text); INSERT INTO a SELECT g, repeat('v', 200) FROM generate_series(1, 1000) g; CREATE TABLE b (id int); INSERT INTO b VALUES (1)`))
	for name, sql := range map[string]string{"changed": `UPDATE a SET v = 'w' WHERE id = 500`, "lost": `DELETE FROM a WHERE id = 1`, "doubled": `INSERT INTO a SELECT * FROM a WHERE id = 999`} {
		t.Run(name, func(t *testing.T) {
			var said *strings.Builder
			proofMisses(t, dir, pgtest.DB(t), sql, func(o *restore.Options) { said = inParts(o) })
			if pgtest.Version(t) >= 140000 && !strings.Contains(said.String(), "table public.a") {
				t.Errorf("it said %q", said)
			}
		})
	}
}

// TestProofByPrivilegesOnColumns: a range of pages is asked for by ctid, which only who may read the whole table may read; a table is read in one piece by who may not.
func TestProofByPrivilegesOnColumns(t *testing.T) {
	const tables = `CREATE TABLE a (id int, v text); CREATE TABLE b (id int)`
	dir := takeDump(t, pgtest.DB(t, tables, `INSERT INTO a SELECT g, repeat('v', 200) FROM generate_series(1, 1000) g; INSERT INTO b VALUES (1)`))
	target := pgtest.DB(t, tables, `CREATE ROLE column_reader LOGIN; GRANT USAGE ON SCHEMA public TO column_reader; GRANT INSERT ON a, b TO column_reader; GRANT SELECT (id, v) ON a TO column_reader; GRANT SELECT (id) ON b TO column_reader`)
	t.Cleanup(func() { pgtest.SQL(t, target, `DROP OWNED BY column_reader CASCADE; DROP ROLE column_reader`) })
	o := options(t, dir, target)
	o.DSN.Config.User, o.DSN.Given["user"] = "column_reader", "column_reader"
	o.DataOnly, o.NoJournal, o.NoAnalyze = true, true, true
	said := inParts(&o)
	if sum := mustRestore(t, o); sum.Proven != 2 || said.Len() > 0 {
		t.Errorf("%d tables proven; it said %q", sum.Proven, said)
	}
}
