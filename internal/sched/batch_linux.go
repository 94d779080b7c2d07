package sched

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Batch puts all threads of this process under SCHED_BATCH; threads made later inherit it. A kernel that refuses leaves things as they are,
// which is slower, not wrong: the error is for a log.
func Batch() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			return err
		}
		attr := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH}
		if err := unix.SchedSetAttr(tid, attr, 0); err != nil && err != unix.ESRCH { // ESRCH: the thread has ended
			return err
		}
	}
	return nil
}
