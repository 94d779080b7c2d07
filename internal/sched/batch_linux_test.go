package sched

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func TestBatchReachesEveryThread(t *testing.T) {
	if err := Batch(); err != nil {
		t.Fatal(err)
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		tid, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		attr, err := unix.SchedGetAttr(tid, 0)
		if err == unix.ESRCH {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if attr.Policy != unix.SCHED_BATCH {
			t.Errorf("thread %d has policy %d, want SCHED_BATCH", tid, attr.Policy)
		}
	}
}
