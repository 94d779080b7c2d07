package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// demoCommand is the demo with a folder for all that it makes, which the server's user can enter.
func demoCommand(t *testing.T) (c *exec.Cmd, temp string) {
	t.Helper()
	temp, err := os.MkdirTemp("", "pghaul-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(temp); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	c = exec.Command(built(t), "demo", "--progress", "plain")
	c.Env = append(os.Environ(), "TMPDIR="+temp, "PGHAUL_PG_BINDIR="+pgtest.Cluster(t).BinDir())
	return c, temp
}

// nothingLeft says that the demo took away what it made.
func nothingLeft(t *testing.T, temp string) {
	t.Helper()
	entries, err := os.ReadDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s is left", e.Name())
	}
}

func TestDemo(t *testing.T) {
	c, temp := demoCommand(t)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, stderr.String())
	}
	for _, want := range []string{`(?m)^3\. pghaul restore --create`, `public\.order_items +180,000 +180,000 +[0-9a-f]{12}… +equal`, `every row proven in 11 tables`,
		`45[78],\d{3} rows in 11 tables went out and came back the same`, `are gone again`} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if strings.Contains(string(out), "DIFFERENT") {
		t.Errorf("%s", out)
	}
	if !strings.Contains(stderr.String(), "public.customers: 20,000 rows") {
		t.Errorf("no progress in %s", stderr.String())
	}
	nothingLeft(t, temp)
}

// Ctrl-c once cancels and takes everything away; twice leaves at once, and takes it away all the same.
func TestDemoInterrupted(t *testing.T) {
	for _, when := range []struct {
		at    string
		times int
	}{{"^A throwaway PostgreSQL", 1}, {"^It runs", 2}, {"^3. pghaul restore", 1}} {
		c, temp := demoCommand(t)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for lines.Scan() && !regexp.MustCompile(when.at).MatchString(lines.Text()) {
		}
		for range when.times {
			if err := c.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
		}
		for lines.Scan() {
		}
		err = c.Wait()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitCancelled {
			t.Errorf("%d at %q: %v", when.times, when.at, err)
		}
		nothingLeft(t, temp)
	}
}
