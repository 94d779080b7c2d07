package pg

import (
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/format"
)

// QuoteIdent quotes one identifier. It is always quoted, so that no keyword list is needed.
func QuoteIdent[S ~string](name S) string { return pgx.Identifier{string(name)}.Sanitize() }

// QuoteName quotes schema and name.
func QuoteName(schema, name format.Name) string { return QuoteIdent(schema) + "." + QuoteIdent(name) }

// QuoteLiteral quotes a string for servers with standard_conforming_strings on, as all our sessions have it.
func QuoteLiteral(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "'", "''") + "'"
}
