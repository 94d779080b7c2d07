package format

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/zeebo/xxh3"
)

// MaxManifest is the most bytes that a manifest or a checksum file may have: 100,000 tables of 20 columns.
const MaxManifest = 1 << 30

// ErrUnfinished says that a folder is not a finished dump.
var ErrUnfinished = errors.New("not a finished dump: no " + ManifestName)

// ReadManifest reads and validates the manifest of the dump below root. Without one the error is [ErrUnfinished], for a bad one an [*Error].
func ReadManifest(root *os.Root) (*Manifest, error) {
	p, err := readBounded(root, ManifestName, MaxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrUnfinished
	}
	if err != nil {
		return nil, err
	}
	m, err := ParseManifest(p)
	if err != nil {
		return nil, &Error{File: ManifestName, Offset: -1, Kind: ErrManifest, Err: err}
	}
	return m, nil
}

// ParseManifest decodes and validates a manifest. Unknown keys are passed over: a later program may add some.
func ParseManifest(p []byte) (*Manifest, error) {
	if err := checkJSON(p); err != nil {
		return nil, err
	}
	m := new(Manifest)
	if err := json.Unmarshal(p, m); err != nil {
		return nil, err
	}
	return m, m.Validate()
}

// AppendJSON appends the manifest as it is written: indented, for people, with empty lists as [].
func (m *Manifest) AppendJSON(p []byte) ([]byte, error) {
	c := *m
	c.Tables, c.Sequences, c.MatViews = notNil(c.Tables), notNil(c.Sequences), notNil(c.MatViews)
	c.Extensions, c.Roles, c.LeftOut, c.Warnings = notNil(c.Extensions), notNil(c.Roles), notNil(c.LeftOut), notNil(c.Warnings)
	c.Source.Settings, c.Source.ACL = notNil(c.Source.Settings), notNil(c.Source.ACL)
	if c.Options == nil {
		c.Options = map[string]string{}
	}
	b := bytes.NewBuffer(p)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(&c); err != nil {
		return p, fmt.Errorf("%s: %w", ManifestName, err)
	}
	return b.Bytes(), nil
}

// Files returns every file of the dump that the manifest names, in its order: the schema, then the segments.
func (m *Manifest) Files() []StoredFile {
	var files []StoredFile
	if m.Schema != nil {
		files = append(files, *m.Schema)
	}
	for i := range m.Tables {
		for j := range m.Tables[i].Segments {
			files = append(files, m.Tables[i].Segments[j].StoredFile)
		}
	}
	return files
}

// WriteManifest validates the manifest, writes [ChecksumName] and then, last of all, the manifest: after it returns nil the dump is finished and on disk.
func WriteManifest(root *os.Root, m *Manifest) error {
	if err := m.Validate(); err != nil {
		return fmt.Errorf("%s: %w", ManifestName, err)
	}
	p, err := m.AppendJSON(nil)
	if err != nil {
		return err
	}
	// The names of the tables' folders must be on disk before the file that vouches for them; what is in them is since File.Commit.
	if len(m.Tables) > 0 {
		if err := syncDir(root, DataDir); err != nil {
			return err
		}
	}
	if err := writeWhole(root, ChecksumName, m.checksums(p)); err != nil {
		return err
	}
	return writeWhole(root, ManifestName, p)
}

// checksums returns the content of [ChecksumName] for a manifest that was encoded as p.
func (m *Manifest) checksums(p []byte) []byte {
	var b bytes.Buffer
	for _, f := range m.Files() {
		fmt.Fprintf(&b, "%s  %s\n", f.XXH128, f.Path)
	}
	fmt.Fprintf(&b, "%s  %s\n", hexSum(p), ManifestName)
	return b.Bytes()
}

func hexSum(p []byte) string {
	b := xxh3.Hash128(p).Bytes()
	return hex.EncodeToString(b[:])
}

// CheckSums compares [ChecksumName] with the manifest, byte for byte with what [WriteManifest] writes, and returns the first difference.
func CheckSums(root *os.Root, m *Manifest) error {
	p, err := readBounded(root, ManifestName, MaxManifest)
	if err != nil {
		return err
	}
	got, err := readBounded(root, ChecksumName, MaxManifest)
	if err != nil {
		return err
	}
	want := m.checksums(p)
	if bytes.Equal(got, want) {
		return nil
	}
	line, rest := 1, string(got)
	for w := range strings.Lines(string(want)) {
		after, same := strings.CutPrefix(rest, w)
		if !same {
			g, _, _ := strings.Cut(rest, "\n")
			return &Error{File: ChecksumName, Offset: int64(len(got) - len(rest)), Kind: ErrChecksum, Err: fmt.Errorf("line %d is %.120q, not %.120q", line, g, strings.TrimSuffix(w, "\n"))}
		}
		rest = after
		line++
	}
	return &Error{File: ChecksumName, Offset: int64(len(want)), Kind: ErrTrailing, Err: fmt.Errorf("more lines than the dump has files, from line %d", line)}
}

// readBounded reads a whole file of at most limit bytes.
func readBounded(root *os.Root, name string, limit int64) (p []byte, err error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	p, err = io.ReadAll(io.LimitReader(f, limit+1))
	if int64(len(p)) > limit {
		return nil, &Error{File: name, Offset: limit, Kind: ErrLimit, Err: fmt.Errorf("more than %d bytes", limit)}
	}
	return p, err
}

// writeWhole writes a file under its .part name, syncs and renames it.
func writeWhole(root *os.Root, name string, p []byte) (err error) {
	part := name + PartSuffix
	f, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(p)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(part, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(part))
	}
	return syncDir(root, path.Dir(name))
}

// SegmentPath returns the path of a data file below the dump, with slashes: data/0001.public.orders/0001.pgcopy.zst. Tables and segments count from 1.
// The table's number alone makes it unique, also where case does not count; whatever is not an ASCII letter, digit, _ or - is replaced by _.
func SegmentPath(tableNo int, schema, name Name, segNo int, c Compression) string {
	return fmt.Sprintf("%s/%04d.%s.%s/%04d%s", DataDir, tableNo, safeName(schema), safeName(name), segNo, c.Ext())
}

// maxSafeName keeps a folder's name, two of these and a number, within 255 bytes.
const maxSafeName = 100

func safeName(n Name) string {
	b := []byte(n[:min(len(n), maxSafeName)])
	for i, c := range b {
		letter := (c|0x20) >= 'a' && (c|0x20) <= 'z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '_' {
			b[i] = '_'
		}
	}
	return string(b)
}
