package dirlock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// kinds are what temporary folders are for. Their names are pghaul-KIND-NUMBER.
var kinds = []string{"migrate", "pass", "list"}

// Temp is a temporary folder that only our user may enter (mode 0700), locked for as long as the program lives: [Sweep] of another program
// leaves it alone, and removes it when this one was killed before it could.
type Temp struct {
	path string
	lock *os.File
}

// NewTemp makes a folder in [os.TempDir]; the kind is one of migrate, pass and list.
func NewTemp(kind string) (*Temp, error) {
	const tries = 100 // each fails only when a Sweep meets the folder between its making and its lock
	for range tries {
		path, err := os.MkdirTemp("", prefix(kind)) // 0700
		if err != nil {
			return nil, err
		}
		lock, err := lockNew(path)
		if err == nil {
			return &Temp{path: path, lock: lock}, nil
		}
		err = errors.Join(err, os.RemoveAll(path))
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrLocked) {
			return nil, err
		}
	}
	return nil, &fs.PathError{Op: "lock", Path: filepath.Join(os.TempDir(), prefix(kind)+"*"), Err: ErrLocked}
}

func prefix(kind string) string { return "pghaul-" + kind + "-" }

// lockNew locks a folder that has just been made. ErrLocked or fs.ErrNotExist: a Sweep has met it first.
func lockNew(path string) (*os.File, error) {
	f, err := os.Open(path) // closed on exec: no child holds the lock
	if err != nil {
		return nil, err
	}
	if locked(f) {
		return nil, errors.Join(ErrLocked, f.Close())
	}
	if _, err := os.Lstat(path); err != nil { // looked for under the lock, as it is removed under the lock
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Path is the folder's.
func (t *Temp) Path() string { return t.path }

// Close removes the folder with all that is in it, and gives up the lock. A second call finds nothing to do.
func (t *Temp) Close() error {
	err := os.RemoveAll(t.path)
	if cerr := t.lock.Close(); !errors.Is(cerr, os.ErrClosed) {
		err = errors.Join(err, cerr)
	}
	return err
}

// Sweep removes the temporary folders in [os.TempDir] that programs of our user have left because they were killed. The kernel gives up a lock when
// its holder is gone: a folder is removed only when its lock can be had, so no process id can mislead us, and on a file system without locks
// nothing is removed. What is not ours, no plain folder of mode 0700, or called otherwise is left alone. It returns the folders that it has removed.
func Sweep() (removed []string, err error) {
	root, err := os.OpenRoot(os.TempDir())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	for _, name := range names {
		if !isTemp(name) {
			continue
		}
		gone, serr := sweep(root, name)
		if gone {
			removed = append(removed, filepath.Join(root.Name(), name))
		}
		err = errors.Join(err, serr)
	}
	return removed, err
}

// isTemp tells whether a name is one that NewTemp gives.
func isTemp(name string) bool {
	for _, kind := range kinds {
		if number, ok := strings.CutPrefix(name, prefix(kind)); ok && number != "" && strings.Trim(number, "0123456789") == "" {
			return true
		}
	}
	return false
}

// sweep removes a folder when nobody holds its lock any more.
func sweep(root *os.Root, name string) (removed bool, err error) {
	info, err := root.Lstat(name)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 || !ours(info) {
		return false, nil //nolint:nilerr // it has gone meanwhile, or is not ours
	}
	f, err := root.Open(name)
	if err != nil {
		return false, nil //nolint:nilerr // likewise
	}
	defer f.Close()
	if at, err := f.Stat(); err != nil || !os.SameFile(info, at) || !lockedBy(f) {
		return false, nil //nolint:nilerr // another one stands in its place, or somebody is at work in it
	}
	if err := root.RemoveAll(name); err != nil {
		return false, err
	}
	return true, nil
}
