// Package dirlock keeps two programs from working in one folder: two dumps from writing into it, and a prune from removing what a dump is writing.
// A temporary folder with such a lock ([Temp]) tells those of living programs from what killed ones have left ([Sweep]).
package dirlock

import (
	"errors"
	"io"
	"os"
)

// ErrLocked says that somebody else holds the lock.
var ErrLocked = errors.New("another program is at work in the folder")

// Take takes the lock of a folder without waiting; ErrLocked: somebody else has it. It is held until it is closed, or the program ends. A file system without
// locks gives one that keeps nobody out.
func Take(root *os.Root) (io.Closer, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	if locked(f) {
		return nil, errors.Join(ErrLocked, f.Close())
	}
	return f, nil
}
