package pgcluster

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// childAttr: a process group of its own, so that a terminal's ctrl-c reaches us and
// not the server; and an immediate shutdown when we die.
func childAttr(cred *credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: cred, Pdeathsig: syscall.SIGQUIT}
}

// childrenOf lists the children of a process. (Each has a session of its own, see
// InitPostmasterChild, so signalling the postmaster's group would not reach them.)
func childrenOf(pid int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var children []int
	for _, path := range stats {
		_, ppid, err := readStat(path)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // ended since the listing
		}
		if err != nil {
			return nil, err
		}
		if ppid == pid {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				return nil, err
			}
			children = append(children, child)
		}
	}
	return children, nil
}

// readStat reads state and parent out of a /proc/PID/stat (see proc(5)).
func readStat(path string) (state string, ppid int, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", 0, err
	}
	// The second field, the name in parentheses, may hold anything.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 2 {
		return "", 0, errors.New(path + ": not understood")
	}
	ppid, err = strconv.Atoi(string(fields[1]))
	return string(fields[0]), ppid, err
}

// isAlive reports whether a process runs. A zombie does not: in a container nobody
// may ever collect it, but its memory and files are gone.
func isAlive(pid int) bool {
	state, _, err := readStat(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && state != "Z" && state != "X"
}
