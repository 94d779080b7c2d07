package pgcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one run of the postmaster.
type process struct {
	pid  int
	done chan struct{} // closed when the process has been waited for
	err  error         // how it ended; valid once done is closed
}

func (p *process) running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// wait reports whether the process ended within d.
func (p *process) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}

// start runs the postmaster and waits until it is ready. c.mu is held.
func (c *Cluster) start(ctx context.Context) error {
	const tries = 5 // for a TCP port that somebody took between our look and the server's bind
	var err error
	for range tries {
		if c.opts.TCP {
			if c.port, err = freePort(); err != nil {
				return err
			}
		}
		var from int64
		if st, serr := os.Stat(c.logFile()); serr == nil {
			from = st.Size()
		}
		if err = c.startOnce(ctx); err == nil {
			return nil
		}
		if !c.opts.TCP || ctx.Err() != nil || !c.loggedSince(from, "Address already in use") {
			break
		}
	}
	return err
}

// loggedSince reports whether the server's log holds text behind the offset.
func (c *Cluster) loggedSince(from int64, text string) bool {
	b, err := os.ReadFile(c.logFile())
	return err == nil && int64(len(b)) > from && bytes.Contains(b[from:], []byte(text))
}

func (c *Cluster) startOnce(ctx context.Context) error {
	began := time.Now()
	proc, err := c.launch()
	if err != nil {
		return err
	}
	c.proc = proc
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %v", startLimit))
	defer cancel()
	if err := c.awaitReady(ctx, proc); err != nil {
		return errors.Join(fmt.Errorf("postgres: %w\n%s", err, c.LogTail(20)), c.kill())
	}
	c.logf("postgres runs as pid %d, socket in %s, port %d, ready after %v",
		proc.pid, c.sockDir, c.port, time.Since(began).Round(time.Millisecond))
	return nil
}

// launch starts the postmaster, with its output in the log file.
func (c *Cluster) launch() (*process, error) {
	log, err := os.OpenFile(c.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	// No context: the server's life is ours to end, gently first.
	cmd := c.command(context.Background(), "postgres", "-D", c.DataDir(), "-p", strconv.Itoa(c.port))
	cmd.Stdout, cmd.Stderr = log, log
	proc := &process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The parent-death signal comes when the *thread* that forked ends, so this
		// thread is kept for as long as the server lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			proc.pid = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		proc.err = cmd.Wait()
		close(proc.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return proc, nil
}

// awaitReady waits until the postmaster says in its pid file that it accepts
// connections, as pg_ctl does (LOCK_FILE_LINE_PM_STATUS in src/include/utils/pidfile.h).
func (c *Cluster) awaitReady(ctx context.Context, proc *process) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-proc.done:
			return fmt.Errorf("ended while starting: %w", proc.exitError())
		case <-tick.C:
			pidFile, err := c.readPidFile()
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			if pidFile.pid == proc.pid && pidFile.status == "ready" {
				return nil
			}
		}
	}
}

// exitError is how the process ended; never nil, since a server that ends by
// itself is an error even with exit code 0.
func (p *process) exitError() error {
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

// pidFile is the part of postmaster.pid that we read.
type pidFile struct {
	pid    int
	shmID  int // of the System V segment that guards the data folder, -1 if not known
	status string
}

func (c *Cluster) readPidFile() (pidFile, error) {
	b, err := os.ReadFile(filepath.Join(c.DataDir(), "postmaster.pid"))
	if err != nil {
		return pidFile{shmID: -1}, err
	}
	return parsePidFile(string(b)), nil
}

// parsePidFile reads what is there: the server writes the file in steps.
func parsePidFile(s string) pidFile {
	pf := pidFile{shmID: -1}
	for i, line := range strings.Split(s, "\n") {
		fields := strings.Fields(line)
		switch {
		case i == 0 && len(fields) == 1:
			if n, err := strconv.Atoi(fields[0]); err == nil {
				pf.pid = n
			}
		case i == 6 && len(fields) == 2: // key and id
			if n, err := strconv.Atoi(fields[1]); err == nil {
				pf.shmID = n
			}
		case i == 7 && len(fields) == 1:
			pf.status = fields[0]
		}
	}
	return pf
}

// shutdown stops the server: fast, then immediate, then by SIGKILL. c.mu is held.
func (c *Cluster) shutdown() error {
	if !c.proc.running() {
		return nil
	}
	for _, step := range []struct {
		sig   syscall.Signal
		limit time.Duration
	}{{syscall.SIGINT, fastLimit}, {sigQuit, killLimit}} {
		if err := signalProcess(c.proc.pid, step.sig); err != nil {
			return fmt.Errorf("stop postgres: %w", err)
		}
		if c.proc.wait(step.limit) {
			return nil
		}
		c.logf("postgres (pid %d) did not end within %v after %v", c.proc.pid, step.limit, step.sig)
	}
	return c.kill()
}

// kill ends the postmaster and its children at once. c.mu is held.
func (c *Cluster) kill() error {
	if !c.proc.running() {
		return nil
	}
	pid := c.proc.pid
	// Stopped, it cannot fork a child that the list lacks.
	if err := signalProcess(pid, sigStop); err != nil {
		return fmt.Errorf("kill postgres: %w", err)
	}
	pf, pidErr := c.readPidFile()
	children, err := childrenOf(pid)
	err = errors.Join(err, signalProcess(pid, syscall.SIGKILL))
	for _, child := range children {
		err = errors.Join(err, signalProcess(child, syscall.SIGKILL))
	}
	if err != nil {
		return fmt.Errorf("kill postgres: %w", err)
	}
	if !c.proc.wait(killLimit) {
		return fmt.Errorf("postgres (pid %d) did not end within %v after SIGKILL", pid, killLimit)
	}
	if err := awaitGone(children); err != nil {
		return err
	}
	if pidErr == nil && pf.pid == pid {
		// A killed server leaves its guard segment to the system for ever. A
		// failure is none of ours: the segment is 56 bytes.
		removeSegment(pf.shmID)
	}
	return nil
}

// awaitGone waits until none of the processes is left. They are not our children,
// so there is nothing to wait on but the process table.
func awaitGone(pids []int) error {
	limit := time.NewTimer(killLimit)
	defer limit.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for _, pid := range pids {
		for isAlive(pid) {
			select {
			case <-limit.C:
				return fmt.Errorf("server process %d did not end within %v", pid, killLimit)
			case <-tick.C:
			}
		}
	}
	return nil
}
