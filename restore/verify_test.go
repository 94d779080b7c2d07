package restore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/restore"
	"github.com/zeebo/xxh3"
)

// ringRows are COPY rows of (int4, text), without a trailer.
func ringRows(from, to int) []byte {
	var p []byte
	for i := from; i < to; i++ {
		text := fmt.Sprintf("row %d", i)
		p = append(p, 0, 2, 0, 0, 0, 4)
		p = binary.BigEndian.AppendUint32(p, uint32(i))
		p = binary.BigEndian.AppendUint32(p, uint32(len(text)))
		p = append(p, text...)
	}
	return p
}

func ringHeader(table string, i, n int) *format.Header {
	column := func(name, typ string) format.Column {
		return format.Column{Name: format.Name(name), Type: typ, Carried: format.CarriedBinary}
	}
	return &format.Header{Meta: format.Meta{
		DumpID: "d1", Table: format.Table{Schema: "public", Name: format.Name(table), Kind: "table"},
		Columns: []format.Column{column("id", "integer"), column("s", "text")},
		Segment: format.SegmentRef{I: i, N: n, CTIDRange: &format.CTIDRange{From: uint32(i)}},
	}}
}

// writeRing writes a dump of two tables, one of them empty, the other in three segments, as a dump job does.
func writeRing(t *testing.T, c format.Compression) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dump")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	m := &format.Manifest{FormatVersion: format.ManifestVersion, DumpID: "d1"}
	schema := []byte("PGDMP and so on")
	if err := root.WriteFile(format.SchemaName, schema, 0o600); err != nil {
		t.Fatal(err)
	}
	sum := xxh3.Hash128(schema).Bytes()
	m.Schema = &format.StoredFile{Path: format.SchemaName, StoredBytes: int64(len(schema)), XXH128: fmt.Sprintf("%x", sum)}
	for no, table := range []struct {
		name     string
		segments [][]byte
	}{{"ring", [][]byte{ringRows(0, 400), ringRows(400, 500), ringRows(500, 2000)}}, {"empty", [][]byte{nil}}} {
		entry := format.ManifestTable{Schema: "public", Name: format.Name(table.name), Kind: "table"}
		var total format.Totals
		for i, rows := range table.segments {
			h := ringHeader(table.name, i+1, len(table.segments))
			entry.Columns = h.Meta.Columns
			s := writeSegment(t, root, format.SegmentPath(no+1, "public", entry.Name, i+1, c), h, c, rows)
			s.CTIDRange = h.Meta.Segment.CTIDRange
			entry.Segments = append(entry.Segments, s)
			totals, err := s.Totals()
			if err != nil {
				t.Fatal(err)
			}
			total = total.Add(totals)
		}
		entry.Rows, entry.Bytes, entry.RowDigest = total.Rows, total.Length, total.Digest.String()
		m.Tables = append(m.Tables, entry)
	}
	if err := format.WriteManifest(root, m); err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeSegment(t *testing.T, root *os.Root, path string, h *format.Header, c format.Compression, rows []byte) format.ManifestSegment {
	t.Helper()
	f, err := format.Create(root, path, h, c)
	if err != nil {
		t.Fatal(err)
	}
	half := 0
	if len(rows) > 1000 { // two blocks, cut between rows
		half = len(ringRows(0, 1)) * 10
		w := format.NewWalker(2)
		if half, err = w.Walk(rows[:half]); err != nil {
			t.Fatal(err)
		}
	}
	last := append(slices.Clone(rows[half:]), 0xff, 0xff)
	w := format.NewWalker(2)
	for _, block := range [][]byte{rows[:half], last} {
		if _, err := w.Walk(block); err != nil {
			t.Fatal(err)
		}
		if err := f.WriteBlock(block); err != nil {
			t.Fatal(err)
		}
	}
	totals := w.Totals()
	stored, err := f.Commit(totals)
	if err != nil {
		t.Fatal(err)
	}
	return format.ManifestSegment{StoredFile: stored, Rows: totals.Rows, RawBytes: totals.Length, RowDigest: totals.Digest.String()}
}

