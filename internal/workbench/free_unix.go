//go:build unix

package workbench

import "golang.org/x/sys/unix"

// freeBytes is what is left for us in the file system of a folder that is there.
func freeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(uint64(s.Bavail) * uint64(s.Bsize)), nil //nolint:unconvert // signed on FreeBSD
}
