package pg

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/format"
)

// Qualified is a schema-qualified name, as a key.
type Qualified struct {
	Schema, Name format.Name
}

// String gives schema.name for people; it is no SQL.
func (q Qualified) String() string { return string(q.Schema) + "." + string(q.Name) }

// SQL gives the quoted, qualified name.
func (q Qualified) SQL() string { return QuoteName(q.Schema, q.Name) }

// Target is a relation of a server that rows are to be loaded into.
type Target struct {
	OID         uint32
	Schema      format.Name
	Name        format.Name
	Kind        byte   // pg_class.relkind
	Persistence byte   // pg_class.relpersistence
	Root        uint32 // of a partition: its topmost parent
	RowSecurity bool   // policies apply to the session's role
	MayInsert   bool
	MaySelect   bool
	MayTruncate bool
	OnInsert    []string // triggers that an INSERT of this session fires
	OnTruncate  []string // triggers that a TRUNCATE of this session fires
}

// Qualified gives the relation's name as a key.
func (t *Target) Qualified() Qualified { return Qualified{t.Schema, t.Name} }

// SQL gives the quoted, qualified name.
func (t *Target) SQL() string { return QuoteName(t.Schema, t.Name) }

// Targets describes those of the named relations that exist.
func (c *Conn) Targets(ctx context.Context, names []Qualified) (map[Qualified]*Target, error) {
	schemas, relations := make([]string, len(names)), make([]string, len(names))
	for i, q := range names {
		schemas[i], relations[i] = string(q.Schema), string(q.Name)
	}
	triggers := func(bit int) string {
		return fmt.Sprintf(`ARRAY(SELECT t.tgname::text FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal
 AND t.tgenabled IN ('A', CASE pg_catalog.current_setting('session_replication_role') WHEN 'replica' THEN 'R' ELSE 'O' END) AND (t.tgtype & %d) <> 0 ORDER BY 1)`, bit)
	}
	rows, err := c.Query(ctx, `WITH RECURSIVE up(leaf, parent) AS (
 SELECT i.inhrelid, i.inhparent FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class p ON p.oid = i.inhrelid WHERE p.relispartition
 UNION ALL SELECT up.leaf, i.inhparent FROM up JOIN pg_catalog.pg_class p ON p.oid = up.parent AND p.relispartition
  JOIN pg_catalog.pg_inherits i ON i.inhrelid = up.parent),
 root AS (SELECT up.leaf, up.parent FROM up JOIN pg_catalog.pg_class p ON p.oid = up.parent WHERE NOT p.relispartition),
 w AS (SELECT DISTINCT s, r FROM unnest($1::text[], $2::text[]) u(s, r))
SELECT c.oid, c.nspname, c.relname, c.relkind::text, c.relpersistence::text, coalesce(root.parent, 0::oid),
 pg_catalog.row_security_active(c.oid), pg_catalog.has_table_privilege(c.oid, 'INSERT') OR pg_catalog.has_any_column_privilege(c.oid, 'INSERT'),
 pg_catalog.has_table_privilege(c.oid, 'SELECT') OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT'), pg_catalog.has_table_privilege(c.oid, 'TRUNCATE'),
 `+triggers(4)+`, `+triggers(32)+`
 FROM (SELECT c.oid, c.relname::text AS relname, c.relkind, c.relpersistence, n.nspname::text AS nspname FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind NOT IN ('i','I','t') OFFSET 0) c
 JOIN w ON w.s = c.nspname AND w.r = c.relname LEFT JOIN root ON root.leaf = c.oid`, schemas, relations)
	if err != nil {
		return nil, Wrap(err, "list of target tables")
	}
	list, err := collect(rows, "list of target tables", func(row pgx.CollectableRow) (*Target, error) {
		t := &Target{}
		var kind, persistence string
		err := row.Scan(&t.OID, &t.Schema, &t.Name, &kind, &persistence, &t.Root, &t.RowSecurity, &t.MayInsert, &t.MaySelect, &t.MayTruncate, &t.OnInsert, &t.OnTruncate)
		t.Kind, t.Persistence = first(kind), first(persistence)
		return t, err
	})
	found := make(map[Qualified]*Target, len(list))
	for _, t := range list {
		found[t.Qualified()] = t
	}
	return found, err
}

// HasRows tells whether a relation holds any row of its own; for a partitioned table, any at all.
func (c *Conn) HasRows(ctx context.Context, t *Target) (has bool, err error) {
	err = c.QueryRow(ctx, `SELECT `+t.anyRow()).Scan(&has)
	return has, Wrap(err, "rows of table %s", t.Qualified())
}

