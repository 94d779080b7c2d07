package main_test

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// On a terminal that answers no question the program must start at once, and ask
// none: see internal/termguard.
func TestMuteTerminal(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "pghaul")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	// The first start of a new file may wait for the disk; it is not what we measure.
	if out, err := exec.Command(bin, "--help").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, args := range [][]string{{"--help"}, {"version"}} {
		cmd := exec.Command(bin, args...)
		began := time.Now()
		tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
		if err != nil {
			t.Fatal(err)
		}
		// We read and never write: nobody answers.
		out, err := io.ReadAll(tty)
		if err != nil && !errors.Is(err, syscall.EIO) { // Linux's way to say that the other end is closed
			t.Fatal(err)
		}
		err = cmd.Wait()
		took := time.Since(began)
		if err != nil || len(out) == 0 {
			t.Errorf("%q: %v, output %q", args, err, out)
		}
		// Asking costs five seconds. The limit is far from that and from a start (50 ms), for busy machines.
		if took >= time.Second {
			t.Errorf("%q took %v", args, took)
		}
		if bytes.ContainsRune(out, 0x1b) {
			t.Errorf("%q wrote an escape character: %q", args, out)
		}
		if err := tty.Close(); err != nil {
			t.Error(err)
		}
	}
}
