package pg

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/format"
)

// KeyCheck is a foreign key that calls itself valid, and how to see whether it is.
type KeyCheck struct {
	Table Qualified // that refers
	Name  format.Name
	query string // in the session's encoding; true: some row refers to nothing
}

// KeyChecks lists the valid foreign keys of tables, those of partitions through their root where it is among the tables.
func (c *Conn) KeyChecks(ctx context.Context, oids []uint32) ([]KeyCheck, error) {
	parent, ordinary := "0::oid", "true"
	if c.Version >= 110000 {
		parent = "k.conparentid"
	}
	if c.Version >= 180000 {
		ordinary = "NOT k.conperiod" // such a key holds when several rows together cover the period
	}
	// A key to a partitioned table has a copy for each of its partitions, which does not hold alone; a key of a partitioned table one in each
	// partition. The query is that of RI_Initial_Check in src/backend/utils/adt/ri_triggers.c.
	rows, err := c.Query(ctx, `WITH RECURSIVE k AS (SELECT k.*, `+parent+` AS parent FROM pg_catalog.pg_constraint k WHERE k.contype = 'f'),
 up(oid, top) AS (SELECT k.oid, k.oid FROM k WHERE k.parent = 0 UNION ALL SELECT k.oid, up.top FROM k JOIN up ON k.parent = up.oid)
SELECT n.nspname::text, r.relname::text, k.conname::text, pg_catalog.format('SELECT EXISTS (SELECT FROM %s%I.%I f LEFT JOIN %s%I.%I p ON %s WHERE %s AND (%s))',
 CASE r.relkind WHEN 'p' THEN '' ELSE 'ONLY ' END, n.nspname, r.relname, CASE t.relkind WHEN 'p' THEN '' ELSE 'ONLY ' END, tn.nspname, t.relname, m.joined, m.missing,
 CASE k.confmatchtype WHEN 'f' THEN m.some ELSE m.whole END)
 FROM up JOIN k ON k.oid = up.oid JOIN k top ON top.oid = up.top
 JOIN pg_catalog.pg_class r ON r.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
 JOIN pg_catalog.pg_class t ON t.oid = k.confrelid JOIN pg_catalog.pg_namespace tn ON tn.oid = t.relnamespace,
 LATERAL (SELECT string_agg(pg_catalog.format('p.%I OPERATOR(%I.%s) f.%I', pa.attname, oper.nspname, o.oprname, fa.attname), ' AND ') AS joined,
  min(pg_catalog.format('p.%I IS NULL', pa.attname)) AS missing,
  string_agg(pg_catalog.format('f.%I IS NOT NULL', fa.attname), ' AND ') AS whole, string_agg(pg_catalog.format('f.%I IS NOT NULL', fa.attname), ' OR ') AS some
  FROM unnest(k.conkey, k.confkey, k.conpfeqop) AS u(fk, pk, op)
  JOIN pg_catalog.pg_attribute fa ON fa.attrelid = k.conrelid AND fa.attnum = u.fk JOIN pg_catalog.pg_attribute pa ON pa.attrelid = k.confrelid AND pa.attnum = u.pk
  JOIN pg_catalog.pg_operator o ON o.oid = u.op JOIN pg_catalog.pg_namespace oper ON oper.oid = o.oprnamespace) m
 WHERE k.convalidated AND `+ordinary+` AND k.conrelid = ANY ($1) AND k.confrelid = top.confrelid AND NOT EXISTS (SELECT FROM k above WHERE above.oid = k.parent AND above.conrelid = ANY ($1)) ORDER BY 1, 2, 3`, oids)
	if err != nil {
		return nil, Wrap(err, "list of foreign keys")
	}
	return collect(rows, "list of foreign keys", func(r pgx.CollectableRow) (k KeyCheck, err error) {
		return k, r.Scan(&k.Table.Schema, &k.Table.Name, &k.Name, &k.query)
	})
}

// Violated tells whether some row of the key's table refers to a row that is not there. It reads both tables.
func (c *Conn) Violated(ctx context.Context, k KeyCheck) (yes bool, err error) {
	err = c.QueryRow(ctx, k.query).Scan(&yes)
	return yes, Wrap(err, "foreign key %s of %s", k.Name, k.Table)
}
