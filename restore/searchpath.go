package restore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/internal/pg"
)

// Restores run with an empty search_path, as pg_restore does, so that nothing is found by accident. A function that names a table without its schema
// works only with the path of its users; an index over it, a constraint or a materialized view can be made only with that. Servers from 17 on
// run such functions with a path of their own: there the function itself has to be given one.

// plainName is a name that needs no quotes.
var plainName = regexp.MustCompile(`^[\pL_][\pL\pN_$]*$`)

// CheckSearchPath tells what is wrong with a value of Options.SearchPath.
func CheckSearchPath(list string) error {
	_, err := quoteSearchPath(list)
	return err
}

// quoteSearchPath reads a list of schemas as SET search_path takes it, names in double quotes or in lower case, and quotes each of them.
func quoteSearchPath(list string) (string, error) {
	var quoted []string
	rest := strings.TrimSpace(list)
	for {
		name, behind, err := cutName(rest)
		if err != nil {
			return "", fmt.Errorf("search path %q: %w", list, err)
		}
		quoted = append(quoted, pg.QuoteIdent(name))
		if behind == "" {
			return strings.Join(quoted, ", "), nil
		}
		var comma bool
		if rest, comma = strings.CutPrefix(behind, ","); !comma {
			return "", fmt.Errorf("search path %q: no comma behind %q", list, name)
		}
		rest = strings.TrimSpace(rest)
	}
}

// cutName takes the first name off a list. behind starts with what is not a space.
func cutName(list string) (name, behind string, err error) {
	if strings.HasPrefix(list, `"`) {
		end := 1
		for {
			i := strings.IndexByte(list[end:], '"')
			if i < 0 {
				return "", "", errors.New("unterminated double quote")
			}
			if end += i + 1; !strings.HasPrefix(list[end:], `"`) {
				break
			}
			end++
		}
		name, behind = strings.ReplaceAll(list[1:end-1], `""`, `"`), list[end:]
		if name == "" || strings.ContainsRune(name, 0) {
			return "", "", fmt.Errorf("%q is no name of a schema", name)
		}
		return name, strings.TrimSpace(behind), nil
	}
	end := strings.IndexAny(list, `, "`)
	if end < 0 {
		end = len(list)
	}
	if name = list[:end]; !plainName.MatchString(name) {
		return "", "", fmt.Errorf("%q is no name of a schema", name)
	}
	return strings.ToLower(name), strings.TrimSpace(list[end:]), nil
}

// useSearchPath gives a session the path that the operator has named, if any.
func (j *job) useSearchPath(ctx context.Context, c *pg.Conn) error {
	if j.o.SearchPath == "" {
		return nil
	}
	list, err := quoteSearchPath(j.o.SearchPath)
	if err != nil {
		return err
	}
	if list, err = c.SessionText(ctx, list); err != nil {
		return err
	}
	return pg.Wrap(c.Exec(ctx, "SET search_path = "+list), "search path")
}

// notFoundStates say that a name was not found: of a table, a function or operator, a type, a schema.
var notFoundStates = []string{pg.StateUndefinedTable, "42883", "42704", pg.StateInvalidSchema}

// NeedsSearchPath tells gaps that may be there because a function found nothing with an empty search_path.
func NeedsSearchPath(gaps []Gap) bool {
	return slices.ContainsFunc(gaps, func(g Gap) bool {
		return slices.Contains(notFoundStates, g.SQLState) && slices.Contains([]string{"INDEX", "CONSTRAINT", "CHECK CONSTRAINT", "MATERIALIZED VIEW DATA"}, g.Kind)
	})
}
