// Package dump takes a database, or parts of it, out of a server under one snapshot into a folder of self-describing
// binary COPY files. See docs/FORMAT.md for the files and ARCHITECTURE.md for the way of a block.
package dump

import (
	"io"
	"time"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/control"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/progress"
)

// Options of a dump. The zero value of a field is its default where none is named.
type Options struct {
	DSN  *pg.DSN
	Dir  string    // target folder; must be absent or empty
	File string    // instead of Dir: one table into one .pgcopy or .pgcopy.zst file
	Out  io.Writer // instead of Dir: one table as a plain stream

	Jobs        int                // data connections; 0: number of CPUs, at most 8
	Compression format.Compression // of data files
	SegmentSize int64              // bytes of heap and TOAST per segment; 0: never split
	Balance     bool               // cut a table that the other connections would wait for into smaller segments than that

	Schemas, ExcludeSchemas []string // psql patterns (-n, -N)
	Tables, ExcludeTables   []string // psql patterns (-t, -T)
	ExcludeTableData        []string // psql patterns: definition without rows
	StrictNames             bool     // a pattern that matches nothing is an error

	// The same as Tables, ExcludeTables and ExcludeTableData, with all partitions and children of what they name.
	TablesAndChildren, ExcludeTablesAndChildren, ExcludeTableDataAndChildren []string

	Extensions, ExcludeExtensions []string // psql patterns (-e): the definitions of these extensions only
	ForeignServers                []string // psql patterns: rows of the foreign tables of these servers too (--include-foreign-data)
	Sections                      []string // of "pre-data", "data", "post-data": only these; nil: all

	Where                map[string]string // pattern → condition (--where)
	DataOnly, SchemaOnly bool              // as Sections data, and pre-data with post-data
	NoUnloggedData       bool
	LargeObjects         *bool // nil: as pg_dump decides (all, unless schemas or tables are chosen)

	OverwriteUnfinished bool // remove what an unfinished dump has left in Dir, and nothing else

	LockTimeout            time.Duration // 0: wait for locks as long as it takes
	Snapshot               string        // an exported snapshot of somebody else, instead of our own
	SerializableDeferrable bool
	Role                   string
	PgBinDir               string
	Preview                bool // [Open] alone: definitions without the large objects, which are counted and stay where they are
	ToolMajor              int  // pg_dump of this major at least, where there is one: that of the server where the definitions go; 0: the source's

	Tool    string // "pghaul 0.1.0", recorded in every file
	Tracker *progress.Tracker
	Control *control.Control                 // pauses the dump and changes Jobs while it runs; nil: nobody does
	Logf    func(format string, args ...any) // details for -v; nil: none
}

// Summary says what a finished dump holds.
type Summary struct {
	Manifest *format.Manifest
	Dir      string
	Files    int
	Rows     int64
	RawBytes int64 // rows, uncompressed
	Stored   int64 // bytes of all files
	Warnings []string
	Carried  []CarriedColumn // columns that are not plain binary, and why
}

// CarriedColumn is a column whose values are not carried as plain binary.
type CarriedColumn struct {
	Column  string          `json:"column"` // schema.table.column
	Type    string          `json:"type"`
	Carried format.Carriage `json:"carried"`
	Cast    string          `json:"cast,omitempty"` // with text
	OIDs    bool            `json:"oids,omitempty"` // binary, and a restore rewrites the OIDs of types inside
	Why     string          `json:"why"`
}

// Refused is the error of a dump that cannot be taken as asked; nothing was written. Each problem names its object.
type Refused struct {
	Problems []Problem
}

// Problem is one reason to refuse.
type Problem struct {
	Object string // schema.table, or schema.table.column
	Why    string
	Hint   string
}
