package format

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// File is a data file in the making. Until it is complete it bears [PartSuffix] behind its name, and zeros where the header goes.
type File struct {
	*Writer
	root  *os.Root
	name  string
	part  *part  // nil after Commit or Abort
	batch *Batch // that gives it its name; nil: Commit does
}

// Create makes the file name+".part" below root, mode 0600, and its folder if missing, mode 0700. Neither that file nor name may exist. root is kept.
func Create(root *os.Root, name string, h *Header, c Compression) (*File, error) {
	if _, err := root.Lstat(name); err == nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	p := &part{root: root, name: name + PartSuffix}
	if err := p.open(); err != nil {
		return nil, err
	}
	return newFile(&File{root: root, name: name, part: p}, h, c)
}

// newFile gives a file its writer.
func newFile(f *File, h *Header, c Compression) (_ *File, err error) {
	if f.Writer, err = NewWriter(f.part, h, c); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", Printable(f.name), err), f.Abort())
	}
	return f, nil
}

// Name returns the name that the file will have.
func (f *File) Name() string { return f.name }

// Commit ends the file. By itself it gives it its name: whatever bears that name is complete and on disk; the header goes in only after everything else is on disk.
// A small file of a [Batch] is written in the same order, and gets its name when the batch is on disk.
// On an error the .part file stays until Abort; the error of a full disk keeps its errno.
func (f *File) Commit(t Totals) (StoredFile, error) {
	if f.part == nil {
		return StoredFile{}, ErrClosed
	}
	s, err := f.commit(t)
	if err != nil {
		return StoredFile{}, fmt.Errorf("%s: %w", Printable(f.name), err)
	}
	return s, nil
}

func (f *File) commit(t Totals) (s StoredFile, err error) {
	if err := f.finish(t); err != nil {
		return s, err
	}
	whole := f.part.f == nil // still in memory
	if whole {
		err = f.writeWhole()
	} else {
		err = f.writeInOrder()
	}
	if err != nil {
		return s, err
	}
	s.Path = f.name
	if s.XXH128, s.StoredBytes, err = f.part.sum(); err != nil {
		return s, err
	}
	if want := f.h.Stored.Length + f.bodyOffset(); s.StoredBytes != want {
		return s, fmt.Errorf("%d bytes on disk, %d were written", s.StoredBytes, want)
	}
	f.err = ErrClosed
	done := f.part
	f.part = nil
	if whole {
		return s, f.batch.add(f.name, done.f)
	}
	if err := done.f.Close(); err != nil {
		return s, errors.Join(err, f.root.Remove(done.name))
	}
	if err := f.root.Rename(done.name, f.name); err != nil {
		return s, errors.Join(err, f.root.Remove(done.name))
	}
	return s, syncDir(f.root, path.Dir(f.name))
}

// writeInOrder brings the header to a file whose rows are written: when it stands there, all else is on disk.
func (f *File) writeInOrder() error {
	if err := f.part.f.Sync(); err != nil {
		return err
	}
	if err := f.writeHeader(); err != nil {
		return err
	}
	return f.part.f.Sync()
}

// writeWhole writes a file that is still in memory: rows, then the header, so that a killed process leaves no header before all rows.
func (f *File) writeWhole() error {
	if err := f.part.open(); err != nil {
		return err
	}
	if err := f.writeHeader(); err != nil {
		return err
	}
	return readBack(f.part.f, f.part.held)
}

// Abort closes and removes the .part file. After Commit succeeded it does nothing, so it can be deferred.
func (f *File) Abort() error {
	if f.part == nil {
		return nil
	}
	err := f.part.remove()
	f.part = nil
	if f.Writer != nil {
		f.err = ErrClosed
	}
	return err
}

// Close implements [io.Closer]: it is Abort. The Writer's own Close is hidden, for it would give the file its header before its rows are on disk.
func (f *File) Close() error { return f.Abort() }

// syncDir makes the names in a folder durable.
func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
