//go:build !arm

package format

import (
	"os"
	"syscall"
)

// startWriteback asks the kernel to begin writing a range of a file to disk. It is a hint: some file systems know no such call, and the sync at the end
// is what counts, so an error is of no interest.
func startWriteback(f *os.File, from, n int64) {
	const syncFileRangeWrite = 2 // SYNC_FILE_RANGE_WRITE
	c, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = c.Control(func(fd uintptr) { _ = syscall.SyncFileRange(int(fd), from, n, syncFileRangeWrite) })
}
