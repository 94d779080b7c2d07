package pgcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxSocketPath is the shortest limit among the systems we know for the path of a
// unix socket: sun_path holds 108 bytes on Linux and 104 on the BSDs, with the zero.
const maxSocketPath = 103

// socketName is the longest name that the server gives a socket (and its lock file).
const socketName = ".s.PGSQL.65535.lock"

// folderPrefix starts the names of our folders; short, because of maxSocketPath.
const folderPrefix = "pghaul-pg-"

// makeFolders makes the cluster's folder, and one for its socket when the first
// has too long a path.
func (c *Cluster) makeFolders() error {
	parent := c.opts.Parent
	if parent == "" {
		parent = os.TempDir()
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return err
	}
	if err := checkEntry(parent, c.cred); err != nil {
		return err
	}
	sweep(parent)
	if c.dir, err = c.ownFolder(parent); err != nil {
		return err
	}
	c.sockDir = c.dir
	if len(c.dir)+1+len(socketName) > maxSocketPath {
		if c.sockDir, err = c.ownFolder("/tmp"); err != nil {
			return err
		}
	}
	c.owner, err = lockOwner(filepath.Join(c.dir, ownerFile))
	return err
}

// ownerFile is locked by the process that made a cluster's folder.
const ownerFile = "owner"

// ownFolder makes a folder that belongs to the server's user alone.
func (c *Cluster) ownFolder(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, folderPrefix)
	if err != nil {
		return "", err
	}
	if err := c.own(dir); err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	return dir, nil
}

// own gives a path to the server's user.
func (c *Cluster) own(path string) error {
	if c.cred == nil {
		return nil
	}
	return os.Chown(path, int(c.cred.Uid), int(c.cred.Gid))
}

// remove deletes the folders and marks the cluster as gone.
func (c *Cluster) remove() error {
	var err error
	if c.owner != nil {
		err = c.owner.Close()
		c.owner = nil
	}
	for _, dir := range []string{c.dir, c.sockDir} {
		if dir != "" {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	c.removed = err == nil
	return err
}

// initdb makes the data folder.
func (c *Cluster) initdb(ctx context.Context) error {
	encoding, locale := c.opts.Encoding, c.opts.Locale
	if encoding == "" {
		encoding = "UTF8"
	}
	locales := []string{locale}
	if locale == "" {
		locales = []string{"C.UTF-8", "C"} // the first is unknown to older macOS and some others
	}
	var err error
	for _, locale := range locales {
		var out []byte
		cmd := c.command(ctx, "initdb", "-D", c.DataDir(), "--auth=trust", "--no-sync",
			"-U", Superuser, "--encoding="+encoding, "--locale="+locale)
		out, err = cmd.CombinedOutput()
		c.logf("%s", bytes.TrimSpace(out))
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("initdb: %w", context.Cause(ctx))
		}
		err = fmt.Errorf("initdb: %w\n%s", err, tailLines(string(out), 20))
		if !bytes.Contains(out, []byte("invalid locale")) {
			break
		}
	}
	return err
}

// command is a server program, run as the server's user and without the PG*
// variables and the locale of our environment.
func (c *Cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.opts.BinDir, name), args...)
	// Our own folder may be closed to the server's user.
	cmd.Dir = c.dir
	cmd.Env = childEnv(os.Environ())
	cmd.SysProcAttr = childAttr(c.cred)
	return cmd
}

// childEnv is env without what would redirect or translate PostgreSQL's programs.
func childEnv(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return strings.HasPrefix(kv, "PG") || strings.HasPrefix(kv, "LC_") || strings.HasPrefix(kv, "LANG")
	})
	return append(env, "LC_ALL=C")
}

var settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.$]*$`)

// settings renders configuration lines, sorted by name.
func settings(m map[string]string) (string, error) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m)) {
		value := m[name]
		if !settingName.MatchString(name) {
			return "", fmt.Errorf("setting %q: not a name", name)
		}
		if strings.ContainsAny(value, "\n\r\x00") {
			return "", fmt.Errorf("setting %s: a value cannot hold a line end or a zero byte: %q", name, value)
		}
		fmt.Fprintf(&b, "%s = %s\n", name, quoteSetting(value))
	}
	return b.String(), nil
}

// quoteSetting quotes as guc-file.l reads it: quotes doubled, backslash escapes.
func quoteSetting(v string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(v) + "'"
}

// configure appends our settings and then the caller's to postgresql.conf.
func (c *Cluster) configure(callers string) error {
	ours := map[string]string{
		"fsync":                   "off",
		"shared_buffers":          "128MB",
		"max_connections":         "100",
		"listen_addresses":        "",
		"unix_socket_directories": c.sockDir,
		"unix_socket_permissions": "0700",
		"log_line_prefix":         "%m [%p] %q%u@%d %a: ",
		// In files below the data folder, so that a killed server leaves nothing in /dev/shm.
		"dynamic_shared_memory_type": "mmap",
		// full_page_writes stays on: a killed server may have half a page written.
	}
	if c.opts.TCP {
		ours["listen_addresses"] = "127.0.0.1"
	}
	lines, err := settings(ours)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(c.DataDir(), "postgresql.conf"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n# a throwaway cluster of pghaul\n" + lines + "\n" + callers)
	return errors.Join(err, f.Close())
}

// freePort asks the system for a TCP port that nobody listens on right now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err = errors.Join(err, l.Close()); err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}

// tailLines returns the last n lines of s.
func tailLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
