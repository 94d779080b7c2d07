//go:build !unix

package pgtools

import (
	"os"
	"syscall"
)

func childAttr() *syscall.SysProcAttr { return nil }

// interrupt ends a program at once: there is no signal to send here.
func interrupt(p *os.Process) error { return p.Kill() }
