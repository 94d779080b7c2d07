//go:build unix

package pgtools

import "os"

// interrupt asks a program to cancel its query and end.
func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }
