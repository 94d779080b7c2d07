package format

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sampleManifest is valid; its files do not exist.
func sampleManifest() *Manifest {
	sum := strings.Repeat("0a", 16)
	segment := func(path string, rows int64, digest string) ManifestSegment {
		return ManifestSegment{StoredFile: StoredFile{Path: path, StoredBytes: 100, XXH128: sum}, Rows: rows, RawBytes: 2 + 10*rows, RowDigest: digest}
	}
	return &Manifest{
		FormatVersion: ManifestVersion, Tool: "pghaul 0.0.0", DumpID: "00112233445566778899aabbccddeeff",
		Source:  Source{Database: "shop"},
		Schema:  &StoredFile{Path: SchemaName, StoredBytes: 10, XXH128: sum},
		Options: map[string]string{"jobs": "2"},
		Tables: []ManifestTable{{
			Schema: "public", Name: "orders", Kind: "table", Rows: 1<<53 + 1 + 2, Bytes: 2 + 10*(1<<53+1) + 22,
			RowDigest: RowDigest{Lo: 1, Hi: 1}.String(),
			Columns:   []Column{{Name: "id", Carried: CarriedBinary}},
			Segments: []ManifestSegment{
				segment("data/0001.public.orders/0001.pgcopy", 1<<53+1, RowDigest{Lo: 1<<64 - 1, Hi: 0}.String()),
				segment("data/0001.public.orders/0002.pgcopy", 2, RowDigest{Lo: 2, Hi: 1}.String()),
			},
		}, {
			Schema: "public", Name: "Orders", Kind: "table", Bytes: 2, RowDigest: RowDigest{}.String(),
			Segments: []ManifestSegment{segment("data/0002.public.Orders/0001.pgcopy.zst", 0, RowDigest{}.String())},
		}},
		Sequences: []Sequence{{Schema: "public", Name: "s", LastValue: 1<<63 - 1, IsCalled: true}},
	}
}

func TestManifestRoundTrip(t *testing.T) {
	m := sampleManifest()
	p, err := m.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseManifest(p)
	if err != nil {
		t.Fatalf("%v\n%s", err, p)
	}
	if got.Tables[0].Rows != 1<<53+3 || got.Sequences[0].LastValue != 1<<63-1 {
		t.Error("integers beyond 2^53 must stay exact")
	}
	if again, err := got.AppendJSON(nil); err != nil || !cmp.Equal(p, again) {
		t.Error(err, cmp.Diff(string(p), string(again)))
	}
	if len(got.Files()) != 4 {
		t.Error(got.Files())
	}
}

