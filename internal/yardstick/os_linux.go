package yardstick

import (
	"os"

	"golang.org/x/sys/unix"
)

func freeOf(s *unix.Statfs_t) int64 { return int64(s.Bavail) * s.Bsize }

// directFlag lets a file be read and written past the page cache.
const directFlag = unix.O_DIRECT

// forget drops a file's pages from the page cache: what is read then comes from the disk.
func forget(f *os.File) error { return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }
