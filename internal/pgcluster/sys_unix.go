//go:build unix

package pgcluster

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	sigStop = syscall.SIGSTOP
	sigQuit = syscall.SIGQUIT
)

type credential = syscall.Credential

// serverCredential is the user that the server runs as: nil for ourselves, the
// user "postgres" when we are root, since PostgreSQL refuses root.
func serverCredential() (*credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(Superuser)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user postgres to run it as: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user postgres: %w", err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user postgres: %w", err)
	}
	// Groups stays empty: none of root's groups, and no need of others.
	return &credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// signalProcess sends a signal; a process that is gone already is no error.
func signalProcess(pid int, sig syscall.Signal) error {
	if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %v to %d: %w", sig, pid, err)
	}
	return nil
}

// checkEntry reports a folder that the server's user could not enter.
func checkEntry(dir string, cred *credential) error {
	if cred == nil {
		return nil
	}
	for {
		st, err := os.Stat(dir)
		if err != nil {
			return err
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		if st.Mode().Perm()&0o001 == 0 && (!ok || sys.Uid != cred.Uid) {
			return fmt.Errorf("folder %q is closed to the user %s, whom the server runs as", dir, Superuser)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return nil
		}
		dir = up
	}
}

// lockOwner makes a file and locks it. The lock ends with us, however we end. The file gets its name when it is locked: without the lock, sweep takes what is
// beside it for somebody's who was killed.
func lockOwner(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	if err := os.Rename(path+".new", path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sweep removes the folders of clusters whose owners were killed before they could.
// What it cannot remove it leaves: it may be another user's.
func sweep(parent string) {
	dirs, err := filepath.Glob(filepath.Join(parent, folderPrefix+"*"))
	if err != nil {
		return // the parent's name is a pattern of its own
	}
	for _, dir := range dirs {
		// A pipe of that name must not hold us up, nor a link lead us away.
		f, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue // being made, a socket's folder, or not ours
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			c := Cluster{dir: dir}
			pf, err := c.readPidFile()
			if errors.Is(err, os.ErrNotExist) || err == nil && !isAlive(pf.pid) {
				_ = os.RemoveAll(dir)
			}
		}
		_ = f.Close()
	}
}
