//go:build unix && !solaris && !aix

package dirlock

import (
	"errors"
	"os"
	"syscall"
)

// locked takes the lock of an open folder, and tells whether somebody else has it.
func locked(f *os.File) bool {
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
