package pipeline

import (
	"bytes"
	"context"
	"errors"
	"testing"
)

func poolBlock(t *testing.T, size int) *Block {
	t.Helper()
	b, err := NewPool(1, size).Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPrepend(t *testing.T) {
	for _, c := range []struct {
		name          string
		data, drop, p int // bytes in the block, dropped from its front, put before
		moves         bool
	}{
		{"nothing", 10, 0, 0, false},
		{"one byte", 10, 0, 1, false},
		{"the whole headroom", 10, 0, Headroom, false},
		{"one more than the headroom", 10, 0, Headroom + 1, false},
		{"headroom and room", 10, 0, Headroom + 990, false},
		{"one more than fits", 10, 0, Headroom + 991, true},
		{"into what was dropped", 1000, 600, Headroom + 600, false},
		{"before an empty block", 0, 0, 10, false},
		{"before a block used up", 1000, 1000, 10, false},
		{"full block", 1000, 0, Headroom + 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := poolBlock(t, 1000)
			data := bytes.Repeat([]byte{'d'}, c.data)
			b.Data = append(b.Data, data...)[c.drop:]
			p := bytes.Repeat([]byte{'p'}, c.p)
			b.Prepend(p)
			if want := append(p, data[c.drop:]...); !bytes.Equal(b.Data, want) {
				t.Errorf("got %d bytes, want %d", len(b.Data), len(want))
			}
			if moved := b.grown != nil; moved != c.moves {
				t.Errorf("moved to a larger buffer: %v", moved)
			}
			b.Prepend([]byte("again"))
			if !bytes.HasPrefix(b.Data, append([]byte("again"), p...)) {
				t.Error("the second Prepend is wrong")
			}
		})
	}
}

func TestPrependToForeignData(t *testing.T) {
	b := poolBlock(t, 100)
	foreign := []byte("from elsewhere")
	b.Data = foreign
	b.Prepend([]byte("bytes "))
	if string(b.Data) != "bytes from elsewhere" || string(foreign) != "from elsewhere" {
		t.Errorf("got %q, foreign %q", b.Data, foreign)
	}
	var zero Block
	zero.Prepend([]byte("x"))
	zero.Prepend([]byte("y"))
	if string(zero.Data) != "yx" {
		t.Errorf("zero block: %q", zero.Data)
	}
	zero.Release()
}

func TestGrow(t *testing.T) {
	b := poolBlock(t, 100)
	b.Data = append(b.Data, "rows"...)
	b.Grow(96)
	if b.grown != nil || b.Room() != 96 {
		t.Fatalf("grew without need: room %d", b.Room())
	}
	b.Grow(-1)
	b.Grow(1000)
	if b.Room() < 1000 || string(b.Data) != "rows" {
		t.Errorf("room %d, data %q", b.Room(), b.Data)
	}
	room := b.Room()
	b.Prepend([]byte("two "))
	if string(b.Data) != "two rows" || b.Room() != room {
		t.Errorf("data %q, room %d, was %d: no headroom after Grow", b.Data, b.Room(), room)
	}
}

func TestReleaseDropsWhatGrew(t *testing.T) {
	p := NewPool(1, 100)
	b, err := p.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.Grow(10 * BlockSize)
	b.Raw, b.Rows = 5, 6
	b.Release()
	if b.grown != nil || b.Data != nil {
		t.Error("the pool keeps the grown buffer")
	}
	again, err := p.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if cap(again.Data) != 100 || len(again.Data) != 0 || again.Raw != 0 || again.Rows != 0 {
		t.Errorf("cap %d, len %d, raw %d, rows %d", cap(again.Data), len(again.Data), again.Raw, again.Rows)
	}
}

func TestSecondReleasePanics(t *testing.T) {
	b := poolBlock(t, 100)
	b.Release()
	defer func() {
		if got := recover(); got != "pipeline: block released twice" {
			t.Errorf("recovered %v", got)
		}
	}()
	b.Release()
}

func TestPoolIsLazyAndBounded(t *testing.T) {
	p := NewPool(2, 0)
	if s := p.Stats(); s != (PoolStats{Blocks: 2}) {
		t.Errorf("fresh pool: %+v", s)
	}
	for range 3 { // one at a time needs one buffer
		b, err := p.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b.Room() != BlockSize {
			t.Fatalf("room %d", b.Room())
		}
		b.Release()
	}
	if s := p.Stats(); s != (PoolStats{Blocks: 2, Allocated: 1}) {
		t.Errorf("after use: %+v", s)
	}
	a, _ := p.Get(t.Context())
	b, _ := p.Get(t.Context())
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if c, err := p.Get(ctx); c != nil || err != why {
		t.Errorf("Get of a used-up pool: %v, %v", c, err)
	}
	a.Release()
	if c, err := p.Get(t.Context()); err != nil || c != a {
		t.Errorf("Get after a Release: %v, %v", c, err)
	}
	if s := p.Stats(); s.Outstanding != 2 {
		t.Errorf("outstanding: %+v", s)
	}
	b.Release()
}
