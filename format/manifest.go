package format

// ManifestName is the file that makes a folder a dump: it is written last.
const ManifestName = "manifest.json"

// Names of the other fixed files of a dump.
const (
	SchemaName   = "schema.pgdump" // pg_dump -Fc: definitions and large objects
	ChecksumName = "XXH128SUMS"    // for xxh128sum -c
	DataDir      = "data"
	PartSuffix   = ".part" // of every file that is not finished
)

// ManifestVersion is the version this package writes, and the newest it reads.
const ManifestVersion = 1

// Manifest describes a whole dump.
type Manifest struct {
	FormatVersion    int               `json:"format_version"`
	Tool             string            `json:"tool"`
	DumpID           string            `json:"dump_id"`
	Started          string            `json:"started"` // RFC 3339, UTC
	Finished         string            `json:"finished"`
	Source           Source            `json:"source"`
	Options          map[string]string `json:"options"` // as given; never a password
	Schema           *StoredFile       `json:"schema,omitempty"`
	Tables           []ManifestTable   `json:"tables"`
	Sequences        []Sequence        `json:"sequences"`
	LargeObjects     int64             `json:"large_objects"`
	MatViews         []MatView         `json:"matviews"` // in dependency order
	ExtensionConfigs []Name            `json:"extension_configs,omitempty"`
	Extensions       []Extension       `json:"extensions"`
	Roles            []Name            `json:"roles"` // that the dump refers to
	LeftOut          []LeftOut         `json:"left_out"`
	Warnings         []string          `json:"warnings"`
}

// Source is where the dump was taken.
type Source struct {
	Server   Server            `json:"server"`
	Database Name              `json:"database"`
	Owner    Name              `json:"owner"`
	Settings []DatabaseSetting `json:"settings"` // ALTER DATABASE … SET, ALTER ROLE … IN DATABASE … SET
	ACL      []Grant           `json:"acl"`
	Snapshot Snapshot          `json:"snapshot"`

	Comment         Name   `json:"comment,omitempty"`          // on the database
	ConnectionLimit *int32 `json:"connection_limit,omitempty"` // absent: none
	Locale          string `json:"locale,omitempty"`           // of the providers icu and builtin
	ICURules        string `json:"icu_rules,omitempty"`

	Template   bool            `json:"is_template,omitempty"`
	Tablespace Name            `json:"tablespace,omitempty"` // absent: pg_default
	Labels     []SecurityLabel `json:"security_labels,omitempty"`
}

// SecurityLabel is what a SECURITY LABEL … ON DATABASE has set.
type SecurityLabel struct {
	Provider Name `json:"provider"`
	Label    Name `json:"label"`
}

// DatabaseSetting is one ALTER DATABASE … SET, or with a role ALTER ROLE … IN DATABASE … SET.
type DatabaseSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Role  Name   `json:"role,omitempty"`
}

// Grant is one privilege on the database; an empty Grantee is PUBLIC.
type Grant struct {
	Grantee   Name   `json:"grantee"`
	Privilege string `json:"privilege"`
	Grantable bool   `json:"grantable"`
}

// StoredFile is a file of the dump with the checksum of its stored bytes. Path is relative to the dump, with slashes.
type StoredFile struct {
	Path        string `json:"path"`
	StoredBytes int64  `json:"stored_bytes"`
	XXH128      string `json:"xxh128"` // 32 hex digits, as xxh128sum prints them
}

// ManifestTable is one table: Rows, Bytes (rows and trailers, uncompressed) and RowDigest are the sums over its segments.
type ManifestTable struct {
	Schema          Name              `json:"schema"`
	Name            Name              `json:"name"`
	Kind            string            `json:"kind"`
	Unlogged        bool              `json:"unlogged,omitempty"`
	Where           string            `json:"where,omitempty"`
	Root            *Table            `json:"root,omitempty"`     // partition: its topmost parent
	ViaRoot         bool              `json:"via_root,omitempty"` // partition: load through the root, its key hashes differently elsewhere
	ExtensionConfig bool              `json:"extension_config,omitempty"`
	Columns         []Column          `json:"columns"`
	Rows            int64             `json:"rows"`
	Bytes           int64             `json:"bytes"`
	RowDigest       string            `json:"row_digest"` // 32 hex digits: low lane, then high lane
	Segments        []ManifestSegment `json:"segments"`
}

// ManifestSegment is one data file.
type ManifestSegment struct {
	StoredFile
	Rows      int64      `json:"rows"`
	RawBytes  int64      `json:"raw_bytes"` // rows and trailer, uncompressed
	RowDigest string     `json:"row_digest"`
	CTIDRange *CTIDRange `json:"ctid_range,omitempty"`
}

// Sequence is a sequence's state, read from the sequence itself after the snapshot.
type Sequence struct {
	Schema    Name  `json:"schema"`
	Name      Name  `json:"name"`
	LastValue int64 `json:"last_value"`
	IsCalled  bool  `json:"is_called"`

	Owner *SequenceOwner `json:"owner,omitempty"` // absent: none, or not known
}

// SequenceOwner is the column that a sequence belongs to.
type SequenceOwner struct {
	Schema Name `json:"schema"`
	Table  Name `json:"table"`
	Column Name `json:"column"`
}

// MatView is a materialized view of the source.
type MatView struct {
	Schema    Name `json:"schema"`
	Name      Name `json:"name"`
	Populated bool `json:"populated"`
}

// LeftOut names something that the dump does not hold, and why.
type LeftOut struct {
	Kind   string `json:"kind"` // table data, foreign table, extension, large objects …
	Schema Name   `json:"schema,omitempty"`
	Name   Name   `json:"name"`
	Why    string `json:"why"`
}
