package sched

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
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

// A program that is started meanwhile is no batch work; what comes later is again.
func TestOrdinaryForAProgram(t *testing.T) {
	if err := Batch(); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	policy := func() string { // the 41st field of its own stat, see proc(5)
		out, err := exec.Command("cat", "/proc/self/stat").Output()
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(out), ") ")
		return strings.Fields(rest)[41-3]
	}
	batch, other := strconv.Itoa(unix.SCHED_BATCH), strconv.Itoa(unix.SCHED_NORMAL)
	if got := policy(); got != batch {
		t.Errorf("before: policy %s, want %s", got, batch)
	}
	undo := Ordinary()
	if got := policy(); got != other {
		t.Errorf("meanwhile: policy %s, want %s", got, other)
	}
	undo()
	if got := policy(); got != batch {
		t.Errorf("afterwards: policy %s, want %s", got, batch)
	}
}
