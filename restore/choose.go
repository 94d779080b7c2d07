package restore

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// Choice says what of a dump is meant, by psql patterns over its names. An empty one means all of it.
type Choice struct {
	Schemas, ExcludeSchemas       []string
	Tables, ExcludeTables         []string // a partition comes and goes with its root
	ExcludeTableData              []string // definition without rows
	Extensions, ExcludeExtensions []string
	Functions, Indexes, Triggers  []string // definitions one by one, as pg_restore has them: "f(integer)", "table trigger"; with a name alone any of that name
	StrictNames                   bool     // what is excluded must be there too; what is included must in any case
}

// matcher is a psql pattern over the dump's names. A table pattern without a schema fits in any: a dump has no search_path.
type matcher struct {
	flag         string
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
	schemas, notSchemas, tables, notTables, noData []*matcher
	extensions, notExtensions                      []*matcher // by their name
	functions, indexes, triggers                   []*matcher
	strict                                         bool
	withLarge                                      *bool // nil: as the rest says
}

// sets are the lists of patterns with the options that fill them.
func (c *choice) sets(o *Choice) []patternSet {
	return []patternSet{
		{"-n", &c.schemas, o.Schemas, pg.ParseSchemaPattern}, {"-N", &c.notSchemas, o.ExcludeSchemas, pg.ParseSchemaPattern},
		{"-t", &c.tables, o.Tables, pg.ParseTablePattern}, {"-T", &c.notTables, o.ExcludeTables, pg.ParseTablePattern},
		{"--exclude-table-data", &c.noData, o.ExcludeTableData, pg.ParseTablePattern},
		{"-e", &c.extensions, o.Extensions, parseName}, {"--exclude-extension", &c.notExtensions, o.ExcludeExtensions, parseName},
		{"function", &c.functions, o.Functions, parseSignature}, {"index", &c.indexes, o.Indexes, pg.ParseTablePattern}, {"trigger", &c.triggers, o.Triggers, parseSignature},
	}
}

type patternSet struct {
	flag     string
	to       *[]*matcher
	patterns []string
	parse    func(string) (pg.Pattern, error)
}

// parseName reads a pattern for names without a schema.
func parseName(given string) (pg.Pattern, error) {
	p, err := pg.ParseSchemaPattern(given)
	return pg.Pattern{Given: given, Name: p.Schema}, err
}

// parseSignature reads what pg_restore lists as it is: "f(integer)"; or a name alone.
func parseSignature(given string) (pg.Pattern, error) {
	if strings.ContainsAny(given, "( ") {
		return pg.Pattern{Given: given, Name: "^(" + regexp.QuoteMeta(given) + ")$"}, nil
	}
	return parseName(given)
}

