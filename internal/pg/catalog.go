package pg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/format"
)

// JournalSchema is where a restore keeps its journal; it is never dumped.
const JournalSchema = "pghaul_journal"

// Relation is one relation with rows of its own, or the root of a partition tree.
type Relation struct {
	OID         uint32
	Schema      format.Name
	Name        format.Name
	Kind        byte // pg_class.relkind: r, p, m, f
	Persistence byte // pg_class.relpersistence: p, u
	Partition   bool
	Populated   bool
	Filenode    uint32 // pg_class.relfilenode under the reader's snapshot; 0 where there are no rows (before 12 partitioned tables had a number too)
	FilenodeNow uint32 // pg_relation_filenode: the file that a scan would read now
	Heap        bool   // its access method is heap
	Pages       int64  // of the heap, now
	ToastBytes  int64
	Tuples      float64 // planner's estimate, -1 unknown
	Parent      uint32  // partition: topmost parent
	MaySelect   bool
	Extension   bool   // a member of an extension
	Condition   string // extension configuration table: WHERE … of its rows, from the extension's script
	Config      bool   // extension configuration table
	Owner       format.Name
	RowOIDs     bool        // WITH OIDS (before 12): rows have a hidden number besides their columns
	Server      format.Name // foreign table: its server
}

// String gives schema.name for people; it is no SQL.
func (r *Relation) String() string { return string(r.Schema) + "." + string(r.Name) }

// SQL gives the quoted, qualified name.
func (r *Relation) SQL() string { return QuoteName(r.Schema, r.Name) }

// relationsFrom is shared by every list of relations: user relations of the wanted kinds.
const relationsFrom = ` FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r','p','m','f') AND c.relpersistence <> 't'
 AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND n.nspname <> '` + JournalSchema + `'`

// relationKeys is the cheap list that decides what to lock: see Lockable.
const relationKeys = `SELECT c.oid, n.nspname::text, c.relname::text, c.relkind::text, coalesce(pg_catalog.has_table_privilege(c.oid, 'SELECT'), true),
 coalesce((SELECT e.extname::text FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
  WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e' LIMIT 1), ''),
 EXISTS (SELECT FROM pg_catalog.pg_extension e WHERE c.oid = ANY (e.extconfig))` + relationsFrom + ` ORDER BY c.oid`

// Key identifies a relation, so that two lists can be compared.
type Key struct {
	OID          uint32
	Schema, Name format.Name
	Kind         byte
	MaySelect    bool        // of one that is gone by now it is true: a lock will show that
	Extension    format.Name // that it is a member of; "": none
	Config       bool        // whose rows a dump carries nevertheless
}

// String gives schema.name for people; it is no SQL.
func (k Key) String() string { return string(k.Schema) + "." + string(k.Name) }

// Keys lists all user relations, by OID.
func (c *Conn) Keys(ctx context.Context) ([]Key, error) {
	rows, err := c.Query(ctx, relationKeys)
	if err != nil {
		return nil, Wrap(err, "list of relations")
	}
	return collect(rows, "list of relations", func(r pgx.CollectableRow) (k Key, err error) {
		var kind string
		err = r.Scan(&k.OID, &k.Schema, &k.Name, &kind, &k.MaySelect, &k.Extension, &k.Config)
		k.Kind = first(kind)
		return k, err
	})
}

func first(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}

func collect[T any](rows pgx.Rows, what string, f pgx.RowToFunc[T]) ([]T, error) {
	list, err := pgx.CollectRows(rows, f)
	return list, Wrap(err, "%s", what)
}

