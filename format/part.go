package format

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/zeebo/xxh3"
)

// smallFile is the most bytes, as stored, that a file of a [Batch] keeps in memory until it is complete.
const smallFile = 64 << 10

// part is a file under its unfinished name: on disk, or as long as it is small and of a batch, in memory. It is written in sequence behind the header, and
// the header after that.
type part struct {
	root *os.Root
	name string
	f    *os.File // nil: in memory
	held []byte   // the whole file as far as it is written, kept while it is small; nil: not kept
	keep bool     // small files stay in memory
	at   int64

	flushed int64
}

// open makes the file, and its folder where that is missing, and writes what was held in memory behind the header. The header is left to the writer.
func (p *part) open() (err error) {
	if dir := path.Dir(p.name); dir != "." {
		if err := p.root.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if p.f, err = p.root.OpenFile(p.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		p.f = nil
		return err
	}
	start := 0 // of what is not zero: nothing is written in front of it, and zeros are what a reader finds there
	for start < len(p.held) && p.held[start] == 0 {
		start++
	}
	_, err = p.f.WriteAt(p.held[start:], int64(start))
	return err
}

// Seek implements [io.Seeker], from the start of the file only.
func (p *part) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart || offset < 0 {
		return p.at, fmt.Errorf("seek to %d from %d", offset, whence)
	}
	p.at, p.flushed = offset, offset
	return offset, nil
}

// Write implements [io.Writer].
func (p *part) Write(b []byte) (int, error) {
	if p.keep && p.at+int64(len(b)) > smallFile {
		p.keep = false
		if p.f == nil {
			if err := p.open(); err != nil {
				return 0, err
			}
		}
		p.held = nil
	}
	if p.keep {
		if more := p.at + int64(len(b)) - int64(len(p.held)); more > 0 {
			p.held = append(p.held, make([]byte, more)...)
		}
		copy(p.held[p.at:], b)
	}
	if p.f == nil {
		p.at += int64(len(b))
		return len(b), nil
	}
	n, err := p.f.WriteAt(b, p.at)
	p.at += int64(n)
	if err == nil && p.at-p.flushed >= flushEvery {
		startWriteback(p.f, p.flushed, p.at-p.flushed)
		p.flushed = p.at
	}
	return n, err
}

// ReadAt implements [io.ReaderAt] of what is on disk.
func (p *part) ReadAt(b []byte, at int64) (int, error) { return p.f.ReadAt(b, at) }

// sum returns the XXH3-128 of the whole file as xxh128sum prints it, and its length in bytes. The header comes first in the sum and last in writing:
// hence a second reading, out of memory or of the page cache.
func (p *part) sum() (string, int64, error) {
	if p.held != nil {
		return hexSum(p.held), int64(len(p.held)), nil
	}
	return sumFile(p.f)
}

// remove closes and removes the file.
func (p *part) remove() error {
	if p.f == nil {
		return nil
	}
	return errors.Join(p.f.Close(), p.root.Remove(p.name))
}

// sumFile sums up a whole file.
func sumFile(f io.ReaderAt) (string, int64, error) {
	sum := xxh3.New128()
	buf := make([]byte, 256<<10)
	for at := int64(0); ; {
		n, err := f.ReadAt(buf, at)
		_, _ = sum.Write(buf[:n]) // never fails
		at += int64(n)
		switch {
		case errors.Is(err, io.EOF):
			b := sum.Sum128().Bytes()
			return hex.EncodeToString(b[:]), at, nil
		case err != nil:
			return "", at, err
		}
	}
}

// flushEvery is how many bytes are written before the kernel is told to start writing them to disk, so that little is left for the sync at the end.
const flushEvery = 16 << 20
