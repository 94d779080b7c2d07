package pg

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/format"
)

// TypeOIDs gives the OIDs of those of the named types that exist.
func (c *Conn) TypeOIDs(ctx context.Context, names []Qualified) ([]uint32, error) {
	schemas, types := make([]string, len(names)), make([]string, len(names))
	for i, q := range names {
		schemas[i], types[i] = string(q.Schema), string(q.Name)
	}
	rows, err := c.Query(ctx, `SELECT t.oid FROM unnest($1::text[], $2::text[]) w(s, n) JOIN pg_catalog.pg_namespace n ON n.nspname::text = w.s
 JOIN pg_catalog.pg_type t ON t.typnamespace = n.oid AND t.typname::text = w.n ORDER BY t.oid`, schemas, types)
	if err != nil {
		return nil, Wrap(err, "types by name")
	}
	return collect(rows, "types by name", pgx.RowTo[uint32])
}

// TypeSQL gives the quoted name of a type with its modifier, in the session's encoding; a modifier of -1 is none.
func (c *Conn) TypeSQL(ctx context.Context, oid uint32, typmod int32) (name string, err error) {
	if typmod >= 0 {
		err = c.QueryRow(ctx, `SELECT pg_catalog.format_type($1, $2)`, oid, typmod).Scan(&name)
		return name, Wrap(err, "name of the type with OID %d", oid)
	}
	err = c.QueryRow(ctx, `SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(t.typname)
 FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = $1`, oid).Scan(&name)
	return name, Wrap(err, "name of the type with OID %d", oid)
}

// TryCast tells whether a value of one type can be cast to another explicitly; both names are quoted.
func (c *Conn) TryCast(ctx context.Context, from, to string) (ok bool, why string, err error) {
	var null bool
	err = c.QueryRow(ctx, "SELECT (NULL::"+from+")::"+to+" IS NULL").Scan(&null)
	switch State(err) {
	case "":
		return err == nil, "", Wrap(err, "cast from %s to %s", from, to)
	default:
		return false, err.Error(), nil
	}
}

// InsertRules lists the enabled rules that an INSERT into one of the relations would follow, by relation. COPY follows none.
func (c *Conn) InsertRules(ctx context.Context, oids []uint32) (map[uint32][]format.Name, error) {
	rows, err := c.Query(ctx, `SELECT ev_class, rulename::text FROM pg_catalog.pg_rewrite WHERE ev_class = ANY ($1) AND ev_type = '3' AND ev_enabled IN ('O','A') ORDER BY 1, 2`, oids)
	if err != nil {
		return nil, Wrap(err, "rules")
	}
	rules := map[uint32][]format.Name{}
	var relation uint32
	var name format.Name
	_, err = pgx.ForEachRow(rows, []any{&relation, &name}, func() error { rules[relation] = append(rules[relation], name); return nil })
	return rules, Wrap(err, "rules")
}

// MayTemp tells whether the session may make temporary tables, which staging needs.
func (c *Conn) MayTemp(ctx context.Context) (yes bool, err error) {
	err = c.QueryRow(ctx, `SELECT pg_catalog.has_database_privilege(current_database(), 'TEMP')`).Scan(&yes)
	return yes, Wrap(err, "privilege for temporary tables")
}
