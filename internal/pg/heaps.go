package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// HeapPages gives the number of pages of those of the tables whose rows lie in a heap, which the server can read from any page on (since 14 without reading the
// pages before), and by whose ctid the role may ask: that takes SELECT on the table, privileges on its columns are not enough.
func (c *Conn) HeapPages(ctx context.Context, tables []uint32) (map[uint32]int64, error) {
	rows, err := c.Query(ctx, `SELECT c.oid, pg_catalog.pg_relation_size(c.oid) / current_setting('block_size')::int8
 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_am a ON a.oid = c.relam WHERE a.amname = 'heap' AND c.relkind = 'r' AND c.oid = ANY ($1::oid[])
 AND pg_catalog.has_table_privilege(c.oid, 'SELECT')`, tables)
	if err != nil {
		return nil, Wrap(err, "sizes of tables")
	}
	pages := map[uint32]int64{}
	var oid uint32
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&oid, &n}, func() error {
		pages[oid] = n
		return nil
	})
	return pages, Wrap(err, "sizes of tables")
}

// PagesFrom is the first version that reads a range of pages without those before it: older ones would read the whole table for each.
const PagesFrom = 140000

// PagesSQL is the condition for the rows of a heap's pages from one to before another; 0 for the latter means to the end.
func PagesSQL(from, to uint32) string {
	condition := fmt.Sprintf("ctid >= '(%d,0)'::pg_catalog.tid", from)
	if to > 0 {
		condition += fmt.Sprintf(" AND ctid < '(%d,0)'::pg_catalog.tid", to)
	}
	return condition
}
