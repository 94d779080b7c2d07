package pg

import (
	"fmt"
	"strings"

	"github.com/bytehaul/pghaul/format"
)

// Pattern is a psql name pattern taken apart: regular expressions for schema and name, each anchored; empty Schema: any that is visible.
type Pattern struct {
	Given  string
	Schema string
	Name   string
}

// ParseTablePattern reads [schema.]name with psql's rules: unquoted letters fold to lower case, * and ? are wildcards, double quotes
// take everything between them as it is. See processSQLNamePattern in src/fe_utils/string_utils.c.
func ParseTablePattern(s string) (Pattern, error) {
	parts, err := patternParts(s)
	if err != nil {
		return Pattern{}, err
	}
	switch len(parts) {
	case 1:
		return Pattern{Given: s, Name: parts[0]}, nil
	case 2:
		return Pattern{Given: s, Schema: parts[0], Name: parts[1]}, nil
	}
	return Pattern{}, fmt.Errorf("improper qualified name (too many dotted names): %s", s)
}

// ParseSchemaPattern reads a pattern for schema names.
func ParseSchemaPattern(s string) (Pattern, error) {
	parts, err := patternParts(s)
	if err != nil {
		return Pattern{}, err
	}
	if len(parts) != 1 {
		return Pattern{}, fmt.Errorf("improper qualified name (too many dotted names): %s", s)
	}
	return Pattern{Given: s, Schema: parts[0]}, nil
}

// ExactName is the pattern that names this and nothing else.
func ExactName(name format.Name) string {
	return `"` + strings.ReplaceAll(string(name), `"`, `""`) + `"`
}

// ExactPattern is the pattern that names this relation and nothing else.
func ExactPattern(q Qualified) string { return ExactName(q.Schema) + "." + ExactName(q.Name) }

func patternParts(s string) ([]string, error) {
	if s == "" {
		return nil, fmt.Errorf("empty pattern")
	}
	var parts []string
	var b strings.Builder
	b.WriteString("^(")
	quoted := false
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r == '"' && quoted && i+1 < len(runes) && runes[i+1] == '"':
			b.WriteRune('"')
			i++
		case r == '"':
			quoted = !quoted
		case !quoted && r == '.':
			b.WriteString(")$")
			parts = append(parts, b.String())
			b.Reset()
			b.WriteString("^(")
		case !quoted && r == '*':
			b.WriteString(".*")
		case !quoted && r == '?':
			b.WriteByte('.')
		case quoted && strings.ContainsRune("|*+?()[]{}.^$\\", r), r == '$', r == '[' && i+1 < len(runes) && runes[i+1] == ']':
			b.WriteByte('\\')
			b.WriteRune(r)
		case !quoted && r >= 'A' && r <= 'Z':
			b.WriteRune(r + 'a' - 'A')
		default:
			b.WriteRune(r)
		}
	}
	if quoted {
		return nil, fmt.Errorf("unterminated double quote in pattern %s", s)
	}
	b.WriteString(")$")
	return append(parts, b.String()), nil
}
