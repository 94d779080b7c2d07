package demo

import (
	"context"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

func TestMain(m *testing.M) { pgtest.Run(m) }

func TestCompareSeesEveryDifference(t *testing.T) {
	c := pgtest.Cluster(t)
	pgtest.SQL(t, c.DSN("postgres"), "CREATE DATABASE "+Source)
	pgtest.SQL(t, c.DSN("postgres"), "CREATE DATABASE "+Target)
	tables := "CREATE TABLE same (id int, x text); INSERT INTO same VALUES (1, 'a'), (2, NULL); CREATE TABLE none (id int, x text); " +
		"CREATE TABLE less (id int, x text); INSERT INTO less VALUES (1, 'a'), (2, 'b'); CREATE TABLE other (id int, x text); INSERT INTO other VALUES (1, 'a')"
	for _, db := range []string{Source, Target} {
		pgtest.SQL(t, c.DSN(db), tables)
	}
	// The order of the rows does not count.
	pgtest.SQL(t, c.DSN(Target), "DELETE FROM same WHERE id = 1; INSERT INTO same VALUES (1, 'a'); DELETE FROM less WHERE id = 2; UPDATE other SET x = 'A'")
	var list []format.ManifestTable
	for _, name := range []format.Name{"same", "none", "less", "other"} {
		list = append(list, format.ManifestTable{Schema: "public", Name: name, Columns: make([]format.Column, 2)})
	}
	pairs, err := Compare(context.Background(), c, list)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, true, false, false} {
		if pairs[i].Equal() != want {
			t.Errorf("%s: equal %v, want %v: %+v", pairs[i].Table, pairs[i].Equal(), want, pairs[i])
		}
	}
	if pairs[2].Source.Rows != 2 || pairs[2].Target.Rows != 1 {
		t.Errorf("rows: %+v", pairs[2])
	}
}