// Relations describes all user relations, by OID. Those that the session holds a lock on come with the sizes that their files have now;
// of another one the server would tell them only when nobody rewrites it.
func (c *Conn) Relations(ctx context.Context, held []uint32) ([]*Relation, error) {
	heap, ispart, root, rowOIDs := "true", "c.relispartition", "0::oid", "c.relhasoids"
	if c.Version >= 120000 {
		rowOIDs = "false"
		heap = "coalesce((SELECT a.amname = 'heap' FROM pg_catalog.pg_am a WHERE a.oid = c.relam), false)"
		root = "CASE WHEN c.relispartition THEN pg_catalog.pg_partition_root(c.oid)::oid ELSE 0::oid END"
	}
	sql := `SELECT c.oid, n.nspname::text, c.relname::text, c.relkind::text, c.relpersistence::text, ` + ispart + `, c.relispopulated,
 CASE WHEN c.relkind IN ('r','m') THEN c.relfilenode ELSE 0::oid END, CASE WHEN c.relkind IN ('r','m') THEN coalesce(pg_catalog.pg_relation_filenode(c.oid), 0::oid) ELSE 0::oid END, ` + heap + `,
 CASE WHEN held.oid IS NOT NULL AND c.relkind IN ('r','m') THEN coalesce(pg_catalog.pg_relation_size(c.oid) / current_setting('block_size')::int8, 0) ELSE 0 END,
 CASE WHEN held.oid IS NOT NULL AND c.reltoastrelid <> 0 THEN coalesce(pg_catalog.pg_relation_size(c.reltoastrelid), 0) ELSE 0 END,
 c.reltuples::float8, ` + root + `, coalesce(pg_catalog.has_table_privilege(c.oid, 'SELECT'), false),
 EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'),
 x.condition, pg_catalog.pg_get_userbyid(c.relowner)::text, ` + rowOIDs + `,
 coalesce((SELECT s.srvname::text FROM pg_catalog.pg_foreign_table f JOIN pg_catalog.pg_foreign_server s ON s.oid = f.ftserver WHERE f.ftrelid = c.oid), '')` +
		strings.Replace(relationsFrom, " WHERE", ` LEFT JOIN (SELECT u.oid, coalesce(u.condition, '') AS condition FROM pg_catalog.pg_extension e,
 LATERAL unnest(e.extconfig, e.extcondition) AS u(oid, condition)) x ON x.oid = c.oid LEFT JOIN unnest($1::oid[]) AS held(oid) ON held.oid = c.oid WHERE`, 1) + ` ORDER BY c.oid`
	if held == nil {
		held = []uint32{}
	}
	rows, err := c.Query(ctx, sql, held)
	if err != nil {
		return nil, Wrap(err, "list of relations")
	}
	list, err := collect(rows, "list of relations", func(row pgx.CollectableRow) (*Relation, error) {
		r := &Relation{}
		var kind, persistence string
		var condition *string
		err := row.Scan(&r.OID, &r.Schema, &r.Name, &kind, &persistence, &r.Partition, &r.Populated, &r.Filenode, &r.FilenodeNow, &r.Heap,
			&r.Pages, &r.ToastBytes, &r.Tuples, &r.Parent, &r.MaySelect, &r.Extension, &condition, &r.Owner, &r.RowOIDs, &r.Server)
		r.Kind, r.Persistence = first(kind), first(persistence)
		if condition != nil {
			r.Config, r.Condition = true, *condition
		}
		return r, err
	})
	if err != nil || c.Version >= 120000 {
		return list, err
	}
	return list, c.partitionRoots(ctx, list)
}

// partitionRoots finds the topmost parents on servers without pg_partition_root (before 12).
func (c *Conn) partitionRoots(ctx context.Context, list []*Relation) error {
	rows, err := c.Query(ctx, `WITH RECURSIVE up(leaf, parent) AS (
 SELECT i.inhrelid, i.inhparent FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid WHERE c.relispartition
 UNION ALL SELECT up.leaf, i.inhparent FROM up JOIN pg_catalog.pg_inherits i ON i.inhrelid = up.parent)
 SELECT leaf, parent FROM up JOIN pg_catalog.pg_class c ON c.oid = up.parent WHERE NOT c.relispartition`)
	if err != nil {
		return Wrap(err, "partition roots")
	}
	roots := map[uint32]uint32{}
	var leaf, parent uint32
	if _, err := pgx.ForEachRow(rows, []any{&leaf, &parent}, func() error { roots[leaf] = parent; return nil }); err != nil {
		return Wrap(err, "partition roots")
	}
	for _, r := range list {
		r.Parent = roots[r.OID]
	}
	return nil
}

