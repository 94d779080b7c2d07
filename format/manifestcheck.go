package format

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"strings"
)

// ValidatePath accepts the path of a data file: below [DataDir], local, with slashes, free of control characters and backslashes, with one of our extensions.
func ValidatePath(p string) error {
	bad := func(why string) error { return fmt.Errorf("path %q %s", p, why) }
	switch {
	case len(p) > 4096:
		return fmt.Errorf("path of %d bytes", len(p))
	case !fs.ValidPath(p) || !filepath.IsLocal(filepath.FromSlash(p)):
		return bad("leaves the dump")
	case !strings.HasPrefix(p, DataDir+"/"):
		return bad("is not below " + DataDir)
	case strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r == ':' }):
		return bad("holds a character that has no place there")
	case !strings.HasSuffix(p, ExtPlain) && !strings.HasSuffix(p, ExtZstd):
		return bad("does not end in " + ExtPlain + " or " + ExtZstd)
	}
	return nil
}

// Validate reports the first thing in the manifest that can't be: its version, paths, counts, digests, or sums that do not add up.
// It knows nothing of the files themselves.
func (m *Manifest) Validate() error {
	switch {
	case m.FormatVersion < 1:
		return fmt.Errorf("format_version %d", m.FormatVersion)
	case m.FormatVersion > ManifestVersion:
		return fmt.Errorf("format_version %d is later than this program's %d: use a newer pghaul", m.FormatVersion, ManifestVersion)
	case m.DumpID == "":
		return errors.New("no dump_id")
	case m.LargeObjects < 0:
		return fmt.Errorf("large_objects %d", m.LargeObjects)
	}
	if err := m.checkNames(); err != nil {
		return err
	}
	if m.Schema != nil {
		if m.Schema.Path != SchemaName {
			return fmt.Errorf("schema: path %q is not %s", m.Schema.Path, SchemaName)
		}
		if err := m.Schema.validate(); err != nil {
			return fmt.Errorf("schema: %w", err)
		}
	}
	seen := manifestSeen{paths: map[string]bool{}, tables: map[[2]Name]bool{}, folders: map[string][2]Name{}}
	var rows, length, stored int64
	for i := range m.Tables {
		t := &m.Tables[i]
		err := t.validate(seen)
		for _, s := range t.Segments {
			err = cmp.Or(err, addTo(&stored, s.StoredBytes))
		}
		if err = cmp.Or(err, addTo(&rows, t.Rows), addTo(&length, t.Bytes)); err != nil {
			return fmt.Errorf("table %s.%s: %w", Printable(string(t.Schema)), Printable(string(t.Name)), err)
		}
	}
	sequences := map[[2]Name]bool{}
	for _, s := range m.Sequences {
		key := [2]Name{s.Schema, s.Name}
		if s.Name == "" || sequences[key] || systemSchema(s.Schema) {
			return fmt.Errorf("sequence %s.%s is named twice, not at all, or is the server's own", Printable(string(s.Schema)), Printable(string(s.Name)))
		}
		sequences[key] = true
	}
	return nil
}

// addTo adds what the dump as a whole must be able to count.
func addTo(sum *int64, n int64) error {
	if n < 0 || n > math.MaxInt64-*sum {
		return errors.New("the sums over the dump exceed 2^63-1")
	}
	*sum += n
	return nil
}

// checkNames accepts what a server can have as names.
func (m *Manifest) checkNames() error {
	names := append([]Name{m.Source.Database, m.Source.Owner}, m.Roles...)
	names = append(names, m.ExtensionConfigs...)
	for _, s := range m.Source.Settings {
		names = append(names, Name(s.Name), s.Role)
	}
	for _, g := range m.Source.ACL {
		names = append(names, g.Grantee)
	}
	for _, s := range m.Sequences {
		names = append(names, s.Schema, s.Name)
	}
	for _, v := range m.MatViews {
		names = append(names, v.Schema, v.Name)
		if systemSchema(v.Schema) {
			return fmt.Errorf("materialized view %s.%s is the server's own", Printable(string(v.Schema)), Printable(string(v.Name)))
		}
	}
	for _, e := range m.Extensions {
		names = append(names, e.Name)
	}
	return checkNames("name", names...)
}

