//go:build unix && !solaris && !aix

package dump

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lockFolder keeps other dumps out of a folder until the lock is closed, or the program ends. The error says that another one is there. A file system without
// locks gives one that keeps nobody out: the name of the folder for data, which must be new, still does.
func lockFolder(root *os.Root) (io.Closer, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
