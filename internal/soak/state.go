package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/jackc/pgx/v5"
)

// state is what a database holds: a line for each table, sequence, definition and large object.
type state struct {
	lines  map[string]string
	tables int
	rows   int64
	some   bool // others may be there
}

// definitions are queries of things that must be equal by name and text. Each gives two columns.
var definitions = []string{
	`SELECT 'relation ' || c.oid::regclass, c.relkind::text || c.relpersistence::text || c.relispartition || coalesce(c.relacl::text, '') || coalesce(obj_description(c.oid, 'pg_class'), '') FROM pg_class c
 JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'`,
	`SELECT 'index ' || indexrelid::regclass, pg_get_indexdef(indexrelid) || indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = 'public'::regnamespace`,
	`SELECT 'constraint ' || conrelid::regclass || ' ' || conname, pg_get_constraintdef(oid) || convalidated FROM pg_constraint WHERE conrelid <> 0 AND connamespace = 'public'::regnamespace`,
	`SELECT 'trigger ' || tgrelid::regclass || ' ' || tgname, pg_get_triggerdef(oid) || tgenabled::text FROM pg_trigger WHERE NOT tgisinternal`,
	`SELECT 'column ' || attrelid::regclass || ' ' || attname, format_type(atttypid, atttypmod) || attnotnull || attidentity::text || attgenerated::text FROM pg_attribute
 JOIN pg_class c ON c.oid = attrelid WHERE c.relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped`,
	`SELECT 'default ' || adrelid::regclass || ' ' || adnum, pg_get_expr(adbin, adrelid) FROM pg_attrdef`,
	`SELECT 'publication ' || pubname, (SELECT string_agg(tablename, ',' ORDER BY 1) FROM pg_publication_tables t WHERE t.pubname = p.pubname) FROM pg_publication p`,
	`SELECT 'large object ' || oid, md5(lo_get(oid)) FROM pg_largeobject_metadata`,
	`SELECT 'schema ' || nspname, '' FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%' AND nspname <> 'information_schema'`,
}

// read takes a database's state. It looks at everything, so that nothing is compared with a part of itself.
func (e end) read(ctx context.Context) (*state, error) {
	c, err := pgx.Connect(ctx, e.direct())
	if err != nil {
		return nil, err
	}
	defer hangUp(ctx, c)
	st := &state{lines: map[string]string{}}
	for _, q := range definitions {
		rows, err := c.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		var name string
		var text *string
		if _, err := pgx.ForEachRow(rows, []any{&name, &text}, func() error { st.lines[name] = orNull(text); return nil }); err != nil {
			return nil, fmt.Errorf("%s: %w", q, err)
		}
	}
	relations, err := names(ctx, c, `SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r','m') AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'`)
	if err != nil {
		return nil, err
	}
	for _, name := range relations {
		var rows int64
		var sum string
		if err := c.QueryRow(ctx, `SELECT count(*), coalesce(md5(string_agg(md5(x::text), ',' ORDER BY x::text COLLATE "C")), '') FROM ONLY `+name+` x`).Scan(&rows, &sum); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		st.lines["rows of "+name] = fmt.Sprintf("%d rows, md5 %s", rows, sum)
		st.tables, st.rows = st.tables+1, st.rows+rows
	}
	sequences, err := names(ctx, c, `SELECT oid::regclass::text FROM pg_class WHERE relkind = 'S'`)
	if err != nil {
		return nil, err
	}
	for _, name := range sequences {
		var at string
		if err := c.QueryRow(ctx, `SELECT last_value || ' ' || is_called FROM `+name).Scan(&at); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		st.lines["state of "+name] = at
	}
	return st, nil
}

// hangUp ends a session that was only used to look.
func hangUp(ctx context.Context, c *pgx.Conn) {
	_ = c.Close(context.WithoutCancel(ctx)) // the server may be gone, on purpose
}

func orNull(s *string) string {
	if s == nil {
		return "NULL"
	}
	return *s
}

func names(ctx context.Context, c *pgx.Conn, sql string) ([]string, error) {
	rows, err := c.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// rowsAlone leaves the definitions out, and materialized views, which rows do not bring.
func (st *state) rowsAlone() *state {
	only := &state{lines: map[string]string{}, some: true}
	for name, text := range st.lines {
		if strings.HasPrefix(name, "rows of ") || strings.HasPrefix(name, "state of ") || strings.HasPrefix(name, "large object ") {
			only.lines[name] = text
		}
	}
	return only
}

// differs says what is not the same; nil when all is.
func (st *state) differs(got *state) error {
	var bad []string
	for name, want := range st.lines {
		if ofWriter(name) {
			continue
		}
		if text, there := got.lines[name]; !there {
			bad = append(bad, fmt.Sprintf("%s: missing; it is %s", name, want))
		} else if text != want {
			bad = append(bad, fmt.Sprintf("%s: %s, want %s", name, text, want))
		}
	}
	for name, text := range got.lines {
		if st.some && !strings.HasPrefix(name, "rows of ") && !strings.HasPrefix(name, "schema pghaul") {
			continue
		}
		if _, there := st.lines[name]; !there {
			bad = append(bad, fmt.Sprintf("%s: not at the source: %s", name, text))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	sort.Strings(bad)
	return errors.New("the target differs:\n  " + strings.Join(bad, "\n  "))
}
