package restore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// manyTables makes 600 tables of three makes, two of three empty, some of them unlogged, all with a sequence, and a few with a name that is not ASCII.
const manyTables = `CREATE SCHEMA many; CREATE TYPE many.mood AS ENUM ('sad', 'ok');
DO $$ BEGIN FOR i IN 1..600 LOOP
 EXECUTE format('CREATE %s TABLE many.%I (id serial, %I text, m many.mood[])', CASE i % 50 WHEN 0 THEN 'UNLOGGED' ELSE '' END, CASE i % 40 WHEN 0 THEN 'größe ' ELSE 't' END || i, 'v' || i % 3);
 IF i % 3 = 0 THEN EXECUTE format('INSERT INTO many.%I (v0, m) SELECT g, ''{ok,NULL}'' FROM generate_series(1, %s) g', CASE i % 40 WHEN 0 THEN 'größe ' ELSE 't' END || i, i % 7 + 1); END IF;
END LOOP; END $$`

// TestManyTables: empty tables are noted together and those that are alike are looked at once; a restore that was ended among them goes on, and all arrives.
func TestManyTables(t *testing.T) {
	source, target := pgtest.DB(t, manyTables), pgtest.DB(t)
	dir := takeDump(t, source)
	o := options(t, dir, target)
	o.StopAfter = restore.PhaseData
	mustRestore(t, o)
	if got := pgtest.SQL(t, target, `SELECT count(*), count(*) FILTER (WHERE rows = 0) FROM (SELECT * FROM pghaul_journal.segment UNION ALL SELECT * FROM pghaul_journal.segment_unlogged) s`); got != "600|400" {
		t.Errorf("the journal has %s segments, want 600|400", got)
	}
	o = options(t, dir, target)
	o.Resume = true
	if sum := mustRestore(t, o); sum.Proven != 600 {
		t.Errorf("%d tables proven", sum.Proven)
	}
	same(t, source, target, `SELECT string_agg(relname || (xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM many.%I', relname), true, true, '')))[1]::text, ',' ORDER BY relname)
 FROM pg_class WHERE relnamespace = 'many'::regnamespace AND relkind = 'r'`)
	same(t, source, target, `SELECT string_agg(sequencename || coalesce(last_value::text, '-'), ',' ORDER BY sequencename) FROM pg_sequences WHERE schemaname = 'many'`)
	untouched(t, target)

	// Into the tables that are there now, all of which are named, each once.
	_, err := restore.Run(context.Background(), options(t, dir, target))
	var refused *restore.Refused
	if !errors.As(err, &refused) || len(refused.Findings) < 600 {
		t.Fatalf("error %v", err)
	}
	o = options(t, dir, target)
	o.DataOnly = true
	_, err = restore.Run(context.Background(), o)
	full := 0
	if errors.As(err, &refused) {
		for _, f := range refused.Findings {
			if strings.Contains(f.Target, "holds rows already") {
				full++
			}
		}
	}
	if full != 200 {
		t.Errorf("%d tables are said to hold rows, want 200: %v", full, err)
	}
}

// TestOneTypeManyTables: what is wrong with a type is said once, not for every table of it.
func TestOneTypeManyTables(t *testing.T) {
	source, target := pgtest.DB(t, manyTables), pgtest.DB(t, strings.NewReplacer("'ok'", "'well'", "{ok,", "{well,").Replace(manyTables))
	o := options(t, takeDump(t, source), target)
	o.DataOnly, o.OnExisting = true, restore.Truncate
	_, err := restore.Run(context.Background(), o)
	var refused *restore.Refused
	if !errors.As(err, &refused) || len(refused.Findings) != 1 || !strings.Contains(refused.Error(), "ok") {
		t.Errorf("error %v", err)
	}
}
