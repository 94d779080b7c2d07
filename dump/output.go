package dump

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/dirlock"
)

// output is a segment's file in the making, or the stream.
type output interface {
	WriteStored(stored []byte, raw int) error
	Commit(t format.Totals) (format.StoredFile, error)
	Abort() error
}

// stream is an output without a name: totals that a plain stream cannot carry are lost.
type stream struct{ *format.Writer }

func (s stream) Commit(t format.Totals) (format.StoredFile, error) {
	return format.StoredFile{}, s.Close(t)
}

func (s stream) Abort() error { return nil }

// folder is the target of a dump. It knows what it made, to take it away again.
type folder struct {
	path string
	root *os.Root
	made bool      // the folder itself is ours
	lock io.Closer // held while a dump is being written there
}

func (f *folder) unlock() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}

// inUse is the error of a folder into which another dump is being written.
func inUse(path string) error {
	return withHint(fmt.Errorf("%s: %w", path, ErrNotEmpty), "another dump is being written there; give another folder")
}

// finished is the error of a folder that holds a whole dump.
func finished(path string) error {
	return withHint(fmt.Errorf("%s: %w: it holds a finished dump", path, ErrNotEmpty), "give another folder; a dump is never overwritten")
}

// checkFolder refuses what a dump must not touch. It makes nothing, and removes nothing.
func checkFolder(path string, overwrite bool) error {
	entries, err := os.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent := filepath.Dir(filepath.Clean(path))
		if info, err := os.Stat(parent); err != nil {
			return folderHint(err)
		} else if !info.IsDir() {
			return withHint(fmt.Errorf("%s is not a folder", parent), "give a folder, and none below a file")
		}
		return nil
	case err != nil:
		return folderHint(err)
	case len(entries) == 0:
		return nil
	}
	for _, e := range entries {
		if e.Name() == format.ManifestName {
			return finished(path)
		}
	}
	left := slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return strings.HasSuffix(e.Name(), format.PartSuffix) || e.Name() == format.DataDir
	})
	switch {
	case left && overwrite:
		return checkLeftBehind(path)
	case left:
		return withHint(fmt.Errorf("%s: %w: it holds what an unfinished dump left behind", path, ErrNotEmpty), "remove it with --overwrite-unfinished, or give another folder")
	}
	return withHint(fmt.Errorf("%s: %w", path, ErrNotEmpty), "give a new or empty folder")
}

// openFolder makes the folder, if it is not there, and the one for data in it. The latter must be new: of two dumps that found an empty folder
// at the same time only one goes on, and the other takes nothing of it away.
func openFolder(path string, overwrite bool) (*folder, error) {
	f := &folder{path: path}
	err := os.Mkdir(path, 0o700)
	switch {
	case err == nil:
		f.made = true
	case !errors.Is(err, fs.ErrExist):
		return nil, folderHint(err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, errors.Join(folderHint(err), f.remove())
	}
	// A file system without locks keeps nobody out here; the name of the folder for data, which must be new, still does.
	if f.lock, err = dirlock.Take(root); err != nil {
		if errors.Is(err, dirlock.ErrLocked) {
			return nil, errors.Join(inUse(path), root.Close())
		}
		return nil, errors.Join(folderHint(err), root.Close(), f.remove())
	}
	if err := f.begin(root, overwrite); err != nil {
		err = errors.Join(err, root.Close(), f.unlock())
		if errors.Is(err, ErrNotEmpty) {
			return nil, err
		}
		return nil, errors.Join(err, f.remove())
	}
	f.root = root
	return f, nil
}

// begin makes room, and the folder for data, under the lock. A dump of no table that has come to its end since the folder was looked at left but its manifest.
func (f *folder) begin(root *os.Root, overwrite bool) error {
	if overwrite {
		if err := removeLeftBehind(root, f.path); err != nil {
			return err
		}
	}
	if _, err := root.Lstat(format.ManifestName); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(finished(f.path), err)
	}
	err := root.Mkdir(format.DataDir, 0o700)
	switch {
	case errors.Is(err, fs.ErrExist):
		return inUse(f.path)
	case err != nil:
		return folderHint(fmt.Errorf("%s: %w", f.path, err))
	}
	return nil
}

// folderHint adds what to do about a folder that takes nothing.
func folderHint(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return withHint(err, "give a folder that you may write to")
	case errors.Is(err, syscall.ENOTDIR):
		return withHint(err, "give a folder, and none below a file")
	case errors.Is(err, fs.ErrNotExist):
		return withHint(err, "make the folder above it, or give another one")
	}
	return diskHint(err)
}

// remove takes away everything that a dump makes, and the folder if it was made for it.
func (f *folder) remove() error {
	if f.root == nil {
		if f.made {
			return os.Remove(f.path)
		}
		return nil
	}
	var errs []error
	for _, name := range []string{format.ManifestName, format.SchemaName, format.ChecksumName} {
		for _, n := range []string{name, name + format.PartSuffix} {
			if err := f.root.Remove(n); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	errs = append(errs, f.root.RemoveAll(format.DataDir), f.root.Close(), f.unlock())
	if f.made {
		errs = append(errs, os.Remove(f.path))
	}
	return errors.Join(errs...)
}

// single tells that one table goes into one file or stream, not a whole dump into a folder.
func (o *Options) single() bool { return o.Out != nil || o.File != "" }
