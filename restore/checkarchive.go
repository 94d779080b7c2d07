package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pgtools"
)

// checkArchive finds pg_restore and lists the archive of definitions, when the restore needs it.
func (j *job) checkArchive(ctx context.Context, f *findings) error {
	if !j.o.parts.definitions() && !j.hasLargeObjects() {
		return j.plan.choice.unmatched(false)
	}
	if j.m.Schema == nil {
		f.bad(format.SchemaName, "holds no definitions", "", "the dump was taken with --data-only: make the tables, then restore with --data-only")
		return nil
	}
	if j.damaged[format.SchemaName] {
		return nil
	}
	tools, err := pgtools.Find(j.o.PgBinDir, j.m.Source.Server.VersionNum/10000)
	if err != nil {
		if f.refused() != nil {
			return nil // a version that is refused anyway
		}
		return err
	}
	j.tools = tools
	j.tools.Line = func(line string) { j.logf("%s", line) }
	if j.archive, err = j.readArchive(ctx); err != nil {
		return j.unreadableArchive(ctx, f, err)
	}
	j.checkDefined(f)
	j.plan.choice.learn(j.archive)
	return j.plan.choice.unmatched(true)
}

// unreadableArchive tells an archive that pg_restore refuses, which is a finding, from a pg_restore that could not work.
func (j *job) unreadableArchive(ctx context.Context, f *findings, err error) error {
	var refused *pgtools.Error
	if ctx.Err() != nil || !errors.As(err, &refused) || refused.ExitCode < 0 {
		return err
	}
	hint := damagedHint
	if strings.Contains(refused.Stderr, laterArchive) {
		hint = fmt.Sprintf("pg_restore here is of version %d, and a later pg_dump wrote the archive: install PostgreSQL's client programs of that version, or name their folder with --pg-bindir", j.tools.Major)
	}
	f.bad(format.SchemaName, "", err.Error(), hint)
	return nil
}

// laterArchive is what pg_restore says of an archive whose format is later than its own: ReadHead in src/bin/pg_dump/pg_backup_archiver.c.
const laterArchive = "unsupported version ("

// checkDefined demands a definition in the archive for each table that has rows: one that lacks them is of another dump.
func (j *job) checkDefined(f *findings) {
	if !j.o.parts.definitions() {
		return // the archive is here for its large objects
	}
	listed := map[string]bool{}
	for _, e := range j.archive.entries {
		if slices.Contains(relationDescs, e.Desc) {
			e.addNames(listed)
		}
	}
	for _, t := range j.plan.tables {
		name := string(t.name.Schema) + " " + string(t.name.Name)
		if t.config() || listed[asListed.Replace(name)] || j.m.Source.Server.Encoding != "UTF8" && !ascii(name) {
			continue
		}
		f.bad(t.name.String(), "has rows for it", format.SchemaName+" does not define it", "the archive is of another dump: "+damagedHint+"; or make the table and restore with --data-only")
	}
}

// asListed is what pg_restore makes of names: sanitize_line in src/bin/pg_dump/pg_backup_archiver.c.
var asListed = strings.NewReplacer("\n", " ", "\r", " ")

// addNames notes schema and name of an entry, as they are listed. Which space of a line ends the name nobody can tell, so it is each of them.
func (e *entry) addNames(listed map[string]bool) {
	line := e.Schema + " " + e.Name + " " + e.Owner
	for i := range len(line) {
		if line[i] == ' ' {
			listed[line[:i]] = true
		}
	}
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}
