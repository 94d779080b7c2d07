package dump

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// selection is what the patterns of the options choose.
type selection struct {
	tables, exclude, noData   trees
	schemas, notSchemas       []pg.Pattern
	extensions, notExtensions []*namePattern
	servers                   []*namePattern
	strict                    bool

	chosen    map[uint32]bool // by -t; nil: all
	excluded  map[uint32]bool
	inSchemas map[format.Name]bool // by -n; nil: all
	outside   map[format.Name]bool
	dataOff   map[uint32]bool
}

// trees are patterns for tables: those that mean the tables that they name, and those that mean their partitions and children too.
type trees struct{ alone, whole []pg.Pattern }

func (t *trees) all() []pg.Pattern { return append(slices.Clone(t.alone), t.whole...) }

func newSelection(o *Options) (*selection, error) {
	if err := o.checkSections(); err != nil {
		return nil, err
	}
	s := &selection{strict: o.StrictNames}
	for _, p := range []struct {
		given []string
		to    *[]pg.Pattern
		parse func(string) (pg.Pattern, error)
	}{
		{o.Tables, &s.tables.alone, pg.ParseTablePattern}, {o.TablesAndChildren, &s.tables.whole, pg.ParseTablePattern},
		{o.ExcludeTables, &s.exclude.alone, pg.ParseTablePattern}, {o.ExcludeTablesAndChildren, &s.exclude.whole, pg.ParseTablePattern},
		{o.ExcludeTableData, &s.noData.alone, pg.ParseTablePattern}, {o.ExcludeTableDataAndChildren, &s.noData.whole, pg.ParseTablePattern},
		{o.Schemas, &s.schemas, pg.ParseSchemaPattern}, {o.ExcludeSchemas, &s.notSchemas, pg.ParseSchemaPattern},
	} {
		for _, text := range p.given {
			pattern, err := p.parse(text)
			if err != nil {
				return nil, err
			}
			*p.to = append(*p.to, pattern)
		}
	}
	for to, given := range map[*[]*namePattern][]string{&s.extensions: o.Extensions, &s.notExtensions: o.ExcludeExtensions, &s.servers: o.ForeignServers} {
		for _, text := range given {
			p, err := newNamePattern(text)
			if err != nil {
				return nil, err
			}
			*to = append(*to, p)
		}
	}
	return s, nil
}

// partial tells whether the dump is only a part of the database: pg_dump leaves extensions, large objects and publications behind then.
// With extensions chosen one by one it leaves what lies in no schema behind, too.
func (s *selection) partial() bool {
	return s.byTables() || len(s.schemas) > 0 || len(s.extensions) > 0
}

// byTables tells that tables were chosen one by one.
func (s *selection) byTables() bool { return len(s.tables.alone)+len(s.tables.whole) > 0 }

// resolve asks the catalog what the patterns mean at this moment.
func (s *selection) resolve(ctx context.Context, conn *pg.Conn) (err error) {
	if s.chosen, err = matchTables(ctx, conn, s.tables, s.strict); err != nil {
		return err
	}
	if s.excluded, err = matchTables(ctx, conn, s.exclude, false); err != nil {
		return err
	}
	if s.dataOff, err = matchTables(ctx, conn, s.noData, false); err != nil {
		return err
	}
	if s.inSchemas, err = matchSchemas(ctx, conn, s.schemas, s.strict); err != nil {
		return err
	}
	if s.outside, err = matchSchemas(ctx, conn, s.notSchemas, false); err != nil {
		return err
	}
	if s.byTables() && len(s.chosen) == 0 {
		return fmt.Errorf("no matching tables were found for %s", quoteList(s.tables.all()))
	}
	if !s.byTables() && len(s.schemas) > 0 && len(s.inSchemas) == 0 {
		return fmt.Errorf("no matching schemas were found for %s", quoteList(s.schemas))
	}
	return nil
}

