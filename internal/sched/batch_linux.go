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

// Ordinary puts the calling thread, to which the caller has locked its goroutine, under SCHED_NORMAL (SCHED_OTHER) until undo is called: a program that is started from it
// meanwhile runs as it would from a shell, and not as the batch work that it would inherit.
func Ordinary() (undo func()) {
	was, err := unix.SchedGetAttr(0, 0)
	if err != nil || was.Policy != unix.SCHED_BATCH {
		return func() {}
	}
	ordinary := *was
	ordinary.Policy = unix.SCHED_NORMAL
	if unix.SchedSetAttr(0, &ordinary, 0) != nil {
		return func() {}
	}
	return func() { _ = unix.SchedSetAttr(0, was, 0) } // a thread that stays ordinary is slower, not wrong
}
