package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// programs are what built has made, by flags. They are removed with their folder at the end of the tests.
var programs struct {
	sync.Mutex
	dir  string
	made map[string]string
}

// built builds the program as users get it, for what a copy of the test binary would not show: its memory, its speed, its start. With the same flags it is built once.
func built(t testing.TB, flags ...string) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	key := strings.Join(flags, " ")
	if path := programs.made[key]; path != "" {
		return path
	}
	if programs.made == nil {
		dir, err := os.MkdirTemp("", "pghaul-built.")
		if err != nil {
			t.Fatal(err)
		}
		programs.dir, programs.made = dir, map[string]string{}
	}
	dir := filepath.Join(programs.dir, strconv.Itoa(len(programs.made)))
	path := filepath.Join(dir, "pghaul") // alone in its folder, which tests put into PATH
	if out, err := exec.Command("go", append(append([]string{"build"}, flags...), "-o", path, ".")...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	programs.made[key] = path
	return path
}

// removeBuilt removes what built has made.
func removeBuilt() error {
	if programs.dir == "" {
		return nil
	}
	return os.RemoveAll(programs.dir)
}

// runPeak runs a command and gives its largest resident memory in bytes, or 0 where there is no /proc. What the kernel reports of an ended process would not do: it
// counts the memory of the process that started it, which here is the test's. The mark that it keeps of a running one only grows, so the last look before the end is near enough.
func runPeak(c *exec.Cmd) (peak int64, err error) {
	if err := c.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		look := time.NewTicker(5 * time.Millisecond)
		defer look.Stop()
		for {
			select {
			case <-ended:
				return
			case <-look.C:
				peak = max(peak, highWater(c.Process.Pid))
			}
		}
	}()
	err = c.Wait()
	close(ended)
	<-watched
	return peak, err
}

// highWater reads the mark of a running process: VmHWM in proc(5), in kB. Before it has become the program that it is to run, it is still its parent.
func highWater(pid int) int64 {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil || strings.TrimSpace(string(name)) != "pghaul" {
		return 0
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err == nil {
				return kb << 10
			}
		}
	}
	return 0
}
