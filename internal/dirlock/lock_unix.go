//go:build unix && !solaris && !aix

package dirlock

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// locked takes the lock of an open folder, and tells whether somebody else has it.
func locked(f *os.File) bool {
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// lockedBy takes the lock of an open folder, and tells whether we have it now: not so where there are no locks.
func lockedBy(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// ours tells whether a file belongs to our user.
func ours(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