// HashedByForm lists the partitioned tables, at any level, whose hash keys can hash differently on another server:
// enums (by OID), text under a collation, what is made of other types, or an expression.
func (c *Conn) HashedByForm(ctx context.Context) (map[uint32]bool, error) {
	rows, err := c.Query(ctx, `SELECT DISTINCT p.partrelid FROM pg_catalog.pg_partitioned_table p
 CROSS JOIN LATERAL unnest(p.partattrs::int2[]) AS k(attnum)
 LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = k.attnum AND k.attnum <> 0
 LEFT JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
 WHERE p.partstrat = 'h' AND (k.attnum = 0 OR t.typtype <> 'b' OR t.typelem <> 0 OR a.attcollation <> 0)`)
	if err != nil && c.Version < 110000 {
		return nil, nil // no hash partitioning
	}
	if err != nil {
		return nil, Wrap(err, "partition keys")
	}
	list, err := collect(rows, "partition keys", pgx.RowTo[uint32])
	hashed := map[uint32]bool{}
	for _, oid := range list {
		hashed[oid] = true
	}
	return hashed, err
}

// Columns lists the live columns of relations by attribute number. Generated ones are among them, marked. Relations that are alike share a list, which must
// not be changed.
func (c *Conn) Columns(ctx context.Context, oids []uint32) (map[uint32][]format.Column, error) {
	generated := "''"
	if c.Version >= 120000 {
		generated = "a.attgenerated::text"
	}
	rows, err := c.Query(ctx, `SELECT a.attrelid, a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), tn.nspname::text, t.typname::text,
 a.atttypid, a.atttypmod, a.attnotnull, a.attidentity::text, `+generated+`,
 coalesce((SELECT CASE WHEN l.oid = t.typcollation THEN '' ELSE ln.nspname::text || '.' || l.collname::text END
  FROM pg_catalog.pg_collation l JOIN pg_catalog.pg_namespace ln ON ln.oid = l.collnamespace WHERE l.oid = a.attcollation), '')
 FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace
 WHERE a.attrelid = ANY($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum`, oids)
	if err != nil {
		return nil, Wrap(err, "list of columns")
	}
	columns := make(map[uint32][]format.Column, len(oids))
	var shared format.Shared
	var list []format.Column // of the relation last
	var relid, last uint32
	var col format.Column
	var identity, gen string
	_, err = pgx.ForEachRow(rows, []any{&relid, &col.Name, &col.Type, &col.TypeSchema, &col.TypeName, &col.OID, &col.Typmod, &col.NotNull, &identity, &gen, &col.Collation}, func() error {
		col.Carried = format.CarriedBinary
		col.Identity = map[string]string{"a": "always", "d": "by default"}[identity]
		col.Generated = map[string]string{"s": "stored", "v": "virtual"}[gen]
		if relid != last && last != 0 {
			columns[last] = shared.Columns(list)
			list = list[:0]
		}
		last, list = relid, append(list, col)
		return nil
	})
	if last != 0 {
		columns[last] = shared.Columns(list)
	}
	return columns, Wrap(err, "list of columns")
}

