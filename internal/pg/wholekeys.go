package pg

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/format"
)

// KeyIndex is the index of a key or an exclusion constraint.
type KeyIndex struct {
	OID        uint32
	Table      Qualified
	TableOID   uint32
	Constraint format.Name // and the index's name
	// Exclusion says that it compares by other operators than equality alone: an exclusion constraint, or a key WITHOUT OVERLAPS.
	Exclusion bool
	// Properties are statements that give a constraint of the same name, made along with that of the first index, what is set on this one.
	Properties []string
}

// KeyIndexes describes the constraints of indexes, which are given as SQL names; indexes of no constraint are left out. It is for servers from
// 11 on.
func (c *Conn) KeyIndexes(ctx context.Context, names []string) ([]KeyIndex, error) {
	rows, err := c.Query(ctx, `SELECT i.oid, n.nspname::text, r.relname::text, r.oid, k.conname::text, k.conexclop IS NOT NULL, pg_catalog.array_remove(ARRAY[
 (SELECT pg_catalog.format('COMMENT ON CONSTRAINT %I ON %I.%I IS %L', k.conname, n.nspname, r.relname, pg_catalog.obj_description(k.oid, 'pg_constraint')) WHERE pg_catalog.obj_description(k.oid, 'pg_constraint') IS NOT NULL),
 (SELECT pg_catalog.format('COMMENT ON INDEX %I.%I IS %L', n.nspname, k.conname, pg_catalog.obj_description(i.oid, 'pg_class')) WHERE pg_catalog.obj_description(i.oid, 'pg_class') IS NOT NULL),
 (SELECT pg_catalog.format('ALTER INDEX %I.%I RESET (%s)', n.nspname, k.conname, pg_catalog.string_agg(pg_catalog.quote_ident(option_name), ', ')) FROM pg_catalog.pg_options_to_table(i.options_above) WHERE i.relkind = 'i' HAVING count(*) > 0),
 (SELECT pg_catalog.format('ALTER INDEX %I.%I SET (%s)', n.nspname, k.conname, pg_catalog.string_agg(pg_catalog.format('%I = %L', option_name, option_value), ', ')) FROM pg_catalog.pg_options_to_table(i.reloptions) WHERE i.relkind = 'i' HAVING count(*) > 0),
 (SELECT pg_catalog.format('ALTER INDEX %I.%I SET TABLESPACE %I', n.nspname, k.conname, s.spcname) FROM pg_catalog.pg_tablespace s, pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()
  AND s.oid = CASE i.reltablespace WHEN 0 THEN d.dattablespace ELSE i.reltablespace END AND i.relkind = 'i' AND i.reltablespace <> i.space_above),
 (SELECT pg_catalog.format('ALTER TABLE %I.%I CLUSTER ON %I', n.nspname, r.relname, k.conname) WHERE i.indisclustered),
 (SELECT pg_catalog.format('ALTER TABLE ONLY %I.%I REPLICA IDENTITY USING INDEX %I', n.nspname, r.relname, k.conname) WHERE i.indisreplident)], NULL)
 FROM (SELECT a.place, x.oid, x.relkind, x.reloptions, x.reltablespace, i.indrelid, i.indisclustered, i.indisreplident, pg_catalog.first_value(x.reloptions) OVER w AS options_above, pg_catalog.first_value(x.reltablespace) OVER w AS space_above
  FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY AS a (name, place) JOIN pg_catalog.pg_index i ON i.indexrelid = pg_catalog.to_regclass(a.name) JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid WINDOW w AS (ORDER BY a.place)) i
 JOIN pg_catalog.pg_constraint k ON k.conindid = i.oid AND k.conrelid = i.indrelid AND k.contype IN ('p', 'u', 'x')
 JOIN pg_catalog.pg_class r ON r.oid = i.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace ORDER BY i.place`, names)
	if err != nil {
		return nil, Wrap(err, "list of keys")
	}
	return collect(rows, "list of keys", func(r pgx.CollectableRow) (k KeyIndex, err error) {
		return k, r.Scan(&k.OID, &k.Table.Schema, &k.Table.Name, &k.TableOID, &k.Constraint, &k.Exclusion, &k.Properties)
	})
}

// PartIndexes gives the names of the indexes below a partitioned table's, by the OID of the partition. It is for servers from 12 on.
func (c *Conn) PartIndexes(ctx context.Context, table Qualified, constraint format.Name) (map[uint32]format.Name, error) {
	rows, err := c.Query(ctx, `SELECT i.indrelid, x.relname::text FROM pg_catalog.pg_partition_tree($1::text::regclass) p JOIN pg_catalog.pg_index i ON i.indexrelid = p.relid JOIN pg_catalog.pg_class x ON x.oid = p.relid WHERE p.level > 0`,
		QuoteName(table.Schema, constraint))
	if err != nil {
		return nil, Wrap(err, "indexes of the partitions of %s", table)
	}
	names := map[uint32]format.Name{}
	var oid uint32
	var name format.Name
	_, err = pgx.ForEachRow(rows, []any{&oid, &name}, func() error {
		names[oid] = name
		return nil
	})
	return names, Wrap(err, "indexes of the partitions of %s", table)
}
