package salvage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bytehaul/pghaul/format"
)

var (
	plain = format.Compression{}
	zstd1 = format.Compression{Level: 1}
)

func flip(p []byte, at int64) []byte {
	p = bytes.Clone(p)
	p[at] ^= 0x10
	return p
}

func zero(p []byte, from, to int64) []byte {
	p = bytes.Clone(p)
	clear(p[from:to])
	return p
}

func insert(p []byte, at int64, what string) []byte {
	return append(append(bytes.Clone(p[:at]), what...), p[at:]...)
}

func TestDamage(t *testing.T) {
	p, z := newSample(t, mixed, 400, plain, false), newSample(t, mixed, 400, zstd1, false)
	ps, zs := newSample(t, mixed, 400, plain, true), newSample(t, mixed, 400, zstd1, true)
	size := func(s *sample) int64 { return int64(len(s.bytes)) }
	for _, c := range []struct {
		name     string
		s        *sample
		bytes    []byte
		rows     int // that must be there at least
		complete bool
		lost     int // ranges
	}{
		{"nothing, plain", p, p.bytes, 400, true, 0},
		{"nothing, zstd", z, z.bytes, 400, true, 0},
		{"nothing, plain stream", ps, ps.bytes, 400, true, 0},
		{"nothing, zstd stream", zs, zs.bytes, 400, true, 0},
		{"signature, plain", p, flip(p.bytes, 3), 400, true, 0},
		{"signature, zstd", z, flip(z.bytes, 3), 400, true, 0},
		{"length of the header, plain", p, flip(p.bytes, 17), 400, true, 0},
		{"block head of the header, zstd", z, flip(z.bytes, 10), 400, true, 0},
		{"version chunk, plain", p, flip(p.bytes, 28), 400, true, 0},
		{"digest, plain", p, flip(p.bytes, p.body-60), 400, true, 0},
		{"digest, zstd", z, flip(z.bytes, z.body-60), 400, true, 0},
		{"stored sum, plain", p, flip(p.bytes, p.body-20), 400, true, 0},
		{"stored sum, zstd", z, flip(z.bytes, z.body-20), 400, true, 0},
		{"first row's count", p, flip(p.bytes, p.at[0]+1), 399, false, 1},
		{"a row's count", p, flip(p.bytes, p.at[200]+1), 398, false, 1},
		{"length of a fixed field", p, flip(p.bytes, p.at[200]+5), 399, false, 1},
		{"a zeroed page, plain", p, zero(p.bytes, 20480, 24576), 360, false, 1},
		{"a zeroed page, zstd", z, zero(z.bytes, 20480, 24576), 320, false, 1},
		{"two zeroed sectors, zstd", z, zero(zero(z.bytes, 5000, 5512), 30000, 30512), 320, false, 2},
		{"bytes put in, plain", p, insert(p.bytes, p.at[100]+9, "bytes"), 398, false, 1},
		{"bytes put in, zstd", z, insert(z.bytes, z.blocks[3]+100, "bytes"), 360, false, 1},
		{"bytes put in before the header, plain", p, insert(p.bytes, 0, "bytes"), 400, true, 0},
		{"a frame", z, flip(z.bytes, z.blocks[5]+200), 360, false, 1},
		{"a frame's head", z, flip(z.bytes, z.blocks[5]+4), 360, false, 1},
		{"a frame's magic number", z, flip(z.bytes, z.blocks[5]+1), 360, false, 1},
		{"a frame's magic number, and the seek table", z, flip(flip(z.bytes, z.blocks[5]+1), size(z)-3), 360, false, 1},
		{"the frame with the trailer", z, flip(z.bytes, z.blocks[len(z.blocks)-2]+10), 400, true, 0},
		{"a frame of a stream", zs, flip(zs.bytes, zs.blocks[5]+200), 360, false, 1},
		{"the seek table's end", z, flip(z.bytes, size(z)-3), 400, true, 0},
		{"an entry of the seek table", z, flip(z.bytes, size(z)-30), 400, true, 0},
		{"no seek table", z, z.bytes[:z.blocks[len(z.blocks)-1]], 400, true, 0},
		{"half a trailer", p, p.bytes[:size(p)-1], 400, true, 0},
		{"no trailer", p, p.bytes[:size(p)-2], 400, true, 0},
		{"cut in a row", p, p.bytes[:p.at[300]+7], 300, false, 1},
		{"cut between rows", p, p.bytes[:p.at[300]], 300, false, 1},
		{"cut between rows, stream", ps, ps.bytes[:ps.at[300]], 300, false, 1},
		{"cut in a frame", z, z.bytes[:z.blocks[5]+17], 200, false, 1},
		{"cut between frames", z, z.bytes[:z.blocks[5]], 200, false, 1},
		{"a byte behind the trailer", p, append(bytes.Clone(p.bytes), 0), 400, true, 0},
		{"a file behind the file", p, append(bytes.Clone(p.bytes), p.bytes...), 400, true, 0},
		{"a stream behind the stream", ps, append(bytes.Clone(ps.bytes), ps.bytes...), 400, true, 0},
		{"a file behind the file, zstd", z, append(bytes.Clone(z.bytes), z.bytes...), 400, true, 0},
		{"a value, plain", p, flip(p.bytes, p.at[200]+7), 400, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.s.salvage(t, c.bytes, Options{})
			if got.err != nil {
				t.Fatal(got.err)
			}
			if len(got.rows) < c.rows || got.Complete != c.complete || len(got.Salvaged.Lost) != c.lost {
				t.Errorf("%d rows, complete %v, %+v; want %d, %v, %d lost", len(got.rows), got.Complete, got.Salvaged, c.rows, c.complete, c.lost)
			}
			foreign := c.s.foreign(got.rows)
			if c.name == "a value, plain" {
				if foreign != 1 || got.Salvaged.Checked || len(got.Salvaged.Notes) == 0 {
					t.Errorf("%d foreign rows, %+v", foreign, got.Salvaged)
				}
			} else if foreign > 0 {
				t.Errorf("%d rows are none of the file's, %+v", foreign, got.Salvaged)
			}
		})
	}
}

