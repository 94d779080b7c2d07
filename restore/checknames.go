package restore

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// checkNames refuses names of the dump that the target cannot have, so that no query with them fails, and rows for the journals of restores: nobody's dump
// holds any, and nothing of a dump goes there.
func (j *job) checkNames(_ context.Context, f *findings) error {
	for _, q := range j.relations() {
		if q.Schema == pg.JournalSchema || j.journal != nil && string(q.Schema) == j.journal.schema {
			f.bad(q.String(), "lies in the schema of journals", "", "name another one with --journal-schema, or leave it out with -T")
		}
		j.checkName(f, "relation", q.Schema, q.Name)
	}
	if !j.o.parts.definitions() {
		return nil // nothing else is asked for
	}
	for _, e := range j.m.Extensions {
		j.checkName(f, "extension", e.Name)
	}
	if !j.o.NoOwner || !j.o.NoPrivileges {
		j.checkName(f, "role", j.m.Roles...)
	}
	if j.o.Create {
		j.checkName(f, "role", j.databaseRoles()...)
	}
	return nil
}

// relations are all that the restore is going to ask the target for.
func (j *job) relations() (list []pg.Qualified) {
	for _, t := range j.plan.tables {
		list = append(list, t.name)
		if t.entry.Root != nil {
			list = append(list, pg.Qualified{Schema: t.entry.Root.Schema, Name: t.entry.Root.Name})
		}
	}
	for _, s := range j.plan.sequences {
		list = append(list, pg.Qualified{Schema: s.Schema, Name: s.Name})
	}
	for _, v := range j.plan.matviews {
		list = append(list, pg.Qualified{Schema: v.Schema, Name: v.Name})
	}
	return list
}

// checkName refuses bytes that are no text in the target's encoding. Only databases without an encoding have such names.
func (j *job) checkName(f *findings, what string, names ...format.Name) {
	for _, n := range names {
		if !utf8.ValidString(string(n)) && j.leader.Encoding != "SQL_ASCII" {
			f.once(fmt.Sprintf("%s %q", what, string(n)), "the name is not valid UTF-8", "encoding "+j.leader.Encoding, "restore into a database of encoding SQL_ASCII")
		}
	}
}