// Server describes the server and the database of the session.
func (c *Conn) Server(ctx context.Context) (format.Server, error) {
	s := format.Server{VersionNum: c.Version, Version: c.PgConn().ParameterStatus("server_version"), Encoding: c.Encoding, Provider: "libc",
		IntegerDatetimes: c.PgConn().ParameterStatus("integer_datetimes") == "on"}
	provider := "'c'"
	if c.Version >= 150000 {
		provider = "datlocprovider::text"
	}
	var p string
	err := c.QueryRow(ctx, `SELECT datcollate::text, datctype::text, `+provider+`, current_setting('lc_monetary') FROM pg_catalog.pg_database
 WHERE datname = current_database()`).Scan(&s.Collate, &s.CType, &p, &s.LCMonetary)
	if err != nil {
		return s, Wrap(err, "database settings")
	}
	s.Provider = map[string]string{"c": "libc", "i": "icu", "b": "builtin"}[p]
	err = c.QueryRow(ctx, `SELECT system_identifier::text FROM pg_catalog.pg_control_system()`).Scan(&s.SystemIdentifier)
	if State(err) == "42501" {
		err = nil // a privilege that a dump does not need
	}
	return s, Wrap(err, "system identifier")
}

// SequenceKey identifies a sequence and the table whose column owns it, if one does: one of the same schema.
type SequenceKey struct {
	OID, Owner   uint32
	Identity     bool // it is a part of its column
	Schema, Name format.Name
	MaySelect    bool

	OwnerSchema, OwnerName, OwnerColumn format.Name
}

// Sequences reads the state of the chosen user sequences from the sequences themselves: what they hold now, not under the snapshot.
func (c *Conn) Sequences(ctx context.Context, chosen func(SequenceKey) bool) ([]format.Sequence, error) {
	rows, err := c.Query(ctx, `SELECT c.oid, coalesce(o.oid, 0::oid), coalesce(o.deptype = 'i', false), n.nspname::text, c.relname::text, pg_catalog.has_sequence_privilege(c.oid, 'SELECT'),
 coalesce(o.schema, ''), coalesce(o.name, ''), coalesce(o.attribute, '')
 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 LEFT JOIN LATERAL (SELECT d.refobjid AS oid, d.deptype, tn.nspname::text AS schema, t.relname::text AS name, a.attname::text AS attribute FROM pg_catalog.pg_depend d
  JOIN pg_catalog.pg_class t ON t.oid = d.refobjid JOIN pg_catalog.pg_namespace tn ON tn.oid = t.relnamespace
  LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid AND d.refobjsubid > 0
  WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.deptype IN ('a','i') LIMIT 1) o ON true
 WHERE c.relkind = 'S' AND c.relpersistence <> 't' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND n.nspname <> $1
 AND (NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
  OR EXISTS (SELECT FROM pg_catalog.pg_extension e WHERE c.oid = ANY(e.extconfig)))
 ORDER BY n.nspname, c.relname`, JournalSchema)
	if err != nil {
		return nil, Wrap(err, "list of sequences")
	}
	keys, err := collect(rows, "list of sequences", pgx.RowToStructByPos[SequenceKey])
	if err != nil {
		return nil, err
	}
	list := []format.Sequence{}
	for _, k := range keys {
		if chosen(k) {
			s := format.Sequence{Schema: k.Schema, Name: k.Name}
			if k.OwnerColumn != "" {
				s.Owner = &format.SequenceOwner{Schema: k.OwnerSchema, Table: k.OwnerName, Column: k.OwnerColumn}
			}
			list = append(list, s)
		}
	}
	return list, c.readSequences(ctx, list)
}

func (c *Conn) readSequences(ctx context.Context, list []format.Sequence) error {
	const batch = 200 // statements in one round trip
	for from := 0; from < len(list); from += batch {
		part := list[from:min(from+batch, len(list))]
		var sql strings.Builder
		for i := range part {
			if i > 0 {
				sql.WriteString(" UNION ALL ")
			}
			fmt.Fprintf(&sql, "SELECT %d, last_value, is_called FROM %s", i, QuoteName(part[i].Schema, part[i].Name))
		}
		rows, err := c.Query(ctx, sql.String())
		if err != nil {
			return Wrap(err, "state of sequences")
		}
		var i int
		var s format.Sequence
		if _, err = pgx.ForEachRow(rows, []any{&i, &s.LastValue, &s.IsCalled}, func() error {
			part[i].LastValue, part[i].IsCalled = s.LastValue, s.IsCalled
			return nil
		}); err != nil {
			return Wrap(err, "state of sequences")
		}
	}
	return nil
}

