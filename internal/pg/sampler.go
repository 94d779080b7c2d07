package pg

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/format"
)

// Bounds on sampling.
const (
	maxParts       = 2    // samples of a part that go into the samples of its container
	maxSampleLevel = 8    // nesting
	rowsLookedAt   = 1000 // of a table, for values of a type that has no literal of ours
	valuesTaken    = 3    // of these
)

// ColumnRef is a column whose values may serve as samples of its type; both are quoted, in the session's encoding.
type ColumnRef struct{ Table, Column string }

// sampler makes samples of the types of a graph, each type once.
type sampler struct {
	conn    *Conn
	types   Types
	columns func(oid uint32) []ColumnRef
	made    map[uint32][]expression
	notes   map[uint32]string
}

// expression is SQL for one value, and how it is shown.
type expression struct{ sql, literal string }

// Samples takes the samples of every type of a graph: builtin types from literals of ours, enums by all their labels, domains, arrays, composites, ranges
// and multiranges from the samples of their parts, empty and with NULLs, and others from values in the columns that columns names. Each is read by the
// source server and given back as bytes and as text; a type that is carried as text has no bytes. A type without a usable sample has a note instead.
// The session must be one for data.
func (c *Conn) Samples(ctx context.Context, types Types, columns func(oid uint32) []ColumnRef) ([]format.Samples, error) {
	s := &sampler{conn: c, types: types, columns: columns, made: map[uint32][]expression{}, notes: map[uint32]string{}}
	oids := make([]uint32, 0, len(types))
	for oid := range types {
		oids = append(oids, oid)
	}
	slices.Sort(oids)
	list := make([]format.Samples, 0, len(types))
	for _, oid := range oids {
		samples, err := s.take(ctx, types[oid])
		if err != nil {
			return nil, Wrap(err, "sample of type %s.%s", types[oid].Schema, types[oid].Name)
		}
		list = append(list, samples)
	}
	return list, nil
}

func (s *sampler) take(ctx context.Context, t *Type) (format.Samples, error) {
	samples := format.Samples{OID: t.OID, Schema: t.Schema, Name: t.Name, Values: []format.Sample{}}
	carry := s.types.Carry(t.OID)
	exprs, err := s.expressions(ctx, t, 0)
	if err != nil {
		return samples, err
	}
	for _, e := range exprs {
		v, err := s.conn.evaluate(ctx, e, carry, s.types.IsArray(t.OID))
		if State(err) != "" {
			samples.Note = fmt.Sprintf("the source server refused %q (SQLSTATE %s)", e.literal, State(err))
			continue
		}
		if err != nil {
			return samples, err
		}
		samples.Values = append(samples.Values, v)
	}
	if len(samples.Values) == 0 && samples.Note == "" {
		samples.Note = s.notes[t.OID]
		if samples.Note == "" {
			samples.Note = "no value of this type was found to sample"
		}
	}
	return samples, nil
}

// expressions gives SQL for the samples of a type, of its parts first.
func (s *sampler) expressions(ctx context.Context, t *Type, level int) ([]expression, error) {
	if t == nil || level > maxSampleLevel {
		return nil, nil
	}
	if made, ok := s.made[t.OID]; ok {
		return made, nil
	}
	s.made[t.OID] = nil // a cycle ends here
	name, err := s.conn.typeSQL(ctx, t.Type)
	if err != nil {
		return nil, err
	}
	exprs, err := s.build(ctx, t, name, level)
	s.made[t.OID] = exprs
	return exprs, err
}

func (s *sampler) build(ctx context.Context, t *Type, name string, level int) ([]expression, error) {
	if t.Schema == "pg_catalog" {
		if literals, ok := builtinLiterals[t.Name]; ok {
			return s.conn.fromLiterals(literals, name), nil
		}
	}
	switch t.Kind {
	case format.KindEnum:
		return s.conn.fromLiterals(labelsOf(t), name), nil
	case format.KindComposite:
		return s.composite(ctx, t, name, level)
	case format.KindBase:
		return s.fromColumns(ctx, t)
	}
	parts, err := s.expressions(ctx, s.types[t.Element], level+1)
	if err != nil {
		return nil, err
	}
	if len(parts) > maxParts && t.Kind != format.KindDomain {
		parts = parts[:maxParts]
	}
	switch t.Kind {
	case format.KindArray:
		return array(parts, name), nil
	case format.KindRange:
		return ranges(parts, name), nil
	case format.KindMultirange:
		return multiranges(parts, name), nil
	}
	return s.domain(ctx, t, parts, name)
}

func labelsOf(t *Type) []literal {
	list := make([]literal, len(t.Labels))
	for i, l := range t.Labels {
		list[i].text = string(l)
	}
	return list
}

// fromLiterals reads literals. They go in as UTF-8 bytes and are converted by the server, so that the statement is ASCII on a session of any encoding.
func (c *Conn) fromLiterals(literals []literal, name string) []expression {
	encoding := "UTF8"
	if c.Encoding == "SQL_ASCII" {
		encoding = c.Encoding
	}
	var list []expression
	for _, l := range literals {
		if l.since <= c.Version {
			sql := fmt.Sprintf(`pg_catalog.convert_from('\x%s'::pg_catalog.bytea, '%s')::pg_catalog.text::%s`, hex.EncodeToString([]byte(l.text)), encoding, name)
			list = append(list, expression{sql, l.text})
		}
	}
	return list
}

