// Package filter reads the filter files of pg_dump and pg_restore from version 17 on, for servers and tools of every version. A file holds one rule a line:
//
//	include table orders*        # a comment
//	exclude table_data "Odd #1".log
//	include schema sales
//
// See read_pattern and filter_read_item in src/bin/pg_dump/filter.c for the rules of quoting: white space around dots and commas does not count, a
// double-quoted name may hold anything, line ends too.
package filter

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Object is what a rule is about.
type Object string

// Objects that a rule can name.
const (
	Extension            Object = "extension"
	ForeignData          Object = "foreign_data"
	Function             Object = "function"
	Index                Object = "index"
	Schema               Object = "schema"
	Table                Object = "table"
	TableAndChildren     Object = "table_and_children"
	TableData            Object = "table_data"
	TableDataAndChildren Object = "table_data_and_children"
	Trigger              Object = "trigger"
)

// known are the words that the format has; database is pg_dumpall's.
var known = []Object{Extension, ForeignData, Function, Index, Schema, Table, TableAndChildren, TableData, TableDataAndChildren, Trigger, "database"}

// Rule is one line of a filter file.
type Rule struct {
	Include bool
	Object  Object
	Pattern string // as psql reads it
	Line    int    // in which it begins, from 1
}

// String is the rule as a line of a file.
func (r Rule) String() string {
	word := "exclude"
	if r.Include {
		word = "include"
	}
	return word + " " + string(r.Object) + " " + r.Pattern
}

// Error says what is wrong with a line.
type Error struct {
	File string // "" for standard input
	Line int    // from 1
	Err  error
}

// Error is FILE, line N: what.
func (e *Error) Error() string {
	name := e.File
	if name == "" {
		name = "standard input"
	}
	return fmt.Sprintf("filter %s, line %d: %v", name, e.Line, e.Err)
}

// Unwrap gives Err.
func (e *Error) Unwrap() error { return e.Err }

// Refuse is the error of a rule that a command has no use for.
func (r Rule) Refuse(file, why string) error {
	return &Error{File: file, Line: r.Line, Err: fmt.Errorf("%q: %s", r.String(), why)}
}

// Bounds of what is read: far above what anybody writes.
const (
	maxLine    = 1 << 20 // bytes
	maxPattern = 1 << 20 // bytes, over all its lines
)

// reader reads a file line by line; a quoted name asks for more.
type reader struct {
	name  string
	lines *bufio.Scanner
	n     int // of the present line
}

// Read reads a filter file to its end. name is for errors alone. Errors are *Error, or come from in.
func Read(in io.Reader, name string) ([]Rule, error) {
	r := &reader{name: name, lines: bufio.NewScanner(in)}
	r.lines.Buffer(nil, maxLine)
	var rules []Rule
	for {
		line, ok := r.next()
		if !ok {
			break
		}
		line = trimLeft(line)
		if line == "" || line[0] == '#' {
			continue
		}
		rule, err := r.rule(line)
		if err != nil {
			return nil, err
		}
		rules = append(rules, rule)
	}
	if errors.Is(r.lines.Err(), bufio.ErrTooLong) {
		r.n++
		return nil, r.errorf("the line is longer than %d bytes", maxLine)
	}
	return rules, r.lines.Err()
}

func (r *reader) errorf(form string, args ...any) error {
	return &Error{File: r.name, Line: r.n, Err: fmt.Errorf(form, args...)}
}

func (r *reader) next() (line string, ok bool) {
	if !r.lines.Scan() {
		return "", false
	}
	r.n++
	return r.lines.Text(), true
}

// rule reads COMMAND OBJECT PATTERN.
func (r *reader) rule(line string) (rule Rule, err error) {
	rule.Line = r.n
	command, rest := word(line)
	switch command {
	case "include", "exclude":
		rule.Include = command == "include"
	default:
		return rule, r.errorf("%q is no command: \"include\" or \"exclude\" is expected", firstField(line))
	}
	object, rest := word(trimLeft(rest))
	if object == "" {
		return rule, r.errorf("no type of object behind %q", command)
	}
	rule.Object = Object(object)
	if !slices.Contains(known, rule.Object) {
		return rule, r.errorf("%q is no type of object: %s", object, list(known[:len(known)-1]))
	}
	rule.Pattern, err = r.pattern(rest)
	return rule, err
}

// pattern reads a name to the end of its line, or of its last quoted part. White space within unquoted names is one space, around punctuation none.
func (r *reader) pattern(s string) (string, error) {
	if s = trimLeft(s); s == "" || s[0] == '#' {
		return "", r.errorf("no name of an object")
	}
	var b strings.Builder
	skip, space := true, false
	for s != "" && s[0] != '#' {
		end := strings.IndexAny(s, " \t\v\f\r\n#,.()\"")
		if end < 0 {
			end = len(s)
		}
		if end > 0 {
			if !skip && space {
				b.WriteByte(' ')
			}
			b.WriteString(s[:end])
			s = s[end:]
		}
		skip = false
		switch {
		case s == "":
		case s[0] == '"':
			if space {
				b.WriteByte(' ')
			}
			var err error
			if s, err = r.quoted(s, &b); err != nil {
				return "", err
			}
		case s[0] == ',':
			b.WriteString(", ")
			skip, s = true, s[1:]
		case strings.ContainsRune(".()", rune(s[0])):
			b.WriteByte(s[0])
			skip, s = true, s[1:]
		}
		rest := trimLeft(s)
		space, s = len(rest) < len(s), rest
	}
	return b.String(), nil
}

// quoted copies a quoted name with its quotes, over line ends, and gives what is behind it.
func (r *reader) quoted(s string, b *strings.Builder) (rest string, err error) {
	began := r.n
	b.WriteByte('"')
	s = s[1:]
	for {
		end := strings.IndexByte(s, '"')
		switch {
		case end < 0:
			b.WriteString(s + "\n")
			more, ok := r.next()
			if !ok {
				r.n = began
				return "", r.errorf("the double quote that begins here is not closed")
			}
			if b.Len() > maxPattern {
				return "", r.errorf("the name that began in line %d is longer than %d bytes", began, maxPattern)
			}
			s = more
		case strings.HasPrefix(s[end:], `""`):
			b.WriteString(s[:end+2])
			s = s[end+2:]
		default:
			b.WriteString(s[:end+1])
			return s[end+1:], nil
		}
	}
}

// word takes the letters and underscores off the front of a line.
func word(s string) (word, rest string) {
	end := strings.IndexFunc(s, func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') })
	if end < 0 {
		return s, ""
	}
	return s[:end], s[end:]
}

func firstField(s string) string {
	const shown = 40
	field, _, _ := strings.Cut(s, " ")
	return field[:min(len(field), shown)]
}

func trimLeft(s string) string { return strings.TrimLeft(s, " \t\v\f\r\n") }

func list(objects []Object) string {
	names := make([]string, len(objects))
	for i, o := range objects {
		names[i] = string(o)
	}
	return strings.Join(names, ", ")
}
