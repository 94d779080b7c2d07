package pg

import (
	"context"

	"github.com/jackc/pgx/v5"
)

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

// SessionsIn names the sessions of others in a database, for people: user, program and address.
func (c *Conn) SessionsIn(ctx context.Context, database string) ([]string, error) {
	rows, err := c.Query(ctx, `SELECT coalesce(usename::text, '?') || coalesce(' (' || nullif(application_name, '') || ')', '') || coalesce(' from ' || host(client_addr), '') || ', pid ' || pid
 FROM pg_catalog.pg_stat_activity WHERE datname = $1 AND pid <> pg_catalog.pg_backend_pid() AND backend_type NOT LIKE 'autovacuum%' ORDER BY 1`, database)
	if err != nil {
		return nil, Wrap(err, "sessions in database %q", database)
	}
	return collect(rows, "sessions", pgx.RowTo[string])
}
