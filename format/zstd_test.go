package format

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"testing"
)

// stockZstd decompresses with the zstd program.
func stockZstd(t *testing.T, p []byte) []byte {
	t.Helper()
	cmd := exec.Command("zstd", "-dc")
	cmd.Stdin = bytes.NewReader(p)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("zstd: %v, %s", err, errs.Bytes())
	}
	return out.Bytes()
}

// What stock zstd makes of a file is the header's COPY form and the rows.
func TestStockZstdDecodes(t *testing.T) {
	big := sampleHeader("c")
	big.Extra = []Chunk{{Tag: [4]byte([]byte("fill")), Payload: bytes.Repeat([]byte("0123456789abcdef"), 20_000)}}
	rng := rand.New(rand.NewPCG(1, 2))
	var rows []byte
	for i := range 300 {
		noise := make([]byte, 5000)
		for j := range noise {
			noise[j] = byte(rng.Uint32())
		}
		rows = appendRow(rows, fmt.Sprint(i)+string(noise))
	}
	blocks := [][]byte{rows, appendRow(nil, "x"), append(appendRow(nil, null), trailer...)}
	for _, level := range []int{1, 3, 9, 22} {
		c := Compression{Level: level}
		for name, p := range map[string][]byte{"file": writeFile(t, big, c, blocks...), "stream": writeStream(t, big, c, blocks...)} {
			got := stockZstd(t, p)
			r, err := NewReader(bytes.NewReader(p))
			if err != nil {
				t.Fatal(err)
			}
			head, err := r.Header().AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := append(head, bytes.Join(blocks, nil)...); !bytes.Equal(got, want) {
				t.Errorf("%s %s: zstd gives %d bytes, want %d", c, name, len(got), len(want))
			}
			if _, err := readAll(p); err != nil {
				t.Errorf("%s %s: %v", c, name, err)
			}
		}
	}
}

// Frames of every size class come with content size and checksum, as the reader demands.
func TestFrameSizes(t *testing.T) {
	e, err := NewEncoder(1)
	if err != nil {
		t.Fatal(err)
	}
	h := sampleHeader("c")
	sizes := []int{0, 1, 200, 249, 250, 300, 1000, 1024, 1025, 65000, 65536 + 256, 128 << 10, encoderWindow - 6, encoderWindow - 5, 5 << 20, 70 << 20, 10}
	for _, n := range sizes {
		row := append(appendRow(nil, string(bytes.Repeat([]byte("abcdefg\n"), n/8+1)[:n])), trailer...)
		frame := e.AppendFrame(nil, row)
		f := new(memFile)
		w, err := NewWriter(f, h, Compression{Level: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteStored(frame, len(row)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(walkAll(t, 1, row)); err != nil {
			t.Fatal(err)
		}
		if got, err := readBlocks(f.p, 100); err != nil || !bytes.Equal(got, row) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if got := stockZstd(t, f.p); !bytes.HasSuffix(got, row) {
			t.Errorf("%d bytes: stock zstd gives %d", n, len(got))
		}
	}
}

func TestForeignFramesAreRefused(t *testing.T) {
	h := sampleHeader("c")
	row := append(appendRow(nil, "some text that is long enough to be compressed, compressed, compressed"), trailer...)
	frame := func(head string, body ...byte) []byte { return append([]byte("\x28\xb5\x2f\xfd"+head), body...) }
	stored := append([]byte{byte(len(row)<<3 | 1), byte(len(row) >> 5), 0}, row...)
	n := byte(len(row))
	for name, f := range map[string][]byte{
		"no checksum":          frame("\x20"+string(n), stored...),
		"no content size":      frame("\x04\x00", stored...),
		"reserved bit":         frame("\x2c"+string(n), stored...),
		"unused bit":           frame("\x34"+string(n), stored...),
		"dictionary":           frame("\x25\x01"+string(n), stored...),
		"nothing in it":        frame("\x24\x00", 1, 0, 0),
		"one byte":             frame("\x24\x01", 9, 0, 0, 'x'),
		"window of 16 MiB":     frame("\x84\x70\x00\x00\x01\x00", stored...),
		"content beyond a row": frame("\x84\x50\x03\x00\x00\x40", stored...),
		"large single segment": frame("\xa4\x01\x00\x00\x04", stored...),
		"reserved block":       frame("\x24"+string(n), 7, 0, 0),
		"block over 128 KiB":   frame("\x84\x50\x00\x00\x04\x00", 0x08, 0x00, 0x10),
		"empty blocks":         frame("\x24"+string(n), bytes.Repeat([]byte{0, 0, 0}, 300)...),
		"says more than holds": frame("\xa4\x00\x00\x00\x02", 1, 0, 0, 0, 0, 0, 0),
	} {
		w := new(memFile)
		good, err := NewWriter(w, h, Compression{Level: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := good.WriteStored(f, len(row)); err != nil {
			t.Fatal(err)
		}
		if err := good.Close(walkAll(t, 1, row)); err != nil {
			t.Fatal(err)
		}
		refused(t, w.p, name)
		if _, err := readAll(w.p); !errors.Is(err, ErrFrame) && !errors.Is(err, ErrLimit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEncoderLevels(t *testing.T) {
	for _, level := range []int{-1, 0, MaxLevel + 1} {
		if _, err := NewEncoder(level); err == nil {
			t.Errorf("level %d was accepted", level)
		}
	}
}
