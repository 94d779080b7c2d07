package salvage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/format"
)

// kind is a table of the tests: columns of these types.
type kind []string

var (
	mixed = kind{"int4", "text", "int8", "bytea"}
	texts = kind{"text"}
	ints  = kind{"int4", "int8"}
)

func (k kind) header() *format.Header {
	h := &format.Header{Major: format.Major, Minor: format.Minor, Meta: format.Meta{Tool: "pghaul test", DumpID: "00112233445566778899aabbccddeeff",
		Server: format.Server{VersionNum: 150018, Encoding: "UTF8"}, Database: "shop", Table: format.Table{Schema: "public", Name: "t", Kind: "table"}, Segment: format.SegmentRef{I: 2, N: 3}}}
	for i, typ := range k {
		h.Meta.Columns = append(h.Meta.Columns, format.Column{Name: format.Name(fmt.Sprintf("c%d", i)), Type: typ, TypeSchema: "pg_catalog", TypeName: format.Name(typ), Typmod: -1, Carried: format.CarriedBinary})
	}
	return h
}

// row makes a row of random values.
func (k kind) row(r *rand.Rand) []byte {
	p := binary.BigEndian.AppendUint16(nil, uint16(len(k)))
	for _, typ := range k {
		if r.IntN(10) == 0 {
			p = binary.BigEndian.AppendUint32(p, 1<<32-1)
			continue
		}
		n := int(lengths[format.Name(typ)])
		if n == 0 {
			n = r.IntN(200)
		}
		p = binary.BigEndian.AppendUint32(p, uint32(n))
		for range n {
			b := byte(r.IntN(256))
			if typ == "text" {
				b = 'a' + b%26
			}
			p = append(p, b)
		}
	}
	return p
}

// sample is an undamaged file.
type sample struct {
	kind   kind
	bytes  []byte
	rows   map[string]int // how often each is there
	n      int
	at     []int64 // where each row begins, in a plain file
	blocks []int64 // where each frame begins, in a compressed one; then where the seek table does
	body   int64   // where rows begin
	ext    string
}

// newSample writes a file of n rows in a few frames.
func newSample(t testing.TB, k kind, n int, c format.Compression, stream bool) *sample {
	t.Helper()
	s := &sample{kind: k, rows: map[string]int{}, n: n, ext: c.Ext()}
	r := rand.New(rand.NewPCG(uint64(n), uint64(len(k))))
	path := filepath.Join(t.TempDir(), "t"+s.ext)
	f, err := os.Create(path)
	check(t, err)
	defer f.Close()
	var w *format.Writer
	if stream {
		w, err = format.NewStreamWriter(f, k.header(), c)
	} else {
		w, err = format.NewWriter(f, k.header(), c)
	}
	check(t, err)
	s.body, err = f.Seek(0, io.SeekCurrent)
	check(t, err)
	walker := format.NewWalker(len(k))
	var block []byte
	flush := func() {
		at, err := f.Seek(0, io.SeekCurrent)
		check(t, err)
		if len(block) > 0 {
			s.blocks = append(s.blocks, at)
		}
		_, err = walker.Walk(block)
		check(t, err)
		check(t, w.WriteBlock(block))
		block = block[:0]
	}
	at := s.body
	for i := range n {
		row := k.row(r)
		s.rows[string(row)]++
		s.at = append(s.at, at)
		at += int64(len(row))
		if block = append(block, row...); i%40 == 39 {
			flush()
		}
	}
	block = append(block, 0xff, 0xff)
	flush()
	end, err := f.Seek(0, io.SeekCurrent)
	check(t, err)
	s.blocks = append(s.blocks, end)
	check(t, w.Close(walker.Totals()))
	s.bytes, err = os.ReadFile(path)
	check(t, err)
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// salvaged is what came of a damaged file.
type salvaged struct {
	*Result
	err  error
	rows [][]byte
}

// salvage runs over damaged bytes, and demands of a result what must always hold: it reads back with all checks, says what it was made of, and its rows are
// the sample's, each as often at most.
func (s *sample) salvage(t testing.TB, p []byte, o Options) salvaged {
	t.Helper()
	dir := t.TempDir()
	o.Path, o.Tool = filepath.Join(dir, "t"+s.ext), "pghaul test"
	check(t, os.WriteFile(o.Path, p, 0o600))
	r, err := Run(t.Context(), o)
	if err != nil {
		if list, _ := os.ReadDir(dir); len(list) != 1 {
			t.Fatalf("after %v there are %v", err, list)
		}
		return salvaged{err: err}
	}
	got := salvaged{Result: r, rows: rowsOf(t, r.Out)}
	if int64(len(got.rows)) != r.Rows {
		t.Fatalf("%d rows in the file, %d in the result", len(got.rows), r.Rows)
	}
	return got
}

// rowsOf reads a file with all checks.
func rowsOf(t testing.TB, path string) (rows [][]byte) {
	t.Helper()
	f, err := os.Open(path)
	check(t, err)
	defer f.Close()
	r, err := format.NewReader(f)
	check(t, err)
	note := r.Header().Meta.Salvaged
	if note == nil || !strings.HasPrefix(note.From, "t.pgcopy") || note.Tool != "pghaul test" {
		t.Fatalf("%+v", note)
	}
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows
		}
		check(t, err)
		rows = append(rows, append([]byte(nil), row...))
	}
}

// foreign returns how many rows are none of the sample's, or are there too often.
func (s *sample) foreign(rows [][]byte) (n int) {
	left := map[string]int{}
	for row, often := range s.rows {
		left[row] = often
	}
	for _, row := range rows {
		if left[string(row)]--; left[string(row)] < 0 {
			n++
		}
	}
	return n
}
