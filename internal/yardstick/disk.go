package yardstick

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
	"unsafe"
)

const (
	diskBlock    = 1 << 20
	diskSmallest = 8 << 20
	diskLargest  = 1 << 30
	diskAlign    = 4096 // of memory and of places in the file, for O_DIRECT
	fsyncs       = 20   // at most
	fsyncBytes   = 8192
)

// diskBytes is how much is written at most: as much as the tables, within bounds.
func (b *bench) diskBytes() int64 {
	var n int64
	for _, s := range b.subjects {
		n += s.rows * s.rowBytes
	}
	return min(max(n, diskSmallest), diskLargest) / diskBlock * diskBlock
}

// disk measures sequential writing with the fsync at its end, reading from the disk and not from memory, and what one small fsync takes, in the folder of the dumps.
func (b *bench) disk(ctx context.Context) error {
	path := filepath.Join(b.scratch.dir, "disk")
	d := Disk{Dir: b.o.Dir}
	t := &diskTest{path: path, limit: b.diskBytes(), time: 5 * b.o.StepTime, block: aligned(diskBlock)}
	random := rand.NewChaCha8([32]byte{1}) // a file system that compresses gains nothing
	_, _ = random.Read(t.block)
	var writes, reads []float64
	for range b.o.Rounds {
		seconds, err := timed(func() error { return t.write(ctx) })
		if err != nil {
			return err
		}
		writes = append(writes, per(float64(t.written)/1e6, seconds))
		if seconds, err = t.read(ctx); err != nil {
			return err
		}
		reads = append(reads, per(float64(t.written)/1e6, seconds))
	}
	d.Bytes, d.Direct, d.WriteMBs, d.ReadMBs = t.written, t.direct, median(writes), median(reads)
	if t.cached {
		b.note("the page cache could not be emptied for the file of the disk's test: its reading speed is memory's")
	}
	var err error
	if d.FsyncMillis, err = t.fsync(ctx); err != nil {
		return err
	}
	b.report.Disk = d
	b.say("disk of %s: writes %.0f MB/s, reads %.0f MB/s, fsync %.2f ms", d.Dir, d.WriteMBs, d.ReadMBs, d.FsyncMillis)
	return os.Remove(path)
}

// diskTest is a file that is written and read.
type diskTest struct {
	path    string
	limit   int64         // bytes
	time    time.Duration // of writing, after which no further block is written
	block   []byte
	written int64
	direct  bool // past the page cache
	cached  bool // reads may have come from memory
}

// open opens the file past the page cache where its file system can do that.
func (t *diskTest) open(flags int) (f *os.File, err error) {
	if directFlag != 0 {
		if f, err = os.OpenFile(t.path, flags|directFlag, 0o600); err == nil {
			t.direct = true
			return f, nil
		}
	}
	t.direct = false
	return os.OpenFile(t.path, flags, 0o600)
}

// write writes the file up to its limit of bytes or of time, and waits until the disk has it.
func (t *diskTest) write(ctx context.Context) (err error) {
	f, err := t.open(os.O_CREATE | os.O_TRUNC | os.O_WRONLY)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	start := time.Now()
	for t.written = 0; t.written < t.limit && (t.written == 0 || time.Since(start) < t.time); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := f.Write(t.block)
		if err != nil {
			return err
		}
		t.written += int64(n)
	}
	return f.Sync()
}

// read reads the file. It empties the page cache of it before the clock starts.
func (t *diskTest) read(ctx context.Context) (seconds float64, err error) {
	f, err := t.open(os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	t.cached = forget(f) != nil && !t.direct
	buffer := aligned(diskBlock)
	return timed(func() error {
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			_, err := f.Read(buffer)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
}

// fsync gives the milliseconds that one small write with its fsync takes.
func (t *diskTest) fsync(ctx context.Context) (millis float64, err error) {
	f, err := os.OpenFile(t.path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var samples []float64
	for range fsyncs {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		seconds, err := timed(func() error {
			if _, err := f.Write(t.block[:fsyncBytes]); err != nil {
				return err
			}
			return f.Sync()
		})
		if err != nil {
			return 0, fmt.Errorf("fsync: %w", err)
		}
		samples = append(samples, seconds*1e3)
	}
	return median(samples), nil
}

// aligned is a buffer that O_DIRECT takes.
func aligned(size int) []byte {
	buffer := make([]byte, size+diskAlign)
	shift := 0
	if over := int(uintptr(unsafe.Pointer(&buffer[0])) % diskAlign); over > 0 {
		shift = diskAlign - over
	}
	return buffer[shift : shift+size : shift+size]
}
