package yardstick

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// Table is one of the tables that are measured. All are in the schema public.
type Table struct {
	Name     string
	Columns  int
	FullRows int64 // at scale 1

	series string // expression of type integer or bigint that the rows come from, with %d for their number
	values string // the columns over g
	check  string // a condition that every row meets
	key    string // the columns of a primary key
	unique int64  // rows up to which the key's values differ; 0: never, and an index stands for the key

	rowBytes  int64 // of a row in COPY's binary format, about
	heapBytes int64 // of a row in the heap, about
}

// Tables are the tables of the mailing-list threads, in the order of the reports there.
func Tables() []Table {
	ints := make([]string, 26)
	for i := range ints {
		ints[i] = fmt.Sprintf("(g * %d %% 1000003)::int AS c%d", i+1, i+1)
	}
	narrow := archiveColumns()
	wide := append(slices.Clone(narrow[:len(narrow)-1]), "repeat(md5(g::text), 7) || ' annonce' AS texte")
	for i := range 11 {
		wide = append(wide, fmt.Sprintf("(g * %d %% 65537)::int AS j%d", i+3, i))
	}
	const small, large = "generate_series(1, %d)", "generate_series(1::bigint, %d)"
	return []Table{
		{Name: "test_one_int", Columns: 1, FullRows: 10_000_000, series: small, values: "g AS a", check: "a > 0", key: "a", unique: 1 << 31, rowBytes: 10, heapBytes: 36},
		{Name: "test_many_ints", Columns: len(ints), FullRows: 1_000_000, series: large, values: strings.Join(ints, ", "), check: "c1 >= 0", key: "c1", unique: 1_000_002, rowBytes: 210, heapBytes: 136},
		{Name: "annonces", Columns: len(wide), FullRows: 413_000, series: large, values: strings.Join(wide, ", "), check: "id > 0", key: "id", unique: 1 << 31, rowBytes: 530, heapBytes: 430},
		{Name: "archive_data", Columns: len(narrow), FullRows: 2_650_000, series: large, values: strings.Join(narrow, ", "), check: "id > 0", key: "id", unique: 1 << 31, rowBytes: 210, heapBytes: 157},
		{Name: "citydata", Columns: 2, FullRows: 10_000_000, series: small, values: "(g % 30000)::int2 AS city, (g % 500 - 250)::int2 AS temp", check: "city >= 0", key: "city, temp", rowBytes: 14, heapBytes: 36},
	}
}

// archiveColumns are the 28 columns of archive_data: numbers, booleans, dates and times, some NULLs.
func archiveColumns() []string {
	columns := []string{"g AS id"}
	for i := range 8 {
		columns = append(columns, fmt.Sprintf("CASE WHEN g %% %d = 0 THEN NULL ELSE (g * %d %% 1000003)::int END AS i%d", i+3, i+7, i))
	}
	for i := range 8 {
		columns = append(columns, fmt.Sprintf("(g %% %d)::smallint AS s%d", 100+i, i))
	}
	for i := range 5 {
		columns = append(columns, fmt.Sprintf("g %% %d = 0 AS b%d", i+2, i))
	}
	for i := range 3 {
		columns = append(columns, fmt.Sprintf("date '2009-01-01' + (g %% 365)::int AS d%d", i))
	}
	for i := range 3 {
		columns = append(columns, fmt.Sprintf("timestamp '2009-01-01' + g %% 31536000 * interval '1 s' AS t%d", i))
	}
	return columns
}

// Choose gives the tables of these names, all when there are none, in their own order.
func Choose(names []string) ([]Table, error) {
	all := Tables()
	if len(names) == 0 {
		return all, nil
	}
	known := make([]string, len(all))
	for i, t := range all {
		known[i] = t.Name
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no table %q in the benchmark, but %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(t Table) bool { return !slices.Contains(names, t.Name) }), nil
}

// Rows is how many rows the table has at a scale: at least one.
func (t *Table) Rows(scale float64) int64 { return max(1, int64(float64(t.FullRows)*scale)) }

// CreateSQL makes the table with its rows. There are no indexes.
func (t *Table) CreateSQL(scale float64) string {
	return fmt.Sprintf("CREATE TABLE %s AS SELECT %s FROM "+t.series+" g", t.SQL(), t.values, t.Rows(scale))
}

// SQL is the qualified name.
func (t *Table) SQL() string { return t.qualified().SQL() }

func (t *Table) qualified() pg.Qualified {
	return pg.Qualified{Schema: "public", Name: format.Name(t.Name)}
}

// emptySQL makes an empty table of the same columns under another name.
func (t *Table) emptySQL(name string) string {
	return fmt.Sprintf("CREATE TABLE %s AS SELECT %s FROM "+t.series+" g WITH NO DATA", name, t.values, 1)
}

// keySQL builds the primary key of a loaded table, or an index where no columns are unique.
func (t *Table) keySQL(name string, scale float64) string {
	if t.Rows(scale) > t.unique {
		return fmt.Sprintf("CREATE INDEX ON %s (%s)", name, t.key)
	}
	return fmt.Sprintf("ALTER TABLE %s ADD PRIMARY KEY (%s)", name, t.key)
}

// guardSQL gives a table a constraint that holds and a trigger for each row that changes nothing.
func (t *Table) guardSQL(name string) string {
	return fmt.Sprintf(`ALTER TABLE %[1]s ADD CHECK (%[2]s);
CREATE OR REPLACE FUNCTION public.pghaul_bench_noop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER noop BEFORE INSERT ON %[1]s FOR EACH ROW EXECUTE PROCEDURE public.pghaul_bench_noop()`, name, t.check)
}
