package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// columnKinds are types with an expression over g, the number of the row. Some are carried as text, some in arrays of OIDs that differ on the target.
var columnKinds = []struct{ name, value string }{
	{"int", "g * 7919 % 100003"}, {"bigint", "g::bigint * 1000000007"}, {"numeric(20,4)", "g / 7.0"}, {"numeric", "CASE WHEN g % 11 = 0 THEN 'NaN' ELSE g::numeric ^ 3 END"},
	{"text", "repeat(md5(g::text), g % 9)"}, {"text", "CASE WHEN g % 3 = 0 THEN NULL WHEN g % 3 = 1 THEN '' ELSE E'\\\\N\\t' || g END"}, {"bytea", "decode(md5(g::text), 'hex')"},
	{"timestamptz", "timestamptz '2001-01-01' + g * interval '1 hour'"}, {"date", "CASE WHEN g % 5 = 0 THEN 'infinity' ELSE date '2001-01-01' + g % 9000 END"}, {"interval", "g * interval '1 day 1 second'"},
	{"uuid", "md5(g::text)::uuid"}, {"jsonb", "jsonb_build_object('g', g, 'x', md5(g::text))"}, {"mood", "(ARRAY['sad','it''s ok','ñ'])[1 + g % 3]::mood"},
	{"mood[]", "ARRAY['sad', NULL, 'ñ']::mood[]"}, {"pair", "ROW(g, 'sad')::pair"}, {"pair[]", "ARRAY[ROW(g, NULL)::pair]"}, {"positive", "1 + g"}, {"int4range", "int4range(g, g + 5)"},
	{"aclitem", "'=r/postgres'::aclitem"}, {"regtype", "'mood'::regtype"}, {"txid_snapshot", "'10:20:10,14,15'::txid_snapshot"}, {"float8", "sqrt(g)"}, {"bool", "g % 2 = 0"}, {"inet", "('10.0.' || g % 256 || '.1')::inet"},
	{"int[]", "ARRAY[g, NULL, g + 1]"}, {"tsvector", "to_tsvector('simple', md5(g::text))"}, {"xml", "('<a>' || g || '</a>')::xml"}, {"varbit", "(g % 256)::bit(8)::varbit"},
}

const schemaHead = `SET client_min_messages = warning; CREATE TYPE mood AS ENUM ('sad', 'it''s ok', 'ñ'); CREATE TYPE pair AS (n int, m mood); CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := NEW.id; RETURN NEW; END';
`

// Rows of a table; a migrate spends its time on faults, and on more of them, rather than on comparing.
var (
	dumpRows    = []int{0, 1, 100, 3000, 20000, 40000, 100000}
	migrateRows = []int{0, 1, 100, 3000, 8000, 20000}
)

// randomSchema gives the SQL of a database: statements without a wrapper, to be run in order.
func randomSchema(r *rand.Rand, rows []int) []string {
	sql := []string{schemaHead}
	for i := range 2 + r.IntN(6) {
		sql = append(sql, randomTable(r, i, rows[r.IntN(len(rows))])...)
	}
	for i := range r.IntN(4) {
		sql = append(sql, fmt.Sprintf("CREATE SEQUENCE s%d START %d CACHE %d", i, 1+r.IntN(1000), 1+r.IntN(3)), fmt.Sprintf("SELECT setval('s%d', %d, %t)", i, 1+r.IntN(1000000), r.IntN(2) == 0))
	}
	if n := r.IntN(40); r.IntN(2) == 0 {
		sql = append(sql, fmt.Sprintf("SELECT lo_from_bytea(0, decode(repeat(md5(g::text), 1 + g * %d), 'hex')) FROM generate_series(1, %d) g", r.IntN(200), n))
	}
	sql = append(sql, "CREATE VIEW v AS SELECT count(*) FROM t0")
	if r.IntN(2) == 0 {
		sql = append(sql, "CREATE MATERIALIZED VIEW mv AS SELECT id, count(*) AS n FROM t0 GROUP BY id", "CREATE MATERIALIZED VIEW mv2 AS SELECT sum(n) AS n FROM mv", "CREATE UNIQUE INDEX ON mv (id)")
	}
	if r.IntN(3) == 0 {
		sql = append(sql, "CREATE TABLE published (id int PRIMARY KEY)", "CREATE PUBLICATION pub FOR TABLE published")
	}
	return sql
}

