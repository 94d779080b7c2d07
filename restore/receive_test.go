package restore_test

import (
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// TestColumnWithoutReceive: a column of a type without binary input keeps its table from every binary COPY, even when no value goes into it.
func TestColumnWithoutReceive(t *testing.T) {
	source := pgtest.DB(t, `CREATE EXTENSION seg; CREATE FUNCTION span(int) RETURNS seg LANGUAGE sql IMMUTABLE AS $$ SELECT ($1::text || ' .. ' || ($1 + 1)::text)::public.seg $$;
CREATE TABLE made (a int, s seg GENERATED ALWAYS AS (span(a)) STORED); INSERT INTO made SELECT generate_series(1, 10); CREATE TABLE lacking (a int, b text); INSERT INTO lacking SELECT g, 'x' FROM generate_series(1, 10) g;`)
	target := pgtest.DB(t, `CREATE EXTENSION seg; CREATE FUNCTION span(int) RETURNS seg LANGUAGE sql IMMUTABLE AS $$ SELECT ($1::text || ' .. ' || ($1 + 1)::text)::public.seg $$;
CREATE TABLE made (a int, s seg GENERATED ALWAYS AS (span(a)) STORED); CREATE TABLE lacking (s seg DEFAULT '1', b text, a int);`)
	o := options(t, takeDump(t, source), target)
	o.DataOnly = true
	if sum := mustRestore(t, o); sum.Proven != 2 {
		t.Errorf("proven %d, not proven %q", sum.Proven, sum.Unproven)
	}
	same(t, source, target, `SELECT * FROM made ORDER BY a`)
	same(t, source, target, `SELECT a, b FROM lacking ORDER BY a`)
	if got := pgtest.SQL(t, target, `SELECT DISTINCT s FROM lacking`); got != "1" {
		t.Errorf("default %q", got)
	}
}

// TestLoosenedInside: a column whose modifier is loosened keeps its type, so that OIDs inside of its values are still rewritten.
func TestLoosenedInside(t *testing.T) {
	source := pgtest.DB(t, `CREATE TABLE a (v varchar(3)[], n numeric(5,2)[], i interval(3)); INSERT INTO a VALUES ('{abc,NULL}', '{1.50}', '1 day')`)
	target := pgtest.DB(t, `CREATE TABLE a (i interval, v varchar[], n numeric[])`)
	o := options(t, takeDump(t, source), target)
	o.DataOnly = true
	if sum := mustRestore(t, o); sum.Proven != 1 {
		t.Errorf("proven %d, not proven %q", sum.Proven, sum.Unproven)
	}
	same(t, source, target, `SELECT v, n, i FROM a`)
}