func newChoice(o *Options) (*choice, error) {
	c := &choice{strict: o.StrictNames, withLarge: o.LargeObjects}
	for _, set := range c.sets(&o.Choice) {
		for _, given := range set.patterns {
			p, err := set.parse(given)
			if err != nil {
				return nil, err
			}
			m := &matcher{flag: set.flag, given: given}
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

// all tells that no definition is left behind.
func (c *choice) all() bool {
	for _, set := range c.sets(&Choice{}) {
		if len(*set.to) > 0 && set.to != &c.noData {
			return false
		}
	}
	return true
}

// byTables tells that tables, or other objects, were chosen one by one, so that nothing but what belongs to them is restored.
func (c *choice) byTables() bool {
	return len(c.tables)+len(c.functions)+len(c.indexes)+len(c.triggers) > 0
}

// partial tells that what lies in no schema is left behind: as in pg_dump, when schemas, tables or extensions are chosen.
func (c *choice) partial() bool { return len(c.schemas)+len(c.extensions) > 0 || c.byTables() }

// large tells whether large objects are chosen.
func (c *choice) large() bool {
	if c.withLarge != nil {
		return *c.withLarge
	}
	return !c.partial()
}

// hasSchema tells whether everything in a schema is chosen, tables that are left out aside.
func (c *choice) hasSchema(schema format.Name) bool {
	q := pg.Qualified{Schema: schema}
	return !c.byTables() && (len(c.schemas) == 0 || anyOf(c.schemas, q)) && !anyOf(c.notSchemas, q)
}

// hasExtension tells whether an extension is to be made.
func (c *choice) hasExtension(name format.Name) bool {
	q := pg.Qualified{Name: name}
	chosen := anyOf(c.extensions, q)
	switch {
	case anyOf(c.notExtensions, q):
		return false
	case len(c.extensions) > 0:
		return chosen
	}
	return !c.partial()
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

// hasRows tells whether the rows of a table are chosen too.
func (c *choice) hasRows(names ...pg.Qualified) bool {
	return c.has(names...) && !slices.ContainsFunc(names, func(q pg.Qualified) bool { return anyOf(c.noData, q) })
}

// named tells whether an entry is one of the functions, indexes or triggers that were chosen one by one.
func (c *choice) named(e *entry) bool {
	q := pg.Qualified{Schema: format.Name(e.Schema), Name: format.Name(e.Name)}
	alone := q // without the arguments of a function, the table of a trigger
	switch e.Desc {
	case "FUNCTION", "PROCEDURE", "AGGREGATE":
		name, _, _ := strings.Cut(e.Name, "(")
		alone.Name = format.Name(name)
		return anyOf(c.functions, q) || anyOf(c.functions, alone)
	case "INDEX":
		return anyOf(c.indexes, q)
	case "TRIGGER":
		if at := strings.LastIndexByte(e.Name, ' '); at >= 0 {
			alone.Name = format.Name(e.Name[at+1:])
		}
		return anyOf(c.triggers, q) || anyOf(c.triggers, alone)
	}
	return false
}

func anyOf(list []*matcher, q pg.Qualified) bool {
	found := false
	for _, m := range list { // all of them: each is to know whether it names something
		found = m.fits(q) || found
	}
	return found
}

// learn lets the patterns see the names that the archive holds beside those of the manifest.
func (c *choice) learn(a *archive) {
	for _, e := range a.entries {
		q := pg.Qualified{Schema: format.Name(e.Schema), Name: format.Name(e.Name)}
		switch {
		case slices.Contains(relationDescs, e.Desc):
			for _, list := range [][]*matcher{c.tables, c.notTables, c.noData} {
				anyOf(list, q)
			}
		case e.Desc == "EXTENSION":
			anyOf(c.extensions, pg.Qualified{Name: q.Name})
			anyOf(c.notExtensions, pg.Qualified{Name: q.Name})
		case e.Desc == "SCHEMA":
			q.Schema = q.Name
		default:
			c.named(e)
		}
		anyOf(c.schemas, pg.Qualified{Schema: q.Schema})
		anyOf(c.notSchemas, pg.Qualified{Schema: q.Schema})
	}
}

// unmatched names the patterns that chose nothing, as an error. Without definitions those that can only name some are not asked, and where tables are chosen
// neither are schemas, which count for nothing.
func (c *choice) unmatched(definitions bool) error {
	lists := [][]*matcher{c.tables}
	if !c.byTables() {
		lists = append(lists, c.schemas)
	}
	if definitions {
		lists = append(lists, c.extensions, c.functions, c.indexes, c.triggers)
	}
	if c.strict {
		lists = append(lists, c.notTables, c.noData)
		if !c.byTables() {
			lists = append(lists, c.notSchemas)
		}
		if definitions {
			lists = append(lists, c.notExtensions)
		}
	}
	var list []string
	for _, patterns := range lists {
		for _, m := range patterns {
			if !m.hit {
				list = append(list, m.given)
			}
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
	for _, set := range c.sets(&Choice{}) {
		for _, m := range *set.to {
			text += m.flag + " " + m.given + " "
		}
	}
	if c.withLarge != nil {
		text += fmt.Sprintf("large-objects=%t ", *c.withLarge)
	}
	return text
}
