package format

// Meta is what a file says about itself in its META chunk, as JSON. It never holds SQL: names are names, casts are keywords.
type Meta struct {
	Tool     string     `json:"tool"`
	DumpID   string     `json:"dump_id"` // random, the same in every file of a dump
	Server   Server     `json:"server"`
	Database Name       `json:"database"`
	Snapshot Snapshot   `json:"snapshot"`
	Table    Table      `json:"table"`
	Where    string     `json:"where,omitempty"` // the operator's own --where condition, for reading only
	Columns  []Column   `json:"columns"`         // in file order
	Types    []Type     `json:"types"`           // every type the columns reach, as a graph by OID
	Samples  []Samples  `json:"samples"`
	Segment  SegmentRef `json:"segment"`
	Salvaged *Salvaged  `json:"salvaged,omitempty"` // the file was made of a damaged one; nil: it was not
}

// FieldCount returns how many fields each row has: one for each column that is not generated.
func (m *Meta) FieldCount() int {
	n := 0
	for i := range m.Columns {
		if m.Columns[i].Generated == "" {
			n++
		}
	}
	return n
}

// Server describes the server that wrote the rows.
type Server struct {
	VersionNum       int    `json:"version_num"` // as server_version_num: 150018
	Version          string `json:"version"`
	Encoding         string `json:"encoding"` // of the database, and of every text in the rows
	Collate          string `json:"collate"`
	CType            string `json:"ctype"`
	Provider         string `json:"provider"` // libc, icu, builtin
	LCMonetary       string `json:"lc_monetary"`
	SystemIdentifier string `json:"system_identifier"` // decimal; empty without the privilege to read it
	IntegerDatetimes bool   `json:"integer_datetimes"`
}

// Snapshot places the dump in time. LSN is approximate: it was read beside the snapshot, not with it.
type Snapshot struct {
	LSN  string `json:"lsn"`
	Time string `json:"time"` // RFC 3339, UTC
}

// Table names the table of a file.
type Table struct {
	Schema Name   `json:"schema"`
	Name   Name   `json:"name"`
	Kind   string `json:"kind"` // table, partition, materialized view, foreign table
}

// Carriage says how a column's values travel.
type Carriage string

// The ways a column can be carried. CarriedText is loaded through a staging table and a cast named by Column.Cast.
const (
	CarriedBinary Carriage = "binary"
	CarriedText   Carriage = "text"
)

// Column is one column of a file, in file order.
type Column struct {
	Name       Name     `json:"name"`
	Type       string   `json:"type"` // as format_type prints it: numeric(5,2)
	TypeSchema Name     `json:"type_schema"`
	TypeName   Name     `json:"type_name"` // pg_type.typname
	OID        uint32   `json:"oid"`       // of the type, on the source
	Typmod     int32    `json:"typmod"`
	NotNull    bool     `json:"not_null"`
	Identity   string   `json:"identity,omitempty"`  // "always", "by default"
	Generated  string   `json:"generated,omitempty"` // "stored", "virtual"; such columns are not in the rows
	Collation  Name     `json:"collation,omitzero"`
	Carried    Carriage `json:"carried"`
	Cast       string   `json:"cast,omitempty"` // keyword, only with CarriedText
	OIDs       bool     `json:"oids,omitempty"` // only with CarriedBinary: values hold OIDs of types, which differ between databases
}

// TypeKind is the kind of a type in the graph.
type TypeKind string

// Kinds of types.
const (
	KindBase       TypeKind = "base"
	KindEnum       TypeKind = "enum"
	KindComposite  TypeKind = "composite"
	KindArray      TypeKind = "array"
	KindDomain     TypeKind = "domain"
	KindRange      TypeKind = "range"
	KindMultirange TypeKind = "multirange"
)

// Type is a node of the type graph; other types are referred to by their OID on the source.
type Type struct {
	OID       uint32      `json:"oid"`
	Schema    Name        `json:"schema"`
	Name      Name        `json:"name"`
	Kind      TypeKind    `json:"kind"`
	Element   uint32      `json:"element,omitempty"` // array: element; domain: base; range: subtype; multirange: range
	Fields    []TypeField `json:"fields,omitempty"`  // composite: live attributes in order
	Labels    []Name      `json:"labels,omitempty"`  // enum: in sort order
	Extension *Extension  `json:"extension,omitempty"`
}

// TypeField is one attribute of a composite type.
type TypeField struct {
	Name Name   `json:"name"`
	OID  uint32 `json:"oid"`
}

// Extension names the extension that owns a type.
type Extension struct {
	Name    Name   `json:"name"`
	Version string `json:"version"`
}

// Samples are the known values of one type.
type Samples struct {
	OID    uint32   `json:"oid"`
	Schema Name     `json:"schema"`
	Name   Name     `json:"name"`
	Values []Sample `json:"values"`         // empty: no usable sample, which is a warning
	Note   string   `json:"note,omitempty"` // why there is none
}

// Sample is one value as the source server reads and writes it.
type Sample struct {
	Literal string `json:"literal"` // what went in
	Bytes   []byte `json:"bytes"`   // what the type's send function gave, base64 in JSON
	Text    string `json:"text"`    // what the type's output function gave
}

// SegmentRef says which part of a table a file holds.
type SegmentRef struct {
	I         int        `json:"i"` // from 1
	N         int        `json:"n"`
	CTIDRange *CTIDRange `json:"ctid_range,omitempty"`
}

// CTIDRange is a range of heap pages: From ≤ page < To; To 0 means open-ended.
type CTIDRange struct {
	From uint32 `json:"from"`
	To   uint32 `json:"to,omitempty"`
}
