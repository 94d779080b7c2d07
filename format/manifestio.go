package format

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

// MaxManifest is the most bytes that a manifest or a checksum file may have: 200,000 tables of 20 columns, or 2,000,000 segments.
const MaxManifest = 1 << 30

// ErrUnfinished says that a folder is not a finished dump.
var ErrUnfinished = errors.New("not a finished dump: no " + ManifestName)

// Files returns every file of the dump that the manifest names, in its order: the schema, then the segments.
func (m *Manifest) Files() []StoredFile { return slices.Collect(m.eachFile) }

// eachFile is Files, one at a time.
func (m *Manifest) eachFile(yield func(StoredFile) bool) {
	if m.Schema != nil && !yield(*m.Schema) {
		return
	}
	for i := range m.Tables {
		for j := range m.Tables[i].Segments {
			if !yield(m.Tables[i].Segments[j].StoredFile) {
				return
			}
		}
	}
}

// WriteManifest validates the manifest, writes [ChecksumName] and then, last of all, the manifest: after it returns nil the dump is finished and on disk.
func WriteManifest(root *os.Root, m *Manifest) (err error) {
	if err := m.Validate(); err != nil {
		return fmt.Errorf("%s: %w", ManifestName, err)
	}
	// The names of the tables' folders must be on disk before the file that vouches for them; what is in them is since File.Commit or Batch.Flush.
	if len(m.Tables) > 0 {
		if err := syncDir(root, DataDir); err != nil {
			return err
		}
	}
	sum := xxh3.New128()
	if err := writePart(root, ManifestName, func(w io.Writer) error { return m.encode(io.MultiWriter(w, sum)) }); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, root.Remove(ManifestName+PartSuffix))
		}
	}()
	if err := writePart(root, ChecksumName, func(w io.Writer) error { return m.writeChecksums(w, sum) }); err != nil {
		return err
	}
	if err := root.Rename(ChecksumName+PartSuffix, ChecksumName); err != nil {
		return errors.Join(err, root.Remove(ChecksumName+PartSuffix))
	}
	if err := root.Rename(ManifestName+PartSuffix, ManifestName); err != nil {
		return err
	}
	return syncDir(root, ".")
}

// writeChecksums writes the content of [ChecksumName] for a manifest whose bytes add up to sum.
func (m *Manifest) writeChecksums(w io.Writer, sum *xxh3.Hasher128) error {
	for f := range m.eachFile {
		if _, err := fmt.Fprintf(w, "%s  %s\n", f.XXH128, f.Path); err != nil {
			return err
		}
	}
	b := sum.Sum128().Bytes()
	_, err := fmt.Fprintf(w, "%s  %s\n", hex.EncodeToString(b[:]), ManifestName)
	return err
}

func hexSum(p []byte) string {
	b := xxh3.Hash128(p).Bytes()
	return hex.EncodeToString(b[:])
}

// CheckSums compares [ChecksumName] with the manifest, byte for byte with what [WriteManifest] writes, and returns the first difference.
func CheckSums(root *os.Root, m *Manifest) (err error) {
	f, err := openBounded(root, ManifestName, MaxManifest)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := xxh3.New128()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := m.writeChecksums(&b, sum); err != nil {
		return err
	}
	want := b.Bytes()
	got, err := readBounded(root, ChecksumName, int64(len(want))+maxSurplus)
	if err != nil {
		return err
	}
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

// maxSurplus is how much longer than it should be a checksum file is read at all.
const maxSurplus = 1 << 20

// openBounded opens a file of at most limit bytes.
func openBounded(root *os.Root, name string, limit int64) (*os.File, error) {
	f, info, err := OpenRegular(root, name)
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		err = &Error{File: name, Offset: limit, Kind: ErrLimit, Err: fmt.Errorf("%d bytes, more than %d", info.Size(), limit)}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readBounded reads a whole file of at most limit bytes.
func readBounded(root *os.Root, name string, limit int64) (p []byte, err error) {
	f, err := openBounded(root, name, limit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, limit))
}

// writePart writes a file under its .part name and syncs it. On an error nothing is left.
func writePart(root *os.Root, name string, write func(w io.Writer) error) error {
	part := name + PartSuffix
	f, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(f, 64<<10)
	if err = write(b); err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, root.Remove(part))
	}
	return nil
}

// SegmentPath returns the path of a data file below the dump, with slashes: data/0001.public.orders/0001.pgcopy.zst. Tables and segments count from 1.
// The table's number alone makes it unique, also where case does not count; whatever is not an ASCII letter, digit, _ or - is replaced by _.
func SegmentPath(tableNo int, schema, name Name, segNo int, c Compression) string {
	return fmt.Sprintf("%s/%04d.%s.%s/%04d%s", DataDir, tableNo, safeName(schema), safeName(name), segNo, c.Ext())
}

var segmentPath = regexp.MustCompile(`^` + DataDir + `/\d{4,}\.[\w-]+\.[\w-]+/\d{4,}(` + regexp.QuoteMeta(ExtPlain) + `|` + regexp.QuoteMeta(ExtZstd) + `)$`)

// IsSegmentPath tells whether a path below a dump is one that [SegmentPath] gives: what else lies there, a file that was salvaged for one, no dump has made.
func IsSegmentPath(p string) bool { return segmentPath.MatchString(p) }

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
