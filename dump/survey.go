package dump

import (
	"context"
	"fmt"
	"slices"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// Surveyed is one relation of a database, with what a dump would do with it.
type Surveyed struct {
	Schema, Name format.Name
	Kind         string // table, partition, partitioned table, materialized view, foreign table
	Rows         int64  // the planner's estimate; -1: unknown
	Bytes        int64  // of heap and TOAST, as of the last VACUUM or ANALYZE
	Unlogged     bool
	HasRows      bool     // a dump carries rows of its own
	Why          string   // a dump with it would be refused; "": it would not
	Hint         string   // what to do about Why
	Notes        []string // columns that do not go as plain binary, and other things to know
}

// Survey lists the relations of a database, by schema and name. It reads the catalog, takes no locks on tables and waits for none.
func Survey(ctx context.Context, conn *pg.Conn) ([]Surveyed, error) {
	relations, err := conn.Relations(ctx, nil)
	if err != nil {
		return nil, err
	}
	sizes, err := conn.TableEstimates(ctx)
	if err != nil {
		return nil, err
	}
	var oids []uint32
	for _, r := range relations {
		if r.Kind == 'r' {
			oids = append(oids, r.OID)
		}
	}
	columns, err := conn.Columns(ctx, oids)
	if err != nil {
		return nil, err
	}
	types, err := typesOf(ctx, conn, columns)
	if err != nil {
		return nil, err
	}
	filtered, err := conn.PoliciesApply(ctx, oids)
	if err != nil {
		return nil, err
	}
	var list []Surveyed
	for _, r := range relations {
		if r.Extension && !r.Config {
			continue // its definition comes with the extension
		}
		s := Surveyed{Schema: r.Schema, Name: r.Name, Kind: kindOf(r), Rows: int64(r.Tuples), Bytes: sizes[r.OID], Unlogged: r.Persistence == 'u', HasRows: r.Kind == 'r'}
		switch {
		case r.Kind == 'r' && !r.MaySelect:
			s.Why, s.Hint = "the role has no SELECT privilege on the table", "GRANT SELECT, or leave it out"
		case slices.Contains(filtered, r.OID):
			s.Why, s.Hint = "row-level security would hide rows from the role", "dump with a role that has BYPASSRLS, or leave it out"
		}
		s.look(storedColumns(columns[r.OID]), types)
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Surveyed) int {
		if a.Schema != b.Schema {
			return compareNames(a.Schema, b.Schema)
		}
		return compareNames(a.Name, b.Name)
	})
	return list, nil
}

func compareNames(a, b format.Name) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func typesOf(ctx context.Context, conn *pg.Conn, columns map[uint32][]format.Column) (pg.Types, error) {
	var oids []uint32
	for _, list := range columns {
		for _, c := range list {
			oids = append(oids, c.OID)
		}
	}
	slices.Sort(oids)
	return conn.LoadTypes(ctx, slices.Compact(oids))
}

// look says what is special about the columns.
func (s *Surveyed) look(columns []format.Column, types pg.Types) {
	for _, c := range columns {
		carry := types.Carry(c.OID)
		switch {
		case carry.Refused && s.Why == "":
			s.Why, s.Hint = fmt.Sprintf("column %q (%s): %s", string(c.Name), c.Type, carry.Why), "leave the table out"
		case carry.Why != "":
			s.Notes = append(s.Notes, fmt.Sprintf("column %q (%s) is carried as %s: %s", string(c.Name), c.Type, carry.Carried, carry.Why))
		}
	}
}

func kindOf(r *pg.Relation) string {
	switch {
	case r.Kind == 'p':
		return "partitioned table"
	case r.Kind == 'm':
		return "materialized view"
	case r.Kind == 'f':
		return kindForeign
	case r.Partition:
		return "partition"
	}
	return "table"
}
