package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// dumped takes a dump of a database for a test of something else.
func dumped(t *testing.T, path, source string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "dump")
	c := exec.Command(path, "dump", databaseOf(t, source), "-q", "-f", dir)
	c.Env = withServerEnv(t)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// pausedRestore is a restore on a screen that stands still in the middle of its rows, its report going to a file.
func pausedRestore(t *testing.T, path string) (s *screenTest, target, dir string, stdout *os.File) {
	t.Helper()
	source := pgtest.DB(t, "CREATE TABLE t AS SELECT g, repeat(md5(g::text), 8) FROM generate_series(1, 400000) g")
	target = pgtest.DB(t)
	dir = dumped(t, path, source)
	stdout, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdout.Close() })
	c := exec.Command(path, "restore", dir, databaseOf(t, target), "--progress", "tui", "-j", "1", "--log-file", stdout.Name()+".log", "--log-format", "json")
	c.Env = withServerEnv(t)
	c.Stdout = stdout
	s = onScreen(t, c, 80, 24)
	s.sees("data", "public.t")
	s.types("p")
	s.sees("paused")
	return s, target, dir, stdout
}

// wantRestored looks at what a whole restore leaves: the report alone on standard output, all rows, no journal.
func wantRestored(t *testing.T, target string, stdout *os.File) {
	t.Helper()
	out, err := os.ReadFile(stdout.Name())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "restored 400,000 rows into") || strings.ContainsAny(string(out), "\x1b\r") || strings.Contains(strings.ToLower(string(out)), "panic") {
		t.Errorf("standard output is %q", out)
	}
	if n := pgtest.SQL(t, target, "SELECT count(*) FROM t"); n != "400000" {
		t.Errorf("%s rows", n)
	}
	if n := pgtest.SQL(t, target, "SELECT count(*) FROM pg_namespace WHERE nspname = 'pghaul_journal'"); n != "0" {
		t.Error("the journal is still there")
	}
}

// TestScreenIsLeft: the job goes on in lines, and ends as one that never had a screen.
func TestScreenIsLeft(t *testing.T) {
	s, target, _, stdout := pausedRestore(t, built(t))
	s.types("q")
	s.sees("Leave this screen?")
	s.types("y")
	if code := s.ends(); code != exitDone {
		t.Errorf("exit code %d\n%s", code, s.text())
	}
	wantRestored(t, target, stdout)
	logged(t, stdout.Name()+".log", `{"level":"info","msg":"public.t: 400,000 rows`, `{"level":"info","msg":"paused","job":"restore"`, `{"level":"info","msg":"done: 400,000 rows`)
}

// TestScreenBreaks: a panic of the UI is a line on standard error, and the job goes on.
func TestScreenBreaks(t *testing.T) {
	s, target, _, stdout := pausedRestore(t, built(t, "-tags", "uipanic"))
	s.types("X")
	if code := s.ends(); code != exitDone {
		t.Errorf("exit code %d\n%s", code, s.text())
	}
	if !strings.Contains(s.raw.String(), "pghaul: the terminal UI has ended: panic: broken by a test") {
		t.Errorf("nothing is said of the panic:\n%s", s.text())
	}
	wantRestored(t, target, stdout)
}

// TestTerminalIsLost: the job is cancelled cleanly, and --resume goes on from there.
func TestTerminalIsLost(t *testing.T) {
	path := built(t)
	s, target, dir, stdout := pausedRestore(t, path)
	if err := s.tty.Close(); err != nil {
		t.Fatal(err)
	}
	err := s.cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitCancelled {
		t.Errorf("%v", err)
	}
	awaitGone(t, target)
	again := exec.Command(path, "restore", dir, databaseOf(t, target), "--resume", "--progress", "none")
	again.Env = withServerEnv(t)
	again.Stdout = stdout
	if err := again.Run(); err != nil {
		t.Errorf("--resume: %v", err)
	}
	wantRestored(t, target, stdout)
}