// With one lost range and known totals, the rows that are lost are counted.
func TestLostRowsAreCounted(t *testing.T) {
	s := newSample(t, mixed, 400, zstd1, false)
	got := s.salvage(t, flip(s.bytes, s.blocks[5]+200), Options{})
	if got.err != nil || len(got.Salvaged.Lost) != 1 {
		t.Fatalf("%v, %+v", got.err, got.Salvaged)
	}
	l := got.Salvaged.Lost[0]
	if l.Offset != s.blocks[5] || l.Bytes != s.blocks[6]-s.blocks[5] || l.FirstRow != 201 || l.Rows == nil || *l.Rows != 40 || !got.Salvaged.Checked || *got.RowsBefore != 400 {
		t.Errorf("%+v", l)
	}
}

// An unfinished file has zeros where the header goes: another file of the table says what its rows are.
func TestNoHeader(t *testing.T) {
	for _, k := range []kind{mixed, texts, ints} {
		for _, c := range []format.Compression{plain, zstd1} {
			s := newSample(t, k, 400, c, false)
			other := filepath.Join(t.TempDir(), "other"+s.ext)
			check(t, os.WriteFile(other, newSample(t, k, 3, c, false).bytes, 0o600))
			part := zero(s.bytes, 0, s.body)
			end := s.at[333]
			if c.Level > 0 {
				end = s.blocks[8]
			}
			for _, p := range [][]byte{part, part[:end]} {
				if got := s.salvage(t, p, Options{}); !errors.Is(got.err, format.ErrSignature) {
					t.Errorf("without a header: %v", got.err)
				}
				got := s.salvage(t, p, Options{HeaderFrom: other})
				if got.err != nil {
					t.Fatal(got.err)
				}
				want := 400
				if len(p) < len(part) {
					want = map[int]int{0: 333, 1: 320}[c.Level]
				}
				if len(got.rows) != want || s.foreign(got.rows) != 0 || got.Complete != (len(p) == len(part) && c.Level > 0) || got.Salvaged.Header != headerOther {
					t.Errorf("%v %v: %d rows, want %d; %+v", k, c, len(got.rows), want, got.Salvaged)
				}
			}
		}
	}
}

