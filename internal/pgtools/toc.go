package pgtools

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// TOCEntry is one line of `pg_restore -l`.
//
// The line separates its parts by spaces and quotes nothing. The kind is known from a
// list, the schema is taken to hold no space, and the owner neither; a name may. Where
// that is wrong, Line is right: it is what pg_restore -L wants.
type TOCEntry struct {
	DumpID          int
	CatalogOID, OID uint32 // of the object in the source database; 0 0 when it has none
	Desc            string // TABLE, TABLE DATA, FK CONSTRAINT …
	Schema          string // empty when the object has none (shown as "-")
	Name            string // of functions with their arguments, of constraints with their table
	Owner           string
	Line            string
}

// maxTOCLine bounds a line of a listing: four names of 63 bytes and a function's arguments.
const maxTOCLine = 1 << 20

var reTOC = regexp.MustCompile(`^(\d+); (\d+) (\d+) (.*)$`)

// ParseTOC reads the output of `pg_restore -l`. Lines that are commented out are left out.
func ParseTOC(r io.Reader) ([]TOCEntry, error) {
	var entries []TOCEntry
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxTOCLine)
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSuffix(s.Text(), "\r")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, ";") {
			continue
		}
		m := reTOC.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("archive listing, line %d: not understood: %q", n, line[:min(len(line), 200)])
		}
		e := TOCEntry{DumpID: atoi(m[1]), CatalogOID: oid(m[2]), OID: oid(m[3]), Line: line}
		var rest string
		e.Desc, rest = cutDesc(m[4])
		e.Schema, rest, _ = strings.Cut(rest, " ")
		if e.Schema == "-" {
			e.Schema = ""
		}
		e.Name, e.Owner = cutLast(rest)
		entries = append(entries, e)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("archive listing: %w", err)
	}
	return entries, nil
}

// longDescs are the kinds of entries of more than one word, pg_dump 10 to 18 (the desc
// of ArchiveEntry calls in src/bin/pg_dump/pg_dump.c). Sorted by length below.
var longDescs = []string{
	"ACCESS METHOD", "ACL LANGUAGE", "BLOB COMMENTS", "BLOB METADATA", "CHECK CONSTRAINT", "DATABASE PROPERTIES",
	"DEFAULT ACL", "DUMMY TYPE", "EVENT TRIGGER", "FK CONSTRAINT", "FOREIGN DATA WRAPPER", "FOREIGN SERVER",
	"FOREIGN TABLE", "INDEX ATTACH", "LARGE OBJECT", "MATERIALIZED VIEW", "MATERIALIZED VIEW DATA",
	"OPERATOR CLASS", "OPERATOR FAMILY", "PROCEDURAL LANGUAGE", "PUBLICATION TABLE",
	"PUBLICATION TABLES IN SCHEMA", "ROW SECURITY", "SECURITY LABEL", "SEQUENCE OWNED BY", "SEQUENCE SET",
	"SHELL TYPE", "STATISTICS DATA", "SUBSCRIPTION TABLE", "TABLE ATTACH", "TABLE DATA",
	"TEXT SEARCH CONFIGURATION", "TEXT SEARCH DICTIONARY", "TEXT SEARCH PARSER", "TEXT SEARCH TEMPLATE", "USER MAPPING",
}

func init() {
	// So that MATERIALIZED VIEW DATA is not taken for a MATERIALIZED VIEW.
	slices.SortStableFunc(longDescs, func(a, b string) int { return len(b) - len(a) })
}

// cutDesc splits the kind off.
func cutDesc(s string) (desc, rest string) {
	for _, d := range longDescs {
		if after, ok := strings.CutPrefix(s, d+" "); ok {
			return d, after
		}
	}
	desc, rest, _ = strings.Cut(s, " ")
	return desc, rest
}

// cutLast splits the last word off; it is empty when s ends in a space.
func cutLast(s string) (before, last string) {
	i := strings.LastIndexByte(s, ' ')
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i+1:]
}

// atoi and oid read digits that a pattern has matched; a number too large is 0.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

func oid(s string) uint32 {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}