// MatViews lists the materialized views, each behind those it reads.
func (c *Conn) MatViews(ctx context.Context) ([]format.MatView, error) {
	rows, err := c.Query(ctx, `WITH RECURSIVE reads AS (
 SELECT DISTINCT r.ev_class AS reader, d.refobjid AS read FROM pg_catalog.pg_rewrite r
 JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass
 JOIN pg_catalog.pg_class c ON c.oid = d.refobjid AND c.relkind IN ('m','v') WHERE d.refobjid <> r.ev_class),
 depth AS (SELECT c.oid, 0 AS level FROM pg_catalog.pg_class c WHERE c.relkind IN ('m','v')
 UNION SELECT reads.reader, depth.level + 1 FROM depth JOIN reads ON reads.read = depth.oid WHERE depth.level < 1000)
 SELECT n.nspname::text, c.relname::text, c.relispopulated FROM depth JOIN pg_catalog.pg_class c ON c.oid = depth.oid AND c.relkind = 'm'
 JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
 GROUP BY n.nspname, c.relname, c.relispopulated ORDER BY max(depth.level), n.nspname, c.relname`)
	if err != nil {
		return nil, Wrap(err, "list of materialized views")
	}
	return collect(rows, "list of materialized views", func(r pgx.CollectableRow) (m format.MatView, err error) {
		return m, r.Scan(&m.Schema, &m.Name, &m.Populated)
	})
}

// Extensions lists the installed extensions but plpgsql, which every database has.
func (c *Conn) Extensions(ctx context.Context) ([]format.Extension, error) {
	rows, err := c.Query(ctx, `SELECT extname::text, extversion FROM pg_catalog.pg_extension WHERE extname <> 'plpgsql' ORDER BY extname`)
	if err != nil {
		return nil, Wrap(err, "list of extensions")
	}
	return collect(rows, "list of extensions", func(r pgx.CollectableRow) (e format.Extension, err error) {
		return e, r.Scan(&e.Name, &e.Version)
	})
}

// Roles lists the roles that own or are granted something in the database.
func (c *Conn) Roles(ctx context.Context) ([]format.Name, error) {
	rows, err := c.Query(ctx, `SELECT DISTINCT r.rolname::text FROM pg_catalog.pg_shdepend d JOIN pg_catalog.pg_roles r ON r.oid = d.refobjid
 WHERE d.refclassid = 'pg_catalog.pg_authid'::regclass AND d.dbid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
 AND d.deptype IN ('o','a','r') ORDER BY 1`)
	if err != nil {
		return nil, Wrap(err, "list of roles")
	}
	return collect(rows, "list of roles", pgx.RowTo[format.Name])
}

