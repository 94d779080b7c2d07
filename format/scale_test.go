package format

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// wideManifest is a manifest of so many tables of 20 columns, of a hundred makes, of so many segments each.
func wideManifest(tables, segments int) *Manifest {
	sum := strings.Repeat("0a", 16)
	m := &Manifest{FormatVersion: ManifestVersion, Tool: "pghaul 0.0.0", DumpID: "00112233445566778899aabbccddeeff"}
	for i := range tables {
		t := ManifestTable{Schema: "public", Name: Name(fmt.Sprintf("t%d", i)), Kind: "table", Bytes: int64(2 * segments), RowDigest: RowDigest{}.String()}
		for c := range 20 {
			t.Columns = append(t.Columns, Column{Name: Name(fmt.Sprintf("c%d_%d", i%100, c)), Type: "integer", TypeSchema: "pg_catalog", TypeName: "int4", OID: 23, Typmod: -1, Carried: CarriedBinary})
		}
		for n := range segments {
			path := SegmentPath(i+1, t.Schema, t.Name, n+1, Compression{1})
			t.Segments = append(t.Segments, ManifestSegment{StoredFile: StoredFile{Path: path, StoredBytes: 100, XXH128: sum}, RawBytes: 2, RowDigest: RowDigest{}.String()})
		}
		m.Tables = append(m.Tables, t)
	}
	return m
}

// TestManifestOfManyTables: what a manifest costs is in proportion to its tables and segments. A million segments pass every check; with anything quadratic in
// them this test would not end.
func TestManifestOfManyTables(t *testing.T) {
	m := wideManifest(1, 1_000_000)
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	m = nil
	held := func(tables int) int64 {
		var b bytes.Buffer
		if err := wideManifest(tables, 1).encode(&b); err != nil {
			t.Fatal(err)
		}
		before := heap()
		m, err := ParseManifest(b.Bytes())
		if err != nil || len(m.Tables) != tables {
			t.Fatalf("%v", err)
		}
		after := heap()
		runtime.KeepAlive(b)
		if got := m.Tables[tables-1].Columns; len(got) != 20 || &got[0] != &m.Tables[tables-101].Columns[0] {
			t.Error("tables that are alike have columns of their own")
		}
		return (after - before) / int64(tables)
	}
	// The columns alone would be 4 KB.
	few, many := held(5_000), held(20_000)
	if many > 1200 || many > few+few/2 {
		t.Errorf("a table holds %d bytes of memory, of few tables each %d", many, few)
	}
}

// heap is what is in use, in bytes.
func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// TestSharedColumns: equal lists become one, others stay apart, and what is given may be used again.
func TestSharedColumns(t *testing.T) {
	var s Shared
	list := []Column{{Name: "a", OID: 23}, {Name: "b", OID: 25}}
	first := s.Columns(list)
	list[0].Name = "x"
	other := s.Columns(list)
	list[0].Name = "a"
	again := s.Columns(list)
	if first[0].Name != "a" || other[0].Name != "x" || &first[0] != &again[0] || &first[0] == &other[0] {
		t.Errorf("%v, %v, %v", first, other, again)
	}
	if s.Columns(nil) != nil || s.Columns([]Column{}) == nil {
		t.Error("no list and an empty list are not the same")
	}
}

// TestMetas: the same META read many times is held once, and what differs is not mistaken for it.
func TestMetas(t *testing.T) {
	var known Metas
	read := func(h *Header) *Header {
		p, err := h.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := known.NewReader(bytes.NewReader(p))
		if err != nil {
			t.Fatal(err)
		}
		return r.Header()
	}
	a, b, other := sampleHeader("a", "b"), sampleHeader("a", "b"), sampleHeader("a")
	for _, h := range []*Header{a, b, other} {
		m := h.Meta
		m.Types = []Type{{OID: 23, Schema: "pg_catalog", Name: "int4", Kind: KindBase}}
		h.SetMeta(m)
		h.Major, h.Minor = Major, Minor
	}
	x, y, z := read(a), read(b), read(other)
	if &x.Meta.Columns[0] != &y.Meta.Columns[0] || &x.Meta.Types[0] != &y.Meta.Types[0] {
		t.Error("equal lists are held twice")
	}
	if len(z.Meta.Columns) != 1 || &z.Meta.Types[0] != &x.Meta.Types[0] {
		t.Errorf("another table: %+v", z.Meta)
	}
}
