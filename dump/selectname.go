package dump

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// namePattern is a psql pattern for names without a schema: of extensions, of foreign servers.
type namePattern struct {
	given string
	name  *regexp.Regexp
}

func newNamePattern(given string) (*namePattern, error) {
	p, err := pg.ParseSchemaPattern(given)
	if err != nil {
		return nil, err
	}
	name, err := regexp.Compile("(?s)" + p.Schema)
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", given, err)
	}
	return &namePattern{given, name}, nil
}

func namedBy(patterns []*namePattern, name format.Name) bool {
	return slices.ContainsFunc(patterns, func(p *namePattern) bool { return p.name.MatchString(string(name)) })
}

// hasExtension tells whether the definition of an extension belongs to the dump, and with it the rows of its configuration tables: all, unless parts of the
// database are chosen; with -e those that it names.
func (s *selection) hasExtension(name format.Name) bool {
	switch {
	case namedBy(s.notExtensions, name):
		return false
	case len(s.extensions) > 0:
		return namedBy(s.extensions, name)
	}
	return !s.partial()
}

// checkExtensions refuses patterns that name no extension: as in pg_dump, when none of them does, and with strict names any.
func (s *selection) checkExtensions(all []format.Extension) error {
	return s.checkNames(s.extensions, "extensions", func(p *namePattern) bool {
		return p.name.MatchString("plpgsql") || slices.ContainsFunc(all, func(e format.Extension) bool { return p.name.MatchString(string(e.Name)) })
	})
}

// checkServers refuses patterns that name no foreign server. As in pg_dump each has to name one.
func (s *selection) checkServers(ctx context.Context, conn *pg.Conn) error {
	if len(s.servers) == 0 {
		return nil
	}
	all, err := conn.ForeignServers(ctx)
	if err != nil {
		return err
	}
	for _, p := range s.servers {
		if !slices.ContainsFunc(all, func(n format.Name) bool { return p.name.MatchString(string(n)) }) {
			return withHint(fmt.Errorf("no matching foreign servers were found for pattern %q", p.given), "pg_foreign_server lists them")
		}
	}
	return nil
}

func (s *selection) checkNames(patterns []*namePattern, what string, matches func(*namePattern) bool) error {
	unmatched := 0
	for _, p := range patterns {
		if matches(p) {
			continue
		}
		if unmatched++; s.strict || unmatched == len(patterns) {
			return fmt.Errorf("no matching %s were found for pattern %q", what, p.given)
		}
	}
	return nil
}

// From these majors on pg_dump has --table-and-children and its like, and --exclude-extension.
const (
	childrenSince         = 16
	excludeExtensionSince = 17
)

// toolPatterns says to pg_dump what is chosen. Where it knows no option for that, it gets the names that there are under the locks of the leader.
func (j *job) toolPatterns(ctx context.Context, sel *selection) (args []string, err error) {
	o := j.options
	for _, set := range []struct {
		flag     string
		patterns []string
	}{{"schema", o.Schemas}, {"exclude-schema", o.ExcludeSchemas}, {"table", o.Tables}, {"exclude-table", o.ExcludeTables}} {
		args = append(args, optionsOf(set.flag, set.patterns)...)
	}
	for _, set := range []struct {
		flag     string
		given    []string
		patterns []pg.Pattern
	}{{"table", o.TablesAndChildren, sel.tables.whole}, {"exclude-table", o.ExcludeTablesAndChildren, sel.exclude.whole}} {
		switch {
		case len(set.given) == 0:
		case j.tools.Major >= childrenSince:
			args = append(args, optionsOf(set.flag+"-and-children", set.given)...)
		default:
			names, err := j.treeNames(ctx, set.patterns)
			if err != nil {
				return nil, err
			}
			args = append(args, optionsOf(set.flag, names)...)
		}
	}
	args = append(args, "--exclude-schema="+pg.JournalSchema)
	if sel.byTables() { // which leaves --exclude-schema without effect, and with a wildcard for schemas names the server's own tables
		args = append(args, optionsOf("exclude-table", []string{pg.JournalSchema + ".*", "pg_catalog.*", "information_schema.*"})...)
	}
	more, err := j.toolExtensions(sel)
	return append(args, more...), err
}

// treeNames gives tables with all their partitions and children, as patterns that name nothing else.
func (j *job) treeNames(ctx context.Context, patterns []pg.Pattern) ([]string, error) {
	conn := j.leader.conn
	oids, _, err := conn.MatchTables(ctx, patterns)
	if err == nil {
		oids, err = conn.WithChildren(ctx, oids)
	}
	if err != nil {
		return nil, err
	}
	found, err := conn.Names(ctx, oids)
	names := make([]string, len(found))
	for i, q := range found {
		names[i] = pg.ExactPattern(q)
	}
	return names, err
}

// toolExtensions are pg_dump's options for extensions.
func (j *job) toolExtensions(sel *selection) ([]string, error) {
	o := j.options
	switch {
	case len(sel.notExtensions) == 0:
		return optionsOf("extension", o.Extensions), nil
	case j.tools.Major >= excludeExtensionSince:
		return append(optionsOf("extension", o.Extensions), optionsOf("exclude-extension", o.ExcludeExtensions)...), nil
	case len(sel.extensions) == 0 && sel.partial():
		return nil, nil // none is taken
	case len(sel.extensions) == 0:
		return nil, withHint(fmt.Errorf("pg_dump %d cannot leave out single extensions", j.tools.Major),
			fmt.Sprintf("install that of version %d (--pg-bindir names its folder), or choose the others with -e", excludeExtensionSince))
	case len(j.plan.extensions) == 0:
		return nil, errors.New("all of the chosen extensions are left out again")
	}
	var args []string
	for _, e := range j.plan.extensions {
		args = append(args, "--extension="+pg.ExactName(e.Name))
	}
	return args, nil
}

func optionsOf(flag string, values []string) []string {
	args := make([]string, len(values))
	for i, v := range values {
		args[i] = "--" + flag + "=" + v
	}
	return args
}
