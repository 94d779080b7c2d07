package restore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// mapping gives schemas and tables of a dump other names on the target (--map). The zero value leaves all as they are.
//
// Rows alone go into the tables of the new names. When definitions are restored too, all is made under the dump's names, for that is what the definitions
// say, and renamed at the end: see rename.go.
type mapping struct {
	schemas map[format.Name]format.Name
	tables  map[pg.Qualified]pg.Qualified
}

// CheckMap tells what is wrong with a value of Options.Map, as far as that can be told without a dump.
func CheckMap(given string) error {
	_, _, err := splitMap(given)
	return err
}

// splitMap reads OLD=NEW, each a name or SCHEMA.NAME as SQL has them.
func splitMap(given string) (from, to []format.Name, err error) {
	from, rest, err := cutNames(given)
	if err == nil {
		var ok bool
		if rest, ok = strings.CutPrefix(rest, "="); !ok {
			return nil, nil, fmt.Errorf("%q is not OLD=NEW", given)
		}
		if to, rest, err = cutNames(strings.TrimSpace(rest)); err == nil && rest != "" {
			err = fmt.Errorf("%q behind the new name", rest)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%q: %w", given, err)
	}
	return from, to, nil
}

// cutNames takes NAME or SCHEMA.NAME off the front of a text.
func cutNames(s string) (names []format.Name, rest string, err error) {
	rest = strings.TrimSpace(s)
	for {
		end := len(rest)
		if !strings.HasPrefix(rest, `"`) {
			if i := strings.IndexAny(rest, `.= "`); i >= 0 {
				end = i
			}
		}
		name, behind, err := cutName(rest[:end])
		if err != nil {
			return nil, "", errors.New(strings.Replace(err.Error(), "name of a schema", "name", 1))
		}
		names = append(names, format.Name(name))
		rest = strings.TrimSpace(behind + rest[end:])
		if !strings.HasPrefix(rest, ".") || len(names) == 2 {
			return names, rest, nil
		}
		rest = strings.TrimSpace(rest[1:])
	}
}

// newMapping reads the options against the names that the dump has.
func newMapping(given []string, m *format.Manifest) (*mapping, error) {
	r := &mapping{schemas: map[format.Name]format.Name{}, tables: map[pg.Qualified]pg.Qualified{}}
	schemas, tables := relationsOf(m)
	for _, text := range given {
		from, to, err := splitMap(text)
		if err != nil {
			return nil, err
		}
		wrong := func(form string, args ...any) error {
			return withHint(fmt.Errorf("--map %s: %s", text, fmt.Sprintf(form, args...)), "write SCHEMA=SCHEMA, or SCHEMA.TABLE=SCHEMA.TABLE")
		}
		old := pg.Qualified{Name: from[len(from)-1]}
		if len(from) == 1 && (schemas[old.Name] || len(tables) == 0) {
			if len(to) != 1 {
				return nil, wrong("%q is a schema, and %q a table", string(old.Name), pg.Qualified{Schema: to[0], Name: to[1]}.String())
			}
			if _, twice := r.schemas[old.Name]; twice {
				return nil, wrong("the schema has a new name already")
			}
			r.schemas[old.Name] = to[0]
			continue
		}
		if len(from) == 2 {
			old.Schema = from[0]
		} else if old, err = theOne(tables, old.Name); err != nil {
			return nil, wrong("%v", err)
		}
		if len(tables) > 0 && !slices.Contains(tables, old) {
			return nil, wrong("the dump has no table %q", old.String())
		}
		if _, twice := r.tables[old]; twice {
			return nil, wrong("the table has a new name already")
		}
		r.tables[old] = pg.Qualified{Name: to[len(to)-1]}
		if len(to) == 2 {
			r.tables[old] = pg.Qualified{Schema: to[0], Name: to[1]}
		}
	}
	return r, r.collisions(schemas, tables)
}

// relationsOf lists the schemas and tables that a manifest speaks of. One of definitions alone names no tables.
func relationsOf(m *format.Manifest) (schemas map[format.Name]bool, tables []pg.Qualified) {
	schemas = map[format.Name]bool{}
	for _, t := range m.Tables {
		schemas[t.Schema] = true
		tables = append(tables, pg.Qualified{Schema: t.Schema, Name: t.Name})
		if t.Root != nil {
			schemas[t.Root.Schema] = true
			tables = append(tables, pg.Qualified{Schema: t.Root.Schema, Name: t.Root.Name})
		}
	}
	for _, s := range m.Sequences {
		schemas[s.Schema] = true
	}
	for _, v := range m.MatViews {
		schemas[v.Schema] = true
	}
	return schemas, tables
}

func theOne(tables []pg.Qualified, name format.Name) (one pg.Qualified, err error) {
	for _, q := range tables {
		if q.Name != name || q == one {
			continue
		}
		if one.Name != "" {
			return one, fmt.Errorf("tables of this name are in schemas %q and %q", string(one.Schema), string(q.Schema))
		}
		one = q
	}
	if one.Name == "" {
		return one, fmt.Errorf("the dump has no schema and no table %q", string(name))
	}
	return one, nil
}

// collisions refuses new names that two things of the dump would have.
func (m *mapping) collisions(schemas map[format.Name]bool, tables []pg.Qualified) error {
	took := map[format.Name]format.Name{}
	for s := range schemas {
		if other, taken := took[m.schema(s)]; taken {
			return fmt.Errorf("--map: schemas %q and %q of the dump would both be %q", string(min(s, other)), string(max(s, other)), string(m.schema(s)))
		}
		took[m.schema(s)] = s
	}
	owner := map[pg.Qualified]pg.Qualified{}
	for _, q := range tables {
		if other, taken := owner[m.of(q)]; taken && other != q {
			return fmt.Errorf("--map: tables %q and %q of the dump would both be %q", other.String(), q.String(), m.of(q).String())
		}
		owner[m.of(q)] = q
	}
	return nil
}

// schema is a schema's name on the target.
func (m *mapping) schema(name format.Name) format.Name {
	if to, mapped := m.schemas[name]; mapped {
		return to
	}
	return name
}

// of is a relation's name on the target.
func (m *mapping) of(q pg.Qualified) pg.Qualified {
	to, mapped := m.tables[q]
	switch {
	case !mapped:
		return pg.Qualified{Schema: m.schema(q.Schema), Name: q.Name}
	case to.Schema == "":
		to.Schema = m.schema(q.Schema)
	}
	return to
}

func (m *mapping) empty() bool { return len(m.schemas)+len(m.tables) == 0 }

// columns gives columns as they are on the target: their types may lie in a schema of another name.
func (m *mapping) columns(list []format.Column) []format.Column {
	if len(m.schemas) == 0 {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].TypeSchema = m.schema(list[i].TypeSchema)
	}
	return list
}

// types does the same for the types that columns reach.
func (m *mapping) types(list []format.Type) []format.Type {
	if len(m.schemas) == 0 {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].Schema = m.schema(list[i].Schema)
	}
	return list
}

// String identifies the mapping, so that a resumed restore has the same one.
func (m *mapping) String() string {
	var list []string
	for from, to := range m.schemas {
		list = append(list, fmt.Sprintf("--map %s=%s ", from, to))
	}
	for from := range m.tables {
		list = append(list, fmt.Sprintf("--map %s=%s ", from, m.of(from)))
	}
	slices.Sort(list)
	return strings.Join(list, "")
}
