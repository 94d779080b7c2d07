//go:build unix && !linux

package pgtools

import "syscall"

// childAttr: a process group of its own, so that a terminal's ctrl-c comes through us.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
