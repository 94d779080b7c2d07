package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/internal/filter"
	"github.com/bytehaul/pghaul/restore"
)

// parts adds the flags that choose parts of a dump.
func (f flags) parts(c *restore.Choice, filters *[]string) {
	f.list(&c.Tables, "table", "t", "PATTERN", "these tables only")
	f.list(&c.ExcludeTables, "exclude-table", "T", "PATTERN", "not these tables")
	f.list(&c.Schemas, "schema", "n", "PATTERN", "these schemas only")
	f.list(&c.ExcludeSchemas, "exclude-schema", "N", "PATTERN", "not these schemas")
	f.list(&c.Extensions, "extension", "e", "PATTERN", "these extensions only")
	f.list(&c.ExcludeExtensions, "exclude-extension", "", "PATTERN", "not these extensions")
	f.list(&c.ExcludeTableData, "exclude-table-data", "", "PATTERN", "not the rows of these tables")
	f.list(filters, "filter", "", "FILE", "choose by the rules in FILE, as pg_restore 17 does\n(-: standard input)")
	f.boolean(&c.StrictNames, "strict-names", "", "what is excluded must be there, too")
}

// choiceNames are the names of these flags.
var choiceNames = []string{"table", "exclude-table", "schema", "exclude-schema", "extension", "exclude-extension", "exclude-table-data", "filter", "strict-names"}

// filterRestore adds a rule to a choice. It takes what read_restore_filters in src/bin/pg_dump/pg_restore.c does, and what else a restore can choose.
func filterRestore(c *restore.Choice, r filter.Rule) (why string) {
	return addRule(map[filter.Object][2]*[]string{ // excluded, included
		filter.Extension:            {&c.ExcludeExtensions, &c.Extensions},
		filter.Schema:               {&c.ExcludeSchemas, &c.Schemas},
		filter.Table:                {&c.ExcludeTables, &c.Tables},
		filter.TableAndChildren:     {&c.ExcludeTables, &c.Tables}, // with their partitions in any case
		filter.TableData:            {&c.ExcludeTableData, nil},
		filter.TableDataAndChildren: {&c.ExcludeTableData, nil},
		filter.Function:             {nil, &c.Functions},
		filter.Index:                {nil, &c.Indexes},
		filter.Trigger:              {nil, &c.Triggers},
	}, r, "a restore")
}

// largeObjects are the two flags for large objects.
type largeObjects struct{ with, without bool }

func (l *largeObjects) flags(f flags, parts string) {
	f.boolean(&l.with, "large-objects", "", "large objects too, when only parts are "+parts)
	f.boolean(&l.without, "no-large-objects", "", "no large objects")
}

// choice is nil when neither is given.
func (l *largeObjects) choice(c *cobra.Command) (*bool, error) {
	if err := exclusive(c, "large-objects", "no-large-objects"); err != nil {
		return nil, err
	}
	if !c.Flags().Changed("large-objects") && !c.Flags().Changed("no-large-objects") {
		return nil, nil
	}
	with := l.with && !l.without
	return &with, nil
}

// exclusivePairs refuses pairs of flags, each as "one two".
func exclusivePairs(c *cobra.Command, pairs ...string) error {
	for _, pair := range pairs {
		if err := exclusive(c, strings.Fields(pair)...); err != nil {
			return err
		}
	}
	return nil
}
