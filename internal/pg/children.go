package pg

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/format"
)

// WithChildren adds to relations all that inherit from them, on any level: partitions and children.
func (c *Conn) WithChildren(ctx context.Context, oids []uint32) ([]uint32, error) {
	if len(oids) == 0 {
		return nil, nil
	}
	rows, err := c.Query(ctx, `WITH RECURSIVE down(oid) AS (SELECT unnest($1::oid[]) UNION SELECT i.inhrelid FROM down JOIN pg_catalog.pg_inherits i ON i.inhparent = down.oid)
 SELECT oid FROM down`, oids)
	if err != nil {
		return nil, Wrap(err, "children of tables")
	}
	return collect(rows, "children of tables", pgx.RowTo[uint32])
}

// ForeignServers lists the names of the foreign servers.
func (c *Conn) ForeignServers(ctx context.Context) ([]format.Name, error) {
	rows, err := c.Query(ctx, `SELECT srvname::text FROM pg_catalog.pg_foreign_server ORDER BY 1`)
	if err != nil {
		return nil, Wrap(err, "foreign servers")
	}
	return collect(rows, "foreign servers", pgx.RowTo[format.Name])
}
