package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/bytehaul/pghaul/format"
)

// emptyDump makes a dump of no tables.
func emptyDump(t *testing.T, dir string, at time.Time) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	m := &format.Manifest{FormatVersion: format.ManifestVersion, DumpID: filepath.Base(dir), Started: at.UTC().Format(time.RFC3339)}
	m.Source.Database = "shop"
	if err := format.WriteManifest(root, m); err != nil {
		t.Fatal(err)
	}
}

// Nothing is removed before the word has been typed in, and what would be removed stands above the question.
func TestPruneAsks(t *testing.T) {
	path := built(t)
	dir := t.TempDir()
	for i, name := range []string{"one", "two", "three"} {
		emptyDump(t, filepath.Join(dir, name), time.Date(2026, 11, 1+i, 12, 0, 0, 0, time.UTC))
	}
	for _, answer := range []string{"yes", "remove"} {
		c := exec.Command(path, "prune", dir, "--keep-last", "1")
		tty, err := pty.StartWithSize(c, &pty.Winsize{Rows: 24, Cols: 200})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tty.WriteString(answer + "\n"); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := io.Copy(&b, tty); err != nil && !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
		_ = tty.Close()
		err = c.Wait()
		left, _ := os.ReadDir(dir)
		switch {
		case answer == "yes" && (err == nil || len(left) != 3 || !strings.Contains(b.String(), "nothing was removed")):
			t.Errorf("%q: %v, %v\n%s", answer, err, left, b.String())
		case answer == "remove" && (err != nil || len(left) != 1 || left[0].Name() != "three"):
			t.Errorf("%q: %v, %v\n%s", answer, err, left, b.String())
		}
		if shown, question := strings.Index(b.String(), "no rule keeps it"), strings.Index(b.String(), "Remove 2 dumps, "); shown < 0 || question < shown {
			t.Errorf("%q", b.String())
		}
	}
}

// A job that was cancelled has an end too.
func TestNotifyAfterCancel(t *testing.T) {
	told := filepath.Join(t.TempDir(), "told")
	c, stderr, release := held(t, "-f", filepath.Join(t.TempDir(), "dump"), "--notify", `echo "$PGHAUL_OUTCOME $PGHAUL_EXIT_CODE" > `+told)
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err := c.Wait()
	release()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitCancelled {
		t.Errorf("%v\n%s", err, stderr)
	}
	if got, err := os.ReadFile(told); err != nil || string(got) != "cancelled 130\n" {
		t.Errorf("%q, %v", got, err)
	}
}
