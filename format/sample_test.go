package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

// memFile is a file in memory.
type memFile struct {
	p  []byte
	at int64
}

func (f *memFile) Write(p []byte) (int, error) {
	if need := int(f.at) + len(p); need > len(f.p) {
		f.p = append(f.p, make([]byte, need-len(f.p))...)
	}
	n := copy(f.p[f.at:], p)
	f.at += int64(n)
	return n, nil
}

func (f *memFile) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart {
		return 0, errors.New("only from the start")
	}
	f.at = offset
	return offset, nil
}

func (f *memFile) ReadAt(p []byte, at int64) (int, error) {
	return bytes.NewReader(f.p).ReadAt(p, at)
}

// sampleHeader is the header of the goldens and of most tests: nothing in it changes from run to run.
func sampleHeader(columns ...string) *Header {
	h := &Header{Meta: Meta{
		Tool:     "pghaul 0.0.0",
		DumpID:   "00112233445566778899aabbccddeeff",
		Server:   Server{VersionNum: 150018, Encoding: "UTF8", Provider: "libc", IntegerDatetimes: true},
		Database: "shop",
		Snapshot: Snapshot{LSN: "0/16B3748", Time: "2026-11-30T17:00:00Z"},
		Table:    Table{Schema: "public", Name: "t", Kind: "table"},
		Segment:  SegmentRef{I: 1, N: 1},
	}}
	for _, name := range columns {
		c := Column{Name: Name(name), Type: "text", TypeSchema: "pg_catalog", TypeName: "text", OID: 25, Typmod: -1, Carried: CarriedBinary}
		if name == "id" {
			c.Type, c.TypeName, c.OID, c.NotNull = "integer", "int4", 23, true
		}
		h.Meta.Columns = append(h.Meta.Columns, c)
	}
	return h
}

// null stands for NULL in rows of the tests.
const null = "\x00NULL"

// appendRow appends a COPY row.
func appendRow(p []byte, fields ...string) []byte {
	p = binary.BigEndian.AppendUint16(p, uint16(len(fields)))
	for _, f := range fields {
		if f == null {
			p = binary.BigEndian.AppendUint32(p, 1<<32-1)
			continue
		}
		p = binary.BigEndian.AppendUint32(p, uint32(len(f)))
		p = append(p, f...)
	}
	return p
}

var trailer = []byte{0xff, 0xff}

// walkAll returns the totals of rows and trailer.
func walkAll(t testing.TB, columns int, p []byte) Totals {
	t.Helper()
	w := NewWalker(columns)
	if n, err := w.Walk(p); err != nil || n != len(p) || w.Close() != nil {
		t.Fatalf("walk: %d of %d bytes, %v, %v", n, len(p), err, w.Close())
	}
	return w.Totals()
}

// writeFile returns a file whose blocks are these; the last one holds the trailer.
func writeFile(t testing.TB, h *Header, c Compression, blocks ...[]byte) []byte {
	t.Helper()
	f := new(memFile)
	w, err := NewWriter(f, h, c)
	if err != nil {
		t.Fatal(err)
	}
	writeBlocks(t, w, len(h.Meta.Columns), blocks)
	return f.p
}

// writeStream is writeFile for a stream.
func writeStream(t testing.TB, h *Header, c Compression, blocks ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewStreamWriter(&b, h, c)
	if err != nil {
		t.Fatal(err)
	}
	writeBlocks(t, w, len(h.Meta.Columns), blocks)
	return b.Bytes()
}

func writeBlocks(t testing.TB, w *Writer, columns int, blocks [][]byte) {
	t.Helper()
	for _, b := range blocks {
		if err := w.WriteBlock(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(walkAll(t, columns, bytes.Join(blocks, nil))); err != nil {
		t.Fatal(err)
	}
}

// readAll reads a file row by row with all checks, and returns its rows.
func readAll(p []byte) (rows [][]string, err error) {
	r, err := NewReader(bytes.NewReader(p))
	if err != nil {
		return nil, err
	}
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		var fields []string
		for _, f := range row.Fields() {
			if f == nil {
				fields = append(fields, null)
			} else {
				fields = append(fields, string(f))
			}
		}
		rows = append(rows, fields)
	}
}

// readBlocks reads a file block by block, as a pipeline does, with all checks, and returns its rows and trailer.
func readBlocks(p []byte, block int) ([]byte, error) {
	r, err := NewReader(bytes.NewReader(p))
	if err != nil {
		return nil, err
	}
	w := r.Walker()
	var all, buf []byte
	buf = make([]byte, 0, block)
	walked := 0
	for {
		b, err := r.ReadBlock(buf)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return all, err
		}
		buf = b
		all = append(all, b...)
		n, err := w.Walk(all[walked:])
		walked += n
		if err != nil {
			return all, err
		}
		if r.Compressed() && walked != len(all) {
			return all, errors.New("a frame ends within a row")
		}
	}
	if err := w.Close(); err != nil {
		return all, err
	}
	return all, r.Finish(w.Totals())
}
