package salvage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/bytehaul/pghaul/format"
)

// spoil damages a file in one place, and returns which bytes of the undamaged one it has touched.
func spoil(r *rand.Rand, p []byte, from int64) (_ []byte, touched span) {
	at := from + r.Int64N(int64(len(p))-from)
	n := min(1+r.Int64N(4096), int64(len(p))-at)
	touched = span{at, at + n}
	switch r.IntN(6) {
	case 0:
		return flip(p, at), span{at, at + 1}
	case 1:
		return zero(p, at, at+n), touched
	case 2:
		return insert(p, at, string(make([]byte, n))), span{at, at}
	case 3:
		return append(bytes.Clone(p[:at]), p[at+n:]...), touched
	}
	if at+4 < int64(len(p)) && r.IntN(2) == 0 { // a length, if one stands there
		p = bytes.Clone(p)
		binary.BigEndian.PutUint32(p[at:], uint32(r.IntN(1<<16)))
		return p, span{at, at + 4}
	}
	return p[:at], span{at, int64(len(p))}
}

// In a compressed file, every row that is written is one of the original's, and all that stand in frames that were not touched are there.
func TestRandomDamageOfFrames(t *testing.T) {
	s := newSample(t, mixed, 800, zstd1, false)
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		p, touched := spoil(r, s.bytes, s.body)
		got := s.salvage(t, p, Options{})
		whole := 0
		for i, at := range s.blocks[:len(s.blocks)-1] {
			if touched.from == touched.to && (touched.from <= at || touched.from >= s.blocks[i+1]) || touched.from != touched.to && (touched.to <= at || touched.from >= s.blocks[i+1]) {
				whole += min(40, s.n-40*i)
			}
		}
		if got.err != nil {
			if whole > 0 {
				t.Errorf("seed %d: %v", seed, got.err)
			}
			continue
		}
		if n := s.foreign(got.rows); n > 0 || len(got.rows) < whole || got.Complete != (len(got.rows) == s.n) {
			t.Errorf("seed %d: %d rows, %d of them foreign, want %d, complete %v: %+v", seed, len(got.rows), n, whole, got.Complete, got.Salvaged)
		}
	}
}

// In a plain file, damage costs the rows that it touches and few beside; a changed value can't be seen in itself, but then the result does not claim to be checked.
func TestRandomDamageOfRows(t *testing.T) {
	for _, k := range []kind{mixed, texts, ints} {
		s := newSample(t, k, 800, plain, false)
		for seed := range uint64(30) {
			r := rand.New(rand.NewPCG(seed, 2))
			p, touched := spoil(r, s.bytes, s.body)
			hit := 0
			for i, at := range s.at {
				end := int64(len(s.bytes))
				if i+1 < len(s.at) {
					end = s.at[i+1]
				}
				if at <= touched.to && touched.from <= end {
					hit++
				}
			}
			got := s.salvage(t, p, Options{})
			if got.err != nil {
				if s.n-hit > 10 {
					t.Errorf("%v, seed %d: %v", k, seed, got.err)
				}
				continue
			}
			foreign := s.foreign(got.rows)
			if foreign > 2 || foreign > 0 && (got.Complete || got.Salvaged.Checked) {
				t.Errorf("%v, seed %d: %d foreign rows: %+v", k, seed, foreign, got.Salvaged)
			}
			if len(got.rows)-foreign < s.n-hit-7 || got.Complete && len(got.rows) != s.n {
				t.Errorf("%v, seed %d: %d rows of %d, %d hit: %+v", k, seed, len(got.rows), s.n, hit, got.Salvaged)
			}
		}
	}
}

// A file that is cut anywhere (every third place) gives the rows before the cut.
func TestCutAnywhere(t *testing.T) {
	for _, c := range []format.Compression{plain, zstd1} {
		s := newSample(t, ints, 50, c, false)
		for n := s.body; n < int64(len(s.bytes)); n += 3 {
			got := s.salvage(t, s.bytes[:n], Options{})
			want := 0
			for i := range s.n {
				if c.Level == 0 && i+1 < s.n && s.at[i+1] <= n || c.Level > 0 && s.blocks[i/40+1] <= n {
					want++
				}
			}
			if got.err != nil {
				if want > 0 {
					t.Errorf("cut at %d: %v", n, got.err)
				}
				continue
			}
			if len(got.rows) < want || s.foreign(got.rows) > 0 || got.Complete != (len(got.rows) == s.n) {
				t.Errorf("cut at %d: %d rows, want %d: %+v", n, len(got.rows), want, got.Salvaged)
			}
		}
	}
}