func verify(t *testing.T, o restore.VerifyOptions) *restore.VerifyReport {
	t.Helper()
	o.Tracker = progress.New("verify", "read", "parse", "check")
	r, err := restore.Verify(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if s := o.Tracker.Snapshot(); !s.Finished || r.OK() && s.Rows != r.Rows {
		t.Errorf("the tracker saw %d rows, the report says %d", s.Rows, r.Rows)
	}
	return r
}

// found gives the findings, each as FILE: KIND.
func found(r *restore.VerifyReport) []string {
	var s []string
	for _, d := range r.Findings {
		s = append(s, d.File+": "+d.Kind)
	}
	return s
}

var compressions = []format.Compression{{}, {Level: 1}}

func TestVerifyDump(t *testing.T) {
	for _, c := range compressions {
		dir := writeRing(t, c)
		r := verify(t, restore.VerifyOptions{Path: dir, Jobs: 2})
		if !r.OK() || len(r.Warnings) != 0 || r.What != "dump" || r.DumpID != "d1" || r.Tables != 2 || r.Files != 4 || r.Rows != 2000 {
			t.Errorf("%s: %+v", c, r)
		}
		if r.Bytes != int64(len(ringRows(0, 2000)))+8 {
			t.Errorf("%s: %d bytes", c, r.Bytes)
		}
		p, err := json.Marshal(r)
		if err != nil || !bytes.Contains(p, []byte(`"findings":[],"warnings":[]`)) {
			t.Errorf("%s, %v", p, err)
		}
	}
}

// change is one way to damage a file.
type change struct {
	name  string
	apply func(p []byte) []byte
	kinds []string // one of them is found
}

func changes() []change {
	flip := func(at int) func([]byte) []byte {
		return func(p []byte) []byte {
			i := at
			if at < 0 {
				i = len(p) + at
			}
			p[i] ^= 1
			return p
		}
	}
	return []change{
		{"flip in the signature", flip(0), []string{"bad signature"}},
		{"flip in the header", flip(100), []string{"checksum mismatch"}},
		{"flip near the end", flip(-40), nil},
		{"flip in the last byte", flip(-1), nil},
		{"flip in the middle", func(p []byte) []byte { return flip(len(p) * 9 / 10)(p) }, nil},
		{"one byte cut", func(p []byte) []byte { return p[:len(p)-1] }, []string{"truncated"}},
		{"cut to half", func(p []byte) []byte { return p[:len(p)/2] }, []string{"truncated"}},
		{"cut to nothing", func([]byte) []byte { return nil }, []string{"truncated"}},
		{"bytes appended", func(p []byte) []byte { return append(p, "xxxx"...) }, []string{"trailing bytes"}},
		{"twice", func(p []byte) []byte { return append(p, p...) }, []string{"trailing bytes"}},
		{"zeros", func(p []byte) []byte { return make([]byte, len(p)) }, []string{"bad signature"}},
	}
}

func TestVerifyFindsDamage(t *testing.T) {
	for _, c := range compressions {
		dir := writeRing(t, c)
		name := format.SegmentPath(1, "public", "ring", 2, c)
		path := filepath.Join(dir, filepath.FromSlash(name))
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, ch := range changes() {
			if err := os.WriteFile(path, ch.apply(bytes.Clone(good)), 0o600); err != nil {
				t.Fatal(err)
			}
			whole := verify(t, restore.VerifyOptions{Path: dir, Jobs: 2})
			alone := verify(t, restore.VerifyOptions{Path: path})
			piped := verify(t, restore.VerifyOptions{Path: "-", Stdin: bytes.NewReader(ch.apply(bytes.Clone(good)))})
			for _, r := range []*restore.VerifyReport{whole, alone, piped} {
				if len(r.Findings) != 1 || ch.kinds != nil && !slices.Contains(ch.kinds, r.Findings[0].Kind) {
					t.Errorf("%s, %s, %s: %v", c, ch.name, r.What, found(r))
					continue
				}
				d := r.Findings[0]
				if d.Hint == "" || d.What == "" || !strings.Contains(d.String(), d.Kind+": ") && d.Offset < 0 {
					t.Errorf("%s: %v", ch.name, d)
				}
			}
			if whole.Files != 3 || whole.Findings[0].File != name {
				t.Errorf("%s, %s: the other files must be read all the same: %+v", c, ch.name, whole)
			}
		}
	}
}

func TestVerifyNamesThePlace(t *testing.T) {
	dir := writeRing(t, format.Compression{})
	name := format.SegmentPath(1, "public", "ring", 1, format.Compression{})
	path := filepath.Join(dir, filepath.FromSlash(name))
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.Index(p, ringRows(0, 1))
	at := first + len(ringRows(0, 7)) + 2
	p[at] = 0x80 // a length in row 8 becomes negative
	if err := os.WriteFile(path, p, 0o600); err != nil {
		t.Fatal(err)
	}
	r := verify(t, restore.VerifyOptions{Path: dir})
	want := fmt.Sprintf("%s: bad field length at offset %d, row 8, column 1: field of -2147483644 bytes", name, at)
	if len(r.Findings) != 1 || r.Findings[0].String() != want {
		t.Errorf("%v, want %s", r.Findings, want)
	}
}

func TestVerifyFolder(t *testing.T) {
	c := format.Compression{Level: 1}
	segment := format.SegmentPath(1, "public", "ring", 2, c)
	other := format.SegmentPath(1, "public", "ring", 1, c)
	tests := []struct {
		name     string
		change   func(dir string) error
		found    []string
		warnings []string
	}{
		{"file missing", func(dir string) error { return os.Remove(filepath.Join(dir, segment)) }, []string{segment + ": missing"}, nil},
		{"folder in its place", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, segment)), os.Mkdir(filepath.Join(dir, segment), 0o700))
		}, []string{segment + ": not a regular file"}, nil},
		{"link out of the dump", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, segment)), os.Symlink("/etc/hostname", filepath.Join(dir, segment)))
		}, []string{segment + ": not a regular file"}, nil},
		{"another segment in its place", func(dir string) error {
			p, err := os.ReadFile(filepath.Join(dir, other))
			return errors.Join(err, os.WriteFile(filepath.Join(dir, segment), p, 0o600))
		}, []string{segment + ": not as the manifest says"}, nil},
		{"no manifest", func(dir string) error { return os.Remove(filepath.Join(dir, format.ManifestName)) }, []string{"manifest.json: unfinished"}, nil},
		{"no manifest and damage", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, format.ManifestName)), os.Truncate(filepath.Join(dir, segment), 50))
		}, []string{segment + ": truncated", "manifest.json: unfinished"}, nil},
		{"manifest cut", func(dir string) error { return os.Truncate(filepath.Join(dir, format.ManifestName), 100) }, []string{"manifest.json: bad manifest"}, nil},
		{"manifest points outside", func(dir string) error {
			return edit(filepath.Join(dir, format.ManifestName), `"data/0001`, `"../data/0001`)
		}, []string{"manifest.json: bad manifest"}, nil},
		{"manifest edited", func(dir string) error { return edit(filepath.Join(dir, format.ManifestName), `"d1"`, `"d2"`) }, []string{
			"XXH128SUMS: checksum mismatch", other + ": not as the manifest says", segment + ": not as the manifest says",
			format.SegmentPath(1, "public", "ring", 3, c) + ": not as the manifest says", format.SegmentPath(2, "public", "empty", 1, c) + ": not as the manifest says",
		}, nil},
		{"no checksums", func(dir string) error { return os.Remove(filepath.Join(dir, format.ChecksumName)) }, []string{"XXH128SUMS: missing"}, nil},
		{"checksums edited", func(dir string) error { return edit(filepath.Join(dir, format.ChecksumName), "  data", " *data") }, []string{"XXH128SUMS: checksum mismatch"}, nil},
		{"schema missing", func(dir string) error { return os.Remove(filepath.Join(dir, format.SchemaName)) }, []string{"schema.pgdump: missing"}, nil},
		{"schema cut", func(dir string) error { return os.Truncate(filepath.Join(dir, format.SchemaName), 3) }, []string{"schema.pgdump: truncated"}, nil},
		{"schema changed", func(dir string) error { return edit(filepath.Join(dir, format.SchemaName), "so", "xx") }, []string{"schema.pgdump: checksum mismatch"}, nil},
		{"left over", func(dir string) error { return os.WriteFile(filepath.Join(dir, "data", "x.pgcopy.part"), nil, 0o600) }, nil, []string{"data/x.pgcopy.part: left over"}},
		{"unexpected", func(dir string) error { return os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600) }, nil, []string{"notes.txt: unexpected file"}},
	}
	for _, tt := range tests {
		dir := writeRing(t, c)
		if err := tt.change(dir); err != nil {
			t.Fatal(tt.name, err)
		}
		r := verify(t, restore.VerifyOptions{Path: dir, Jobs: 2})
		got := found(r)
		slices.Sort(got)
		slices.Sort(tt.found)
		if !slices.Equal(got, tt.found) {
			t.Errorf("%s: %q, want %q", tt.name, r.Findings, tt.found)
		}
		if w := found(&restore.VerifyReport{Findings: r.Warnings}); !slices.Equal(w, tt.warnings) {
			t.Errorf("%s: warnings %q, want %q", tt.name, w, tt.warnings)
		}
	}
}

