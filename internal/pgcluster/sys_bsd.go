//go:build unix && !linux

package pgcluster

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// childAttr: a process group of its own, so that a terminal's ctrl-c reaches us and
// not the server. These systems have no parent-death signal.
func childAttr(cred *credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: cred}
}

// childrenOf lists the children of a process.
func childrenOf(pid int) ([]int, error) {
	out, err := exec.Command("ps", "-axo", "pid=,ppid=").Output()
	if err != nil {
		return nil, err
	}
	var children []int
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) == 2 && f[1] == strconv.Itoa(pid) {
			child, err := strconv.Atoi(f[0])
			if err != nil {
				return nil, err
			}
			children = append(children, child)
		}
	}
	return children, nil
}

func isAlive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
