package flow_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pipeline"
)

// appendRow appends a row; a nil field is NULL.
func appendRow(p []byte, fields ...[]byte) []byte {
	p = binary.BigEndian.AppendUint16(p, uint16(len(fields)))
	for _, f := range fields {
		if f == nil {
			p = append(p, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		p = append(binary.BigEndian.AppendUint32(p, uint32(len(f))), f...)
	}
	return p
}

// pieces is a source that cuts a stream wherever next says, with blocks as small as they come.
type pieces struct {
	stream io.Reader
	next   func() int
}

func (s *pieces) Run(_ context.Context, out *pipeline.Out) error {
	for {
		n := s.next()
		b, err := out.Get()
		if err != nil {
			return err
		}
		b.Grow(n)
		k, err := io.ReadFull(s.stream, b.Data[:n])
		b.Data = b.Data[:k]
		if e := out.Send(b); e != nil {
			return e
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// whole is a sink that takes every block apart again: each must hold whole rows.
type whole struct {
	t       *testing.T
	columns int
	keep    bool
	data    []byte
	rows    int64
	bytes   int64
	largest int
}

func (s *whole) Run(_ context.Context, in *pipeline.In) error {
	w := format.NewWalker(s.columns)
	for {
		b, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		before := w.Totals().Rows
		n, err := w.Walk(b.Data)
		if err != nil || n != len(b.Data) || w.Totals().Rows-before != int64(b.Rows) || b.Raw != len(b.Data) {
			s.t.Errorf("block of %d bytes, %d raw, said to be %d rows: %d bytes are whole, %d rows, %v", len(b.Data), b.Raw, b.Rows, n, w.Totals().Rows-before, err)
		}
		if s.keep {
			s.data = append(s.data, b.Data...)
		}
		s.rows, s.bytes, s.largest = s.rows+int64(b.Rows), s.bytes+int64(len(b.Data)), max(s.largest, len(b.Data))
		b.Release()
	}
}

type count struct{ rows, bytes int64 }

func (c *count) Add(rows, bytes int64) { c.rows, c.bytes = c.rows+rows, c.bytes+bytes }

// parse runs a stream through the stage.
func parse(t *testing.T, pool *pipeline.Pool, src pipeline.Source, columns int, sink *whole, c *count) (format.Totals, error) {
	t.Helper()
	walker := format.NewWalker(columns)
	sink.t, sink.columns = t, columns
	err := pipeline.Run(context.Background(), pipeline.Lane{Source: src, Stages: []pipeline.Stage{&flow.Parse{Walker: walker, Count: c}}, Sink: sink, Pool: pool})
	if s := pool.Stats(); s.Outstanding != 0 {
		t.Errorf("%d blocks are lost", s.Outstanding)
	}
	return walker.Totals(), err
}

// randomRows makes rows of all sizes, some far larger than a piece.
func randomRows(r *rand.Rand, rows, columns, longest int) (stream []byte, want format.Totals) {
	w := format.NewWalker(columns)
	for range rows {
		fields := make([][]byte, columns)
		for i := range fields {
			switch r.IntN(6) {
			case 0: // NULL
			case 1:
				fields[i] = []byte{}
			case 2:
				fields[i] = bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(longest))
			default:
				fields[i] = bytes.Repeat([]byte{0xff}, r.IntN(20)) // looks like a trailer and a NULL
			}
		}
		stream = appendRow(stream, fields...)
	}
	stream = append(stream, 0xff, 0xff)
	if _, err := w.Walk(stream); err != nil {
		panic(err)
	}
	return stream, w.Totals()
}

func TestParseAnyCuts(t *testing.T) {
	pool := pipeline.NewPool(8, 64)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		columns := []int{0, 1, 3, 40}[r.IntN(4)]
		longest := []int{10, 1000, 700_000}[r.IntN(3)]
		rows := r.IntN(30)
		if longest > 1000 { // enough for a row of several blocks
			rows, columns = r.IntN(4), min(columns, 3)
		}
		stream, want := randomRows(r, rows, columns, longest)
		most := []int{1, 7, 100, 5000, 400_000}[r.IntN(5)]
		if len(stream)/most > 20_000 {
			most = 5000
		}
		sink, c := &whole{keep: true}, &count{}
		got, err := parse(t, pool, &pieces{stream: bytes.NewReader(stream), next: func() int { return 1 + r.IntN(most) }}, columns, sink, c)
		if err != nil || got != want || !bytes.Equal(sink.data, stream) || c.rows != want.Rows || c.bytes != int64(len(stream)) {
			t.Errorf("seed %d, %d columns, %d bytes in pieces up to %d: %+v, %d bytes, counted %+v, %v; want %+v", seed, columns, len(stream), most, got, len(sink.data), *c, err, want)
		}
	}
}

// long is a stream of one row of so many fields of so many bytes, without the memory for it.
func long(fields, size int) (io.Reader, int64) {
	head := binary.BigEndian.AppendUint16(nil, uint16(fields))
	parts := []io.Reader{bytes.NewReader(head)}
	for range fields {
		parts = append(parts, bytes.NewReader(binary.BigEndian.AppendUint32(nil, uint32(size))), io.LimitReader(zeros{}, int64(size)))
	}
	parts = append(parts, bytes.NewReader([]byte{0xff, 0xff}))
	return io.MultiReader(parts...), 2 + int64(fields)*int64(4+size) + 2
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestParseLongRow: a row of many blocks is moved a few times, not once per block. What the allocator has handed out shows the copies.
func TestParseLongRow(t *testing.T) {
	for _, c := range []struct {
		fields, size, piece int
	}{
		{1, 30 << 20, 64 << 10}, {1, 200 << 20, 1 << 20}, {1600, 64 << 10, 64 << 10}, {1600, 130 << 10, 1 << 20}, {3, 10 << 20, 100},
	} {
		if c.piece == 100 {
			c.size = 1 << 20
		}
		stream, length := long(c.fields, c.size)
		pool := pipeline.NewPool(8, pipeline.BlockSize)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sink, n := &whole{}, &count{}
		got, err := parse(t, pool, &pieces{stream: stream, next: func() int { return c.piece }}, c.fields, sink, n)
		runtime.ReadMemStats(&after)
		if err != nil || got.Rows != 1 || got.Length != length || n.bytes != length {
			t.Errorf("%d fields of %d bytes: %+v, %v", c.fields, c.size, got, err)
		}
		if allocated := int64(after.TotalAlloc - before.TotalAlloc); allocated > 6*length+(16<<20) {
			t.Errorf("%d fields of %d bytes: %d MiB were allocated for a row of %d MiB", c.fields, c.size, allocated>>20, length>>20)
		}
	}
}

// TestParseLying: a length that the stream does not keep costs no memory.
func TestParseLying(t *testing.T) {
	stream := append([]byte{0, 1, 0x3f, 0xff, 0xff, 0x00}, make([]byte, 2<<20)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := parse(t, pipeline.NewPool(4, pipeline.BlockSize), &pieces{stream: bytes.NewReader(stream), next: func() int { return 100_000 }}, 1, &whole{}, &count{})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, format.ErrTruncated) {
		t.Errorf("%v", err)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 32<<20 {
		t.Errorf("%d MiB for a field that claims 1 GiB", allocated>>20)
	}
}

func TestParseDamage(t *testing.T) {
	good := appendRow(appendRow(nil, []byte("abc"), nil), []byte("d"), []byte(""))
	for what, c := range map[string]struct {
		stream []byte
		kind   format.Kind
		offset int64
		row    int64
		column int
	}{
		"no trailer":         {good, format.ErrTruncated, int64(len(good)), 3, 0},
		"nothing":            {nil, format.ErrTruncated, 0, 1, 0},
		"half a field count": {append(bytes.Clone(good), 0), format.ErrTruncated, int64(len(good)), 3, 0},
		"half a row":         {good[:len(good)-3], format.ErrTruncated, 13, 2, 0},
		"other field count":  {append(bytes.Clone(good), 0, 3), format.ErrFieldCount, int64(len(good)), 3, 0},
		"negative length":    {append(bytes.Clone(good), 0, 2, 0xff, 0xff, 0xff, 0xfe), format.ErrFieldLength, int64(len(good)) + 2, 3, 1},
		"huge length":        {append(bytes.Clone(good), 0, 2, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff), format.ErrFieldLength, int64(len(good)) + 6, 3, 2},
		"after the trailer":  {append(bytes.Clone(good), 0xff, 0xff, 0), format.ErrTrailing, int64(len(good)) + 2, 0, 0},
		"second stream":      {append(append(bytes.Clone(good), 0xff, 0xff), good...), format.ErrTrailing, int64(len(good)) + 2, 0, 0},
	} {
		for piece := 1; piece <= len(c.stream)+1; piece++ {
			_, err := parse(t, pipeline.NewPool(4, 64), &pieces{stream: bytes.NewReader(c.stream), next: func() int { return piece }}, 2, &whole{}, &count{})
			var e *format.Error
			if !errors.As(err, &e) {
				t.Errorf("%s in pieces of %d: %v", what, piece, err)
				continue
			}
			if e.Kind != c.kind || e.Offset != c.offset || e.Row != c.row || e.Column != c.column {
				t.Errorf("%s in pieces of %d: %v at %d, row %d, column %d; want %v at %d, row %d, column %d", what, piece, e.Kind, e.Offset, e.Row, e.Column, c.kind, c.offset, c.row, c.column)
			}
		}
	}
}
