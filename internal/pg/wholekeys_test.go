package pg_test

import (
	"slices"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// TestKeyIndexes: what is said of constraints' indexes, done on parts made anew, makes them what they were.
func TestKeyIndexes(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE root (a int, b int, CONSTRAINT "the key" UNIQUE (a, b) WITH (fillfactor = 80, deduplicate_items = off)) PARTITION BY RANGE (a);
CREATE TABLE "part 1" PARTITION OF root FOR VALUES FROM (0) TO (10); CREATE TABLE part2 PARTITION OF root FOR VALUES FROM (10) TO (20);
ALTER TABLE "part 1" RENAME CONSTRAINT "part 1_a_b_key" TO "it's one"; ALTER INDEX "it's one" RESET (deduplicate_items); ALTER INDEX "it's one" SET (fillfactor = 66);
ALTER TABLE "part 1" ALTER a SET NOT NULL, ALTER b SET NOT NULL; ALTER TABLE "part 1" CLUSTER ON "it's one", REPLICA IDENTITY USING INDEX "it's one"; COMMENT ON CONSTRAINT "it's one" ON "part 1" IS 'it''s \ one'; COMMENT ON INDEX "it's one" IS 'an index';
CREATE TABLE alone (r int4range, CONSTRAINT apart EXCLUDE USING gist (r WITH &&)); CREATE INDEX no_constraint ON alone (r);
CREATE TABLE other (a int, b int, CONSTRAINT points FOREIGN KEY (a, b) REFERENCES root (a, b))`)
	c := connect(t, dsn, pg.Options{})
	names := []string{`public."the key"`, `public."it's one"`, `public.part2_a_b_key`, `public.apart`, `public.no_constraint`, `public.missing`}
	keys, err := c.KeyIndexes(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	var got []format.Name
	for _, k := range keys {
		got = append(got, k.Table.Name, k.Constraint)
		if k.Exclusion != (k.Constraint == "apart") {
			t.Errorf("%s: exclusion %v", k.Constraint, k.Exclusion)
		}
	}
	if want := []format.Name{"root", "the key", "part 1", "it's one", "part2", "part2_a_b_key", "alone", "apart"}; !slices.Equal(got, want) {
		t.Fatalf("keys %q, want %q", got, want)
	}
	const state = `SELECT k.conname, x.reloptions, i.indisclustered, i.indisreplident, obj_description(k.oid, 'pg_constraint'), obj_description(x.oid, 'pg_class')
 FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_constraint k ON k.conindid = x.oid AND k.conrelid = i.indrelid WHERE k.conrelid IN ('"part 1"'::regclass, 'part2'::regclass) ORDER BY 1`
	want := pgtest.SQL(t, dsn, state)
	pgtest.SQL(t, dsn, `DROP TABLE other; ALTER TABLE root DROP CONSTRAINT "the key"; ALTER TABLE root ADD CONSTRAINT "the key" UNIQUE (a, b) WITH (fillfactor = 80, deduplicate_items = off)`)
	parts, err := c.PartIndexes(t.Context(), keys[0].Table, keys[0].Constraint)
	if err != nil || len(parts) != 2 || parts[keys[1].TableOID] != "part 1_a_b_key" {
		t.Fatalf("parts %v, error %v", parts, err)
	}
	pgtest.SQL(t, dsn, `ALTER INDEX "part 1_a_b_key" RENAME TO "it's one"`)
	for _, k := range keys {
		for _, sql := range k.Properties {
			if err := c.Exec(t.Context(), sql); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
	if got := pgtest.SQL(t, dsn, state); got != want {
		t.Errorf("after:\n%s\nbefore:\n%s", got, want)
	}
}