// matchTables gives the OIDs of the tables that patterns name, those that are meant with their children among them. With strict, each pattern must name one.
func matchTables(ctx context.Context, conn *pg.Conn, patterns trees, strict bool) (map[uint32]bool, error) {
	found := map[uint32]bool{}
	for i, list := range [][]pg.Pattern{patterns.alone, patterns.whole} {
		if len(list) == 0 {
			continue
		}
		oids, unmatched, err := conn.MatchTables(ctx, list)
		if err != nil {
			return nil, err
		}
		if len(unmatched) > 0 && strict {
			return nil, fmt.Errorf("no matching tables were found for pattern %q", unmatched[0])
		}
		if i == 1 {
			if oids, err = conn.WithChildren(ctx, oids); err != nil {
				return nil, err
			}
		}
		for _, oid := range oids {
			found[oid] = true
		}
	}
	return found, nil
}

// matchSchemas gives the schemas that patterns name; nil without patterns. With strict, each pattern must name one.
func matchSchemas(ctx context.Context, conn *pg.Conn, patterns []pg.Pattern, strict bool) (map[format.Name]bool, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	schemas, unmatched, err := conn.MatchSchemas(ctx, patterns)
	if err != nil {
		return nil, err
	}
	if len(unmatched) > 0 && strict {
		return nil, fmt.Errorf("no matching schemas were found for pattern %q", unmatched[0])
	}
	found := map[format.Name]bool{}
	for _, n := range schemas {
		found[n] = true
	}
	return found, nil
}

func quoteList(patterns []pg.Pattern) string {
	given := make([]string, len(patterns))
	for i, p := range patterns {
		given[i] = fmt.Sprintf("%q", p.Given)
	}
	return strings.Join(given, ", ")
}

// has tells whether a relation belongs to the dump. As in pg_dump, -t makes -n and -N void.
func (s *selection) has(oid uint32, schema format.Name) bool {
	switch {
	case s.excluded[oid]:
		return false
	case s.byTables():
		return s.chosen[oid]
	case s.outside[schema]:
		return false
	}
	return len(s.schemas) == 0 || s.inSchemas[schema]
}

// hasSequence tells whether a sequence belongs to the dump: as in pg_dump, with the table whose column owns it, whatever its own name is; an
// identity column's with no other.
func (s *selection) hasSequence(k pg.SequenceKey) bool {
	if k.Owner != 0 && s.has(k.Owner, k.Schema) {
		return true
	}
	return !k.Identity && s.has(k.OID, k.Schema)
}

// lockable gives the chosen ones of all relations that take part in locks: ordinary and partitioned tables. Tables that the role may not
// read are refused here, before a lock is asked for.
func (s *selection) lockable(ctx context.Context, conn *pg.Conn, all []pg.Key) ([]pg.Key, error) {
	if err := s.resolve(ctx, conn); err != nil {
		return nil, err
	}
	var problems []Problem
	keys := slices.DeleteFunc(slices.Clone(all), func(k pg.Key) bool {
		if k.Kind != 'r' && k.Kind != 'p' || !s.has(k.OID, k.Schema) {
			return true
		}
		return k.Extension != "" && (!k.Config || !s.hasExtension(k.Extension))
	})
	for _, k := range keys {
		if !k.MaySelect {
			problems = append(problems, Problem{Object: k.String(), Why: "the role has no SELECT privilege on the table", Hint: "GRANT SELECT, or leave it out with -T"})
		}
	}
	if len(problems) > 0 {
		return nil, &Refused{Problems: problems}
	}
	return keys, nil
}

// conditions gives the --where conditions by table.
func (s *selection) conditions(ctx context.Context, o *Options, conn *pg.Conn) (map[uint32]string, error) {
	found := map[uint32]string{}
	for text, condition := range o.Where {
		pattern, err := pg.ParseTablePattern(text)
		if err != nil {
			return nil, err
		}
		oids, unmatched, err := conn.MatchTables(ctx, []pg.Pattern{pattern})
		if err != nil {
			return nil, err
		}
		if len(unmatched) > 0 {
			return nil, fmt.Errorf("no matching table was found for --where pattern %q", text)
		}
		for _, oid := range oids {
			if _, twice := found[oid]; twice {
				return nil, fmt.Errorf("two --where conditions are for one table, one of them by pattern %q", text)
			}
			found[oid] = condition
		}
	}
	return found, nil
}