// Database describes the session's database itself: owner, settings, privileges.
func (c *Conn) Database(ctx context.Context) (src format.Source, err error) {
	if src.Server, err = c.Server(ctx); err != nil {
		return src, err
	}
	locale, rules := "''", "''"
	switch {
	case c.Version >= 170000:
		locale, rules = "coalesce(datlocale, '')", "coalesce(daticurules, '')"
	case c.Version >= 160000:
		locale, rules = "coalesce(daticulocale, '')", "coalesce(daticurules, '')"
	case c.Version >= 150000:
		locale = "coalesce(daticulocale, '')"
	}
	if err = c.QueryRow(ctx, `SELECT datname::text, pg_catalog.pg_get_userbyid(datdba)::text, coalesce(pg_catalog.shobj_description(oid, 'pg_database'), ''),
 CASE WHEN datconnlimit >= 0 THEN datconnlimit END, `+locale+`, `+rules+`, datistemplate,
 coalesce((SELECT spcname::text FROM pg_catalog.pg_tablespace t WHERE t.oid = dattablespace AND spcname <> 'pg_default'), '') FROM pg_catalog.pg_database WHERE datname = current_database()`).
		Scan(&src.Database, &src.Owner, &src.Comment, &src.ConnectionLimit, &src.Locale, &src.ICURules, &src.Template, &src.Tablespace); err != nil {
		return src, Wrap(err, "database")
	}
	labels, err := c.Query(ctx, `SELECT provider, label FROM pg_catalog.pg_shseclabel WHERE classoid = 'pg_catalog.pg_database'::regclass
 AND objoid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()) ORDER BY 1`)
	if err != nil {
		return src, Wrap(err, "security labels of the database")
	}
	if src.Labels, err = collect(labels, "security labels of the database", pgx.RowToStructByPos[format.SecurityLabel]); err != nil {
		return src, err
	}
	rows, err := c.Query(ctx, `SELECT split_part(u, '=', 1), substr(u, strpos(u, '=') + 1), CASE WHEN s.setrole = 0 THEN '' ELSE pg_catalog.pg_get_userbyid(s.setrole)::text END
 FROM pg_catalog.pg_db_role_setting s, unnest(s.setconfig) WITH ORDINALITY c(u, i)
 WHERE s.setdatabase = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()) ORDER BY 3, c.i`)
	if err != nil {
		return src, Wrap(err, "database settings")
	}
	if src.Settings, err = collect(rows, "database settings", pgx.RowToStructByPos[format.DatabaseSetting]); err != nil {
		return src, err
	}
	rows, err = c.Query(ctx, `SELECT CASE WHEN a.grantee = 0 THEN '' ELSE pg_catalog.pg_get_userbyid(a.grantee)::text END, a.privilege_type, a.is_grantable
 FROM pg_catalog.pg_database d, pg_catalog.aclexplode(d.datacl) a WHERE d.datname = current_database() ORDER BY 1, 2`)
	if err != nil {
		return src, Wrap(err, "database privileges")
	}
	src.ACL, err = collect(rows, "database privileges", pgx.RowToStructByPos[format.Grant])
	return src, err
}

// LargeObjects counts the large objects.
func (c *Conn) LargeObjects(ctx context.Context) (n int64, err error) {
	err = c.QueryRow(ctx, `SELECT count(*) FROM pg_catalog.pg_largeobject_metadata`).Scan(&n)
	return n, Wrap(err, "count of large objects")
}

// MatchTables gives the OIDs of relations that one of the patterns names, and the patterns that name none.
// Unqualified patterns see what the role's own search_path sees, as in pg_dump -t.
func (c *Conn) MatchTables(ctx context.Context, patterns []Pattern) (oids []uint32, unmatched []string, err error) {
	if err := c.Exec(ctx, "RESET search_path"); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, c.Exec(ctx, "SET search_path = ''")) }()
	for _, p := range patterns {
		sql := `SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r','p','m','f','S','v') AND c.relname OPERATOR(pg_catalog.~) $1 COLLATE pg_catalog."default"`
		args := []any{p.Name}
		if p.Schema == "" {
			sql += ` AND pg_catalog.pg_table_is_visible(c.oid)`
		} else {
			sql += ` AND n.nspname OPERATOR(pg_catalog.~) $2 COLLATE pg_catalog."default"`
			args = append(args, p.Schema)
		}
		rows, err := c.Query(ctx, sql, args...)
		if err != nil {
			return nil, nil, Wrap(err, "pattern %s", p.Given)
		}
		found, err := collect(rows, "pattern "+p.Given, pgx.RowTo[uint32])
		if err != nil {
			return nil, nil, err
		}
		if len(found) == 0 {
			unmatched = append(unmatched, p.Given)
		}
		oids = append(oids, found...)
	}
	return oids, unmatched, nil
}

