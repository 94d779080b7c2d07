// Package restore checks dumps, and loads them into a server with proof that every row arrived.
package restore

import (
	"time"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/control"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/progress"
)

// OnExisting says what to do with rows that a target table holds already.
type OnExisting string

// Ways to treat existing rows.
const (
	Fail     OnExisting = "fail"
	Truncate OnExisting = "truncate"
	Append   OnExisting = "append"
)

// Options of a restore.
type Options struct {
	Dir    string // of the dump
	Origin Origin // instead of Dir: a live one, of a migrate
	DSN    *pg.DSN

	Jobs                                                                              int  // data connections; 0: number of CPUs, at most 8
	Create                                                                            bool // make the database that DSN names
	DataOnly                                                                          bool
	SchemaOnly                                                                        bool
	OnExisting                                                                        OnExisting // "": Fail
	NoProve                                                                           bool
	NoAnalyze                                                                         bool
	NoOwner, NoPrivileges, NoComments, NoPublications, NoSubscriptions, NoTablespaces bool

	Choice            // of the dump's objects
	Sections []string // only these, see [Sections]; nil: as DataOnly and SchemaOnly say
	parts    parts    // what these three come to

	Map []string // OLD=NEW: a schema or a table under another name, see [CheckMap]

	Clean    bool // drop what is to be made anew
	IfExists bool // say nothing of what is not there to be dropped

	LargeObjects *bool  // nil: as pg_dump decides (all, unless schemas, tables or extensions are chosen)
	Role         string // SET ROLE

	DisableTriggers bool // data only: rows go past triggers and foreign keys, and the keys are checked afterwards

	AllowCast   bool     // let the server cast values whose type the target's column has not
	DropColumns []string // [schema.]table.column whose values stay behind

	Resume        bool
	JournalSchema string // "": pghaul_journal
	NoJournal     bool
	StopAfter     string // phase name; "": none

	SearchPath string // schemas as in SET search_path, for what fails without in post-data, for materialized views and for gaps; "": none

	Confirm  func(question, word string) (bool, error) // asks before rows are destroyed: the operator types word; nil: no questions (--yes)
	Patience time.Duration                             // how long a target that went away is waited for while the rows come from a live origin; 0: 5 minutes
	Control  *control.Control                          // pauses the restore and changes Jobs while it runs; nil: nobody does
	Compared func([]Comparison)                        // is told once the target's columns are known, refused or not; nil: nobody
	Begin    Gate                                      // asked once, when the preflight refuses nothing and before anything is written; nil: it begins
	Gate     Gate                                      // asked between phases; nil: none waits
	PgBinDir string
	Tool     string
	Tracker  *progress.Tracker
	Logf     func(format string, args ...any) // details for -v; nil: none

	smallestReading int64 // bytes of a table below which it is read back in one piece; 0: flow.SmallestPiece
}

// Summary says what a restore did. A non-empty Gaps means incomplete: exit code 4.
type Summary struct {
	Manifest *format.Manifest
	Rows     int64
	Bytes    int64
	Proven   int // tables whose rows were read back and found equal
	Unproven []string
	Gaps     []Gap
	Warnings []string
	Stopped  string // phase after which Options.StopAfter ended the restore; empty: it went to its end
	Alone    string // what was asked for without rows: "definitions", "sequences", or both; empty: rows are among it
	Again    bool   // with Stopped, of a migrate: not all that must be of one snapshot is there, and --resume copies it again
}

// Gap is something that could not be made on the target; the rest is there.
type Gap struct {
	Kind     string `json:"kind"` // INDEX, CONSTRAINT, FK CONSTRAINT, VIEW …, as pg_restore's list names it
	Name     string `json:"name"`
	SQLState string `json:"sqlstate"`
	Message  string `json:"message"`
}

// String is the gap as one line.
func (g Gap) String() string {
	text := g.Kind + " " + g.Name
	if g.SQLState != "" {
		text += " (SQLSTATE " + g.SQLState + ")"
	}
	return text + ": " + g.Message
}

// Severity of a finding.
type Severity string

// Severities: an error refuses the restore, a warning does not.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Finding is one result of the preflight that an operator must know.
type Finding struct {
	Severity Severity `json:"severity"`
	Object   string   `json:"object"` // schema.table.column, a role, an extension, a file …
	Dump     string   `json:"dump"`   // what the dump says
	Target   string   `json:"target"` // what the target says
	Hint     string   `json:"hint"`   // what to do

	live bool // what it says of the dump is of a live origin
}

// Refused is the error of a restore whose preflight found problems; no row was written. Exit code 3.
type Refused struct {
	Phase    string // preflight A, preflight B
	Findings []Finding
}
