package pg

import "context"

// DropDatabase drops a database that may be there, with the sessions in it. The session must be in another one.
func (c *Conn) DropDatabase(ctx context.Context, name string) error {
	sql := "DROP DATABASE IF EXISTS " + QuoteIdent(name)
	if c.Version >= 130000 {
		sql += " WITH (FORCE)"
	} else if _, err := c.Conn.Exec(ctx, `SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity WHERE datname::text = $1`, name); err != nil {
		return Wrap(err, "sessions of database %s", name)
	}
	return Wrap(c.Exec(ctx, sql), "DROP DATABASE %s", name) // which waits a few seconds for sessions that end
}
