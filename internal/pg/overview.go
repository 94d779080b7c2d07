package pg

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// DatabaseInfo is one database of a server, as far as the session's role may know.
type DatabaseInfo struct {
	Name    string
	Owner   string
	Bytes   int64 // -1: the role may not ask
	Connect bool  // the role may connect
}

// Databases lists a server's databases, templates left out, by name.
func (c *Conn) Databases(ctx context.Context) ([]DatabaseInfo, error) {
	rows, err := c.Query(ctx, `SELECT d.datname::text, pg_catalog.pg_get_userbyid(d.datdba)::text,
 CASE WHEN m.may OR pg_catalog.pg_has_role('pg_read_all_stats', 'MEMBER') THEN pg_catalog.pg_database_size(d.oid) ELSE -1 END, m.may
 FROM pg_catalog.pg_database d, LATERAL (SELECT d.datallowconn AND pg_catalog.has_database_privilege(d.oid, 'CONNECT') AS may) m
 WHERE NOT d.datistemplate ORDER BY 1`)
	if err != nil {
		return nil, Wrap(err, "list of databases")
	}
	return collect(rows, "list of databases", func(r pgx.CollectableRow) (d DatabaseInfo, err error) {
		err = r.Scan(&d.Name, &d.Owner, &d.Bytes, &d.Connect)
		return d, err
	})
}

// RoleInfo is what a session's role is and may do on its server.
type RoleInfo struct {
	Name        string
	Superuser   bool
	CreateDB    bool
	BypassRLS   bool
	ReadAll     bool // every table
	Replication bool
}

// RoleInfo describes the session's role.
func (c *Conn) RoleInfo(ctx context.Context) (r RoleInfo, err error) {
	readAll := "false"
	if c.Version >= 140000 {
		readAll = "pg_catalog.pg_has_role('pg_read_all_data', 'USAGE')"
	}
	err = c.QueryRow(ctx, `SELECT rolname::text, rolsuper, rolsuper OR rolcreatedb, rolsuper OR rolbypassrls, rolsuper OR `+readAll+`, rolsuper OR rolreplication
 FROM pg_catalog.pg_roles WHERE rolname = current_user`).Scan(&r.Name, &r.Superuser, &r.CreateDB, &r.BypassRLS, &r.ReadAll, &r.Replication)
	return r, Wrap(err, "rights of the role")
}

// TableEstimates gives the bytes of heap and TOAST of all relations, as of their last VACUUM or ANALYZE. It waits for no lock.
func (c *Conn) TableEstimates(ctx context.Context) (map[uint32]int64, error) {
	rows, err := c.Query(ctx, `SELECT c.oid, (c.relpages::int8 + coalesce(t.relpages::int8, 0)) * current_setting('block_size')::int8
 FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class t ON t.oid = c.reltoastrelid WHERE c.relkind IN ('r', 'm')`)
	if err != nil {
		return nil, Wrap(err, "sizes of tables")
	}
	sizes := map[uint32]int64{}
	var oid uint32
	var bytes int64
	_, err = pgx.ForEachRow(rows, []any{&oid, &bytes}, func() error { sizes[oid] = bytes; return nil })
	return sizes, Wrap(err, "sizes of tables")
}

// WithPassword gives the same connection with a password that was typed in. It is kept in memory alone, and reaches child processes as every
// password does, through a file that only we can read.
func (d *DSN) WithPassword(password string) *DSN {
	config := d.Config.Copy()
	config.Password = password
	return &DSN{Config: config, Given: d.Given}
}