// anyRow is an expression that tells whether the relation holds a row.
func (t *Target) anyRow() string {
	only := "ONLY "
	if t.Kind == 'p' {
		only = ""
	}
	return `EXISTS (SELECT FROM ` + only + t.SQL() + `)`
}

// withRowsBatch is the number of relations in one query.
const withRowsBatch = 200

// WithRows gives those of the relations that hold rows, by OID, and those that the session's role may not look into.
func (c *Conn) WithRows(ctx context.Context, list []*Target) (full map[uint32]bool, closed []*Target, err error) {
	full = map[uint32]bool{}
	var open []*Target
	for _, t := range list {
		if t.MaySelect {
			open = append(open, t)
		} else {
			closed = append(closed, t)
		}
	}
	for part := range slices.Chunk(open, withRowsBatch) {
		each := make([]string, len(part))
		for i, t := range part {
			each[i] = t.anyRow()
		}
		var has []bool
		err := c.QueryRow(ctx, `SELECT ARRAY[`+strings.Join(each, ", ")+`]`).Scan(&has)
		if err == nil {
			for i, t := range part {
				full[t.OID] = has[i]
			}
			continue
		}
		if State(err) != StateInsufficientPrivilege {
			return nil, nil, Wrap(err, "rows of tables")
		}
		for _, t := range part { // the schema of some of them is closed
			has, err := c.HasRows(ctx, t)
			switch {
			case State(err) == StateInsufficientPrivilege:
				closed = append(closed, t)
			case err != nil:
				return nil, nil, err
			}
			full[t.OID] = has
		}
	}
	return full, closed, nil
}

// TargetColumn is a column that rows are loaded into.
type TargetColumn struct {
	format.Column
	Filled   bool // without a value it gets one that is not NULL: default, identity, generated
	Required bool // NOT NULL, by itself or by its domain
}

// TargetColumns lists the live columns of relations by attribute number. Relations that are alike share a list, which must not be changed.
func (c *Conn) TargetColumns(ctx context.Context, oids []uint32) (map[uint32][]TargetColumn, error) {
	plain, err := c.Columns(ctx, oids)
	if err != nil {
		return nil, err
	}
	rows, err := c.Query(ctx, `SELECT a.attrelid, a.attname::text, a.atthasdef OR t.typdefault IS NOT NULL, a.attnotnull OR t.typnotnull
 FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid WHERE a.attrelid = ANY($1) AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY a.attrelid, a.attnum`, oids)
	if err != nil {
		return nil, Wrap(err, "defaults of columns")
	}
	all := targetColumns{plain: plain, all: make(map[uint32][]TargetColumn, len(plain)), shared: map[alikeColumns][]TargetColumn{}}
	var relid, last uint32
	var f columnFacts
	_, err = pgx.ForEachRow(rows, []any{&relid, &f.name, &f.filled, &f.required}, func() error {
		if relid != last {
			all.add(last)
		}
		last, all.facts = relid, append(all.facts, f)
		return nil
	})
	all.add(last)
	return all.all, Wrap(err, "defaults of columns")
}

// targetColumns puts together what two queries tell of columns.
type targetColumns struct {
	plain  map[uint32][]format.Column
	facts  []columnFacts // of the present relation
	all    map[uint32][]TargetColumn
	shared map[alikeColumns][]TargetColumn
}

// columnFacts is what matters of a column of a target alone.
type columnFacts struct {
	name             format.Name
	filled, required bool
}

// alikeColumns are equal for relations whose columns are alike; the lists of plain columns are shared already.
type alikeColumns struct {
	plain *format.Column
	facts string
}

// add ends a relation.
func (c *targetColumns) add(relid uint32) {
	plain := c.plain[relid]
	if len(plain) == 0 {
		c.facts = c.facts[:0]
		return
	}
	list := make([]TargetColumn, len(plain))
	text := make([]byte, 0, 2*len(plain))
	for i, col := range plain {
		var f columnFacts
		if i < len(c.facts) && c.facts[i].name == col.Name { // but for a column made between the two queries
			f = c.facts[i]
		} else if at := slices.IndexFunc(c.facts, func(f columnFacts) bool { return f.name == col.Name }); at >= 0 {
			f = c.facts[at]
		}
		list[i] = TargetColumn{Column: col, Filled: f.filled || col.Identity != "" || col.Generated != "", Required: f.required}
		for _, on := range []bool{list[i].Filled, list[i].Required} {
			text = append(text, map[bool]byte{true: '1', false: '0'}[on])
		}
	}
	c.facts = c.facts[:0]
	k := alikeColumns{&plain[0], string(text)}
	if c.shared[k] == nil {
		c.shared[k] = list
	}
	c.all[relid] = c.shared[k]
}

