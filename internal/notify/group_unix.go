//go:build unix

package notify

import (
	"os/exec"
	"syscall"
)

// inGroup gives a command a process group of its own, which is killed as a whole; a terminal's ctrl-c does not reach it.
func inGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
