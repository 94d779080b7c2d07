package pgtools

import "syscall"

// childAttr: a process group of its own, so that a terminal's ctrl-c comes through us,
// and a signal when we die.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
