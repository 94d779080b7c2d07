package restore_test

import (
	"fmt"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// TestForeignRows: rows of a foreign table go back to its server when that has none, and never twice.
func TestForeignRows(t *testing.T) {
	far := pgtest.DB(t, `CREATE TABLE far (id int, v text); INSERT INTO far SELECT g, 'v' || g FROM generate_series(1, 300) g`)
	c := pgtest.Cluster(t)
	source := pgtest.DB(t, fmt.Sprintf(`CREATE EXTENSION postgres_fdw; CREATE SERVER s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', port '%d', dbname '%s'); CREATE USER MAPPING FOR postgres SERVER s;
CREATE FOREIGN TABLE f (id int, v text) SERVER s OPTIONS (schema_name 'public', table_name 'far')`, c.Host(), c.Port(), parse(t, far).Config.Database))
	dir := takeDump(t, source, func(o *dump.Options) { o.ForeignServers = []string{"s"} })
	refusal(t, options(t, dir, pgtest.DB(t)), "preflight B", "public.f", "server holds rows already", "--exclude-table-data")
	o := options(t, dir, pgtest.DB(t))
	o.ExcludeTableData = []string{"f"}
	mustRestore(t, o)
	if got := pgtest.SQL(t, far, `SELECT count(*) FROM far`); got != "300" {
		t.Errorf("%s rows", got)
	}
	pgtest.SQL(t, far, `TRUNCATE far`)
	if sum := mustRestore(t, options(t, dir, pgtest.DB(t))); sum.Rows != 300 || sum.Proven != 1 {
		t.Errorf("%+v", sum)
	}
	if got := pgtest.SQL(t, far, `SELECT count(*), max(v) FROM far`); got != "300|v99" {
		t.Error(got)
	}
}