// edit replaces text in a file.
func edit(path, from, to string) error {
	p, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Contains(p, []byte(from)) {
		return fmt.Errorf("%s: no %q", path, from)
	}
	return os.WriteFile(path, bytes.Replace(p, []byte(from), []byte(to), 1), 0o600)
}

func TestVerifyStream(t *testing.T) {
	rows := append(ringRows(0, 100), 0xff, 0xff)
	w := format.NewWalker(2)
	if _, err := w.Walk(rows); err != nil {
		t.Fatal(err)
	}
	for _, c := range compressions {
		var b bytes.Buffer
		s, err := format.NewStreamWriter(&b, ringHeader("ring", 1, 1), c)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.WriteBlock(rows), s.Close(w.Totals())); err != nil {
			t.Fatal(err)
		}
		r := verify(t, restore.VerifyOptions{Path: "-", Stdin: &b})
		if !r.OK() || r.What != "stream" || r.Rows != 100 || r.DumpID != "d1" || (len(r.Warnings) == 1) != (c.Level == 0) {
			t.Errorf("%s: %+v", c, r)
		}
	}
}

func TestVerifyCannotLook(t *testing.T) {
	if _, err := restore.Verify(t.Context(), restore.VerifyOptions{Path: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := restore.Verify(t.Context(), restore.VerifyOptions{Path: "-"}); err == nil {
		t.Error("no input, no error")
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := restore.Verify(ctx, restore.VerifyOptions{Path: writeRing(t, format.Compression{})}); !errors.Is(err, why) {
		t.Error(err)
	}
	// A pipe that nobody writes to does not hold up the end.
	r, w := io.Pipe()
	ctx, cancel = context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() {
		_, err := restore.Verify(ctx, restore.VerifyOptions{Path: "-", Stdin: r})
		done <- err
	}()
	if _, err := w.Write([]byte(format.Signature[:5])); err != nil {
		t.Fatal(err)
	}
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