// systemSchema tells the schemas that belong to the server: nothing in them is ever dumped, so nothing of a dump goes into them.
func systemSchema(n Name) bool {
	return strings.HasPrefix(string(n), "pg_") || n == "information_schema"
}

// manifestSeen holds what may occur only once. Paths in lower case: two that differ in case only are one file on some systems.
type manifestSeen struct {
	paths   map[string]bool
	tables  map[[2]Name]bool
	folders map[string][2]Name // each belongs to one table
}

func (t *ManifestTable) validate(seen manifestSeen) error {
	key := [2]Name{t.Schema, t.Name}
	switch {
	case t.Name == "" || t.Schema == "":
		return errors.New("no name or no schema")
	case seen.tables[key]:
		return errors.New("named twice")
	case len(t.Columns) > MaxColumns:
		return fmt.Errorf("%d columns, more than %d", len(t.Columns), MaxColumns)
	case len(t.Segments) == 0:
		return errors.New("no segments")
	case t.Rows < 0 || t.Bytes < 0:
		return fmt.Errorf("%d rows, %d bytes", t.Rows, t.Bytes)
	case systemSchema(t.Schema), t.Root != nil && (t.Root.Name == "" || t.Root.Schema == "" || systemSchema(t.Root.Schema)):
		return errors.New("is, or belongs to, one of the server's own tables")
	}
	if err := checkNames("name", t.Schema, t.Name); err != nil {
		return err
	}
	if t.Root != nil {
		if err := checkNames("name", t.Root.Schema, t.Root.Name); err != nil {
			return err
		}
	}
	if err := checkColumns(t.Columns); err != nil {
		return err
	}
	seen.tables[key] = true
	var sum Totals
	for i := range t.Segments {
		s := &t.Segments[i]
		totals, err := s.validate()
		if err != nil {
			return fmt.Errorf("segment %d: %w", i+1, err)
		}
		lower := strings.ToLower(s.Path)
		if seen.paths[lower] {
			return fmt.Errorf("segment %d: path %q is named twice", i+1, s.Path)
		}
		seen.paths[lower] = true
		folder := path.Dir(lower)
		if owner, ok := seen.folders[folder]; ok && owner != key {
			return fmt.Errorf("segment %d: folder of %q belongs to another table", i+1, s.Path)
		}
		seen.folders[folder] = key
		if totals.Rows > math.MaxInt64-sum.Rows || totals.Length > math.MaxInt64-sum.Length {
			return fmt.Errorf("segment %d: the sums exceed 2^63-1", i+1)
		}
		sum = sum.Add(totals)
	}
	want, err := t.Totals()
	if err != nil {
		return err
	}
	if sum != want {
		return fmt.Errorf("its segments add up to %s, not %s", sum, want)
	}
	return nil
}

// Totals returns the totals of the table as numbers.
func (t *ManifestTable) Totals() (Totals, error) {
	d, err := ParseRowDigest(t.RowDigest)
	return Totals{Rows: t.Rows, Length: t.Bytes, Digest: d}, err
}

// Totals returns the totals of the segment as numbers.
func (s *ManifestSegment) Totals() (Totals, error) {
	d, err := ParseRowDigest(s.RowDigest)
	return Totals{Rows: s.Rows, Length: s.RawBytes, Digest: d}, err
}

func (s *ManifestSegment) validate() (Totals, error) {
	if err := ValidatePath(s.Path); err != nil {
		return Totals{}, err
	}
	if err := s.StoredFile.validate(); err != nil {
		return Totals{}, err
	}
	// A row takes 2 bytes at least, the trailer 2.
	if s.Rows < 0 || s.RawBytes < trailerLen || s.Rows > (s.RawBytes-trailerLen)/2 {
		return Totals{}, fmt.Errorf("%d rows in %d bytes", s.Rows, s.RawBytes)
	}
	if r := s.CTIDRange; r != nil && r.To != 0 && r.To < r.From {
		return Totals{}, fmt.Errorf("ctid_range from %d to %d", r.From, r.To)
	}
	return s.Totals()
}

func (s *StoredFile) validate() error {
	if s.StoredBytes < 1 {
		return fmt.Errorf("stored_bytes %d", s.StoredBytes)
	}
	if _, err := parseHex128(s.XXH128); err != nil {
		return fmt.Errorf("xxh128: %w", err)
	}
	return nil
}
