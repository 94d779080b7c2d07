package flow_test

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/convert"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pipeline"
)

// repeated is a source of the same block of whole rows, again and again, then the trailer.
type repeated struct {
	rows []byte
	n    int
}

func (b repeated) Run(_ context.Context, out *pipeline.Out) error {
	for range b.n {
		to, err := out.Get()
		if err != nil {
			return err
		}
		to.Data = append(to.Data, b.rows...)
		if err := out.Send(to); err != nil {
			return err
		}
	}
	to, err := out.Get()
	if err != nil {
		return err
	}
	to.Data = append(to.Data, 0xff, 0xff)
	return out.Send(to)
}

const (
	moodOID      = 20000
	moodArrayOID = 20001
)

// moods is a block of rows of one column mood[], and the plan that gives the element type another OID.
func moods(tb testing.TB) ([]byte, *convert.Plan) {
	tb.Helper()
	value := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 1, 0, 0, 0, 0}, moodOID)
	value = append(value, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 's', 'a', 'd', 0xff, 0xff, 0xff, 0xff)
	row := append(binary.BigEndian.AppendUint32([]byte{0, 1}, uint32(len(value))), value...)
	rows := []byte(strings.Repeat(string(row), 512<<10/len(row)))
	plan, err := convert.NewPlan([]convert.Column{{Name: "m"}}, []uint32{moodArrayOID}, convert.Graph{
		Source: map[uint32]format.Type{moodOID: {OID: moodOID, Schema: "s", Name: "mood", Kind: format.KindEnum},
			moodArrayOID: {OID: moodArrayOID, Schema: "s", Name: "_mood", Kind: format.KindArray, Element: moodOID}},
		TargetOID: func(_, name format.Name) (uint32, bool) { return 30000, name == "mood" },
	})
	if err != nil {
		tb.Fatal(err)
	}
	return rows, plan
}

func TestConvertStage(t *testing.T) {
	rows, plan := moods(t)
	before, after := format.NewWalker(1), format.NewWalker(1)
	pool := pipeline.NewPool(8, pipeline.BlockSize)
	stages := []pipeline.Stage{&flow.Parse{Walker: before}, &flow.Convert{Plan: plan}, &flow.Parse{Walker: after}}
	if err := pipeline.Run(context.Background(), pipeline.Lane{Source: repeated{rows, 3}, Stages: stages, Sink: flow.Discard{}, Pool: pool}); err != nil {
		t.Fatal(err)
	}
	if before.Totals().Rows != after.Totals().Rows || before.Totals().Length != after.Totals().Length || before.Totals().Digest == after.Totals().Digest {
		t.Errorf("before %s, after %s", before.Totals(), after.Totals())
	}
	// A value of another element type, in the second block: the row counts from the start.
	bad := strings.Replace(string(rows), "\x00\x00\x4e\x20", "\x00\x00\x4e\x21", 1)
	perBlock := int64(strings.Count(string(rows), "sad"))
	source := &twoBlocks{rows, []byte(bad + "\xff\xff")}
	err := pipeline.Run(context.Background(), pipeline.Lane{Source: source, Stages: []pipeline.Stage{&flow.Parse{Walker: format.NewWalker(1)}, &flow.Convert{Plan: plan}}, Sink: flow.Discard{}, Pool: pool})
	var at *convert.Error
	if !errors.As(err, &at) || at.Row != perBlock+1 || at.Column != "m" || !errors.Is(err, convert.ErrMalformed) {
		t.Errorf("%v, want row %d, column m", err, perBlock+1)
	}
	if s := pool.Stats(); s.Outstanding != 0 {
		t.Errorf("%d blocks are not back", s.Outstanding)
	}
}

type twoBlocks struct{ first, second []byte }

func (b *twoBlocks) Run(_ context.Context, out *pipeline.Out) error {
	for _, rows := range [][]byte{b.first, b.second} {
		to, err := out.Get()
		if err != nil {
			return err
		}
		to.Data = append(to.Data, rows...)
		if err := out.Send(to); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkConvertStage: a table whose types need nothing has no such stage; one with OIDs inside of values pays for walking them.
func BenchmarkConvertStage(b *testing.B) {
	rows, plan := moods(b)
	for name, stages := range map[string]func() []pipeline.Stage{
		"without": func() []pipeline.Stage { return []pipeline.Stage{&flow.Parse{Walker: format.NewWalker(1)}} },
		"with": func() []pipeline.Stage {
			return []pipeline.Stage{&flow.Parse{Walker: format.NewWalker(1)}, &flow.Convert{Plan: plan}}
		},
	} {
		b.Run(name, func(b *testing.B) {
			pool := pipeline.NewPool(8, pipeline.BlockSize)
			const n = 64
			b.SetBytes(n * int64(len(rows)))
			b.ReportAllocs()
			for b.Loop() {
				if err := pipeline.Run(context.Background(), pipeline.Lane{Source: repeated{rows, n}, Stages: stages(), Sink: flow.Discard{}, Pool: pool}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
