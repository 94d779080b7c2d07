package format

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/zeebo/xxh3"
)

// File is a data file in the making. Until it is complete it bears [PartSuffix] behind its name, and zeros where the header goes.
type File struct {
	*Writer
	root *os.Root
	name string
	f    *os.File // nil after Commit or Abort
}

// Create makes the file name+".part" below root, mode 0600, and its folder if missing, mode 0700. Neither that file nor name may exist. root is kept.
func Create(root *os.Root, name string, h *Header, c Compression) (*File, error) {
	if _, err := root.Lstat(name); err == nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	f, err := root.OpenFile(name+PartSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	file := &File{root: root, name: name, f: f}
	if file.Writer, err = NewWriter(&flushingFile{File: f}, h, c); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", Printable(name), err), file.Abort())
	}
	return file, nil
}

// Name returns the name that the file will have.
func (f *File) Name() string { return f.name }

// Commit ends the file and gives it its name: whatever bears that name is complete and on disk. The header goes in only after everything else is on disk.
// On an error the .part file stays until Abort; the error of a full disk keeps its errno.
func (f *File) Commit(t Totals) (StoredFile, error) {
	if f.f == nil {
		return StoredFile{}, ErrClosed
	}
	s, err := f.commit(t)
	if err != nil {
		return StoredFile{}, fmt.Errorf("%s: %w", Printable(f.name), err)
	}
	return s, nil
}

func (f *File) commit(t Totals) (StoredFile, error) {
	steps := []func() error{
		func() error { return f.finish(t) },
		f.f.Sync,
		f.writeHeader,
		f.f.Sync,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return StoredFile{}, err
		}
	}
	s := StoredFile{Path: f.name}
	var err error
	if s.XXH128, s.StoredBytes, err = sumFile(f.f); err != nil {
		return s, err
	}
	if want := f.h.Stored.Length + f.bodyOffset(); s.StoredBytes != want {
		return s, fmt.Errorf("%d bytes on disk, %d were written", s.StoredBytes, want)
	}
	f.err = ErrClosed
	open := f.f
	f.f = nil
	if err := open.Close(); err != nil {
		return s, errors.Join(err, f.root.Remove(f.name+PartSuffix))
	}
	if err := f.root.Rename(f.name+PartSuffix, f.name); err != nil {
		return s, errors.Join(err, f.root.Remove(f.name+PartSuffix))
	}
	return s, syncDir(f.root, path.Dir(f.name))
}

// Abort closes and removes the .part file. After Commit succeeded it does nothing, so it can be deferred.
func (f *File) Abort() error {
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f = nil
	if f.Writer != nil {
		f.err = ErrClosed
	}
	return errors.Join(err, f.root.Remove(f.name+PartSuffix))
}

// Close implements [io.Closer]: it is Abort. The Writer's own Close is hidden, for it would give the file its header before its rows are on disk.
func (f *File) Close() error { return f.Abort() }

// sumFile returns the XXH3-128 of a whole file as xxh128sum prints it, and its length in bytes. The header comes first in the sum and last in writing: hence a second reading, out of the page cache.
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

// syncDir makes the names in a folder durable.
func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// flushEvery is how many bytes are written before the kernel is told to start writing them to disk, so that little is left for the sync at the end.
const flushEvery = 16 << 20

// flushingFile starts the write-back of what was written sequentially.
type flushingFile struct {
	*os.File
	at, flushed int64
}

// Seek implements [io.Seeker].
func (f *flushingFile) Seek(offset int64, whence int) (int64, error) {
	at, err := f.File.Seek(offset, whence)
	if err == nil {
		f.at, f.flushed = at, at
	}
	return at, err
}

// Write implements [io.Writer].
func (f *flushingFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.at += int64(n)
	if err == nil && f.at-f.flushed >= flushEvery {
		startWriteback(f.File, f.flushed, f.at-f.flushed)
		f.flushed = f.at
	}
	return n, err
}
