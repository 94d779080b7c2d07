package restore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// A restore with definitions makes everything under the dump's names and gives schemas and tables their new ones at the end, all in one transaction: what
// refers to them (keys, views, defaults, functions with parsed bodies) follows, because the server knows it by number. What names them in text does not.

// checkMap refuses names that stand in the way: nothing but what this restore makes may be renamed, and nothing may have a new name already.
func (j *job) checkMap(ctx context.Context, f *findings) error {
	m := j.plan.rename
	if m.empty() {
		return nil
	}
	if j.archive != nil {
		j.checkMapNames(f)
	}
	for _, from := range slices.Sorted(maps.Keys(m.schemas)) {
		f.warn("schema "+string(from), "restored as "+string(m.schemas[from])+"; text that names it is not changed: bodies of functions, dynamic SQL, settings of search_path", "", "")
	}
	for from, to := range sortedTables(m) {
		f.warn(from.String(), "restored as "+to.String()+"; text that names it is not changed: bodies of functions, dynamic SQL; indexes, constraints and sequences keep their names", "", "")
	}
	if !j.onTarget || j.resumed {
		return nil
	}
	for from, to := range m.schemas {
		if err := j.checkSchemaRename(ctx, f, from, to); err != nil {
			return err
		}
	}
	return j.checkTableRenames(ctx, f)
}

func sortedTables(m *mapping) func(yield func(from, to pg.Qualified) bool) {
	keys := slices.SortedFunc(maps.Keys(m.tables), func(a, b pg.Qualified) int { return cmp.Compare(a.String(), b.String()) })
	return func(yield func(from, to pg.Qualified) bool) {
		for _, from := range keys {
			if !yield(from, m.of(from)) {
				return
			}
		}
	}
}

// checkMapNames looks the names up among the definitions.
func (j *job) checkMapNames(f *findings) {
	m := j.plan.rename
	schemas, relations := map[format.Name]bool{publicSchema: true}, map[pg.Qualified]bool{}
	for _, e := range j.archive.entries {
		switch {
		case e.Desc == "SCHEMA":
			schemas[format.Name(e.Name)] = true
		case slices.Contains(relationDescs, e.Desc):
			relations[pg.Qualified{Schema: format.Name(e.Schema), Name: format.Name(e.Name)}] = true
		}
	}
	for from, to := range m.schemas {
		if !schemas[from] {
			f.bad("--map "+string(from), "no such schema", "", "pghaul inspect lists what is in the dump")
		}
		if _, leaves := m.schemas[to]; schemas[to] && !leaves && to != publicSchema {
			f.bad("schema "+string(from), "to be renamed to "+string(to)+", which is another schema of the dump", "", "choose another name, or map that schema too")
		}
	}
	for from, to := range sortedTables(m) {
		if !relations[from] {
			f.bad("--map "+from.String(), "no such table", "", "pghaul inspect lists what is in the dump")
		}
		for q := range relations {
			if q != from && m.of(q) == to {
				f.bad(from.String(), "to be renamed to "+to.String()+", which "+q.String()+" of the dump is", "", "choose another name, or map that table too")
			}
		}
	}
}

// publicSchema is there in every new database.
const publicSchema format.Name = "public"

func (j *job) checkSchemaRename(ctx context.Context, f *findings, from, to format.Name) error {
	there, err := j.leader.SchemaExists(ctx, from)
	if err == nil && there && from == publicSchema {
		there, err = j.leader.SchemaHolds(ctx, from)
	}
	if err != nil {
		return err
	}
	if there { // --clean leaves a schema in which there is more
		f.bad("schema "+string(from), "to be made, and renamed to "+string(to), "exists already, and what is in it would be renamed too", "rename the schema that is there first, or restore the rows alone with --data-only")
	}
	if _, leaves := j.plan.rename.schemas[to]; leaves {
		return nil
	}
	there, err = j.leader.SchemaExists(ctx, to)
	if there {
		f.bad("schema "+string(to), "the new name of schema "+string(from), "exists already", "choose another name, or drop the schema that is there")
	}
	return err
}

