// Package settings reads pghaul.toml: the defaults of options, for all commands or for one.
//
//	jobs = 4
//	pg-bindir = "/usr/lib/postgresql/16/bin"
//
//	[dump]
//	compress = "zstd:3"
//
// It knows the form; which keys there are, the caller says. Passwords are refused: there are better places for them.
package settings

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// FileName is the name of the file, in the folder pghaul of the user's configuration.
const FileName = "pghaul.toml"

// MaxFile is the most bytes that a settings file may have.
const MaxFile = 1 << 20

// Path is where the file of a user is, who has these variables; "" when nothing says where.
func Path(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the specification has relative ones ignored
		home := getenv("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "pghaul", FileName)
}

// Setting is one key of a file.
type Setting struct {
	Table string // the command; "": all
	Key   string
	Value string // as it would stand on a command line
	Line  int    // from 1
}

// Error is what is wrong with a file, and in which line.
type Error struct {
	Line int
	Err  error
	hint string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do.
func (e *Error) Hint() string { return e.hint }

func errorf(line int, hint, form string, args ...any) error {
	return &Error{Line: line, Err: fmt.Errorf(form, args...), hint: hint}
}

const passwordHint = "put passwords into ~/.pgpass (0600), or a service file; pghaul and psql read both"

// Parse reads a file. Values are strings, whole numbers and true or false.
func Parse(p []byte) ([]Setting, error) {
	if len(p) > MaxFile {
		return nil, fmt.Errorf("a settings file of %d bytes, more than %d", len(p), MaxFile)
	}
	var all map[string]any // for all that the walk does not see: a table given twice, say
	whole := toml.Unmarshal(p, &all)
	var at *toml.DecodeError
	if errors.As(whole, &at) {
		line, _ := at.Position()
		return nil, errorf(line, "the file is TOML: key = \"value\", and [command] above what is for one command alone", "%s", strings.TrimPrefix(at.Error(), "toml: "))
	}
	list, err := walk(p)
	if err == nil {
		err = whole
	}
	return list, err
}

// walk reads a file of which the form is right.
func walk(p []byte) ([]Setting, error) {
	var list []Setting
	var parser unstable.Parser
	parser.Reset(p)
	table := ""
	for parser.NextExpression() {
		e := parser.Expression()
		names := keyOf(e)
		line := lineOf(&parser, e)
		switch {
		case e.Kind == unstable.ArrayTable || e.Kind == unstable.Table && len(names) != 1:
			return nil, errorf(line, "give a table the name of one command: [dump]", "there are no tables within tables")
		case e.Kind == unstable.Table:
			table = names[0]
		case e.Kind == unstable.KeyValue:
			s, err := setting(table, names, e.Value(), line)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(list, func(o Setting) bool { return o.Table == s.Table && o.Key == s.Key }) {
				return nil, errorf(line, "", "%s is given twice", s.Key)
			}
			list = append(list, s)
		}
	}
	return list, parser.Error()
}

func keyOf(e *unstable.Node) (names []string) {
	for it := e.Key(); it.Next(); {
		names = append(names, string(it.Node().Data))
	}
	return names
}

// lineOf is where the key of an expression stands.
func lineOf(p *unstable.Parser, e *unstable.Node) int {
	it := e.Key()
	if !it.Next() {
		return 1
	}
	return p.Shape(it.Node().Raw).Start.Line
}

func setting(table string, names []string, v *unstable.Node, line int) (Setting, error) {
	s := Setting{Table: table, Key: names[len(names)-1], Line: line}
	switch {
	case len(names) == 2 && table == "":
		s.Table = names[0]
	case len(names) > 1:
		return s, errorf(line, "give a table the name of one command: [dump]", "there are no tables within tables")
	}
	if IsSecret(s.Key, "") {
		return s, errorf(line, passwordHint, "%q: passwords have no place in this file", s.Key)
	}
	switch v.Kind {
	case unstable.String:
		s.Value = string(v.Data)
	case unstable.Integer, unstable.Bool:
		s.Value = strings.ReplaceAll(string(v.Data), "_", "")
	default:
		return s, errorf(line, "", "%s: must be a text, a whole number, or true or false", s.Key)
	}
	if IsSecret("", s.Value) {
		return s, errorf(line, passwordHint, "%s: a password has no place in this file", s.Key)
	}
	return s, nil
}

var (
	secretKey   = regexp.MustCompile(`(?i)passw|passphrase|^pwd$|secret|pgpass`)
	secretValue = regexp.MustCompile(`(?i)\bpass(word|wd)?\s*=|PGPASSWORD|://[^/@\s]*:[^@\s]*@`)
)

// IsSecret tells whether a key or a value looks as if it were about a password.
func IsSecret(key, value string) bool {
	return secretKey.MatchString(key) || secretValue.MatchString(value)
}

// Check refuses settings of tables and keys that there are none of. keys gives those of a table, and those of all for ""; nil: there is no such table.
func Check(list []Setting, tables []string, keys func(table string) []string) error {
	for _, s := range list {
		known := keys(s.Table)
		if known == nil {
			return errorf(s.Line, suggestion(s.Table, tables), "there is no command %q", s.Table)
		}
		if slices.Contains(known, s.Key) {
			continue
		}
		what := fmt.Sprintf("there is no setting %q", s.Key)
		if s.Table != "" && slices.Contains(keys(""), s.Key) {
			what = fmt.Sprintf("%q is no setting of %s", s.Key, s.Table)
		}
		return errorf(s.Line, suggestion(s.Key, known), "%s", what)
	}
	return nil
}

// suggestion names the word that was perhaps meant, or all.
func suggestion(word string, known []string) string {
	best, least := "", max(2, len(word)/3)+1
	for _, k := range known {
		if d := distance(strings.ReplaceAll(strings.ToLower(word), "_", "-"), k); d < least {
			best, least = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "there are: " + strings.Join(known, ", ")
}

// distance is how many letters must be put in, left out or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
