package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
)

// naiveWalk is the walker without any cleverness: the totals, how many bytes they cover, and whether there was a trailer.
func naiveWalk(columns int, p []byte) (t Totals, ended, damaged bool) {
	for len(p) >= 2 {
		count := int(int16(binary.BigEndian.Uint16(p)))
		if count == -1 && columns != -1 {
			t.Length += 2
			return t, true, len(p) > 2
		}
		if count != columns {
			return t, false, true
		}
		n := 2
		for range count {
			if len(p) < n+4 {
				return t, false, false
			}
			size := int(int32(binary.BigEndian.Uint32(p[n:])))
			if size < -1 || size > MaxField {
				return t, false, true
			}
			n += 4 + max(size, 0)
			if n > len(p) {
				return t, false, false // even if a later length may be damaged: it can't be seen
			}
		}
		t = t.Add(Totals{Rows: 1, Length: int64(n), Digest: DigestRow(p[:n])})
		p = p[n:]
	}
	return t, false, false
}

// walkSplit walks p in pieces of the given lengths, over and over, keeping what was not consumed.
func walkSplit(w *Walker, p []byte, splits []byte) error {
	var pending []byte
	for i := 0; len(p) > 0; i++ {
		n := 1
		if len(splits) > 0 {
			n = min(len(p), max(1, int(splits[i%len(splits)])))
		}
		pending = append(pending, p[:n]...)
		p = p[n:]
		took, err := w.Walk(pending)
		pending = pending[took:]
		if err != nil {
			return err
		}
	}
	return nil
}

func TestWalkInPieces(t *testing.T) {
	rows := appendRow(appendRow(appendRow(nil, "one", null, ""), null, null, null), "", "two", string(make([]byte, 300)))
	p := append(bytes.Clone(rows), trailer...)
	want := walkAll(t, 3, p)
	if want.Rows != 3 || want.Length != int64(len(p)) {
		t.Error(want)
	}
	for n := 1; n < len(p); n++ {
		w := NewWalker(3)
		if err := walkSplit(w, p, []byte{byte(n)}); err != nil || w.Close() != nil || w.Totals() != want || !w.Ended() {
			t.Errorf("pieces of %d: %v, %v, %v", n, w.Totals(), err, w.Close())
		}
	}
}

// TestWalkShapes walks rows of few shapes in a random order, which is what the walker guesses at, and damages the last one of some.
func TestWalkShapes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	fields := []string{null, "", "a", "bc", "four", "eightlen"}
	for range 2000 {
		shapes := make([][]string, 1+rng.IntN(3))
		columns := rng.IntN(14)
		for i := range shapes {
			shapes[i] = make([]string, columns)
			for j := range shapes[i] {
				shapes[i][j] = fields[rng.IntN(len(fields))]
			}
		}
		var p []byte
		for range rng.IntN(20) {
			p = appendRow(p, shapes[rng.IntN(len(shapes))]...)
		}
		if len(p) > 0 && rng.IntN(2) == 0 {
			p[len(p)-1-rng.IntN(min(len(p), 60))] ^= 1 << rng.IntN(8)
		}
		w := NewWalker(columns)
		_, err := w.Walk(p)
		if want, ended, damaged := naiveWalk(columns, p); w.Totals() != want || w.Ended() != ended || damaged != (err != nil) && !errors.Is(err, ErrLimit) {
			t.Fatalf("%x: %v, %v, %v; want %v, %v, %v", p, w.Totals(), w.Ended(), err, want, ended, damaged)
		}
	}
}

func TestWalkNeed(t *testing.T) {
	p := appendRow(nil, "abc", null, "defg")
	for n, want := range map[int]int{0: 0, 1: 2, 2: 14, 5: 14, 6: 17, 9: 17, 12: 17, 13: 17, 17: 21, 20: 21, len(p): 0} {
		w := NewWalker(3)
		took, err := w.Walk(p[:n])
		if err != nil || w.Need() != want || took != len(p)*(n/len(p)) {
			t.Errorf("%d bytes: need %d, want %d; took %d, %v", n, w.Need(), want, took, err)
		}
	}
	huge := append([]byte{0, 2, 0x1d, 0xcd, 0x65, 0x00}, "xyz"...) // a field of 500 MB
	w := NewWalker(2)
	if _, err := w.Walk(huge); err != nil || w.Need() != 2+4+500_000_000+4 {
		t.Error(w.Need(), err)
	}
}

func TestWalkRefuses(t *testing.T) {
	good := appendRow(nil, "a", "b")
	with := func(p ...byte) []byte { return append(bytes.Clone(good), p...) }
	tests := []struct {
		name   string
		p      []byte
		kind   Kind
		offset int64
		row    int64
		column int
	}{
		{"fewer fields", with(0, 1, 0, 0, 0, 0), ErrFieldCount, 12, 2, 0},
		{"more fields", with(0, 3, 0, 0, 0, 0), ErrFieldCount, 12, 2, 0},
		{"count -2", with(0xff, 0xfe), ErrFieldCount, 12, 2, 0},
		{"length -2", with(0, 2, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xfe), ErrFieldLength, 18, 2, 2},
		{"length of 1 GiB", with(0, 2, 0x40, 0, 0, 0), ErrFieldLength, 14, 2, 1},
		{"row over 1 GiB", with(0, 2, 0x3f, 0xff, 0xff, 0xff), ErrLimit, 14 + 4 + MaxField, 2, 1},
		{"bytes after the trailer", with(0xff, 0xff, 0), ErrTrailing, 14, 0, 0},
		{"no trailer", good, ErrTruncated, 12, 2, 0},
		{"half a trailer", with(0xff), ErrTruncated, 12, 2, 0},
		{"cut in a row", with(0, 2, 0, 0, 0, 9, 'x'), ErrTruncated, 12, 2, 0},
	}
	for _, tt := range tests {
		w := NewWalker(2)
		n, err := w.Walk(tt.p)
		if err == nil {
			err = w.Close()
		}
		var e *Error
		if !errors.As(err, &e) || e.Kind != tt.kind || e.Offset != tt.offset || e.Row != tt.row || e.Column != tt.column {
			t.Errorf("%s: %#v %v", tt.name, e, err)
		}
		if n < len(good) || w.Totals().Rows != 1 {
			t.Errorf("%s: the good row was not consumed: %d, %v", tt.name, n, w.Totals())
		}
		if _, again := w.Walk(good); again != err {
			t.Errorf("%s: the error does not stick: %v", tt.name, again)
		}
	}
}

func TestWalkZeroColumns(t *testing.T) {
	if got := walkAll(t, 0, []byte{0, 0, 0, 0, 0, 0, 0xff, 0xff}); got.Rows != 3 || got.Length != 8 {
		t.Error(got)
	}
}

func TestRowFields(t *testing.T) {
	row := Row(appendRow(nil, "a", null, "", "bc"))
	f := row.AppendFields(nil)
	if len(f) != 4 || string(f[0]) != "a" || f[1] != nil || f[2] == nil || len(f[2]) != 0 || string(f[3]) != "bc" {
		t.Errorf("%q", f)
	}
	for i, v := range row.Fields() {
		if i == 1 && v != nil {
			t.Error(v)
		}
		if i == 2 {
			break
		}
	}
}
