package restore

import (
	"context"

	"github.com/bytehaul/pghaul/internal/pg"
)

// stagingTable takes the rows of an extension's configuration table on their way: CREATE EXTENSION may have made some of them already.
const stagingTable = "pg_temp.pghaul_config"

// stage makes the staging table, for the present transaction.
func (w *worker) stage(ctx context.Context, t *loadTable) error {
	table, _, err := tableSQL(ctx, w.conn, t)
	if err != nil {
		return err
	}
	return pg.Wrap(w.conn.Exec(ctx, "CREATE TEMP TABLE pghaul_config (LIKE "+table+" INCLUDING DEFAULTS) ON COMMIT DROP"), "staging table")
}

// unstage puts the rows into their table; those that are there stay as they are.
func (w *worker) unstage(ctx context.Context, t *loadTable) error {
	table, columns, err := tableSQL(ctx, w.conn, t)
	if err != nil {
		return err
	}
	from := columns
	n, err := w.conn.ExecTag(ctx, "INSERT INTO "+table+listOf(columns)+" OVERRIDING SYSTEM VALUE SELECT "+from+" FROM "+stagingTable+" ON CONFLICT DO NOTHING")
	if err != nil {
		return pg.Wrap(err, "rows of an extension")
	}
	if kept := t.entry.Rows - n; kept > 0 {
		w.logf("table %s: %d of %d rows were there already", t.name, kept, t.entry.Rows)
	}
	return nil
}

// tableSQL gives a table's name and columns, quoted and in the session's encoding.
func tableSQL(ctx context.Context, c *pg.Conn, t *loadTable) (table, columns string, err error) {
	return c.TableSQL(ctx, t.target.OID, t.target.Schema, t.target.Name, t.columnNames(), c.PgConn().ParameterStatus("client_encoding"))
}
