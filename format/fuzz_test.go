package format

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// maxFuzzAlloc bounds what any input may make a reader allocate: the largest frame and the largest header a few times over.
const maxFuzzAlloc = 4 * (MaxFrameContent + MaxHeader)

func FuzzHeader(f *testing.F) {
	for _, p := range sampleFiles(f) {
		if r, err := NewReader(bytes.NewReader(p)); err == nil {
			head, err := r.Header().AppendBinary(nil)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(head)
		}
	}
	f.Add(sealed(goodHaul, goodMeta, goodDgst, goodStor, chunk("note", "x")))
	f.Add(sealed(goodHaul, goodMeta, chunk("DGST", string(unknownDigest))))
	f.Add(goodMeta.Payload)
	f.Fuzz(func(t *testing.T, p []byte) {
		reencoded(t, p)
		// Checksums keep most changes out: so the input also as the payload of each chunk.
		payload := string(p)
		reencoded(t, sealed(goodHaul, chunk("META", payload), goodDgst))
		reencoded(t, sealed(goodHaul, goodMeta, chunk("DGST", payload), goodStor))
		reencoded(t, sealed(goodHaul, goodMeta, goodDgst, chunk("stor", payload)))
		if len(p) >= 4 {
			reencoded(t, sealed(goodHaul, goodMeta, goodDgst, chunk(payload[:4], payload[4:])))
		}
	})
}

// reencoded demands that what parses as a header encodes to the same bytes.
func reencoded(t *testing.T, p []byte) {
	t.Helper()
	h := new(Header)
	if err := h.UnmarshalBinary(p); err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Kind == 0 || e.Offset < 0 || e.Offset > int64(len(p)) {
			t.Fatalf("%#v", err)
		}
		return
	}
	again, err := h.AppendBinary(nil)
	if err != nil || !bytes.Equal(p, again) {
		t.Fatalf("%v\n%q\n%q", err, p, again)
	}
}

func FuzzReader(f *testing.F) {
	for _, p := range sampleFiles(f) {
		f.Add(p)
	}
	plain := writeStream(f, sampleHeader("c"), Compression{}, append(appendRow(nil, "x"), trailer...))
	lz := writeStream(f, sampleHeader("c"), Compression{Level: 1}, append(appendRow(nil, "x"), trailer...))
	f.Add(plain)
	// A checksum guards the header: so the input also as what stands behind one.
	plainHead, lzHead := plain[:headerLen(f, plain)], lz[:headerFrameLen(headerLen(f, lz))]
	f.Add(plain[len(plainHead):])
	f.Add(lz[len(lzHead):])
	f.Fuzz(func(t *testing.T, p []byte) {
		readRewritten(t, p)
		readRewritten(t, append(bytes.Clone(plainHead), p...))
		readRewritten(t, append(bytes.Clone(lzHead), p...))
	})
}

// readRewritten reads p both ways within the limits of memory; both must agree, and what is read whole must be the same when written again.
func readRewritten(t *testing.T, p []byte) {
	t.Helper()
	var rows [][]string
	var err error
	if n := allocated(func() { rows, err = readAll(p) }); n > maxFuzzAlloc+100*uint64(len(p)) {
		t.Fatalf("%d bytes allocated for %d bytes of input", n, len(p))
	}
	blocks, errBlocks := readBlocks(p, 64)
	if (err == nil) != (errBlocks == nil) {
		t.Fatalf("row by row: %v; block by block: %v", err, errBlocks)
	}
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Kind == 0 {
			t.Fatalf("%#v", err)
		}
		return
	}
	rewritten(t, p, blocks, rows)
}

