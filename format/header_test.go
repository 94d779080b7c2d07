package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sealed returns a header that consists of these chunks, with right lengths and checksums.
func sealed(chunks ...Chunk) []byte {
	p := append([]byte(Signature), 0, 0, 0, 0, 0, 0, 0, 0)
	for _, c := range chunks {
		p = appendChunk(p, string(c.Tag[:]), c.Payload)
	}
	binary.BigEndian.PutUint32(p[15:], uint32(len(p)-fixedHeader))
	return p
}

func chunk(tag, payload string) Chunk {
	return Chunk{Tag: [4]byte([]byte(tag)), Payload: []byte(payload)}
}

var (
	goodHaul = chunk("HAUL", "\x00\x01\x00\x00\x00\x00\x00\x00")
	goodMeta = chunk("META", `{"columns":[]}`)
	goodDgst = chunk("DGST", strings.Repeat("\x00", 64))
	goodStor = chunk("stor", strings.Repeat("\x00", 24))
)

func TestHeaderRoundTrip(t *testing.T) {
	h := sampleHeader("id", "na\xffme")
	h.Major, h.Minor = Major, Minor
	h.Totals = Totals{Rows: 3, Length: 1 << 40, Digest: RowDigest{Lo: 1, Hi: 1<<64 - 1}}
	h.TotalsKnown = true
	h.Stored = &StoredSum{Length: 77, XXH128: [16]byte{1, 2, 15: 3}}
	h.Extra = []Chunk{chunk("note", "hi"), chunk("zzzZ", "")}
	p, err := h.AppendBinary([]byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	p = p[len("before"):]
	got, err := ReadHeader(io.MultiReader(bytes.NewReader(p), strings.NewReader("rows")))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(h, got, cmpopts.IgnoreUnexported(Header{}), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	again, err := got.AppendBinary(nil)
	if err != nil || !bytes.Equal(again, p) {
		t.Errorf("%v\n%q\n%q", err, p, again)
	}
	got.SetMeta(Meta{Tool: "other"})
	if again, err = got.AppendBinary(nil); err != nil || !bytes.Contains(again, []byte(`"tool":"other"`)) {
		t.Errorf("%v, %q", err, again)
	}
}

func TestHeaderRefused(t *testing.T) {
	tests := []struct {
		name string
		p    []byte
		kind Kind
	}{
		{"empty", nil, ErrTruncated},
		{"text", []byte("1\tone\n2\ttwo\n and so on, a text file"), ErrSignature},
		{"unfinished", make([]byte, 1000), ErrSignature},
		{"newlines converted", []byte(strings.Replace(string(sealed(goodHaul)), "\r\n", "\n", 1)), ErrSignature},
		{"no extension", append([]byte(Signature), 0, 0, 0, 0, 0, 0, 0, 0), ErrSignature},
		{"flags", append([]byte(Signature), 0, 1, 0, 0, 0, 0, 0, 1, 0), ErrHeader},
		{"4 GiB", append([]byte(Signature), 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff), ErrLimit},
		{"64 MiB and one", append([]byte(Signature), 0, 0, 0, 0, 0x03, 0xff, 0xff, 0xee), ErrLimit},
		{"not ours", sealed(chunk("abcd", "")), ErrHeader},
		{"major 2", sealed(chunk("HAUL", "\x00\x02\x00\x00\x00\x00\x00\x00"), chunk("WHAT", "")), ErrVersion},
		{"haul reserved", sealed(chunk("HAUL", "\x00\x01\x00\x00\x00\x00\x00\x01"), goodMeta, goodDgst), ErrHeader},
		{"haul short", sealed(chunk("HAUL", "\x00\x01"), goodMeta, goodDgst), ErrHeader},
		{"no meta", sealed(goodHaul, goodDgst), ErrHeader},
		{"no dgst", sealed(goodHaul, goodMeta), ErrHeader},
		{"order", sealed(goodMeta, goodHaul, goodDgst), ErrHeader},
		{"meta twice", sealed(goodHaul, goodMeta, goodDgst, goodMeta), ErrHeader},
		{"stor twice", sealed(goodHaul, goodMeta, goodDgst, goodStor, goodStor), ErrHeader},
		{"stor late", sealed(goodHaul, goodMeta, goodDgst, chunk("note", ""), goodStor), ErrHeader},
		{"stor without totals", sealed(goodHaul, goodMeta, chunk("DGST", string(unknownDigest)), goodStor), ErrHeader},
		{"stor short", sealed(goodHaul, goodMeta, goodDgst, chunk("stor", "x")), ErrHeader},
		{"critical chunk", sealed(goodHaul, goodMeta, goodDgst, chunk("CRYP", "x")), ErrHeader},
		{"tag of digits", sealed(goodHaul, goodMeta, goodDgst, chunk("a123", "x")), ErrHeader},
		{"dgst reserved", sealed(goodHaul, goodMeta, chunk("DGST", strings.Repeat("\x00", 63)+"x")), ErrHeader},
		{"dgst negative", sealed(goodHaul, goodMeta, chunk("DGST", "\xff"+strings.Repeat("\x00", 63))), ErrHeader},
		{"meta not JSON", sealed(goodHaul, chunk("META", "{"), goodDgst), ErrHeader},
		{"meta not UTF-8", sealed(goodHaul, chunk("META", `{"columns":[],"tool":"`+"\xff"+`"}`), goodDgst), ErrHeader},
		{"meta without columns", sealed(goodHaul, chunk("META", "{}"), goodDgst), ErrHeader},
		{"1665 columns", sealed(goodHaul, chunk("META", `{"columns":[`+strings.Repeat("{},", 1664)+`{}]}`), goodDgst), ErrLimit},
		{"a million empty values", sealed(goodHaul, chunk("META", `{"types":[`+strings.Repeat("{},", 1<<20)+`{}]}`), goodDgst), ErrLimit},
		{"chunk longer than the header", append(sealed(goodHaul)[:fixedHeader+4], strings.Repeat("\xff", 16)...), ErrHeader},
	}
	for _, tt := range tests {
		for _, reader := range []string{"plain", "zstd"} {
			p := tt.p
			if reader == "zstd" {
				if len(p) == 0 {
					continue
				}
				p = appendHeaderFrame(nil, p)
			}
			_, err := NewReader(bytes.NewReader(p))
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("%s, %s: %v", tt.name, reader, err)
				continue
			}
			short := reader == "zstd" && len(tt.p) < fixedHeader
			if e.Kind != tt.kind && !short || !errors.Is(err, e.Kind) || e.Offset < 0 {
				t.Errorf("%s, %s: %v, want %v", tt.name, reader, err, tt.kind)
			}
		}
	}
}

func TestHeaderLimits(t *testing.T) {
	h := sampleHeader()
	h.Major = Major
	for i := range MaxColumns {
		h.Meta.Columns = append(h.Meta.Columns, Column{Name: Name(fmt.Sprint("c", i)), Carried: CarriedBinary})
	}
	p, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ReadHeader(bytes.NewReader(p)); err != nil || len(got.Meta.Columns) != MaxColumns {
		t.Error(err)
	}
	h.Meta.Columns = append(h.Meta.Columns, Column{Name: "c"})
	h.SetMeta(h.Meta)
	if _, err := h.AppendBinary(nil); err == nil {
		t.Error("1665 columns were written")
	}
	big := sampleHeader("c")
	big.Major = Major
	big.Extra = []Chunk{{Tag: [4]byte([]byte("fill")), Payload: make([]byte, MaxHeader)}}
	if _, err := big.AppendBinary(nil); err == nil {
		t.Error("a header of more than 64 MiB was written")
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A length is only a claim: a hundred bytes of input must not cost megabytes.
func TestClaimsCostNothing(t *testing.T) {
	plain := append([]byte(Signature), 0, 0, 0, 0, 0x03, 0xff, 0xff, 0x00)
	zstd := binary.LittleEndian.AppendUint32(nil, magicFrame)
	zstd = append(zstd, headerDescriptor, 0, 0, 0, 4)
	meta := append(sealed(goodHaul)[:fixedHeader+20], "META\x03\xff\x00\x00"...)
	good := writeFile(t, sampleHeader("c"), Compression{Level: 1}, append(appendRow(nil, "x"), trailer...))
	frame := append(bytes.Clone(good[:headerFrameLen(headerLen(t, good))]), 0x28, 0xb5, 0x2f, 0xfd, 0x84, 0x58, 0, 0, 0, 0x40)
	table := append(bytes.Clone(good[:headerFrameLen(headerLen(t, good))]), 0x5e, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff)
	row := append(writeStream(t, sampleHeader("c"), Compression{}, trailer), 0)
	row = append(row[:len(row)-3], 0, 1, 0x3f, 0xff, 0xff, 0xff, 'x')
	for name, p := range map[string][]byte{"plain header": plain, "zstd header": zstd, "META": meta, "frame": frame, "seek table": table, "row": row} {
		var err error
		n := allocated(func() { _, err = readAll(append(p, make([]byte, 100)...)) })
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
		}
		if n > 1<<20 {
			t.Errorf("%s: %d bytes allocated for %d bytes of input (%v)", name, n, len(p)+100, err)
		}
	}
}

func headerLen(t testing.TB, p []byte) int {
	t.Helper()
	r, err := NewReader(bytes.NewReader(p))
	if err != nil {
		t.Fatal(err)
	}
	return int(r.HeaderLen())
}

func TestDigest(t *testing.T) {
	a, b := DigestRow(appendRow(nil, "a")), DigestRow(appendRow(nil, "b"))
	if a.Add(b) != b.Add(a) || a.Add(b) == a.Add(a) || a == b {
		t.Error("the digest must not depend on order, and on everything else")
	}
	d := RowDigest{Lo: 0x0102030405060708, Hi: 0xf1f2f3f4f5f6f7f8}
	if d.String() != "0102030405060708f1f2f3f4f5f6f7f8" {
		t.Error(d)
	}
	if got, err := ParseRowDigest(d.String()); err != nil || got != d {
		t.Error(got, err)
	}
	for _, s := range []string{"", "00", strings.Repeat("g", 32), strings.Repeat("A", 32), strings.Repeat("0", 33)} {
		if _, err := ParseRowDigest(s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
	sum := Totals{1, 2, a}.Add(Totals{3, 4, b})
	if sum != (Totals{4, 6, a.Add(b)}) {
		t.Error(sum)
	}
}

func TestCompression(t *testing.T) {
	for s, want := range map[string]Compression{"none": {}, "zstd": {1}, "zstd:1": {1}, "zstd:22": {22}} {
		c, err := ParseCompression(s)
		if err != nil || c != want {
			t.Errorf("%s: %v, %v", s, c, err)
		}
		if again, err := ParseCompression(c.String()); err != nil || again != c {
			t.Errorf("%s: %v, %v", c, again, err)
		}
	}
	for _, s := range []string{"", "gzip", "zstd:", "zstd:0", "zstd:23", "zstd:-1", "none:1", "zstd:1x"} {
		if c, err := ParseCompression(s); err == nil {
			t.Errorf("%q was accepted as %v", s, c)
		}
	}
	if (Compression{}).Ext() != ".pgcopy" || (Compression{3}).Ext() != ".pgcopy.zst" {
		t.Error("extensions")
	}
}

func TestErrorText(t *testing.T) {
	tests := map[string]*Error{
		"data/x.pgcopy: bad field length at offset 130, row 2, column 3: field of -5 bytes": {File: "data/x.pgcopy", Offset: 130, Row: 2, Column: 3, Kind: ErrFieldLength, Err: errors.New("field of -5 bytes")},
		"truncated at offset 0 of the decompressed bytes":                                   {Decoded: true, Kind: ErrTruncated},
		`"a\x1b[31m": checksum mismatch`:                                                    {File: "a\x1b[31m", Offset: -1, Kind: ErrChecksum},
	}
	for want, e := range tests {
		if e.Error() != want {
			t.Errorf("%s\n%s", want, e)
		}
	}
	for k := ErrRead; int(k) < len(kindNames); k++ {
		if k.Error() == "" || strings.HasPrefix(k.Error(), "kind ") {
			t.Errorf("kind %d has no name", uint8(k))
		}
	}
}
