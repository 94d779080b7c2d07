package format

import (
	"bytes"
	"io"
	"runtime"
	"testing"
)

func TestWalkAllocatesNothing(t *testing.T) {
	p, _ := benchBlock(4, 8, 20)
	w := NewWalker(3)
	cut := len(p) - 3
	if n := testing.AllocsPerRun(10, func() {
		n, err := w.Walk(p[:cut])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Walk(p[n:]); err != nil {
			t.Fatal(err)
		}
	}); n > poolSlack {
		t.Errorf("%v allocations", n)
	}
}

// endless repeats a piece of a file for ever behind its start.
type endless struct {
	start, piece []byte
	at           int
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.start) > 0 {
		n := copy(p, e.start)
		e.start = e.start[n:]
		return n, nil
	}
	n := copy(p, e.piece[e.at:])
	e.at = (e.at + n) % len(e.piece)
	return n, nil
}

// endlessReader reads a file in which the same rows come again and again.
func endlessReader(t testing.TB, c Compression, rows []byte) *Reader {
	t.Helper()
	head := writeStream(t, sampleHeader("a", "b"), c, trailer)
	piece := rows
	n := headerLen(t, head)
	if c.Level > 0 {
		e, err := NewEncoder(c.Level)
		if err != nil {
			t.Fatal(err)
		}
		piece, n = e.AppendFrame(nil, rows), headerFrameLen(n)
	}
	r, err := NewReader(&endless{start: head[:n], piece: piece})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReadBlockAllocatesNothing(t *testing.T) {
	rows, _ := benchBlock(8, 100)
	for _, c := range []Compression{{}, {1}} {
		r := endlessReader(t, c, rows)
		buf := make([]byte, 0, len(rows)+100)
		if n := testing.AllocsPerRun(20, func() {
			p, err := r.ReadBlock(buf)
			if err != nil || cap(p) != cap(buf) || len(p) < len(rows) {
				t.Fatal(len(p), err)
			}
		}); n > poolSlack {
			t.Errorf("%s: %v allocations", c, n)
		}
	}
}

func TestWriteStoredAllocatesNothing(t *testing.T) {
	rows, _ := benchBlock(8, 100)
	for _, c := range []Compression{{}, {1}} {
		w, err := NewStreamWriter(io.Discard, sampleHeader("a", "b"), c)
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewEncoder(1)
		if err != nil {
			t.Fatal(err)
		}
		frame := e.AppendFrame(nil, rows)
		w.entries = append(make([]byte, 0, 10_000), w.entries...) // grows by 8 bytes for each MiB
		if n := testing.AllocsPerRun(20, func() {
			stored := rows
			if c.Level > 0 {
				frame = e.AppendFrame(frame[:0], rows)
				stored = frame
			}
			if err := w.WriteStored(stored, len(rows)); err != nil {
				t.Fatal(err)
			}
		}); n > poolSlack {
			t.Errorf("%s: %v allocations", c, n)
		}
	}
}

// The memory of an encoder counts for each worker, that of a decoder for each file being read.
func TestCodecMemory(t *testing.T) {
	rows, _ := benchBlock(8, 100)
	frame := []byte(nil)
	for level, limit := range map[int]uint64{1: 6 << 20, 3: 8 << 20} {
		n := allocated(func() {
			e, err := NewEncoder(level)
			if err != nil {
				t.Fatal(err)
			}
			frame = e.AppendFrame(make([]byte, 0, len(rows)), rows)
		})
		t.Logf("level %d: %d KiB", level, n>>10)
		if n > limit {
			t.Errorf("level %d: an encoder takes %d bytes", level, n)
		}
	}
	head := writeStream(t, sampleHeader("a", "b"), Compression{1}, trailer)
	buf := make([]byte, 0, len(rows))
	n := allocated(func() {
		r, err := NewReader(bytes.NewReader(append(head[:headerFrameLen(headerLen(t, head))], frame...)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.ReadBlock(buf); err != nil {
			t.Fatal(err)
		}
	})
	runtime.KeepAlive(buf)
	t.Logf("reader: %d KiB", n>>10)
	if n > 2<<20 {
		t.Errorf("a reader takes %d bytes", n)
	}
}
