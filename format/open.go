package format

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// OpenRegular opens a file of the dump below root for reading, if it is a regular file that does not lie outside of root. It never waits: opening a pipe
// would wait for its writer, and a device may do anything. The caller closes the file. Errors are an [*Error] of kind [ErrIrregular], [fs.ErrNotExist],
// and those of the file system.
func OpenRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	irregular := func(cause error) error { return &Error{File: name, Offset: -1, Kind: ErrIrregular, Err: cause} }
	info, err := root.Stat(name)
	switch {
	case err != nil && noPath(err):
		return nil, nil, irregular(err)
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, irregular(errors.New(info.Mode().Type().String()))
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be another one by now
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = irregular(errors.New(info.Mode().Type().String()))
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// noPath tells errors of a path that leads out of the root, in circles or through a file, from those of a disk and of rights.
func noPath(err error) bool {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return !errors.Is(err, fs.ErrNotExist) // os.Root's own
	}
	return errno == syscall.ENOTDIR || errno == syscall.ELOOP || errno == syscall.ENAMETOOLONG
}
