package restore

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// matcher is a psql pattern over the dump's names. A table pattern without a schema fits in any: a dump has no search_path.
type matcher struct {
	given        string
	schema, name *regexp.Regexp // nil: any
	hit          bool
}

func (m *matcher) fits(q pg.Qualified) bool {
	fits := (m.schema == nil || m.schema.MatchString(string(q.Schema))) && (m.name == nil || m.name.MatchString(string(q.Name)))
	m.hit = m.hit || fits
	return fits
}

// choice is what of a dump is to be restored.
type choice struct {
	schemas, notSchemas, tables, notTables []*matcher
}

func newChoice(o *Options) (*choice, error) {
	c := &choice{}
	for _, set := range []struct {
		to       *[]*matcher
		patterns []string
		parse    func(string) (pg.Pattern, error)
	}{
		{&c.schemas, o.Schemas, pg.ParseSchemaPattern}, {&c.notSchemas, o.ExcludeSchemas, pg.ParseSchemaPattern},
		{&c.tables, o.Tables, pg.ParseTablePattern}, {&c.notTables, o.ExcludeTables, pg.ParseTablePattern},
	} {
		for _, given := range set.patterns {
			p, err := set.parse(given)
			if err != nil {
				return nil, err
			}
			m := &matcher{given: given}
			for to, pattern := range map[**regexp.Regexp]string{&m.schema: p.Schema, &m.name: p.Name} {
				if pattern == "" {
					continue
				}
				if *to, err = regexp.Compile("(?s)" + pattern); err != nil {
					return nil, fmt.Errorf("pattern %s: %w", given, err)
				}
			}
			*set.to = append(*set.to, m)
		}
	}
	return c, nil
}

// all tells that nothing is left behind.
func (c *choice) all() bool {
	return len(c.schemas)+len(c.notSchemas)+len(c.tables)+len(c.notTables) == 0
}

// byTables tells that tables were chosen one by one, so that nothing but what belongs to them is restored.
func (c *choice) byTables() bool { return len(c.tables) > 0 }

// large tells whether large objects are chosen: as in pg_dump, unless schemas or tables are.
func (c *choice) large() bool { return len(c.schemas) == 0 && !c.byTables() }

// hasSchema tells whether everything in a schema is chosen, tables that are left out aside.
func (c *choice) hasSchema(schema format.Name) bool {
	q := pg.Qualified{Schema: schema}
	return !c.byTables() && (len(c.schemas) == 0 || anyOf(c.schemas, q)) && !anyOf(c.notSchemas, q)
}

// has tells whether a relation is chosen. A partition is chosen with its root, and left out with it. As in pg_dump, -t leaves -n and -N without effect.
func (c *choice) has(names ...pg.Qualified) bool {
	chosen := false
	for _, q := range names {
		if anyOf(c.notTables, q) {
			return false
		}
		chosen = chosen || anyOf(c.tables, q)
	}
	if c.byTables() {
		return chosen
	}
	return c.hasSchema(names[0].Schema)
}

func anyOf(list []*matcher, q pg.Qualified) bool {
	found := false
	for _, m := range list { // all of them: each is to know whether it names something
		found = m.fits(q) || found
	}
	return found
}

// unmatched lists those of the patterns that chose nothing, as an error.
func unmatched(patterns []*matcher) error {
	var list []string
	for _, m := range patterns {
		if !m.hit {
			list = append(list, m.given)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return withHint(fmt.Errorf("nothing in the dump is named by %s", strings.Join(list, ", ")), "pghaul inspect lists what is in it")
}

// String identifies the choice, so that a resumed restore makes the same one.
func (c *choice) String() string {
	text := ""
	for flag, set := range []([]*matcher){c.schemas, c.notSchemas, c.tables, c.notTables} {
		for _, m := range set {
			text += fmt.Sprintf("-%c %s ", "nNtT"[flag], m.given)
		}
	}
	return text
}