// A row may hold another file, in which rows follow each other too: they are none of this one's.
func TestFileInAField(t *testing.T) {
	inner := newSample(t, texts, 300, plain, false)
	k := texts
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "t.pgcopy"))
	check(t, err)
	defer f.Close()
	w, err := format.NewWriter(f, k.header(), plain)
	check(t, err)
	s := &sample{kind: k, rows: map[string]int{}, ext: format.ExtPlain}
	var rows []byte
	r := rand.New(rand.NewPCG(1, 2))
	big := int64(0)
	for i := range 60 {
		row := k.row(r)
		if i == 30 {
			big = position(t, f) + int64(len(rows))
			row = append([]byte{0, 1, 0, byte(len(inner.bytes) >> 16), byte(len(inner.bytes) >> 8), byte(len(inner.bytes))}, inner.bytes...)
		}
		s.rows[string(row)]++
		rows = append(rows, row...)
	}
	rows = append(rows, 0xff, 0xff)
	walker := format.NewWalker(1)
	_, err = walker.Walk(rows)
	check(t, err)
	check(t, w.WriteBlock(rows))
	check(t, w.Close(walker.Totals()))
	p, err := os.ReadFile(f.Name())
	check(t, err)
	// The row behind it is damaged: the rows inside it must not be taken instead.
	behind := big + 6 + int64(len(inner.bytes))
	got := s.salvage(t, flip(p, behind+1), Options{})
	if got.err != nil || s.foreign(got.rows) != 0 || len(got.rows) < 58 {
		t.Errorf("%v, %d rows, %d foreign: %+v", got.err, len(got.rows), s.foreign(got.rows), got.Salvaged)
	}
}

// position is where rows are written next.
func position(t *testing.T, f *os.File) int64 {
	at, err := f.Seek(0, io.SeekCurrent)
	check(t, err)
	return at
}

// failing is a disk that can't read some sectors.
type failing struct {
	p   []byte
	bad span
}

func (f failing) ReadAt(p []byte, at int64) (int, error) {
	if at < f.bad.to && f.bad.from < at+int64(len(p)) {
		return 0, errors.New("input/output error")
	}
	return bytes.NewReader(f.p).ReadAt(p, at)
}

func TestUnreadableSectors(t *testing.T) {
	for _, c := range []format.Compression{plain, zstd1} {
		s := newSample(t, mixed, 400, c, false)
		dir := t.TempDir()
		o := Options{Path: filepath.Join(dir, "t"+s.ext), Out: filepath.Join(dir, "out"+s.ext), Tool: "pghaul test"}
		d := newDamaged(failing{s.bytes, span{20480, 24576}}, int64(len(s.bytes)), o)
		check(t, d.scan(t.Context()))
		r, err := d.write(t.Context(), c)
		check(t, err)
		rows := rowsOf(t, r.Out)
		if s.foreign(rows) != 0 || len(rows) < 320 || r.Complete || len(r.Salvaged.Notes) == 0 || r.Salvaged.Notes[0] != "bytes 20480 to 24575 can't be read from the disk" {
			t.Errorf("%v: %d rows, %d foreign: %+v", c, len(rows), s.foreign(rows), r.Salvaged)
		}
	}
}

// memory is a file in memory.
type memory struct {
	p  []byte
	at int64
}

func (m *memory) Write(p []byte) (int, error) {
	m.p = append(m.p, make([]byte, max(0, int(m.at)+len(p)-len(m.p)))...)
	n := copy(m.p[m.at:], p)
	m.at += int64(n)
	return n, nil
}

func (m *memory) Seek(at int64, _ int) (int64, error) {
	m.at = at
	return at, nil
}

// Whatever a file holds: there is an error that says where, or a valid file; and memory follows what is there, not what is claimed.
func FuzzSalvage(f *testing.F) {
	p, z := newSample(f, mixed, 20, plain, false), newSample(f, mixed, 20, zstd1, true)
	f.Add(p.bytes)
	f.Add(z.bytes)
	f.Add(p.bytes[p.body:])
	f.Add(z.bytes[z.body:])
	head, zhead := p.bytes[:p.body], z.bytes[:z.body]
	f.Fuzz(func(t *testing.T, b []byte) {
		salvageInMemory(t, b, plain)
		salvageInMemory(t, append(bytes.Clone(head), b...), plain)
		salvageInMemory(t, append(bytes.Clone(zhead), b...), zstd1)
	})
}

func salvageInMemory(t *testing.T, p []byte, c format.Compression) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d := newDamaged(bytes.NewReader(p), int64(len(p)), Options{Path: "t" + c.Ext(), Tool: "pghaul test"})
	err := d.scan(t.Context())
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 300<<20+100*uint64(len(p)) {
		t.Fatalf("%d bytes allocated for %d", n, len(p))
	}
	if err != nil {
		var e *format.Error
		if !errors.As(err, &e) {
			t.Fatalf("%#v", err)
		}
		return
	}
	m := &memory{}
	w, err := format.NewWriter(m, d.newHeader(), c)
	if err != nil {
		return // a header of another version's chunks, or too long with what is lost
	}
	totals := d.totals
	totals.Length += trailerLen
	check(t, d.writeRows(t.Context(), w, c))
	check(t, w.Close(totals))
	r, err := format.NewReader(bytes.NewReader(m.p))
	check(t, err)
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := r.Totals(); got != totals {
		t.Fatalf("%s, not %s", got, totals)
	}
}
