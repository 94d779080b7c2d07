package format

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sampleFiles are small files of every form, complete and undamaged.
func sampleFiles(t testing.TB) map[string][]byte {
	t.Helper()
	h := sampleHeader("id", "name")
	one := appendRow(nil, "\x00\x00\x00\x01", "Ada Lovelace")
	two := appendRow(appendRow(nil, "\x00\x00\x00\x02", null), "\x00\x00\x00\x03", "")
	long := appendRow(nil, "\x00\x00\x00\x04", string(bytes.Repeat([]byte("haul "), 300)))
	long = append(long, trailer...)
	lz := Compression{Level: 1}
	files := map[string][]byte{
		"plain":       writeFile(t, h, Compression{}, one, two, long),
		"zstd":        writeFile(t, h, lz, one, two, long),
		"zstd stream": writeStream(t, h, lz, one, two, long),
		"empty plain": writeFile(t, h, Compression{}, trailer),
		"empty zstd":  writeFile(t, h, lz, trailer),
	}
	extra := *h
	extra.Extra = []Chunk{{Tag: [4]byte([]byte("note")), Payload: []byte("hi")}}
	files["extra chunk"] = writeFile(t, &extra, lz, one, trailer)
	return files
}

// refused demands that a file is refused, whichever way it is read.
func refused(t *testing.T, p []byte, what string) {
	t.Helper()
	var e *Error
	if _, err := readAll(p); !errors.As(err, &e) {
		t.Errorf("%s: row by row: %v", what, err)
	}
	if _, err := readBlocks(p, 100); err == nil {
		t.Errorf("%s: block by block: no error", what)
	}
}

func TestReadBack(t *testing.T) {
	want := [][]string{{"\x00\x00\x00\x01", "Ada Lovelace"}, {"\x00\x00\x00\x02", null}, {"\x00\x00\x00\x03", ""}, {"\x00\x00\x00\x04", string(bytes.Repeat([]byte("haul "), 300))}}
	for name, p := range sampleFiles(t) {
		rows, err := readAll(p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(rows) == len(want) && !cmp.Equal(rows, want) {
			t.Errorf("%s: %s", name, cmp.Diff(want, rows))
		}
		if raw, err := readBlocks(p, 100); err != nil || !bytes.HasSuffix(raw, trailer) {
			t.Errorf("%s: block by block: %v", name, err)
		}
	}
}

func TestEveryBitFlipIsRefused(t *testing.T) {
	for name, p := range sampleFiles(t) {
		for i := range len(p) * 8 {
			p[i/8] ^= 1 << (i % 8)
			refused(t, p, fmt.Sprintf("%s: bit %d of byte %d of %d", name, i%8, i/8, len(p)))
			p[i/8] ^= 1 << (i % 8)
		}
	}
}

func TestEveryCutIsRefused(t *testing.T) {
	for name, p := range sampleFiles(t) {
		for n := range len(p) {
			refused(t, p[:n], fmt.Sprintf("%s: cut to %d of %d", name, n, len(p)))
		}
	}
}

func TestEveryAppendIsRefused(t *testing.T) {
	skippable := []byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}
	files := sampleFiles(t)
	for name, p := range files {
		for b := range 256 {
			refused(t, append(bytes.Clone(p), byte(b)), fmt.Sprintf("%s: appended %#02x", name, b))
		}
		for _, tail := range [][]byte{{0, 0, 0, 0}, []byte("xxxx"), trailer, skippable, make([]byte, 100<<10)} {
			refused(t, append(bytes.Clone(p), tail...), fmt.Sprintf("%s: appended %.20q", name, tail))
		}
		for other, q := range files {
			refused(t, append(bytes.Clone(p), q...), name+" and "+other+" in one")
		}
	}
}

// A plain stream holds no totals: what can be seen without them must be.
func TestPlainStream(t *testing.T) {
	h := sampleHeader("id")
	p := writeStream(t, h, Compression{}, appendRow(nil, "1"), append(appendRow(nil, "2"), trailer...))
	rows, err := readAll(p)
	if err != nil || !cmp.Equal(rows, [][]string{{"1"}, {"2"}}) {
		t.Fatal(rows, err)
	}
	r, err := NewReader(bytes.NewReader(p))
	if err != nil {
		t.Fatal(err)
	}
	if _, known := r.Totals(); known || r.Header().TotalsKnown {
		t.Error("a plain stream can't know its totals")
	}
	for n := range len(p) {
		refused(t, p[:n], fmt.Sprintf("cut to %d of %d", n, len(p)))
	}
	refused(t, append(bytes.Clone(p), 0), "a byte behind the trailer")
}

func TestFramesMustHoldWholeRows(t *testing.T) {
	row := append(appendRow(nil, "abcdef"), trailer...)
	p := writeFile(t, sampleHeader("c"), Compression{Level: 1}, row[:7], row[7:])
	_, err := readAll(p)
	var e *Error
	if !errors.As(err, &e) || e.Kind != ErrFrame || e.Row != 1 {
		t.Error(err)
	}
}

func TestStreamNeedsItsTotals(t *testing.T) {
	p := writeStream(t, sampleHeader("c"), Compression{Level: 1}, append(appendRow(nil, "abcdef"), trailer...))
	i := bytes.Index(p, []byte{0x5d, 0x2a, 0x4d, 0x18})
	without := append(bytes.Clone(p[:i]), p[i+skippableHead+summaryLen:]...)
	refused(t, without, "without the frame of totals")
	twice := append(bytes.Clone(p[:i+skippableHead+summaryLen]), p[i:]...)
	refused(t, twice, "with two frames of totals")
}