func TestHeaderOfAnotherTable(t *testing.T) {
	s := newSample(t, mixed, 100, zstd1, false)
	other := filepath.Join(t.TempDir(), "other.pgcopy")
	check(t, os.WriteFile(other, newSample(t, ints, 3, plain, false).bytes, 0o600))
	if got := s.salvage(t, zero(s.bytes, 0, s.body), Options{HeaderFrom: other}); !errors.Is(got.err, format.ErrTruncated) {
		t.Errorf("%v", got.err)
	}
}

func TestEmptyTable(t *testing.T) {
	for _, c := range []format.Compression{plain, zstd1} {
		s := newSample(t, mixed, 0, c, false)
		for _, p := range [][]byte{s.bytes, flip(s.bytes, 3), flip(s.bytes, s.body-60)} {
			if got := s.salvage(t, p, Options{}); got.err != nil || len(got.rows) != 0 || !got.Complete {
				t.Errorf("%v, %+v", got.err, got.Result)
			}
		}
	}
}

// The form of the file follows from its name.
func TestOtherForm(t *testing.T) {
	for _, c := range []struct {
		from format.Compression
		out  string
	}{{plain, "out.pgcopy.zst"}, {zstd1, "out.pgcopy"}} {
		s := newSample(t, mixed, 400, c.from, false)
		got := s.salvage(t, s.bytes, Options{Out: filepath.Join(t.TempDir(), c.out)})
		if got.err != nil || len(got.rows) != 400 || s.foreign(got.rows) != 0 || !got.Complete {
			t.Errorf("%v, %+v", got.err, got.Result)
		}
	}
}

func TestRefusals(t *testing.T) {
	s := newSample(t, mixed, 10, plain, false)
	dir := t.TempDir()
	path := filepath.Join(dir, "t.pgcopy")
	check(t, os.WriteFile(path, s.bytes, 0o600))
	for name, o := range map[string]Options{
		"there already":    {Path: path, Out: path},
		"another name":     {Path: path, Out: filepath.Join(dir, "rows.csv")},
		"a folder":         {Path: dir, Out: filepath.Join(dir, "x.pgcopy")},
		"nothing is there": {Path: filepath.Join(dir, "none.pgcopy")},
	} {
		if _, err := Run(t.Context(), o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if got, _ := os.ReadFile(path); !bytes.Equal(got, s.bytes) {
		t.Error("the file was changed")
	}
}

func TestOutName(t *testing.T) {
	for in, want := range map[string]string{"a/0001.pgcopy.zst": "a/0001.salvaged.pgcopy.zst", "x.pgcopy": "x.salvaged.pgcopy", "x.pgcopy.zst.part": "x.salvaged.pgcopy.zst", "x": "x.salvaged.pgcopy"} {
		if got := OutName(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

// A damaged length of the last field can swallow more rows than are followed to see that rows lead on: they are found all the same.
func TestLengthThatSwallowsManyRows(t *testing.T) {
	s := newSample(t, mixed, 800, plain, false)
	p := bytes.Clone(s.bytes)
	for i := 200; ; i++ { // the first with a last field that is not NULL
		at := s.at[i] + 2
		for range len(s.kind) - 1 {
			at += 4 + int64(max(0, int32(binary.BigEndian.Uint32(p[at:]))))
		}
		if p[at] == 0 {
			binary.BigEndian.PutUint32(p[at:], uint32(s.at[i+400]-at)) // to somewhere within a row, 400 rows on
			break
		}
	}
	got := s.salvage(t, p, Options{})
	if got.err != nil || len(got.rows) != 799 || s.foreign(got.rows) != 0 {
		t.Errorf("%v, %d rows: %+v", got.err, len(got.rows), got.Salvaged)
	}
}
