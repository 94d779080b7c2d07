package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/restore"
)

// leaveOut are the flags for what a target does without. owner says whose its objects are then.
func (f flags) leaveOut(o *restore.Options, owner string) {
	f.boolean(&o.NoOwner, "no-owner", "", "leave ownership to the user that "+owner)
	f.boolean(&o.NoPrivileges, "no-privileges", "", "no GRANTs")
	f.boolean(&o.NoComments, "no-comments", "", "no comments")
	f.boolean(&o.NoPublications, "no-publications", "", "no publications")
	f.boolean(&o.NoSubscriptions, "no-subscriptions", "", "no subscriptions")
	f.boolean(&o.NoTablespaces, "no-tablespaces", "", "everything in the default tablespace")
}

// intoTarget are the flags for how rows and definitions go into a target; a job is a restore, or a run of a migrate.
func (f flags) intoTarget(o *restore.Options, onExisting *string, job string) {
	f.boolean(&o.Create, "create", "", "make the database, with the source's encoding, locale,\nsettings and privileges")
	f.boolean(&o.Clean, "clean", "", "drop what is to be made anew; with --create: the database")
	f.boolean(&o.IfExists, "if-exists", "", "with --clean: say nothing of what is not there")
	f.list(&o.Map, "map", "", "OLD=NEW", "a schema, or a table (SCHEMA.TABLE=SCHEMA.TABLE),\nunder another name")
	f.choice(onExisting, "on-existing", "", "what to do with rows that a table holds already (fail)", "fail", "truncate", "append")
	f.boolean(&o.DisableTriggers, "disable-triggers", "", "rows go past the triggers and foreign keys of tables\nthat exist; foreign keys are checked afterwards")
	f.boolean(&o.AllowCast, "allow-cast", "", "let the server cast values where a column has another type,\nthough that may lose")
	f.list(&o.DropColumns, "drop-column", "", "TABLE.COLUMN", "leave a column behind that the target lacks")
	f.boolean(&o.NoProve, "no-prove", "", "do not read the rows back")
	f.boolean(&o.NoAnalyze, "no-analyze", "", "do not ANALYZE at the end")
	f.boolean(&o.Resume, "resume", "", "go on with an interrupted "+job)
	f.text(&o.JournalSchema, "journal-schema", "", "SCHEMA", "where the target keeps the journal (pghaul_journal)")
	f.boolean(&o.NoJournal, "no-journal", "", "keep no journal: what is interrupted cannot be resumed")
	f.text(&o.SearchPath, "search-path", "", "SCHEMA[,SCHEMA]...", "search_path for indexes, constraints and materialized\nviews whose functions need one")
}

// stopAfter is the flag for the phase at which a job ends early.
func (f flags) stopAfter(o *restore.Options) {
	f.choice(&o.StopAfter, "stop-after", "", "", restorePhases...)
	annotate(f.Lookup("stop-after"), valueName, "PHASE")
	f.Lookup("stop-after").Usage = "stop after this phase: " + strings.Join(restorePhases[:4], ", ") + ",\n" + strings.Join(restorePhases[4:], ", ")
}

// checkTarget checks what intoTarget's flags say. rowsAlone: the tables are there already.
func checkTarget(c *cobra.Command, o *restore.Options, rowsAlone bool) error {
	if c.Flags().Changed("search-path") {
		if err := restore.CheckSearchPath(o.SearchPath); err != nil {
			return usagef("option --search-path: %v", err).hint("names of schemas with commas between, in double quotes where they are not in lower case")
		}
	}
	for _, given := range o.Map {
		if err := restore.CheckMap(given); err != nil {
			return usagef("option --map: %v", err).hint("write SCHEMA=SCHEMA, or SCHEMA.TABLE=SCHEMA.TABLE")
		}
	}
	switch {
	case o.IfExists && !o.Clean:
		return usagef("option --if-exists is for what --clean drops").hint("add --clean")
	case o.OnExisting != restore.Fail && !rowsAlone:
		return usagef("option --on-existing is for tables that are there already").hint("add --data-only")
	case o.DisableTriggers && !rowsAlone:
		return usagef("option --disable-triggers is for tables that are there already").hint("add --data-only")
	}
	return nil
}
