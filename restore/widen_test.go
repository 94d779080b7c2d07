package restore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// narrow has every number that can go into a wider column: its ends, what is special, NULLs; and containers of such numbers, which do not change their type.
const narrow = `CREATE DOMAIN small AS int2;
CREATE TABLE n (id int PRIMARY KEY, i2 int2, i4 int4, i8 int8, f4 float4, a int4[], d small);
INSERT INTO n VALUES (1, 0, 0, 0, 0, '{1,2}', 1), (2, -32768, -2147483648, -9223372036854775808, '-Infinity', '{}', 2), (3, 32767, 2147483647, 9223372036854775807, 'NaN', NULL, 3),
 (4, NULL, NULL, NULL, NULL, NULL, NULL), (5, 10000, -100000000, 1000000000000000000, '-0', NULL, -1), (6, 1, 1, 1, 'Infinity', NULL, 0), (7, 1, 1, 1, '1e-45', NULL, 0), (8, 1, 1, 1, '-3.4028235e38', NULL, 0);
INSERT INTO n SELECT g, (g * 7919) % 32768, g * 100003, g * 1000000007::int8 * (1 - g % 2 * 2), g / 7.0, ARRAY[g], 5 FROM generate_series(9, 3000) g;`

// TestNarrowNumbersGoIntoWiderColumns: the target holds what the server's own casts make of the dump's numbers, sent straight and through a staging table, and
// the proof says so.
func TestNarrowNumbersGoIntoWiderColumns(t *testing.T) {
	source := pgtest.DB(t, narrow, `CREATE TABLE staged AS SELECT *, 'pg_class'::regclass AS r FROM n`)
	dir := takeDump(t, source)
	for _, c := range []struct{ i2, i4, i8, f4 string }{
		{"int4", "int8", "numeric", "float8"}, {"int8", "numeric", "numeric(19)", "float8"}, {"numeric", "float8", "numeric(21,2)", "float8"},
		{"float4", "numeric(10)", "numeric(1000,300)", "float8"}, {"float8", "numeric(12,2)", "int8", "float4"}, {"numeric(5,0)", "int4", "numeric(30,11)", "float4"},
	} {
		t.Run(strings.Join([]string{c.i2, c.i4, c.i8, c.f4}, " "), func(t *testing.T) {
			columns := fmt.Sprintf("d small, i8 %s, i2 %s, i4 %s, f4 %s, a int4[], id int", c.i8, c.i2, c.i4, c.f4)
			target := pgtest.DB(t, `CREATE DOMAIN small AS int2; CREATE TABLE n (`+columns+`); CREATE TABLE staged (`+columns+`, r regclass)`)
			o := options(t, dir, target)
			o.DataOnly = true
			if sum := mustRestore(t, o); sum.Proven != 2 || sum.Rows != 6000 {
				t.Errorf("%d tables proven, %d rows", sum.Proven, sum.Rows)
			}
			for _, table := range []string{"n", "staged"} {
				want := pgtest.SQL(t, source, fmt.Sprintf(`SELECT id, i2::%s, i4::%s, i8::%s, f4::%s, a, d FROM %s ORDER BY id`, c.i2, c.i4, c.i8, c.f4, table))
				if got := pgtest.SQL(t, target, `SELECT id, i2, i4, i8, f4, a, d FROM `+table+` ORDER BY id`); got != want || len(want) < 100_000 {
					t.Errorf("table %s differs from the server's casts", table)
				}
			}
		})
	}
}

// TestNarrowNumbersArePreflighted: what a wider column is said to be; containers of numbers and modifiers without room are left to --allow-cast.
func TestNarrowNumbersArePreflighted(t *testing.T) {
	r := diff(t, takeDump(t, pgtest.DB(t, narrow)), pgtest.DB(t, `CREATE DOMAIN small AS int2; CREATE TABLE n (id numeric(13,3), i2 numeric(6,2), i4 float4, i8 float8, f4 numeric, a numeric[], d numeric)`))
	if got, want := verdicts(r, "n"), []string{"id converts", "i2 castable!", "i4 castable!", "i8 castable!", "f4 castable!", "a castable!", "d castable!"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if why := r.Tables[0].Columns[0].Why; why != "every value of integer is one of numeric(13,3)" {
		t.Errorf("%q", why)
	}
}

// TestWiderColumnsAreCompared: what a wider column holds and the narrow one cannot is a difference: it is not rounded until it is equal, and no error.
func TestWiderColumnsAreCompared(t *testing.T) {
	source := pgtest.DB(t, narrow)
	target := pgtest.DB(t, `CREATE DOMAIN small AS int2; CREATE TABLE n (id int PRIMARY KEY, i2 float8, i4 int8, i8 numeric, f4 float8, a int4[], d small)`)
	m := migrating(t, source, target)
	m.from.DataOnly, m.to.DataOnly = true, true
	if sum := m.must(t); sum.Proven != 1 {
		t.Errorf("%d tables proven", sum.Proven)
	}
	sameData(t, source, target, 1)
	pgtest.SQL(t, target, `CREATE TABLE kept AS SELECT * FROM n`)
	for _, change := range []string{"i2 = 1.25 WHERE id = 6", "i2 = 'NaN' WHERE id = 4", "i4 = 2147483648 WHERE id = 3", "i8 = 9223372036854775808 WHERE id = 3", "i8 = 1.4 WHERE id = 6", "i8 = 'NaN' WHERE id = 4",
		"i8 = NULL WHERE id = 6", "f4 = 0 WHERE id = 5", "f4 = 9/7.0 WHERE id = 9", "f4 = 1e300 WHERE id = 8", "f4 = 1e-300 WHERE id = 7", "f4 = 1e-46 WHERE id = 4", "f4 = 3.5e38 WHERE id = 6"} {
		t.Run(change, func(t *testing.T) {
			pgtest.SQL(t, target, "TRUNCATE n; INSERT INTO n SELECT * FROM kept; UPDATE n SET "+change)
			if d := compared(t, source, target); len(d.Tables) != 1 || d.Tables[0].State != restore.DataDifferent {
				t.Errorf("%+v", d)
			}
		})
	}
}
