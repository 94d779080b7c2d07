package main

import (
	"errors"
	"io"
	"os"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/filter"
)

// readFilters reads the files of --filter and gives each of their rules to add, which says why a rule is of no use, or "".
func (a *app) readFilters(paths []string, add func(filter.Rule) string) error {
	for _, path := range paths {
		rules, err := a.readFilter(path)
		if err != nil {
			return err
		}
		for _, r := range rules {
			if why := add(r); why != "" {
				return usagef("%v", r.Refuse(filterName(path), why))
			}
		}
	}
	return nil
}

func (a *app) readFilter(path string) ([]filter.Rule, error) {
	var in io.Reader = a.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, usagef("option --filter: %v", err)
		}
		defer f.Close()
		in = f
	}
	rules, err := filter.Read(in, filterName(path))
	var wrong *filter.Error
	if errors.As(err, &wrong) {
		return nil, usagef("%v", err).hint("a line is: include or exclude, a type of object, a pattern; see pg_dump --filter")
	}
	return rules, err
}

func filterName(path string) string {
	if path == "-" {
		return ""
	}
	return path
}

// filterDump adds a rule to the options of a dump, as read_dump_filters in src/bin/pg_dump/pg_dump.c does.
func filterDump(o *dump.Options, r filter.Rule) (why string) {
	lists := map[filter.Object][2]*[]string{ // excluded, included
		filter.Extension:            {&o.ExcludeExtensions, &o.Extensions},
		filter.ForeignData:          {nil, &o.ForeignServers},
		filter.Schema:               {&o.ExcludeSchemas, &o.Schemas},
		filter.Table:                {&o.ExcludeTables, &o.Tables},
		filter.TableAndChildren:     {&o.ExcludeTablesAndChildren, &o.TablesAndChildren},
		filter.TableData:            {&o.ExcludeTableData, nil},
		filter.TableDataAndChildren: {&o.ExcludeTableDataAndChildren, nil},
	}
	return addRule(lists, r, "a dump")
}

func addRule(lists map[filter.Object][2]*[]string, r filter.Rule, what string) (why string) {
	to, known := lists[r.Object]
	list := to[0]
	if r.Include {
		list = to[1]
	}
	switch {
	case !known:
		return what + " has no such choice"
	case list == nil && r.Include:
		return "it can only be excluded"
	case list == nil:
		return "it can only be included"
	}
	*list = append(*list, r.Pattern)
	return ""
}