// ForeignKey is one foreign key constraint.
type ForeignKey struct {
	Name     format.Name
	From, To uint32 // OIDs of the referencing and of the referenced table
	FromName Qualified
}

// ForeignKeys lists the constraints between any tables of which one is among the given ones.
func (c *Conn) ForeignKeys(ctx context.Context, oids []uint32) ([]ForeignKey, error) {
	rows, err := c.Query(ctx, `SELECT k.conname::text, k.conrelid, k.confrelid, n.nspname::text, c.relname::text FROM pg_catalog.pg_constraint k
 JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE k.contype = 'f' AND (k.conrelid = ANY($1) OR k.confrelid = ANY($1)) ORDER BY 4, 5, 1`, oids)
	if err != nil {
		return nil, Wrap(err, "list of foreign keys")
	}
	return collect(rows, "list of foreign keys", func(r pgx.CollectableRow) (k ForeignKey, err error) {
		return k, r.Scan(&k.Name, &k.From, &k.To, &k.FromName.Schema, &k.FromName.Name)
	})
}

// Leaves lists the partitions with rows of their own below each of the roots.
func (c *Conn) Leaves(ctx context.Context, roots []uint32) (map[uint32][]uint32, error) {
	rows, err := c.Query(ctx, `WITH RECURSIVE down(root, child) AS (
 SELECT i.inhparent, i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = ANY($1)
 UNION ALL SELECT down.root, i.inhrelid FROM down JOIN pg_catalog.pg_inherits i ON i.inhparent = down.child)
 SELECT root, child FROM down JOIN pg_catalog.pg_class c ON c.oid = child WHERE c.relkind <> 'p'`, roots)
	if err != nil {
		return nil, Wrap(err, "list of partitions")
	}
	leaves := map[uint32][]uint32{}
	var root, leaf uint32
	_, err = pgx.ForEachRow(rows, []any{&root, &leaf}, func() error { leaves[root] = append(leaves[root], leaf); return nil })
	return leaves, Wrap(err, "list of partitions")
}

// MissingRoles gives those of the names that are no roles of the server.
func (c *Conn) MissingRoles(ctx context.Context, names []format.Name) ([]format.Name, error) {
	return c.missingNames(ctx, names, `SELECT rolname::text FROM pg_catalog.pg_roles`, "list of roles")
}

// MissingExtensions gives those of the names that the server could not create and the database does not have.
func (c *Conn) MissingExtensions(ctx context.Context, names []format.Name) ([]format.Name, error) {
	return c.missingNames(ctx, names, `SELECT name::text FROM pg_catalog.pg_available_extensions UNION SELECT extname::text FROM pg_catalog.pg_extension`, "list of extensions")
}

// MissingSequences gives those of the names that are no sequences of the database.
func (c *Conn) MissingSequences(ctx context.Context, names []Qualified) (map[Qualified]bool, error) {
	found, err := c.Targets(ctx, names)
	missing := map[Qualified]bool{}
	for _, q := range names {
		if t := found[q]; t == nil || t.Kind != 'S' {
			missing[q] = true
		}
	}
	return missing, err
}

func (c *Conn) missingNames(ctx context.Context, names []format.Name, sql, what string) ([]format.Name, error) {
	rows, err := c.Query(ctx, sql)
	if err != nil {
		return nil, Wrap(err, "%s", what)
	}
	have, err := collect(rows, what, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(have))
	for _, n := range have {
		known[n] = true
	}
	var missing []format.Name
	for _, n := range names {
		if !known[string(n)] {
			missing = append(missing, n)
		}
	}
	return missing, nil
}

// OwnedSequences lists the sequences that belong to columns (serial, identity) of the relations.
func (c *Conn) OwnedSequences(ctx context.Context, oids []uint32) ([]Qualified, error) {
	rows, err := c.Query(ctx, `SELECT n.nspname::text, c.relname::text FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class c ON c.oid = d.objid AND c.relkind = 'S'
 JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = ANY($1) AND d.deptype IN ('a','i')`, oids)
	if err != nil {
		return nil, Wrap(err, "list of owned sequences")
	}
	return collect(rows, "list of owned sequences", pgx.RowToStructByPos[Qualified])
}

// LargeObjectsThere gives those of the OIDs that are large objects of the database already.
func (c *Conn) LargeObjectsThere(ctx context.Context, oids []uint32) ([]uint32, error) {
	rows, err := c.Query(ctx, `SELECT oid FROM pg_catalog.pg_largeobject_metadata WHERE oid = ANY($1) ORDER BY oid`, oids)
	if err != nil {
		return nil, Wrap(err, "list of large objects")
	}
	return collect(rows, "list of large objects", pgx.RowTo[uint32])
}

