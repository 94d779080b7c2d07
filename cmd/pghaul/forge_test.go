package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/bytehaul/pghaul/format"
)

// forged is a copy of a true dump that somebody has changed, with all checksums made to fit.
type forged struct {
	t   *testing.T
	dir string
	m   *format.Manifest
}

// forge copies a dump of plain files.
func forge(t *testing.T, from string) *forged {
	t.Helper()
	f := &forged{t: t, dir: filepath.Join(t.TempDir(), "dump")}
	f.check(os.CopyFS(f.dir, os.DirFS(from)))
	p, err := os.ReadFile(f.path(format.ManifestName))
	f.check(err)
	f.m, err = format.ParseManifest(p)
	f.check(err)
	return f
}

func (f *forged) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *forged) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// table finds a table by its name.
func (f *forged) table(name string) *format.ManifestTable {
	f.t.Helper()
	for i := range f.m.Tables {
		if string(f.m.Tables[i].Name) == name {
			return &f.m.Tables[i]
		}
	}
	f.t.Fatalf("no table %s", name)
	return nil
}

// seal writes the manifest and the list of checksums that goes with it.
func (f *forged) seal() {
	f.t.Helper()
	p, err := f.m.AppendJSON(nil)
	f.check(err)
	f.sealAs(p)
}

// sealAs is seal with a manifest of whatever bytes.
func (f *forged) sealAs(manifest []byte) {
	f.t.Helper()
	var sums strings.Builder
	for _, file := range f.m.Files() {
		fmt.Fprintf(&sums, "%s  %s\n", file.XXH128, file.Path)
	}
	fmt.Fprintf(&sums, "%s  %s\n", sumOf(manifest), format.ManifestName)
	f.check(os.WriteFile(f.path(format.ManifestName), manifest, 0o600))
	f.check(os.WriteFile(f.path(format.ChecksumName), []byte(sums.String()), 0o600))
}

func sumOf(p []byte) string {
	b := xxh3.Hash128(p).Bytes()
	return hex.EncodeToString(b[:])
}

// put replaces a file's bytes; the manifest's entry follows.
func (f *forged) put(file *format.StoredFile, p []byte) {
	f.t.Helper()
	f.check(os.WriteFile(f.path(file.Path), p, 0o600))
	file.StoredBytes, file.XXH128 = int64(len(p)), sumOf(p)
}

// replace puts something that is no file in a file's place.
func (f *forged) replace(name string, with func(path string) error) {
	f.t.Helper()
	f.check(os.RemoveAll(f.path(name)))
	f.check(with(f.path(name)))
}

// meta rewrites META of every file of a table, with the rows as they are, and the manifest's columns with it.
func (f *forged) meta(table string, change func(*format.Meta)) {
	f.t.Helper()
	t := f.table(table)
	for i := range t.Segments {
		h, rows := f.taken(t.Segments[i].Path)
		change(&h.Meta)
		f.put(&t.Segments[i].StoredFile, plainFile(metaJSON(f.t, &h.Meta), h.Totals, rows))
		t.Columns = h.Meta.Columns
		t.Schema, t.Name, t.Kind, t.Where = h.Meta.Table.Schema, h.Meta.Table.Name, h.Meta.Table.Kind, h.Meta.Where
	}
}

// taken takes a plain file apart.
func (f *forged) taken(path string) (*format.Header, []byte) {
	f.t.Helper()
	p, err := os.ReadFile(f.path(path))
	f.check(err)
	h, err := format.ReadHeader(bytes.NewReader(p))
	f.check(err)
	return h, p[fixedLength+int(binary.BigEndian.Uint32(p[fixedLength-4:])):]
}

func metaJSON(t *testing.T, m *format.Meta) []byte {
	t.Helper()
	p, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fixedLength is COPY's own header: signature, flags, length of the extension area.
const fixedLength = len(format.Signature) + 8

// headerOf is a header with any META. body is what is stored behind it.
func headerOf(meta []byte, totals format.Totals, body []byte) []byte {
	chunk := func(p []byte, tag string, payload []byte) []byte {
		start := len(p)
		p = binary.BigEndian.AppendUint32(append(p, tag...), uint32(len(payload)))
		p = append(p, payload...)
		return binary.BigEndian.AppendUint32(p, crc32.Checksum(p[start:], crc32.MakeTable(crc32.Castagnoli)))
	}
	digest := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(totals.Rows)), uint64(totals.Length))
	digest = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(digest, totals.Digest.Lo), totals.Digest.Hi)
	sum := xxh3.Hash128(body).Bytes()
	p := append([]byte(format.Signature), make([]byte, 8)...)
	p = chunk(p, "HAUL", []byte{0, format.Major, 0, format.Minor, 0, 0, 0, 0})
	p = chunk(p, "META", meta)
	p = chunk(p, "DGST", append(digest, make([]byte, 32)...))
	p = chunk(p, "stor", append(binary.BigEndian.AppendUint64(nil, uint64(len(body))), sum[:]...))
	binary.BigEndian.PutUint32(p[fixedLength-4:], uint32(len(p)-fixedLength))
	return p
}

func plainFile(meta []byte, totals format.Totals, rows []byte) []byte {
	return append(headerOf(meta, totals, rows), rows...)
}

// zstdFile is a compressed file whose frames of rows are given; raw is how many bytes each claims to hold.
func zstdFile(meta []byte, totals format.Totals, frames [][]byte, raw []int) []byte {
	le := binary.LittleEndian
	headerLength := len(headerOf(meta, totals, nil))
	const block = 128 << 10
	headFrame := func(header []byte) []byte {
		p := append(le.AppendUint32(nil, 0xFD2FB528), 0xA0)
		p = le.AppendUint32(p, uint32(len(header)))
		for len(header) > 0 {
			n := min(len(header), block)
			v := uint32(n) << 3
			if n == len(header) {
				v |= 1
			}
			p = append(append(p, byte(v), byte(v>>8), byte(v>>16)), header[:n]...)
			header = header[n:]
		}
		return p
	}
	var body []byte
	entries := le.AppendUint32(le.AppendUint32(nil, uint32(len(headFrame(make([]byte, headerLength))))), uint32(headerLength))
	for i, frame := range frames {
		body = append(body, frame...)
		if raw[i] >= 0 { // skippable frames have no entry
			entries = le.AppendUint32(le.AppendUint32(entries, uint32(len(frame))), uint32(raw[i]))
		}
	}
	body = le.AppendUint32(body, 0x184D2A5E)
	body = le.AppendUint32(body, uint32(len(entries)+9))
	body = append(body, entries...)
	body = le.AppendUint32(body, uint32(len(entries)/8))
	body = le.AppendUint32(append(body, 0), 0x8F92EAB1)
	return append(headFrame(headerOf(meta, totals, body)), body...)
}

// bomb is a zstd frame of blocks that each repeat a zero: 4 bytes for 128 KiB. It claims to hold claimed bytes and holds blocks times 128 KiB.
func bomb(claimed uint64, blocks int, descriptor, window byte) []byte {
	p := append(binary.LittleEndian.AppendUint32(nil, 0xFD2FB528), descriptor)
	if descriptor&(1<<5) == 0 {
		p = append(p, window)
	}
	p = binary.LittleEndian.AppendUint64(p, claimed)
	for i := range blocks {
		v := uint32(128<<10)<<3 | 1<<1
		if i == blocks-1 {
			v |= 1
		}
		p = append(p, byte(v), byte(v>>8), byte(v>>16), 0)
	}
	return append(p, 0, 0, 0, 0) // a checksum that no content has
}
