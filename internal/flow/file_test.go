package flow_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pipeline"
)

func header(columns int) *format.Header {
	h := &format.Header{Major: format.Major, Minor: format.Minor}
	meta := format.Meta{Tool: "test", DumpID: "00112233445566778899aabbccddeeff", Table: format.Table{Schema: "public", Name: "t", Kind: "table"}, Segment: format.SegmentRef{I: 1, N: 1}, Types: []format.Type{{OID: 25, Kind: format.KindBase, Schema: "pg_catalog", Name: "text"}}, Samples: []format.Samples{}}
	for i := range columns {
		meta.Columns = append(meta.Columns, format.Column{Name: format.Name(rune('a' + i)), Type: "text", TypeSchema: "pg_catalog", TypeName: "text", OID: 25, Typmod: -1, Carried: format.CarriedBinary})
	}
	h.SetMeta(meta)
	return h
}

// TestFileRoundTrip: rows through the lane of a dump into a file, and through the lane of a verify out of it.
func TestFileRoundTrip(t *testing.T) {
	for _, level := range []int{0, 1, 3} {
		for _, longest := range []int{50, 2 << 20} {
			r := rand.New(rand.NewPCG(uint64(level), 2))
			stream, want := randomRows(r, max(12, 10_000/longest), 3, longest)
			pool := pipeline.NewPool(8, pipeline.BlockSize)
			root, err := os.OpenRoot(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			c := format.Compression{Level: level}
			f, err := format.Create(root, "x"+c.Ext(), header(3), c)
			if err != nil {
				t.Fatal(err)
			}
			walker := format.NewWalker(3)
			lane := pipeline.Lane{Source: &pieces{stream: bytes.NewReader(stream), next: func() int { return 1 + r.IntN(pipeline.BlockSize) }}, Stages: []pipeline.Stage{&flow.Parse{Walker: walker}}, Sink: &flow.FileSink{Writer: f}, Pool: pool}
			if level > 0 {
				compress, err := flow.NewCompress(level)
				if err != nil {
					t.Fatal(err)
				}
				lane.Stages = append(lane.Stages, compress)
			}
			if err := pipeline.Run(context.Background(), lane); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Commit(walker.Totals()); err != nil {
				t.Fatal(err)
			}
			readBack(t, root, "x"+c.Ext(), pool, stream, want)
		}
	}
}

func readBack(t *testing.T, root *os.Root, name string, pool *pipeline.Pool, stream []byte, want format.Totals) {
	t.Helper()
	f, err := root.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reader, err := format.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	walker := reader.Walker()
	sink := &whole{t: t, columns: 3, keep: true}
	err = pipeline.Run(context.Background(), pipeline.Lane{Source: &flow.FileSource{Reader: reader}, Stages: []pipeline.Stage{&flow.Parse{Walker: walker}}, Sink: sink, Pool: pool})
	if err == nil {
		err = reader.Finish(walker.Totals())
	}
	if err != nil || walker.Totals() != want || !bytes.Equal(sink.data, stream) {
		t.Errorf("%s: %+v, want %+v; %d of %d bytes; %v", name, walker.Totals(), want, len(sink.data), len(stream), err)
	}
	if s := pool.Stats(); s.Outstanding != 0 {
		t.Errorf("%s: %d blocks are lost", name, s.Outstanding)
	}
	// the same with a sink that only looks
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if reader, err = format.NewReader(f); err != nil {
		t.Fatal(err)
	}
	walker = reader.Walker()
	err = pipeline.Run(context.Background(), pipeline.Lane{Source: &flow.FileSource{Reader: reader}, Stages: []pipeline.Stage{&flow.Parse{Walker: walker}}, Sink: flow.Discard{}, Pool: pool})
	if err != nil || walker.Totals() != want {
		t.Errorf("%s into nothing: %+v, %v", name, walker.Totals(), err)
	}
}

// TestFileSinkFull: the writer's error ends the lane and is what Run gives.
func TestFileSinkFull(t *testing.T) {
	stream, _ := randomRows(rand.New(rand.NewPCG(1, 1)), 3000, 3, 5000)
	full := io.ErrShortWrite
	for at := range 3 {
		pool := pipeline.NewPool(4, 64<<10)
		err := pipeline.Run(context.Background(), pipeline.Lane{Source: &pieces{stream: bytes.NewReader(stream), next: func() int { return 64 << 10 }}, Stages: []pipeline.Stage{&flow.Parse{Walker: format.NewWalker(3)}},
			Sink: &flow.FileSink{Writer: &limited{left: at, err: full}}, Pool: pool})
		if err != full || pool.Stats().Outstanding != 0 {
			t.Errorf("full at block %d: %v, %d blocks lost", at, err, pool.Stats().Outstanding)
		}
	}
}

// limited takes so many blocks.
type limited struct {
	left int
	err  error
}

func (l *limited) WriteStored([]byte, int) error {
	if l.left--; l.left < 0 {
		return l.err
	}
	return nil
}
