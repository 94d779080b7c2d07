package restore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgtools"
)

// entry is one entry of the archive of definitions.
type entry struct {
	pgtools.TOCEntry
	needs []int // entries that it depends on
}

// archive is the listing of a dump's definitions, in the archive's order.
type archive struct {
	path    string
	entries []*entry
	byID    map[int]*entry
}

// readArchive lists the archive; when the pg_restore of the source's version can't read it, because a later pg_dump wrote it, with the newest.
func (j *job) readArchive(ctx context.Context) (*archive, error) {
	path, err := j.origin.Archive(ctx)
	if err != nil {
		return nil, err
	}
	a, err := listArchive(ctx, j.tools, path)
	if err == nil || ctx.Err() != nil {
		return a, err
	}
	newest, findErr := pgtools.Find(j.o.PgBinDir, 0)
	if findErr != nil || newest.Major <= j.tools.Major {
		return nil, err
	}
	newest.Line = j.tools.Line
	j.tools = newest
	return listArchive(ctx, newest, path)
}

// listArchive reads the table of contents with the dependencies, which pg_restore shows with -v as comments behind the entry.
func listArchive(ctx context.Context, tools *pgtools.Tools, path string) (*archive, error) {
	var out strings.Builder
	if _, err := tools.Restore(ctx, pgtools.Conn{}, &out, "-v", "-l", path); err != nil {
		return nil, err
	}
	return parseArchive(path, out.String())
}

// dependsOn starts the comment that lists an entry's dependencies: PrintTOCSummary in src/bin/pg_dump/pg_backup_archiver.c.
const dependsOn = ";\tdepends on:"

func parseArchive(path, listing string) (*archive, error) {
	a := &archive{path: path, byID: map[int]*entry{}}
	toc, err := pgtools.ParseTOC(strings.NewReader(listing))
	if err != nil {
		return nil, err
	}
	for _, e := range toc {
		x := &entry{TOCEntry: e}
		a.entries = append(a.entries, x)
		a.byID[e.DumpID] = x
	}
	lines := bufio.NewScanner(strings.NewReader(listing))
	lines.Buffer(nil, len(listing)+1)
	var last *entry
	for lines.Scan() {
		line := lines.Text()
		if list, ok := strings.CutPrefix(line, dependsOn); ok && last != nil {
			for field := range strings.FieldsSeq(list) {
				id, err := strconv.Atoi(field)
				if err != nil {
					return nil, fmt.Errorf("archive listing: dependency %q", field)
				}
				last.needs = append(last.needs, id)
			}
			continue
		}
		if number, _, ok := strings.Cut(line, ";"); ok {
			if id, err := strconv.Atoi(number); err == nil {
				last = a.byID[id]
			}
		}
	}
	return a, lines.Err()
}

// largeObjects are the OIDs of the large objects that the archive names one by one, as pg_dump before 17 does.
func (a *archive) largeObjects() (oids []uint32) {
	for _, e := range a.entries {
		if e.Desc != "BLOB" && e.Desc != "BLOB METADATA" {
			continue
		}
		if oid, err := strconv.ParseUint(e.Name, 10, 32); err == nil {
			oids = append(oids, uint32(oid))
		}
	}
	return oids
}

// isLargeObject tells entries that make large objects, fill or describe them.
func (e *entry) isLargeObject() bool {
	return strings.HasPrefix(e.Desc, "BLOB") || e.Schema == "" && strings.HasPrefix(e.Name, "LARGE OBJECT") && slices.Contains([]string{"ACL", "COMMENT", "SECURITY LABEL"}, e.Desc)
}

// belonging are the kinds of entries that are part of a table, or hang on it.
var belonging = []string{"ACL", "CHECK CONSTRAINT", "COMMENT", "CONSTRAINT", "DEFAULT", "FK CONSTRAINT", "INDEX", "INDEX ATTACH", "POLICY", "ROW SECURITY", "RULE",
	"SECURITY LABEL", "SEQUENCE", "SEQUENCE OWNED BY", "STATISTICS", "TABLE ATTACH", "TRIGGER"}

// relationDescs are the kinds of entries that -t can name.
var relationDescs = []string{"TABLE", "VIEW", "MATERIALIZED VIEW", "FOREIGN TABLE", "SEQUENCE"}

// chosen is a part of an archive.
type chosen struct {
	entries map[int]bool
	support map[int]bool // taken along because a chosen table needs it: it may be there already
	left    []string     // foreign keys that would point to nothing
}

// choose picks the entries that a choice means. With tables chosen one by one these are the tables, what belongs to them, and what they need to
// exist (types, schemas, functions of defaults …); with schemas, what lies in them, and what lies in none.
func (a *archive) choose(c *choice) *chosen {
	ch := &chosen{entries: map[int]bool{}, support: map[int]bool{}}
	if c.byTables() {
		a.chooseTables(c, ch)
		return ch
	}
	dropped := map[int]bool{}
	for _, e := range a.entries {
		if !a.inSchemas(c, e) {
			dropped[e.DumpID] = true
			continue
		}
		if slices.Contains(belonging, e.Desc) && slices.ContainsFunc(e.needs, func(id int) bool { return dropped[id] && a.isRelation(id) }) {
			dropped[e.DumpID] = true
			if e.Desc == "FK CONSTRAINT" {
				ch.left = append(ch.left, e.Schema+"."+e.Name)
			}
			continue
		}
		ch.entries[e.DumpID] = true
	}
	return ch
}

func (a *archive) isRelation(id int) bool {
	return a.byID[id] != nil && slices.Contains(relationDescs, a.byID[id].Desc)
}

