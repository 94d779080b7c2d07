package format

import (
	"encoding/binary"
	"fmt"
	"io"
	"testing"
)

// benchBlock returns about 1 MiB of rows with fields of the given sizes.
func benchBlock(sizes ...int) (p []byte, rows int) {
	for len(p) < 1<<20 {
		p = binary.BigEndian.AppendUint16(p, uint16(len(sizes)))
		for i, n := range sizes {
			if n < 0 || i%7 == 6 && (rows+i)%3 == 0 {
				p = binary.BigEndian.AppendUint32(p, 1<<32-1)
				continue
			}
			p = binary.BigEndian.AppendUint32(p, uint32(n))
			for j := range n {
				p = append(p, byte(rows>>3+i+j))
			}
		}
		rows++
	}
	return p, rows
}

func repeatSize(n, size int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = size
	}
	return s
}

func BenchmarkWalk(b *testing.B) {
	shapes := []struct {
		name  string
		sizes []int
	}{
		{"1int", []int{4}},
		{"26ints", repeatSize(26, 4)},
		{"28mixed", []int{4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 4, 4, 4, 8, 8, 8}},
		{"text200", []int{8, 8, 160}},
		{"wide2000", []int{8, 1000, 900}},
	}
	for _, s := range shapes {
		p, rows := benchBlock(s.sizes...)
		b.Run(s.name, func(b *testing.B) {
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			w := NewWalker(len(s.sizes))
			for b.Loop() {
				if n, err := w.Walk(p); err != nil || n != len(p) {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
		})
	}
}

func BenchmarkDigestRow(b *testing.B) {
	for _, n := range []int{10, 40, 210, 530} {
		row := make([]byte, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(n))
			b.ReportAllocs()
			var sum RowDigest
			for b.Loop() {
				sum = sum.Add(DigestRow(row))
			}
		})
	}
}

// BenchmarkReadBlock reads a file's frames, decompressed.
func BenchmarkReadBlock(b *testing.B) {
	rows, _ := benchBlock(8, 100)
	for _, c := range []Compression{{}, {1}} {
		b.Run(c.String(), func(b *testing.B) {
			r := endlessReader(b, c, rows)
			buf := make([]byte, 0, len(rows)+100)
			b.ReportAllocs()
			var n int64
			for b.Loop() {
				p, err := r.ReadBlock(buf)
				if err != nil {
					b.Fatal(err)
				}
				n += int64(len(p))
			}
			b.SetBytes(n / int64(b.N))
		})
	}
}

// BenchmarkWriteStored writes blocks: as they are, and as frames with what goes into the seek table.
func BenchmarkWriteStored(b *testing.B) {
	rows, _ := benchBlock(8, 100)
	for _, c := range []Compression{{}, {1}} {
		b.Run(c.String(), func(b *testing.B) {
			w, err := NewStreamWriter(io.Discard, sampleHeader("a", "b"), c)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(rows)))
			b.ReportAllocs()
			for b.Loop() {
				if err := w.WriteBlock(rows); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