// rewritten writes what was read once more and demands the same file, or where that is the encoder's choice, the same content.
func rewritten(t *testing.T, p, blocks []byte, rows [][]string) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(p))
	if err != nil {
		t.Fatal(err)
	}
	h := r.Header()
	var c Compression
	if r.Compressed() {
		c.Level = 1
	}
	var again []byte
	if h.TotalsKnown {
		again = writeFile(t, h, c, blocks)
	} else {
		again = writeStream(t, h, c, blocks)
	}
	ours := h.Minor == Minor && (h.Stored != nil || !h.TotalsKnown)
	if !r.Compressed() && ours && !bytes.Equal(p, again) {
		t.Fatalf("\n%q\n%q", p, again)
	}
	rowsAgain, err := readAll(again)
	if err != nil || !cmp.Equal(rows, rowsAgain) {
		t.Fatalf("%v\n%q\n%q", err, rows, rowsAgain)
	}
}

func FuzzWalker(f *testing.F) {
	rows := appendRow(appendRow(nil, "a", null), "", "bcd")
	f.Add(2, append(bytes.Clone(rows), trailer...), []byte{3, 1, 7})
	f.Add(2, append(bytes.Clone(rows), 0, 2, 0, 0, 0, 1), []byte{1})
	f.Add(0, []byte{0, 0, 0, 0, 0xff, 0xff, 0}, []byte{255})
	wide := appendRow(nil, "a", "bc", null, "d", "efg", "", "h", "i", "j") // as long as those of the row before, and not
	wide = appendRow(appendRow(appendRow(wide, "k", "lm", null, "n", "opq", "", "r", "s", "t"), null, "uv", "", "w", "xyz", "", "h", "ij", ""), null, "kl", "", "m", "no", null, "p", "q", "r")
	f.Add(9, append(bytes.Clone(wide), trailer...), []byte{40, 3})
	f.Add(9, append(wide, 0, 9, 0, 0, 0, 1, 'a', 0xff, 0xff, 0xff, 0xfe), []byte{17})
	f.Add(1, []byte{0, 1, 0x40, 0, 0, 0}, []byte{})
	f.Fuzz(func(t *testing.T, columns int, p, splits []byte) {
		columns = max(0, min(columns, MaxColumns))
		whole := NewWalker(columns)
		n, err := whole.Walk(p)
		pieces := NewWalker(columns)
		errPieces := walkSplit(pieces, p, splits)
		if whole.Totals() != pieces.Totals() || whole.Ended() != pieces.Ended() || whole.Need() != pieces.Need() {
			t.Fatalf("at once %v, %v, %d; in pieces %v, %v, %d", whole.Totals(), whole.Ended(), whole.Need(), pieces.Totals(), pieces.Ended(), pieces.Need())
		}
		if int64(n) != whole.Totals().Length || n < len(p) && err == nil && whole.Need() <= len(p)-n {
			t.Fatalf("%d of %d bytes, need %d, %v", n, len(p), whole.Need(), whole.Totals())
		}
		var a, b *Error
		if errors.As(err, &a) != errors.As(errPieces, &b) || a != nil && (a.Kind != b.Kind || a.Offset != b.Offset || a.Row != b.Row || a.Column != b.Column) {
			t.Fatalf("at once %v; in pieces %v", err, errPieces)
		}
		want, ended, damaged := naiveWalk(columns, p)
		if whole.Totals() != want || whole.Ended() != ended || damaged != (err != nil) && !errors.Is(err, ErrLimit) {
			t.Fatalf("%v, %v, %v; want %v, %v, %v", whole.Totals(), whole.Ended(), err, want, ended, damaged)
		}
	})
}

func FuzzManifest(f *testing.F) {
	p, err := sampleManifest().AppendJSON(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p)
	f.Add([]byte(`{"format_version":1,"dump_id":"x"}`))
	f.Fuzz(func(t *testing.T, p []byte) {
		m, err := ParseManifest(p)
		if err != nil {
			return
		}
		for _, file := range m.Files() {
			if file.Path != SchemaName && ValidatePath(file.Path) != nil {
				t.Fatalf("%q", file.Path)
			}
		}
		once, err := m.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseManifest(once)
		if err != nil {
			t.Fatalf("%v\n%s", err, once)
		}
		if twice, err := again.AppendJSON(nil); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%v\n%s\n%s", err, once, twice)
		}
	})
}