// UnlinkLargeObjects removes as many large objects of the database as most, and tells how many there were. Each takes a lock.
func (c *Conn) UnlinkLargeObjects(ctx context.Context, most int) (n int64, err error) {
	return c.ExecTag(ctx, fmt.Sprintf("SELECT pg_catalog.lo_unlink(oid) FROM (SELECT oid FROM pg_catalog.pg_largeobject_metadata LIMIT %d) l", most))
}

// Rights are what a role may do with a database.
type Rights struct {
	Create    bool // schemas
	Temporary bool // tables
	CreateDB  bool // databases, on this server
}

// Rights tells what the session's role may do.
func (c *Conn) Rights(ctx context.Context) (r Rights, err error) {
	err = c.QueryRow(ctx, `SELECT pg_catalog.has_database_privilege(current_database(), 'CREATE'), pg_catalog.has_database_privilege(current_database(), 'TEMPORARY'),
 (SELECT rolsuper OR rolcreatedb FROM pg_catalog.pg_roles WHERE rolname = current_user)`).Scan(&r.Create, &r.Temporary, &r.CreateDB)
	return r, Wrap(err, "privileges on the database")
}

// DatabaseExists tells whether the server has a database of that name.
func (c *Conn) DatabaseExists(ctx context.Context, name string) (yes bool, err error) {
	err = c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname::text = $1)`, name).Scan(&yes)
	return yes, Wrap(err, "list of databases")
}

// TryAdvisoryLock takes a session-level advisory lock of the database, if it is free.
func (c *Conn) TryAdvisoryLock(ctx context.Context, key int64) (got bool, err error) {
	err = c.QueryRow(ctx, `SELECT pg_catalog.pg_try_advisory_lock($1)`, key).Scan(&got)
	return got, Wrap(err, "advisory lock")
}

// SetSequence puts a sequence into a state.
func (c *Conn) SetSequence(ctx context.Context, s format.Sequence) error {
	return Wrap(c.SetSequences(ctx, []format.Sequence{s}), "state of sequence %s.%s", s.Schema, s.Name)
}

// SetSequences puts sequences into their states. After an error some of them may be in it.
func (c *Conn) SetSequences(ctx context.Context, list []format.Sequence) error {
	names, values, called := make([]string, len(list)), make([]int64, len(list)), make([]bool, len(list))
	for i, s := range list {
		names[i], values[i], called[i] = QuoteName(s.Schema, s.Name), s.LastValue, s.IsCalled
	}
	_, err := c.Conn.Exec(ctx, `SELECT pg_catalog.setval(s.name::pg_catalog.regclass, s.value, s.called) FROM unnest($1::text[], $2::int8[], $3::bool[]) s(name, value, called)`, names, values, called)
	return err
}

// SequencesBeyond tells which sequences of a list, by position, the server has beyond the state given, in the direction that each counts in: they have given a later
// value away, or are set to begin with one. A sequence that the role may not read is not among them.
func (c *Conn) SequencesBeyond(ctx context.Context, list []format.Sequence) (beyond map[int]bool, err error) {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = QuoteName(s.Schema, s.Name)
	}
	rows, err := c.Query(ctx, `SELECT s.n::int4 - 1, q.seqincrement > 0 FROM unnest($1::text[]) WITH ORDINALITY s(name, n)
 JOIN pg_catalog.pg_sequence q ON q.seqrelid = s.name::pg_catalog.regclass::pg_catalog.oid WHERE pg_catalog.has_sequence_privilege(q.seqrelid, 'SELECT')`, names)
	if err != nil {
		return nil, Wrap(err, "list of sequences")
	}
	readable, err := collect(rows, "list of sequences", pgx.RowToStructByPos[struct {
		At int32
		Up bool
	}])
	if err != nil {
		return nil, err
	}
	there := make([]format.Sequence, len(readable))
	for i, r := range readable {
		there[i] = format.Sequence{Schema: list[r.At].Schema, Name: list[r.At].Name}
	}
	if err := c.readSequences(ctx, there); err != nil {
		return nil, err
	}
	beyond = map[int]bool{}
	for i, r := range readable {
		beyond[int(r.At)] = further(there[i], list[r.At], r.Up)
	}
	return beyond, nil
}

// further tells that a sequence is in a later state than another, counting up or down. Of two with the same value the one is later that has given it away.
func further(a, b format.Sequence, up bool) bool {
	if a.LastValue != b.LastValue {
		return (a.LastValue > b.LastValue) == up
	}
	return a.IsCalled && !b.IsCalled
}

// TextLiteral is an SQL expression in ASCII for a text given in UTF-8, for sessions of any client encoding; the bytes as they
// are where the database has no encoding.
func (c *Conn) TextLiteral(s string) string {
	encoding := "UTF8"
	if c.Encoding == "SQL_ASCII" {
		encoding = "SQL_ASCII"
	}
	for i := range len(s) {
		if s[i] >= 0x80 || s[i] < ' ' {
			return fmt.Sprintf("pg_catalog.convert_from('\\x%x'::bytea, '%s')", s, encoding)
		}
	}
	return QuoteLiteral(s)
}

// TypeName gives a type's name as people write it.
func TypeName(t format.Type) string {
	return strings.TrimPrefix(string(t.Schema)+"."+string(t.Name), "pg_catalog.")
}

// SchemaExists tells whether the database has a schema of that name.
func (c *Conn) SchemaExists(ctx context.Context, name format.Name) (yes bool, err error) {
	err = c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname::text = $1)`, string(name)).Scan(&yes)
	return yes, Wrap(err, "list of schemas")
}