func TestManifestRefused(t *testing.T) {
	tests := map[string]func(m *Manifest){
		"later than this program":    func(m *Manifest) { m.FormatVersion = ManifestVersion + 1 },
		"format_version 0":           func(m *Manifest) { m.FormatVersion = 0 },
		"no dump_id":                 func(m *Manifest) { m.DumpID = "" },
		"large_objects":              func(m *Manifest) { m.LargeObjects = -1 },
		"not schema.pgdump":          func(m *Manifest) { m.Schema.Path = "../schema.pgdump" },
		"stored_bytes 0":             func(m *Manifest) { m.Schema.StoredBytes = 0 },
		"leaves the dump":            func(m *Manifest) { m.Tables[0].Segments[0].Path = "data/../../etc/passwd.pgcopy" },
		"leaves the dump ":           func(m *Manifest) { m.Tables[0].Segments[0].Path = "/data/x.pgcopy" },
		"not below data":             func(m *Manifest) { m.Tables[0].Segments[0].Path = "manifest.json" },
		"has no place there":         func(m *Manifest) { m.Tables[0].Segments[0].Path = "data/a\n/x.pgcopy" },
		"does not end in":            func(m *Manifest) { m.Tables[0].Segments[0].Path += ".part" },
		"path of":                    func(m *Manifest) { m.Tables[0].Segments[0].Path = "data/" + strings.Repeat("x", 5000) + ".pgcopy" },
		"is named twice":             func(m *Manifest) { m.Tables[0].Segments[1].Path = "data/0001.PUBLIC.orders/0001.pgcopy" },
		"belongs to another":         func(m *Manifest) { m.Tables[1].Segments[0].Path = "data/0001.public.orders/0003.pgcopy" },
		"named twice":                func(m *Manifest) { m.Tables[1].Name = "orders" },
		"no name":                    func(m *Manifest) { m.Tables[1].Name = "" },
		"more than 1664":             func(m *Manifest) { m.Tables[0].Columns = make([]Column, 1665) },
		"no segments":                func(m *Manifest) { m.Tables[1].Segments = nil },
		"-1 rows":                    func(m *Manifest) { m.Tables[0].Segments[1].Rows = -1 },
		"rows in":                    func(m *Manifest) { m.Tables[0].Segments[1].Rows = 11 },
		"add up to":                  func(m *Manifest) { m.Tables[0].Rows++ },
		"add up to ":                 func(m *Manifest) { m.Tables[0].RowDigest = RowDigest{Lo: 7}.String() },
		"exceed 2^63-1":              func(m *Manifest) { m.Tables[0].Segments[0].RawBytes = 1<<63 - 1 },
		"row digest: want 32":        func(m *Manifest) { m.Tables[0].Segments[0].RowDigest = "00" },
		"xxh128: want 32":            func(m *Manifest) { m.Tables[0].Segments[0].XXH128 = "" },
		"ctid_range":                 func(m *Manifest) { m.Tables[0].Segments[0].CTIDRange = &CTIDRange{From: 2, To: 1} },
		"sequence public.s is named": func(m *Manifest) { m.Sequences = append(m.Sequences, m.Sequences[0]) },
	}
	for want, change := range tests {
		m := sampleManifest()
		change(m)
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
	for _, s := range []string{"", "{", "[]", `{"format_version":1e3}`, `{"format_version":1,"dump_id":"x"} x`, "{\"format_version\":1,\"dump_id\":\"\xff\"}",
		`{"tables":[` + strings.Repeat("{},", 1<<20) + "{}]}"} {
		if _, err := ParseManifest([]byte(s)); err == nil {
			t.Errorf("%.40q was accepted", s)
		}
	}
}

func TestReadManifestMissing(t *testing.T) {
	root := openRoot(t)
	if _, err := ReadManifest(root); !errors.Is(err, ErrUnfinished) {
		t.Error(err)
	}
	if err := root.Symlink("/etc/passwd", ManifestName); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadManifest(root); err == nil {
		t.Error("a symlink that leaves the dump was followed")
	}
	if err := errors.Join(root.Remove(ManifestName), root.Mkdir(ManifestName, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadManifest(root); err == nil {
		t.Error("a folder was read as a manifest")
	}
}

// writeDump writes a dump of one table in two segments, as a dump job does.
func writeDump(t *testing.T, root *os.Root, c Compression) *Manifest {
	t.Helper()
	m := sampleManifest()
	m.Schema, m.Tables = nil, m.Tables[:1]
	table := &m.Tables[0]
	var sum Totals
	for i := range table.Segments {
		rows := append(appendRow(appendRow(nil, "a"), strings.Repeat("b", i)), trailer...)
		totals := walkAll(t, 1, rows)
		f, err := Create(root, SegmentPath(1, table.Schema, table.Name, i+1, c), sampleHeader("id"), c)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.WriteBlock(rows); err != nil {
			t.Fatal(err)
		}
		stored, err := f.Commit(totals)
		if err != nil {
			t.Fatal(err)
		}
		table.Segments[i] = ManifestSegment{StoredFile: stored, Rows: totals.Rows, RawBytes: totals.Length, RowDigest: totals.Digest.String()}
		sum = sum.Add(totals)
	}
	table.Rows, table.Bytes, table.RowDigest = sum.Rows, sum.Length, sum.Digest.String()
	if err := WriteManifest(root, m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestStockChecksumsPass(t *testing.T) {
	for _, c := range []Compression{{}, {1}} {
		root := openRoot(t)
		want := writeDump(t, root, c)
		cmd := exec.Command("xxh128sum", "-c", ChecksumName)
		cmd.Dir = root.Name()
		if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), ": OK") != 3 {
			t.Errorf("xxh128sum (Debian: apt-get install xxhash): %v\n%s", err, out)
		}
		got, err := ReadManifest(root)
		if err != nil || !cmp.Equal(got.Tables, want.Tables) {
			t.Error(err, cmp.Diff(want.Tables, got.Tables))
		}
		if err := CheckSums(root, got); err != nil {
			t.Error(err)
		}
		for what, change := range map[string]func(string) string{
			"a digit":   func(s string) string { return strings.Replace(s, s[:1], "x", 1) },
			"a line":    func(s string) string { return s + "00  more\n" },
			"less":      func(s string) string { return s[:len(s)-1] },
			"a newline": func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		} {
			path := filepath.Join(root.Name(), ChecksumName)
			good, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(change(string(good))), 0o600); err != nil {
				t.Fatal(err)
			}
			var e *Error
			if err := CheckSums(root, got); !errors.As(err, &e) {
				t.Errorf("%s: %v", what, err)
			}
			if err := os.WriteFile(path, good, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestDumpModes(t *testing.T) {
	root := openRoot(t)
	writeDump(t, root, Compression{1})
	err := fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want || strings.HasSuffix(path, PartSuffix) {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSegmentPath(t *testing.T) {
	long := Name(strings.Repeat("é", 300))
	tests := map[string]string{
		SegmentPath(1, "public", "orders", 1, Compression{1}):    "data/0001.public.orders/0001.pgcopy.zst",
		SegmentPath(12345, "My-Schema", "a_b", 2, Compression{}): "data/12345.My-Schema.a_b/0002.pgcopy",
		SegmentPath(1, "..", "../../etc", 1, Compression{}):      "data/0001.__.______etc/0001.pgcopy",
		SegmentPath(1, "a\x00b", "c\xff d/e", 1, Compression{}):  "data/0001.a_b.c__d_e/0001.pgcopy",
		SegmentPath(1, "", "", 1, Compression{}):                 "data/0001../0001.pgcopy",
	}
	for got, want := range tests {
		if got != want || ValidatePath(got) != nil {
			t.Errorf("%q, want %q: %v", got, want, ValidatePath(got))
		}
	}
	for _, part := range strings.Split(SegmentPath(99999, long, long, 1, Compression{}), "/") {
		if len(part) > 255 {
			t.Errorf("%d bytes: %s", len(part), part)
		}
	}
}
