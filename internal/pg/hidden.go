package pg

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/format"
)

// superuser is an expression: may the session's role do everything?
const superuser = `(SELECT r.rolsuper FROM pg_catalog.pg_roles r WHERE r.rolname = current_user)`

// PoliciesApply gives those of the relations whose rows the session's role would not see all of.
func (c *Conn) PoliciesApply(ctx context.Context, oids []uint32) ([]uint32, error) {
	rows, err := c.Query(ctx, `SELECT c.oid FROM pg_catalog.pg_class c WHERE c.oid = ANY ($1) AND c.relrowsecurity AND pg_catalog.row_security_active(c.oid) ORDER BY c.oid`, oids)
	if err != nil {
		return nil, Wrap(err, "list of policies")
	}
	return collect(rows, "list of policies", pgx.RowTo[uint32])
}

// HiddenLargeObjects lists the large objects that the session's role may not read.
func (c *Conn) HiddenLargeObjects(ctx context.Context) ([]uint32, error) {
	readable := `pg_catalog.current_setting('lo_compat_privileges')::bool OR pg_catalog.pg_has_role(lomowner, 'USAGE') OR EXISTS (SELECT FROM pg_catalog.aclexplode(lomacl) a
 WHERE a.privilege_type = 'SELECT' AND CASE a.grantee WHEN 0 THEN true ELSE pg_catalog.pg_has_role(a.grantee, 'USAGE') END)`
	if c.Version >= 180000 { // pg_read_all_data reads them too
		readable = `pg_catalog.has_largeobject_privilege(oid, 'SELECT')`
	}
	rows, err := c.Query(ctx, `SELECT oid FROM pg_catalog.pg_largeobject_metadata WHERE NOT `+superuser+` AND NOT (`+readable+`) ORDER BY oid`)
	if err != nil {
		return nil, Wrap(err, "privileges on large objects")
	}
	return collect(rows, "privileges on large objects", pgx.RowTo[uint32])
}

// HiddenSubscriptions lists the subscriptions of the database, if the session's role is none to whom pg_dump shows them.
func (c *Conn) HiddenSubscriptions(ctx context.Context) ([]format.Name, error) {
	rows, err := c.Query(ctx, `SELECT subname::text FROM pg_catalog.pg_subscription
 WHERE NOT `+superuser+` AND subdbid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()) ORDER BY 1`)
	if err != nil {
		return nil, Wrap(err, "list of subscriptions")
	}
	return collect(rows, "list of subscriptions", pgx.RowTo[format.Name])
}

// HiddenUserMappings counts the user mappings whose options the session's role may not see.
func (c *Conn) HiddenUserMappings(ctx context.Context) (n int64, err error) {
	err = c.QueryRow(ctx, `SELECT count(*) FROM pg_catalog.pg_user_mappings m JOIN pg_catalog.pg_foreign_server s ON s.oid = m.srvid
 WHERE m.umoptions IS NULL AND NOT `+superuser+` AND NOT pg_catalog.pg_has_role(s.srvowner, 'USAGE')`).Scan(&n)
	return n, Wrap(err, "list of user mappings")
}

// Superuser tells whether the session's role may do everything.
func (c *Conn) Superuser(ctx context.Context) (yes bool, err error) {
	err = c.QueryRow(ctx, `SELECT `+superuser).Scan(&yes)
	return yes, Wrap(err, "role")
}

// UntrustedExtensions gives those of the names that the server offers, but only to a superuser. With there, those that the database has already are none of them.
func (c *Conn) UntrustedExtensions(ctx context.Context, names []format.Name, there bool) ([]format.Name, error) {
	trusted := "false"
	if c.Version >= 130000 {
		trusted = "v.trusted"
	}
	rows, err := c.Query(ctx, `SELECT e.name::text FROM pg_catalog.pg_available_extensions e JOIN pg_catalog.pg_available_extension_versions v ON v.name = e.name AND v.version = e.default_version
 WHERE pg_catalog.convert_to(e.name::text, 'UTF8') = ANY ($1) AND v.superuser AND NOT `+trusted+` AND NOT ($2 AND e.installed_version IS NOT NULL) ORDER BY 1`, byteSlices(names), there)
	if err != nil {
		return nil, Wrap(err, "list of extensions")
	}
	return collect(rows, "list of extensions", pgx.RowTo[format.Name])
}

// ForeignRoles gives those of the names that are roles to which the session's role cannot give things, because it is no member of them.
func (c *Conn) ForeignRoles(ctx context.Context, names []format.Name) ([]format.Name, error) {
	member := "MEMBER"
	if c.Version >= 160000 {
		member = "SET"
	}
	rows, err := c.Query(ctx, `SELECT rolname::text FROM pg_catalog.pg_roles WHERE rolname::text = ANY ($1) AND NOT pg_catalog.pg_has_role(oid, '`+member+`') ORDER BY 1`, texts(names))
	if err != nil {
		return nil, Wrap(err, "list of roles")
	}
	return collect(rows, "list of roles", pgx.RowTo[format.Name])
}

func texts(names []format.Name) []string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = string(n)
	}
	return list
}