// inSchemas tells whether an entry lies in a chosen schema, or makes one. As with pg_dump, a choice of schemas leaves out what lies in none.
func (a *archive) inSchemas(c *choice, e *entry) bool {
	name := pg.Qualified{Schema: format.Name(e.Schema), Name: format.Name(e.Name)}
	switch {
	case e.Schema != "" && slices.Contains(relationDescs, e.Desc):
		return c.has(name)
	case e.Schema != "":
		return c.hasSchema(name.Schema)
	case e.Desc == "SCHEMA":
		return c.hasSchema(name.Name)
	case e.Desc == "EXTENSION":
		return c.hasExtension(name.Name)
	case e.Desc == "COMMENT" || e.Desc == "ACL" || e.Desc == "SECURITY LABEL":
		if schema, ok := strings.CutPrefix(e.Name, "SCHEMA "); ok {
			return c.hasSchema(format.Name(schema))
		}
		if extension, ok := strings.CutPrefix(e.Name, "EXTENSION "); ok {
			return c.hasExtension(format.Name(extension))
		}
	}
	return !c.partial() || e.isLargeObject()
}

func (a *archive) chooseTables(c *choice, ch *chosen) {
	tables := map[int]bool{}
	for _, e := range a.entries {
		if slices.Contains(relationDescs, e.Desc) && c.has(pg.Qualified{Schema: format.Name(e.Schema), Name: format.Name(e.Name)}) {
			tables[e.DumpID], ch.entries[e.DumpID] = true, true
		}
	}
	a.addPartitions(c, tables, ch)
	for grown := true; grown; {
		grown = false
		for _, e := range a.entries {
			if ch.entries[e.DumpID] || !slices.Contains(belonging, e.Desc) || !slices.ContainsFunc(e.needs, func(id int) bool { return tables[id] || ch.entries[id] && a.isPart(id) }) {
				continue
			}
			if slices.ContainsFunc(e.needs, func(id int) bool { return a.isRelation(id) && a.byID[id].Desc != "SEQUENCE" && !tables[id] }) {
				if e.Desc == "FK CONSTRAINT" && !slices.Contains(ch.left, e.Schema+"."+e.Name) {
					ch.left = append(ch.left, e.Schema+"."+e.Name)
				}
				continue
			}
			ch.entries[e.DumpID], grown = true, true
		}
	}
	a.addNamed(ch, func(e *entry) bool {
		return e.Desc != "INDEX" && e.Desc != "TRIGGER" && c.named(e) || e.Desc == "EXTENSION" && c.hasExtension(format.Name(e.Name))
	})
	for id := range ch.entries {
		a.addSupport(id, ch)
	}
	for id := range ch.support {
		if e := a.byID[id]; e.Desc == "EXTENSION" && anyOf(c.notExtensions, pg.Qualified{Name: format.Name(e.Name)}) {
			delete(ch.support, id)
			continue
		}
		ch.entries[id] = true
	}
	a.addNamed(ch, func(e *entry) bool {
		return (e.Desc == "INDEX" || e.Desc == "TRIGGER") && c.named(e) || c.large() && e.isLargeObject()
	}) // their tables are there
}

// addNamed adds the entries that are wanted, and their comments and privileges.
func (a *archive) addNamed(ch *chosen, wanted func(*entry) bool) {
	added := map[int]bool{}
	for _, e := range a.entries {
		if !ch.entries[e.DumpID] && wanted(e) {
			ch.entries[e.DumpID], added[e.DumpID] = true, true
		}
	}
	for _, e := range a.entries {
		if (e.Desc == "COMMENT" || e.Desc == "ACL" || e.Desc == "SECURITY LABEL") && slices.ContainsFunc(e.needs, func(id int) bool { return added[id] }) {
			ch.entries[e.DumpID] = true
		}
	}
}

// isPart tells entries that others may hang on besides the table itself: a comment on an index, an index's attachment.
func (a *archive) isPart(id int) bool {
	return a.byID[id] != nil && slices.Contains(belonging, a.byID[id].Desc)
}

// addPartitions takes the partitions of chosen roots along: a TABLE ATTACH needs both.
func (a *archive) addPartitions(c *choice, tables map[int]bool, ch *chosen) {
	for grown := true; grown; {
		grown = false
		for _, e := range a.entries {
			if e.Desc != "TABLE ATTACH" || !slices.ContainsFunc(e.needs, func(id int) bool { return tables[id] }) {
				continue
			}
			for _, id := range e.needs {
				if x := a.byID[id]; x != nil && x.Desc == "TABLE" && !tables[id] && !anyOf(c.notTables, pg.Qualified{Schema: format.Name(x.Schema), Name: format.Name(x.Name)}) {
					tables[id], ch.entries[id], grown = true, true, true
				}
			}
		}
	}
}

// addSupport takes along what an entry depends on.
func (a *archive) addSupport(id int, ch *chosen) {
	for _, need := range a.byID[id].needs {
		if a.byID[need] == nil || ch.entries[need] || ch.support[need] {
			continue
		}
		ch.support[need] = true
		a.addSupport(need, ch)
	}
}

// errNoEntries says that nothing is left to restore.
var errNoEntries = errors.New("no entries")

// list writes what pg_restore -L wants: the lines of the entries that keep holds.
func (a *archive) list(keep func(*entry) bool) (string, error) {
	var b strings.Builder
	for _, e := range a.entries {
		if keep(e) {
			b.WriteString(e.Line + "\n")
		}
	}
	if b.Len() == 0 {
		return "", errNoEntries
	}
	return b.String(), nil
}

// name is an entry's name for people.
func (e *entry) name() string {
	if e.Schema == "" {
		return e.Name
	}
	return e.Schema + "." + e.Name
}