// MatchSchemas gives the names of schemas that one of the patterns names, and the patterns that name none.
func (c *Conn) MatchSchemas(ctx context.Context, patterns []Pattern) (schemas []format.Name, unmatched []string, err error) {
	for _, p := range patterns {
		rows, err := c.Query(ctx, `SELECT nspname::text FROM pg_catalog.pg_namespace WHERE nspname OPERATOR(pg_catalog.~) $1 COLLATE pg_catalog."default"`, p.Schema)
		if err != nil {
			return nil, nil, Wrap(err, "pattern %s", p.Given)
		}
		found, err := collect(rows, "pattern "+p.Given, pgx.RowTo[format.Name])
		if err != nil {
			return nil, nil, err
		}
		if len(found) == 0 {
			unmatched = append(unmatched, p.Given)
		}
		schemas = append(schemas, found...)
	}
	return schemas, unmatched, nil
}

// SQLNames gives the quoted names of a table and of its columns, encoded as the session speaks: asked from the server where its encoding is none that a
// Go string holds, unless they are of ASCII, which is the same in all encodings of servers.
func (c *Conn) SQLNames(ctx context.Context, oid uint32, schema, name format.Name, columns []format.Name, clientEncoding string) (table string, quoted []string, err error) {
	plain := isASCII(string(schema)) && isASCII(string(name)) && !slices.ContainsFunc(columns, func(n format.Name) bool { return !isASCII(string(n)) })
	if plain || clientEncoding == "UTF8" || clientEncoding == "SQL_ASCII" {
		for _, n := range columns {
			quoted = append(quoted, QuoteIdent(n))
		}
		return QuoteName(schema, name), quoted, nil
	}
	if err := c.QueryRow(ctx, `SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname)
 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1`, oid).Scan(&table); err != nil {
		return "", nil, Wrap(err, "name of table %s.%s", schema, name)
	}
	if len(columns) == 0 {
		return table, nil, nil
	}
	rows, err := c.Query(ctx, `SELECT pg_catalog.quote_ident(a.attname) FROM unnest($2::bytea[]) WITH ORDINALITY w(name, i)
 JOIN pg_catalog.pg_attribute a ON pg_catalog.convert_to(a.attname::text, 'UTF8') = w.name
 WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY w.i`, oid, byteSlices(columns))
	if err == nil {
		quoted, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err == nil && len(quoted) != len(columns) {
		err = fmt.Errorf("%d of %d columns are there", len(quoted), len(columns))
	}
	return table, quoted, Wrap(err, "columns of table %s.%s", schema, name)
}

// SessionText gives a text of ours as the session's statements are encoded.
func (c *Conn) SessionText(ctx context.Context, text string) (encoded string, err error) {
	encoding := c.PgConn().ParameterStatus("client_encoding")
	if encoding == "UTF8" || encoding == "SQL_ASCII" || isASCII(text) {
		return text, nil
	}
	err = c.QueryRow(ctx, `SELECT pg_catalog.convert_from($1::pg_catalog.bytea, 'UTF8')`, []byte(text)).Scan(&encoded)
	return encoded, Wrap(err, "%q in the encoding %s", text, encoding)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func byteSlices(names []format.Name) [][]byte {
	list := make([][]byte, len(names))
	for i, n := range names {
		list[i] = []byte(n)
	}
	return list
}

// PartitionParents gives the direct parent of every partition, on any level.
func (c *Conn) PartitionParents(ctx context.Context) (map[uint32]uint32, error) {
	rows, err := c.Query(ctx, `SELECT i.inhrelid, i.inhparent FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid WHERE c.relispartition`)
	if err != nil {
		return nil, Wrap(err, "partitions")
	}
	parents := map[uint32]uint32{}
	var leaf, parent uint32
	_, err = pgx.ForEachRow(rows, []any{&leaf, &parent}, func() error { parents[leaf] = parent; return nil })
	return parents, Wrap(err, "partitions")
}
