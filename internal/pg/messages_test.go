package pg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
)

// appendMessage appends a message of the protocol.
func appendMessage(p []byte, kind byte, body []byte) []byte {
	p = append(p, kind)
	p = binary.BigEndian.AppendUint32(p, uint32(4+len(body)))
	return append(p, body...)
}

// copyRows takes each Write for a row.
type copyRows struct {
	rows [][]byte
	fail int // the number of the row that is not taken; 0: all are
}

var errNotTaken = errors.New("not taken")

func (c *copyRows) Write(p []byte) (int, error) {
	if c.fail == len(c.rows)+1 {
		return 0, errNotTaken
	}
	c.rows = append(c.rows, bytes.Clone(p))
	return len(p), nil
}

// takeApart does what pgconn does with what passes: it gives CopyData messages to rows, too. The others are returned, with what is left of a message that was cut off.
func takeApart(p []byte, rows *copyRows) (others, broken []byte) {
	for len(p) > 0 {
		n := messageLen(p)
		if n == 0 || n > len(p) {
			break
		}
		if p[0] == typeCopyData {
			rows.rows = append(rows.rows, p[messageHeader:n])
		} else {
			others = append(others, p[:n]...)
		}
		p = p[n:]
	}
	return others, p
}

// randomReads reads a random number of bytes at a time.
type randomReads struct {
	r   io.Reader
	rng *rand.Rand
}

func (r *randomReads) Read(p []byte) (int, error) {
	return r.r.Read(p[:min(len(p), 1+r.rng.IntN(300))])
}

// readRandomly reads to the end, a random number of bytes at a time.
func readRandomly(t *testing.T, r io.Reader, rng *rand.Rand) (out []byte) {
	for p := make([]byte, 512); ; {
		n, err := r.Read(p[:1+rng.IntN(len(p))])
		out = append(out, p[:n]...)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func randomMessages(rng *rand.Rand) (in []byte) {
	for range rng.IntN(40) {
		kind := "CNZSEddddddd"[rng.IntN(12)]
		in = appendMessage(in, kind, bytes.Repeat([]byte{byte(rng.IntN(256))}, []int{rng.IntN(8), rng.IntN(60), rng.IntN(400)}[rng.IntN(3)]))
	}
	return in[:len(in)-rng.IntN(min(len(in), 7)+1)] // the last one may be cut off
}

func TestMessagesPass(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		in := randomMessages(rng)
		_, broken := takeApart(in, &copyRows{})
		out := readRandomly(t, newMessages(&randomReads{bytes.NewReader(in), rng}, 32+rng.IntN(200)), rng)
		if whole := len(in) - len(broken); len(out) < whole || !bytes.HasPrefix(in, out) {
			t.Fatalf("in  %q\nout %q", in, out)
		}
	}
}

// TestRowsAreTaken: each row once and in order, be it by the short way or, when it is too long for the buffer, by pgconn's; all else passes.
func TestRowsAreTaken(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		in := randomMessages(rng)
		var want, got copyRows
		others, _ := takeApart(in, &want)
		m := newMessages(&randomReads{bytes.NewReader(in), rng}, 32+rng.IntN(200))
		m.rows = &got
		var passed []byte
		for p := make([]byte, 1<<10); ; { // pgconn reads a message whole before it looks at the next one
			n := messageHeader
			if _, err := io.ReadFull(m, p[:n]); err != nil {
				break
			}
			if n = messageLen(p); n > len(p) {
				t.Fatalf("message %q", p[:messageHeader])
			}
			if _, err := io.ReadFull(m, p[messageHeader:n]); err != nil {
				break
			}
			if o, _ := takeApart(bytes.Clone(p[:n]), &got); o != nil {
				passed = append(passed, o...)
			}
		}
		if !bytes.Equal(passed, others) || len(got.rows) != len(want.rows) || !bytes.Equal(bytes.Join(got.rows, []byte("|")), bytes.Join(want.rows, []byte("|"))) {
			t.Fatalf("in   %q\nrows %q\npassed %q", in, got.rows, passed)
		}
	}
}

func TestRowNotTaken(t *testing.T) {
	var in []byte
	for _, row := range []string{"one", "two", "three"} {
		in = appendMessage(in, typeCopyData, []byte(row))
	}
	rows := &copyRows{fail: 2}
	m := newMessages(bytes.NewReader(in), 64)
	m.rows = rows
	if out, err := io.ReadAll(m); !errors.Is(err, errNotTaken) || !errors.Is(m.rowsErr, errNotTaken) || len(out) > 0 || len(rows.rows) != 1 {
		t.Errorf("%q, %v, %v, %q", out, err, m.rowsErr, rows.rows)
	}
}

func TestMessagesOfImpossibleLength(t *testing.T) {
	for _, length := range []uint32{0, 3, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
		row := appendMessage(nil, typeCopyData, []byte("row"))
		in := append(binary.BigEndian.AppendUint32([]byte{typeCopyData}, length), "behind it"...)
		rows := &copyRows{}
		m := newMessages(bytes.NewReader(append(row, in...)), 64)
		m.rows = rows
		out := make([]byte, len(in))
		if n, err := io.ReadFull(m, out); err != nil || !bytes.Equal(out[:n], in) || len(rows.rows) != 1 {
			t.Errorf("length %d: %q, %v, %q", length, out[:n], err, rows.rows)
		}
	}
}

func TestMessagesEnd(t *testing.T) {
	whole := appendMessage(nil, 'Z', []byte("I"))
	gone := errors.New("gone")
	for name, r := range map[string]io.Reader{
		"behind a message":  io.MultiReader(bytes.NewReader(whole), iotest.ErrReader(gone)),
		"with a message":    iotest.DataErrReader(io.MultiReader(bytes.NewReader(whole), iotest.ErrReader(gone))),
		"inside of another": io.MultiReader(bytes.NewReader(append(bytes.Clone(whole), whole[:4]...)), iotest.ErrReader(gone)),
	} {
		out, err := io.ReadAll(newMessages(r, 64))
		if !errors.Is(err, gone) || !bytes.Equal(out, whole) {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}

// discardRows takes rows and keeps none.
type discardRows struct{ n int }

func (d *discardRows) Write(p []byte) (int, error) {
	d.n++
	return len(p), nil
}

// BenchmarkRowsTaken takes what a server sends of rows of one integer.
func BenchmarkRowsTaken(b *testing.B) {
	var in []byte
	const rows = 10_000
	for range rows {
		in = appendMessage(in, typeCopyData, []byte{0, 1, 0, 0, 0, 4, 1, 2, 3, 4})
	}
	r := bytes.NewReader(in)
	m := newMessages(r, readBuffer)
	taken := &discardRows{}
	m.rows = taken
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		r.Reset(in)
		m.err = nil
		if _, err := m.Read(nil); !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
		n += rows
	}
	if taken.n != n {
		b.Fatalf("%d rows of %d", taken.n, n)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/row")
}
