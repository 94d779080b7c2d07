package filter_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/filter"
)

func TestRead(t *testing.T) {
	const file = `# what a shop needs

include table orders*   # with a comment
  include	schema	"Odd # name"
exclude table_data public . log
include function f ( integer ,  text )
include index "two
lines""".i
exclude extension pg_stat_statements# no space
include table_and_children "a b".c d
exclude table_data_and_children t` + "\r\n" + `include foreign_data far
include trigger t audit`
	got, err := filter.Read(strings.NewReader(file), "f")
	if err != nil {
		t.Fatal(err)
	}
	want := []filter.Rule{
		{Include: true, Object: filter.Table, Pattern: "orders*", Line: 3},
		{Include: true, Object: filter.Schema, Pattern: `"Odd # name"`, Line: 4},
		{Object: filter.TableData, Pattern: "public.log", Line: 5},
		{Include: true, Object: filter.Function, Pattern: "f(integer, text)", Line: 6},
		{Include: true, Object: filter.Index, Pattern: "\"two\nlines\"\"\".i", Line: 7},
		{Object: filter.Extension, Pattern: "pg_stat_statements", Line: 9},
		{Include: true, Object: filter.TableAndChildren, Pattern: `"a b".c d`, Line: 10},
		{Object: filter.TableDataAndChildren, Pattern: "t", Line: 11},
		{Include: true, Object: filter.ForeignData, Pattern: "far", Line: 12},
		{Include: true, Object: filter.Trigger, Pattern: "t audit", Line: 13},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestReadRefuses(t *testing.T) {
	for file, want := range map[string]string{
		"\nallow table t":                       `filter f, line 2: "allow" is no command`,
		"include":                               `line 1: no type of object behind "include"`,
		"include relation t":                    `line 1: "relation" is no type of object: extension, foreign_data`,
		"# x\n\ninclude table # t":              `line 3: no name of an object`,
		"include table":                         `line 1: no name of an object`,
		"include table t\ninclude table \"t\nu": `line 2: the double quote that begins here is not closed`,
		"table t":                               `line 1: "table" is no command`,
		"include table " + strings.Repeat("x", 1<<21): `line 1: the line is longer`,
	} {
		_, err := filter.Read(strings.NewReader(file), "f")
		var e *filter.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", file, err, want)
		}
	}
	r := filter.Rule{Object: filter.Index, Pattern: "i", Line: 7}
	if got := fmt.Sprint(r.Refuse("", "not here")); got != `filter standard input, line 7: "exclude index i": not here` {
		t.Error(got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("include table \"a\"\"b\".c # x\nexclude schema (")
	f.Fuzz(func(t *testing.T, file string) {
		rules, err := filter.Read(strings.NewReader(file), "")
		if err != nil {
			return
		}
		for _, r := range rules {
			again, err := filter.Read(strings.NewReader(r.String()), "")
			if err != nil || len(again) != 1 || again[0].Pattern != r.Pattern || again[0].Object != r.Object || again[0].Include != r.Include {
				t.Fatalf("%q reads back as %q, %v", r, again, err)
			}
		}
	})
}
