//go:build unix

package yardstick

import "golang.org/x/sys/unix"

// freeBytes is the space that is left for us in the file system of a folder.
func freeBytes(dir string) (int64, bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, false
	}
	return freeOf(&s), true
}

// cpuSeconds is the CPU time of this process, or of the children that have ended.
func cpuSeconds(children bool) float64 {
	who := unix.RUSAGE_SELF
	if children {
		who = unix.RUSAGE_CHILDREN
	}
	var u unix.Rusage
	if unix.Getrusage(who, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