// WritableSchema gives a schema, public rather than another, in which the session's role may make tables; "" when there is none.
func (c *Conn) WritableSchema(ctx context.Context) (schema string, err error) {
	err = c.QueryRow(ctx, `SELECT coalesce((SELECT nspname::text FROM pg_catalog.pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
 AND pg_catalog.has_schema_privilege(oid, 'CREATE') ORDER BY nspname <> 'public', nspname LIMIT 1), '')`).Scan(&schema)
	return schema, err
}

// Names gives the names of relations.
func (c *Conn) Names(ctx context.Context, oids []uint32) ([]Qualified, error) {
	rows, err := c.Query(ctx, `SELECT n.nspname::text, c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.oid = ANY($1) ORDER BY 1, 2`, oids)
	if err != nil {
		return nil, Wrap(err, "names of relations")
	}
	return collect(rows, "names of relations", pgx.RowToStructByPos[Qualified])
}

// HoldsRows tells whether a relation is there and has rows, its children's included. The name is quoted already.
func (c *Conn) HoldsRows(ctx context.Context, quoted string) (has bool, err error) {
	var there bool
	if err := c.QueryRow(ctx, `SELECT pg_catalog.to_regclass($1) IS NOT NULL`, quoted).Scan(&there); err != nil || !there {
		return false, Wrap(err, "table %s", quoted)
	}
	err = c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM `+quoted+`)`).Scan(&has)
	return has, Wrap(err, "rows of table %s", quoted)
}

// TablespaceExists tells whether the server has a tablespace of this name.
func (c *Conn) TablespaceExists(ctx context.Context, name format.Name) (yes bool, err error) {
	err = c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_tablespace WHERE spcname = $1)`, name).Scan(&yes)
	return yes, Wrap(err, "tablespace %s", name)
}

// IsTemplate tells whether a database is a template; one that is not there is none.
func (c *Conn) IsTemplate(ctx context.Context, database string) (yes bool, err error) {
	err = c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = $1 AND datistemplate)`, database).Scan(&yes)
	return yes, Wrap(err, "database %q", database)
}

// SchemaHolds tells whether anything lies in a schema.
func (c *Conn) SchemaHolds(ctx context.Context, name format.Name) (yes bool, err error) {
	err = c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_namespace n ON n.oid = d.refobjid
 WHERE d.refclassid = 'pg_catalog.pg_namespace'::regclass AND n.nspname = $1)`, name).Scan(&yes)
	return yes, Wrap(err, "schema %s", name)
}

// OwnedSequence names the sequence that a table's column owns; an empty name: none does.
func (c *Conn) OwnedSequence(ctx context.Context, table Qualified, column format.Name) (q Qualified, err error) {
	err = c.QueryRow(ctx, `SELECT coalesce(min(sn.nspname::text), ''), coalesce(min(s.relname::text), '') FROM pg_catalog.pg_depend d
 JOIN pg_catalog.pg_class s ON s.oid = d.objid AND s.relkind = 'S' JOIN pg_catalog.pg_namespace sn ON sn.oid = s.relnamespace
 JOIN pg_catalog.pg_class c ON c.oid = d.refobjid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
 WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.deptype IN ('a', 'i')
 AND n.nspname = $1 AND c.relname = $2 AND a.attname = $3`, table.Schema, table.Name, column).Scan(&q.Schema, &q.Name)
	return q, Wrap(err, "sequence of %s.%s", table, column)
}