func array(parts []expression, name string) []expression {
	list := []expression{{"'{}'::" + name, "{}"}, {"'{NULL}'::" + name, "{NULL}"}}
	if len(parts) > 0 {
		sqls, shown := make([]string, len(parts)), make([]string, len(parts))
		for i, p := range parts {
			sqls[i], shown[i] = p.sql, p.literal
		}
		list = append(list, expression{"ARRAY[" + strings.Join(sqls, ", ") + "]::" + name, "{" + strings.Join(shown, ",") + "}"})
	}
	return list
}

func ranges(parts []expression, name string) []expression {
	list := []expression{{"'empty'::" + name, "empty"}, {"'(,)'::" + name, "(,)"}}
	if len(parts) > 0 {
		// By the constructor, whose name is the type's own.
		list = append(list, expression{name + "(" + parts[0].sql + ", NULL)", "[" + parts[0].literal + ",)"})
	}
	return list
}

func multiranges(parts []expression, name string) []expression {
	list := []expression{{"'{}'::" + name, "{}"}}
	if len(parts) > 0 {
		list = append(list, expression{name + "(" + parts[len(parts)-1].sql + ")", "{" + parts[len(parts)-1].literal + "}"})
	}
	return list
}

// composite makes a row of NULLs and a row of each field's first sample. A row of NULLs is a value, not NULL.
func (s *sampler) composite(ctx context.Context, t *Type, name string, level int) ([]expression, error) {
	nulls, sqls, shown := make([]string, len(t.Fields)), make([]string, len(t.Fields)), make([]string, len(t.Fields))
	for i, f := range t.Fields {
		parts, err := s.expressions(ctx, s.types[f.OID], level+1)
		if err != nil {
			return nil, err
		}
		nulls[i], sqls[i] = "NULL", "NULL"
		if len(parts) > 0 {
			sqls[i], shown[i] = parts[0].sql, parts[0].literal
		}
	}
	return []expression{{"ROW(" + strings.Join(nulls, ", ") + ")::" + name, "(" + strings.Repeat(",", max(0, len(nulls)-1)) + ")"},
		{"ROW(" + strings.Join(sqls, ", ") + ")::" + name, "(" + strings.Join(shown, ",") + ")"}}, nil
}

// domain takes the samples of its base that its constraints let pass, or else values that are there.
func (s *sampler) domain(ctx context.Context, t *Type, parts []expression, name string) ([]expression, error) {
	var list []expression
	for _, p := range parts {
		e := expression{"(" + p.sql + ")::" + name, p.literal}
		var ok bool
		err := s.conn.QueryRow(ctx, "SELECT ("+e.sql+") IS NOT DISTINCT FROM NULL OR true").Scan(&ok)
		switch {
		case err == nil:
			list = append(list, e)
		case State(err) == "":
			return nil, err
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	s.notes[t.OID] = "the domain's constraints refuse the samples of its base type, and no table holds a value"
	return s.fromColumns(ctx, t)
}

// fromColumns takes values that are there, of a bounded number of rows.
func (s *sampler) fromColumns(ctx context.Context, t *Type) ([]expression, error) {
	if s.types.Carry(t.OID).Refused {
		return nil, nil
	}
	name, err := s.conn.typeSQL(ctx, t.Type)
	if err != nil {
		return nil, err
	}
	for _, ref := range s.columns(t.OID) {
		rows, err := s.conn.Query(ctx, fmt.Sprintf(`SELECT DISTINCT pg_catalog.convert_to(v.x::pg_catalog.text, 'UTF8') FROM (SELECT %s AS x FROM ONLY %s LIMIT %d) v WHERE v.x IS NOT NULL LIMIT %d`,
			ref.Column, ref.Table, rowsLookedAt, valuesTaken))
		if err != nil {
			return nil, err
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
		if State(err) != "" {
			continue // a table that the role may not read, or a value that cannot be text: another column may do
		}
		if err != nil {
			return nil, err
		}
		if len(texts) > 0 {
			literals := make([]literal, len(texts))
			for i, text := range texts {
				literals[i].text = string(text)
			}
			return s.conn.fromLiterals(literals, name), nil
		}
	}
	return nil, nil
}

// evaluate lets the server give an expression's value: as the bytes that a file of this carriage holds, and as text.
func (c *Conn) evaluate(ctx context.Context, e expression, carry Carry, isArray bool) (format.Sample, error) {
	s := format.Sample{Literal: e.literal}
	value := "v.x"
	if carry.Carried == format.CarriedText {
		value = OutSQL("v.x", carry.Cast, isArray)
	}
	err := c.sample(ctx, &s, `SELECT `+value+`, pg_catalog.convert_to(`+textOf(value, carry)+`, 'UTF8') FROM (SELECT `+e.sql+` AS x) v`)
	return s, err
}

// sample reads bytes and text of a sample: the two columns of the one row that a query gives.
func (c *Conn) sample(ctx context.Context, s *format.Sample, sql string) error {
	rows, err := c.Query(ctx, sql, pgx.QueryExecModeDescribeExec, pgx.QueryResultFormats{pgx.BinaryFormatCode})
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		raw := rows.RawValues()
		s.Bytes, s.Text = bytes.Clone(raw[0]), string(raw[1])
	}
	return rows.Err()
}

func textOf(value string, carry Carry) string {
	if carry.Carried == format.CarriedText {
		return value
	}
	return value + "::pg_catalog.text"
}

// IsArray tells whether values of a type are arrays, through domains.
func (t Types) IsArray(oid uint32) bool {
	for range maxSampleLevel {
		node := t[oid]
		if node == nil || node.Kind != format.KindDomain {
			return node != nil && node.Kind == format.KindArray
		}
		oid = node.Element
	}
	return false
}