func (j *job) checkTableRenames(ctx context.Context, f *findings) error {
	m := j.plan.rename
	var names []pg.Qualified
	for from, to := range sortedTables(m) {
		names = append(names, from, to)
	}
	found, err := j.leader.Targets(ctx, names)
	if err != nil {
		return err
	}
	made := map[format.Name]bool{publicSchema: true}
	if j.archive != nil {
		for _, e := range j.archive.entries {
			if e.Desc == "SCHEMA" {
				made[m.schema(format.Name(e.Name))] = true
			}
		}
	}
	for from, to := range sortedTables(m) {
		switch {
		case found[from] == nil:
		case j.o.Clean: // which drops by the dump's names: nothing would come into the place of this one
			f.bad(from.String(), "to be made, and renamed to "+to.String(), "exists already, and --clean would drop it for good", "rename the table that is there first, or restore the rows alone with --data-only")
		default:
			f.once(from.String(), "to be made", "exists already", "restore into an empty database, or only the rows with --data-only")
		}
		if _, leaves := m.tables[to]; found[to] != nil && !leaves {
			f.bad(to.String(), "the new name of "+from.String(), "exists already", "choose another name, or drop the table that is there")
		}
		there, err := j.leader.SchemaExists(ctx, to.Schema)
		if err != nil {
			return err
		}
		if !there && !made[to.Schema] {
			f.bad("schema "+string(to.Schema), "the new place of "+from.String(), "no such schema", "CREATE SCHEMA "+pg.QuoteIdent(to.Schema))
		}
	}
	return nil
}

// renameAll gives schemas and tables their new names, once nothing else is missing: what is tried again on a resumed restore has the dump's names.
func (j *job) renameAll(ctx context.Context) error {
	m := j.plan.rename
	if len(j.sum.Gaps) > 0 {
		for _, from := range slices.Sorted(maps.Keys(m.schemas)) {
			j.gap(0, Gap{Kind: "RENAME", Name: string(from), Message: "waits until nothing else is missing"})
		}
		for from := range sortedTables(m) {
			j.gap(0, Gap{Kind: "RENAME", Name: from.String(), Message: "waits until nothing else is missing"})
		}
		return nil
	}
	sql := append([]string{"BEGIN"}, m.statements()...)
	if j.journal != nil {
		sql = append(sql, j.journal.phaseSQL(j.leader, PhaseRename))
	}
	if err := j.leader.Exec(ctx, strings.Join(sql, "; ")+"; COMMIT"); err != nil {
		if !j.leader.IsClosed() {
			_ = j.leader.Exec(ctx, "ROLLBACK") // the first error is the one to tell
		}
		return withHint(pg.Wrap(err, "new names"), "make room for the new names")
	}
	if _, gone := m.schemas[publicSchema]; gone {
		j.makePublic(ctx)
	}
	return nil
}

// statements rename all that has another name, through names that nothing has, so that two may change places.
func (m *mapping) statements() (sql []string) {
	temporary := "pghaul_" + randomName() + "_"
	add := func(form string, args ...any) { sql = append(sql, fmt.Sprintf(form, args...)) }
	names := map[pg.Qualified]format.Name{}
	for from := range sortedTables(m) {
		names[from] = format.Name(fmt.Sprintf("%s%d", temporary, len(names)))
		add("ALTER TABLE %s RENAME TO %s", from.SQL(), pg.QuoteIdent(names[from]))
	}
	order := slices.Sorted(maps.Keys(m.schemas))
	for i, from := range order {
		add("ALTER SCHEMA %s RENAME TO %s", pg.QuoteIdent(from), pg.QuoteIdent(fmt.Sprintf("%ss%d", temporary, i)))
	}
	for i, from := range order {
		add("ALTER SCHEMA %s RENAME TO %s", pg.QuoteIdent(fmt.Sprintf("%ss%d", temporary, i)), pg.QuoteIdent(m.schemas[from]))
	}
	for from, to := range sortedTables(m) {
		at := m.schema(from.Schema)
		if to.Schema != at {
			add("ALTER TABLE %s SET SCHEMA %s", pg.QuoteName(at, names[from]), pg.QuoteIdent(to.Schema))
		}
		add("ALTER TABLE %s RENAME TO %s", pg.QuoteName(to.Schema, names[from]), pg.QuoteIdent(to.Name))
	}
	return sql
}

// publicAgain makes the schema public where an earlier run has renamed it and was ended before it made another.
func (j *job) publicAgain(ctx context.Context) error {
	if _, gone := j.plan.rename.schemas[publicSchema]; !gone {
		return nil
	}
	there, err := j.leader.SchemaExists(ctx, publicSchema)
	if err == nil && !there {
		j.makePublic(ctx)
	}
	return err
}

// makePublic makes an empty schema public as a new database has it, in the place of the one that was renamed. Without it, too, all rows are there.
func (j *job) makePublic(ctx context.Context) {
	rights := "USAGE"
	owner := ""
	if j.leader.Version >= 150000 {
		owner = " AUTHORIZATION pg_database_owner"
	} else {
		rights += ", CREATE"
	}
	err := j.leader.Exec(ctx, "CREATE SCHEMA public"+owner+"; GRANT "+rights+" ON SCHEMA public TO PUBLIC; COMMENT ON SCHEMA public IS 'standard public schema'")
	if err != nil {
		j.warn("schema public was renamed, and no new one was made: %v", err)
	}
}
