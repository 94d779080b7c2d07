//go:build !unix

package pgcluster

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

const (
	sigStop = syscall.SIGTERM
	sigQuit = syscall.SIGTERM
)

type credential struct{ Uid, Gid uint32 }

// serverCredential refuses: there are no unix sockets and signals here to build on.
func serverCredential() (*credential, error) {
	return nil, fmt.Errorf("a throwaway PostgreSQL needs a Unix: %w", errors.ErrUnsupported)
}

func childAttr(*credential) *syscall.SysProcAttr      { return nil }
func checkEntry(string, *credential) error            { return nil }
func lockOwner(string) (*os.File, error)              { return nil, errors.ErrUnsupported }
func sweep(string)                                    {}
func signalProcess(pid int, sig syscall.Signal) error { return errors.ErrUnsupported }
func childrenOf(int) ([]int, error)                   { return nil, errors.ErrUnsupported }
func isAlive(int) bool                                { return false }