// randomTable makes one table with its rows and what hangs on it.
func randomTable(r *rand.Rand, i, rows int) []string {
	name := fmt.Sprintf("t%d", i)
	if i > 0 && r.IntN(4) == 0 {
		name = fmt.Sprintf(`"T %d ""ñ"`, i)
	}
	defs, names, values := []string{"id int"}, []string{"id"}, []string{"g"}
	for c := range 1 + r.IntN(7) {
		kind := columnKinds[r.IntN(len(columnKinds))]
		defs, names, values = append(defs, fmt.Sprintf("c%d %s", c, kind.name)), append(names, fmt.Sprintf("c%d", c)), append(values, kind.value)
	}
	if r.IntN(4) == 0 {
		defs = append(defs, "twice int GENERATED ALWAYS AS (id * 2) STORED")
	}
	fill := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM generate_series(1, %d) g", name, strings.Join(names, ", "), strings.Join(values, ", "), rows)
	columns := "(" + strings.Join(defs, ", ") + ")"
	var sql []string
	kind := r.IntN(6)
	switch kind {
	case 0:
		sql = append(sql, "CREATE UNLOGGED TABLE "+name+" "+columns)
	case 1:
		sql = append(sql, "CREATE TABLE "+name+" "+columns+" PARTITION BY RANGE (id)", fmt.Sprintf("CREATE TABLE p%d_a PARTITION OF %s FOR VALUES FROM (MINVALUE) TO (500)", i, name),
			fmt.Sprintf("CREATE TABLE p%d_b PARTITION OF %s DEFAULT", i, name))
	case 2:
		sql = append(sql, "CREATE TABLE "+name+" "+columns+" PARTITION BY HASH (id)", fmt.Sprintf("CREATE TABLE p%d_a PARTITION OF %s FOR VALUES WITH (MODULUS 2, REMAINDER 0)", i, name),
			fmt.Sprintf("CREATE UNLOGGED TABLE p%d_b PARTITION OF %s FOR VALUES WITH (MODULUS 2, REMAINDER 1)", i, name))
	default:
		sql = append(sql, "CREATE TABLE "+name+" "+columns)
	}
	sql = append(sql, fill)
	if kind > 2 && r.IntN(3) == 0 {
		sql = append(sql, "DELETE FROM "+name+" WHERE id % 3 = 0", "UPDATE "+name+" SET id = id WHERE id % 7 = 0")
	}
	return append(sql, extras(r, name, i)...)
}

// extras are what a restore makes in its post-data phase.
func extras(r *rand.Rand, name string, i int) (sql []string) {
	if r.IntN(3) > 0 {
		sql = append(sql, "ALTER TABLE "+name+" ADD PRIMARY KEY (id)")
	}
	if r.IntN(2) == 0 {
		sql = append(sql, "CREATE INDEX ON "+name+" ((id % 10))")
	}
	if r.IntN(3) == 0 {
		sql = append(sql, "ALTER TABLE "+name+" ADD CHECK (id > 0)", fmt.Sprintf("CREATE TRIGGER note%d BEFORE INSERT ON %s FOR EACH ROW EXECUTE FUNCTION note()", i, name))
	}
	if r.IntN(4) == 0 {
		lasting := []string{"", "UNLOGGED "}[r.IntN(2)]
		sql = append(sql, fmt.Sprintf("CREATE %sTABLE serial%d (id serial PRIMARY KEY, k int GENERATED BY DEFAULT AS IDENTITY)", lasting, i), fmt.Sprintf("INSERT INTO serial%d SELECT FROM generate_series(1, %d)", i, r.IntN(50)),
			fmt.Sprintf("CREATE %sTABLE ref%d (id int REFERENCES serial%d DEFERRABLE)", lasting, i, i), fmt.Sprintf("INSERT INTO ref%d SELECT id FROM serial%d", i, i))
	}
	if r.IntN(5) == 0 {
		sql = append(sql, "COMMENT ON TABLE "+name+" IS 'it''s'", "GRANT SELECT ON "+name+" TO public")
	}
	return sql
}
