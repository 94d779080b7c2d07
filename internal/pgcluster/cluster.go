package pgcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Superuser is the name of the only role of a fresh cluster.
const Superuser = "postgres"

const (
	// startLimit bounds a start, crash recovery included, beside the caller's context.
	startLimit = 2 * time.Minute
	// fastLimit is how long a fast shutdown may take before it becomes an immediate one.
	fastLimit = 30 * time.Second
	// killLimit is how long processes may take to vanish after SIGKILL.
	killLimit = 30 * time.Second
	// pollEvery is the pause between looks at a file or a process.
	pollEvery = 5 * time.Millisecond
)

// ErrStopped is returned by a Restart after Stop: the folder is gone.
var ErrStopped = errors.New("the cluster was stopped and its folder removed")

// Options say what kind of cluster Start makes. The zero value is good.
type Options struct {
	// BinDir holds the server's programs; empty: FindBinDir.
	BinDir string
	// Parent is the folder in which the cluster's own is made; empty: os.TempDir.
	Parent string
	// Encoding and Locale are initdb's (UTF8 and C.UTF-8; C where that is unknown).
	Encoding, Locale string
	// Settings are written into postgresql.conf after ours, so they win.
	Settings map[string]string
	// TCP makes the server listen on 127.0.0.1 too, and DSN name that address.
	TCP bool
	// Log, when set, gets what initdb prints and a line on each start.
	Log io.Writer
}

// Cluster is a throwaway PostgreSQL. Its methods are safe for concurrent use.
type Cluster struct {
	opts    Options
	dir     string // everything: data/, server.log, the socket
	sockDir string // dir, or a folder of its own when dir's path is too long for a socket
	port    int
	cred    *credential // nil: run as ourselves
	owner   *os.File    // held locked as long as we live, see sweep

	mu      sync.Mutex
	proc    *process // nil when no server runs
	removed bool
}

// Start makes a cluster and starts its server. It returns when the server accepts
// connections. ctx bounds the start alone: ending it later does not stop the
// server. After an error nothing is left, neither a process nor a folder; the
// error holds the end of the server's log.
func Start(ctx context.Context, o Options) (_ *Cluster, err error) {
	if o.BinDir == "" {
		if o.BinDir, err = FindBinDir(); err != nil {
			return nil, err
		}
	} else if missing := missingPrograms(o.BinDir); len(missing) > 0 {
		return nil, fmt.Errorf("%q lacks %q: %w", o.BinDir, missing, ErrNoServer)
	}
	conf, err := settings(o.Settings)
	if err != nil {
		return nil, err
	}
	cred, err := serverCredential()
	if err != nil {
		return nil, err
	}
	c := &Cluster{opts: o, cred: cred, port: 5432}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	if err := c.makeFolders(); err != nil {
		return nil, err
	}
	if err := c.initdb(ctx); err != nil {
		return nil, err
	}
	if err := c.configure(conf); err != nil {
		return nil, err
	}
	if err := c.Restart(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// DSN returns the connection URI of a database of the cluster.
func (c *Cluster) DSN(db string) string { return c.dsn(c.Host(), db) }

// SocketDSN is DSN through the unix socket, with Options.TCP too.
func (c *Cluster) SocketDSN(db string) string { return c.dsn(c.sockDir, db) }

func (c *Cluster) dsn(host, db string) string {
	q := url.Values{}
	q.Set("host", host)
	q.Set("port", strconv.Itoa(c.Port()))
	q.Set("user", Superuser)
	// libpq decodes %XX but not "+", so a space must be %20.
	return "postgresql:///" + url.PathEscape(db) + "?" + strings.ReplaceAll(q.Encode(), "+", "%20")
}

// Host is what libpq calls the host: the folder of the socket, or 127.0.0.1 with Options.TCP.
func (c *Cluster) Host() string {
	if c.opts.TCP {
		return "127.0.0.1"
	}
	return c.sockDir
}

// SocketDir is the folder of the server's unix socket.
func (c *Cluster) SocketDir() string { return c.sockDir }

// Port is the server's port; for a unix socket, a part of the socket's name.
func (c *Cluster) Port() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.port
}

// Dir is the folder of the cluster. It belongs to the server's user.
func (c *Cluster) Dir() string { return c.dir }

// DataDir is the server's data folder, PGDATA.
func (c *Cluster) DataDir() string { return filepath.Join(c.dir, "data") }

// BinDir is the folder of the server's programs.
func (c *Cluster) BinDir() string { return c.opts.BinDir }

// Pid is the postmaster's process id, or 0 when no server runs.
func (c *Cluster) Pid() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.proc.running() {
		return 0
	}
	return c.proc.pid
}

// Stop shuts the server down (fast: clients are disconnected) and removes the
// folder. A second call does nothing.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.removed {
		return nil
	}
	err := c.shutdown()
	if err == nil || !c.proc.running() {
		err = errors.Join(err, c.remove())
	}
	return err
}

// Shutdown stops the server as Stop does, and keeps the folder for a Restart.
func (c *Cluster) Shutdown() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shutdown()
}

// Kill ends the server at once, as a crash would: SIGKILL for the postmaster and
// all its children. It returns when they are gone. The folder stays.
func (c *Cluster) Kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kill()
}

// Restart starts the server of a cluster that was shut down or killed, and waits
// until it accepts connections. It is an error when one runs, and ErrStopped after
// Stop. With Options.TCP the port may be another one than before.
func (c *Cluster) Restart(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.removed {
		return ErrStopped
	}
	if c.proc.running() {
		return fmt.Errorf("a server runs already (pid %d)", c.proc.pid)
	}
	return c.start(ctx)
}

// LogTail returns the last n lines of the server's log, or a note why there are none.
func (c *Cluster) LogTail(n int) string {
	const limit = 256 << 10
	f, err := os.Open(c.logFile())
	if err != nil {
		return "(no server log: " + err.Error() + ")"
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "(no server log: " + err.Error() + ")"
	}
	buf := make([]byte, min(st.Size(), limit))
	if _, err := f.ReadAt(buf, st.Size()-int64(len(buf))); err != nil && err != io.EOF {
		return "(no server log: " + err.Error() + ")"
	}
	lines := bytes.Split(bytes.TrimRight(buf, "\n"), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-n):], []byte("\n")))
}

func (c *Cluster) logFile() string { return filepath.Join(c.dir, "server.log") }

// logf writes a line for the caller who asked for one.
func (c *Cluster) logf(format string, args ...any) {
	if c.opts.Log != nil {
		// A log that cannot be written must not fail a server that runs.
		_, _ = fmt.Fprintf(c.opts.Log, format+"\n", args...)
	}
}
