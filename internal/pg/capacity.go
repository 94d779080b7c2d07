package pg

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Capacity is what the numbers of a benchmark rest on: what the server is set to, and what the session's role may do there.
type Capacity struct {
	Version       string // as the server says it
	InRecovery    bool   // a standby, which takes no writes
	ServerFiles   bool   // the role may let the server write files
	DataDirectory string // empty when the role may not know
	Settings      map[string]string
}

// capacitySettings decide how fast rows are written.
var capacitySettings = []string{"fsync", "synchronous_commit", "wal_level", "full_page_writes", "shared_buffers", "max_wal_size", "wal_compression", "data_checksums", "data_directory"}

// Capacity asks for it.
func (c *Conn) Capacity(ctx context.Context) (k Capacity, err error) {
	k.Version = c.PgConn().ParameterStatus("server_version")
	err = c.QueryRow(ctx, `SELECT pg_catalog.pg_is_in_recovery(), `+superuser+` OR coalesce((SELECT pg_catalog.pg_has_role(r.oid, 'USAGE') FROM pg_catalog.pg_roles r
 WHERE r.rolname = 'pg_write_server_files'), false)`).Scan(&k.InRecovery, &k.ServerFiles)
	if err != nil {
		return k, Wrap(err, "privileges of the role")
	}
	rows, err := c.Query(ctx, `SELECT name, pg_catalog.current_setting(name) FROM pg_catalog.pg_settings WHERE name = ANY($1)`, capacitySettings) // what the role may not know is not among them
	k.Settings = map[string]string{}
	var name, value string
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error { k.Settings[name] = value; return nil })
	}
	k.DataDirectory = k.Settings["data_directory"]
	delete(k.Settings, "data_directory")
	return k, Wrap(err, "settings of the server")
}

// TableBytes is the size of a table with its TOAST table and without its indexes.
func (c *Conn) TableBytes(ctx context.Context, name Qualified) (n int64, err error) {
	err = c.QueryRow(ctx, `SELECT pg_catalog.pg_table_size($1::text::regclass)`, name.SQL()).Scan(&n)
	return n, Wrap(err, "size of table %s", name)
}

// WALBytes is how much WAL the server has written in its life.
func (c *Conn) WALBytes(ctx context.Context) (n int64, err error) {
	err = c.QueryRow(ctx, `SELECT (pg_catalog.pg_current_wal_lsn() - '0/0'::pg_catalog.pg_lsn)::int8`).Scan(&n)
	return n, Wrap(err, "position of the WAL")
}
