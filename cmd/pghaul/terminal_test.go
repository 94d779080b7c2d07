package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// onTerminal runs a command on a terminal that never answers, and returns all that it wrote there.
func onTerminal(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	tty, err := pty.StartWithSize(c, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	var b bytes.Buffer
	// On Linux the end of a terminal whose program is gone is EIO.
	if _, err := io.Copy(&b, tty); err != nil && !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v\n%q", err, b.String())
	}
	return b.String()
}

// Bubble Tea asks the terminal about its colours when the program starts, in whatever command: see package termguard.
func TestSilentOnATerminalThatNeverAnswers(t *testing.T) {
	path := built(t)
	for _, args := range [][]string{{"--help"}, {"version"}, {"dump", "--help"}, {"completion", "bash"}} {
		start := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		c := exec.CommandContext(ctx, path, args...)
		c.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor")
		out := onTerminal(t, c)
		cancel()
		if took := time.Since(start); took > time.Second {
			t.Errorf("%q took %v", args, took)
		}
		if strings.ContainsAny(out, "\x1b\u009b") {
			t.Errorf("%q wrote an escape sequence: %q", args, out)
		}
		if len(out) < 20 {
			t.Errorf("%q wrote %q", args, out)
		}
	}
}

// withServerEnv is the environment that names the shared server.
func withServerEnv(t *testing.T) []string {
	t.Helper()
	c := pgtest.Cluster(t)
	return append(os.Environ(), "PGHOST="+c.Host(), "PGPORT="+strconv.Itoa(c.Port()), "PGUSER=postgres", "PGHAUL_PG_BINDIR="+c.BinDir(), "TERM=xterm-256color")
}

// databaseOf is the name in a test database's DSN.
func databaseOf(t *testing.T, dsn string) string {
	t.Helper()
	return pgtest.SQL(t, dsn, "SELECT current_database()")
}

func TestQuestionIsAnsweredWithTheDatabasesName(t *testing.T) {
	path := built(t)
	source := pgtest.DB(t, "CREATE TABLE t (id int); INSERT INTO t VALUES (1), (2)")
	dir := filepath.Join(t.TempDir(), "dump")
	dump := exec.Command(path, "dump", databaseOf(t, source), "-q", "-f", dir)
	dump.Env = withServerEnv(t)
	if out, err := dump.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, right := range []bool{false, true} {
		target := pgtest.DB(t, "CREATE TABLE t (id int); INSERT INTO t VALUES (7)")
		name := databaseOf(t, target)
		c := exec.Command(path, "restore", "--data-only", "--on-existing", "truncate", dir, name)
		c.Env = withServerEnv(t)
		tty, err := pty.StartWithSize(c, &pty.Winsize{Rows: 24, Cols: 80})
		if err != nil {
			t.Fatal(err)
		}
		answer := name
		if !right {
			answer = "yes"
		}
		if _, err := tty.WriteString(answer + "\n"); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := io.Copy(&b, tty); err != nil && !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
		err = c.Wait()
		if (err == nil) != right {
			t.Errorf("answer %q: %v\n%s", answer, err, b.String())
		}
		if !strings.Contains(b.String(), `Type "`+name+`" to go on: `) {
			t.Errorf("no question in %q", b.String())
		}
		want := map[bool]string{false: "1", true: "2"}[right]
		if got := pgtest.SQL(t, target, "SELECT count(*) FROM t"); got != want {
			t.Errorf("answer %q: %s rows, want %s", answer, got, want)
		}
		_ = tty.Close()
	}
}

// held is a dump that waits for a lock: one that can be interrupted at leisure.
func held(t *testing.T, args ...string) (c *exec.Cmd, stderr *bytes.Buffer, release func()) {
	t.Helper()
	source := pgtest.DB(t, "CREATE TABLE t (id int)")
	lock := exec.Command("psql", "-XAtq", "-d", source)
	in, err := lock.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := lock.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE; SELECT 'locked';\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("locked"))); err != nil {
		t.Fatal(err)
	}
	c = exec.Command(built(t), append([]string{"dump", databaseOf(t, source)}, args...)...)
	c.Env = withServerEnv(t)
	stderr = &bytes.Buffer{}
	c.Stderr = stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waiting := "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 't'::regclass"
	for pgtest.SQL(t, source, waiting) == "0" {
		if c.ProcessState != nil {
			t.Fatal("the dump does not wait for the lock")
		}
	}
	return c, stderr, func() {
		_ = in.Close()
		_ = lock.Wait()
	}
}

func TestInterruptCancels(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		dir := filepath.Join(t.TempDir(), "dump")
		log := dir + ".log"
		c, stderr, release := held(t, "-f", dir, "--log-file", log, "--log-format", "json")
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if signal == syscall.SIGHUP { // the shell's, behind the kernel's: the program may have ended already
			_ = c.Process.Signal(signal)
		}
		err := c.Wait()
		release()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitCancelled {
			t.Errorf("%v: %v", signal, err)
		}
		for _, want := range []string{"cancelling; once more to leave at once", "pghaul: cancelled: no file is left of the dump"} {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("%v: no %q in %q", signal, want, stderr.String())
			}
		}
		logged(t, log, `{"level":"warning","msg":"cancelled: 0 rows`, `{"level":"warning","msg":"cancelled: no file is left of the dump"`)
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v: the folder is there: %v", signal, err)
		}
	}
}

// logged checks that a log of JSON lines has one record each that begins so, but for its time.
func logged(t *testing.T, path string, want ...string) {
	t.Helper()
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`"time":"[^"]*",`).ReplaceAll(log, nil)
	for _, w := range want {
		if n := bytes.Count(append([]byte("\n"), lines...), []byte("\n"+w)); n != 1 {
			t.Errorf("%d records begin with %s:\n%s", n, w, log)
		}
	}
}
