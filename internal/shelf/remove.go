package shelf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/dirlock"
)

// ErrChanged says that a dump is no more what it was when it was found: it was not removed.
var ErrChanged = errors.New("it has changed since it was looked at, and is kept")

// Remove removes a dump that [List] has found, if it still is that dump: the manifest first, so that what is left when it is interrupted is no dump.
// Files that are not the dump's stay, and so do the folders they are in; left names them, relative to the dump.
func (d *Dump) Remove() (left []string, err error) {
	if d.IsNamed() {
		return nil, errors.New("it is the very folder that was named")
	}
	base, err := os.OpenRoot(d.base)
	if err != nil {
		return nil, err
	}
	defer base.Close() // what was done is synced where it matters
	if info, err := base.Lstat(d.rel); err != nil || !info.IsDir() {
		return nil, errors.Join(ErrChanged, err)
	}
	root, err := base.OpenRoot(d.rel)
	if err != nil {
		return nil, err
	}
	defer root.Close() // the same
	lock, err := dirlock.Take(root)
	if err != nil { // a dump that has been paused for days changes nothing either
		return nil, err
	}
	defer lock.Close() // nothing is written through it
	var names []string
	switch d.State {
	case Complete:
		names, err = d.unmake(root)
	case Unfinished:
		names, err = d.unfinished(root)
	default:
		err = fmt.Errorf("a dump that is %s is not removed", d.State)
	}
	if err != nil {
		return nil, err
	}
	if err := removeFiles(root, names); err != nil {
		return nil, err
	}
	return d.removeFolders(base, root)
}

// unmake makes a dump to none, and returns the names of its files.
func (d *Dump) unmake(root *os.Root) ([]string, error) {
	m, err := format.ReadManifest(root)
	if err != nil || m.DumpID != d.DumpID {
		return nil, errors.Join(ErrChanged, err)
	}
	if err := root.Remove(format.ManifestName); err != nil {
		return nil, err
	}
	if err := syncFolder(root); err != nil {
		return nil, err
	}
	names := []string{format.ChecksumName}
	for _, f := range m.Files() {
		names = append(names, f.Path)
	}
	return names, nil
}

// unfinished returns the names of the files of an unfinished dump, in which nothing may have changed meanwhile.
func (d *Dump) unfinished(root *os.Root) (names []string, err error) {
	if _, err := root.Lstat(format.ManifestName); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(ErrChanged, err)
	}
	if _, last := onDisk(root); last.After(d.Time) || time.Since(last) < UnfinishedAge {
		return nil, ErrChanged
	}
	err = fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && ours(p) {
			names = append(names, p)
		}
		return err
	})
	return names, err
}

// removeFiles removes regular files and links by name; what is something else stays.
func removeFiles(root *os.Root, names []string) error {
	var all []error
	for _, name := range names {
		name = filepath.FromSlash(name)
		info, err := root.Lstat(name)
		if err == nil && info.Mode().IsRegular() {
			err = root.Remove(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// removeFolders removes the folders that a dump makes where they are empty, its own at last, and names what is left.
func (d *Dump) removeFolders(base, root *os.Root) (left []string, err error) {
	var folders []string
	err = fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (p == format.DataDir || path.Dir(p) == format.DataDir):
			folders = append(folders, p)
		case p != "." && !e.IsDir():
			left = append(left, p)
		}
		return nil
	})
	if err != nil {
		return left, err
	}
	slices.Reverse(folders) // the inner ones first
	for _, f := range folders {
		if !slices.ContainsFunc(left, func(l string) bool { return strings.HasPrefix(l, f+"/") }) {
			err = errors.Join(err, ignoreFull(root.Remove(filepath.FromSlash(f))))
		}
	}
	if len(left) > 0 {
		return left, err
	}
	if rest, e := fs.ReadDir(root.FS(), "."); e == nil && len(rest) > 0 {
		for _, r := range rest {
			left = append(left, r.Name()+"/")
		}
		return left, err
	}
	return nil, errors.Join(err, base.Remove(filepath.FromSlash(d.rel)))
}

// ignoreFull passes over a folder that can't be removed for what is in it.
func ignoreFull(err error) error {
	if errors.Is(err, syscall.ENOTEMPTY) {
		return nil
	}
	return err
}

// syncFolder makes it durable that a name is gone.
func syncFolder(root *os.Root) error {
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
