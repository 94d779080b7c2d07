package format

import (
	"bytes"
	"errors"
	"testing"
)

func TestFindHeader(t *testing.T) {
	blocks := [][]byte{append(appendRow(appendRow(nil, "a"), null), trailer...)}
	p := writeFile(t, sampleHeader("name"), Compression{}, blocks...)
	body := headerLen(t, p)
	for name, c := range map[string]struct {
		at     int // of the byte that is changed; -1: none
		found  bool
		totals bool
	}{
		"nothing": {-1, true, true}, "signature": {0, true, true}, "length": {18, true, true}, "version": {30, true, true},
		"META": {60, false, false}, "DGST": {body - 60, true, false}, "stor": {body - 5, true, true},
	} {
		q := bytes.Clone(p)
		if c.at >= 0 {
			q[c.at] ^= 1
		}
		h, end, ok := FindHeader(q)
		if ok != c.found || ok && (end != body || h.TotalsKnown != c.totals || h.Meta.Table.Name != "t") {
			t.Errorf("%s: %+v, %d, %v", name, h, end, ok)
		}
	}
	if _, _, ok := FindHeader(nil); ok {
		t.Error("a header in nothing")
	}
}

func TestUnframe(t *testing.T) {
	h := sampleHeader("name")
	h.Meta.Where = string(bytes.Repeat([]byte("x"), 300_000)) // more than two blocks
	h.SetMeta(h.Meta)
	p := writeFile(t, h, Compression{Level: 1}, append(appendRow(nil, "a"), trailer...))
	p[5] ^= 0xff // what the frame says of itself does not count
	got, _, ok := FindHeader(Unframe(p))
	if !ok || got.Meta.Where != h.Meta.Where || !got.TotalsKnown {
		t.Errorf("%v, %d bytes", ok, len(got.Meta.Where))
	}
}

func TestFrameReaderAndSeekTable(t *testing.T) {
	first, second := appendRow(nil, "a"), append(appendRow(nil, "b"), trailer...)
	for _, stream := range []bool{false, true} {
		p := writeFile(t, sampleHeader("name"), Compression{Level: 1}, first, second)
		if stream {
			p = writeStream(t, sampleHeader("name"), Compression{Level: 1}, first, second)
		}
		entries, at, err := ReadSeekTable(bytes.NewReader(p), int64(len(p)))
		if err != nil || len(entries) != 3 {
			t.Fatalf("%v, %v", entries, err)
		}
		var f FrameReader
		off := int64(entries[0].Stored)
		for i, want := range [][]byte{first, second} {
			rows, n, err := f.Read(bytes.NewReader(p), off, nil)
			if err != nil || !bytes.Equal(rows, want) || n != int(entries[1+i].Stored) || len(rows) != int(entries[1+i].Raw) {
				t.Errorf("%q, %d, %v", rows, n, err)
			}
			off += int64(n)
		}
		totals, n, err := f.Totals(bytes.NewReader(p), off)
		if stream != (err == nil) || stream && (totals.Rows != 2 || off+int64(n) != at) {
			t.Errorf("%v, %d, %v", totals, n, err)
		}
		if _, _, err := f.Read(bytes.NewReader(p), 0, nil); !errors.Is(err, ErrFrame) { // the header's has no checksum
			t.Errorf("the header's frame: %v", err)
		}
		if _, _, err := f.Read(bytes.NewReader(p), int64(len(p)), nil); !errors.Is(err, ErrTruncated) {
			t.Errorf("at the end: %v", err)
		}
		p[len(p)-6] ^= 0x40
		if _, _, err := ReadSeekTable(bytes.NewReader(p), int64(len(p))); !errors.Is(err, ErrSeekTable) {
			t.Errorf("a damaged seek table: %v", err)
		}
	}
}
