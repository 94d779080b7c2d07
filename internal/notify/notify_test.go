package notify

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestHook(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("PGPASSWORD", "hunter2")
	t.Setenv("PGPASSFILE", "/home/me/.pgpass")
	var out bytes.Buffer
	h := Hook{Command: `echo "$PGHAUL_JOB $PGHAUL_OUTCOME $PGHAUL_EXIT_CODE"; stat -c %a "$PGHAUL_REPORT"; cat "$PGHAUL_REPORT"; env >&2`, Timeout: time.Minute, Out: &out}
	if err := h.Run(End{"dump", "done", 0, map[string]any{"ok": true}}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "dump done 0\n600\n{\n  \"ok\": true\n}\n") || !strings.Contains(out.String(), "PGPASSFILE=/home/me/.pgpass") {
		t.Errorf("%q", out.String())
	}
	if strings.Contains(out.String(), "hunter2") {
		t.Error("the command has a password")
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestHookThatFails(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	h := Hook{Command: "exit 7", Timeout: time.Minute, Out: &bytes.Buffer{}}
	if err := h.Run(End{Job: "dump"}); err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Error(err)
	}
}

// A command may keep the report by moving it.
func TestHookThatMovesTheReport(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	kept := filepath.Join(t.TempDir(), "report.json")
	h := Hook{Command: `mv "$PGHAUL_REPORT" ` + kept, Timeout: time.Minute, Out: &bytes.Buffer{}}
	if err := h.Run(End{Job: "dump", Report: map[string]any{"ok": true}}); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(kept); err != nil || string(got) != "{\n  \"ok\": true\n}\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// A command that does not end is killed, with all that it has started.
func TestHookThatHangs(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	fifo := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// Its end comes when the last process that holds it open is gone.
	gone := make(chan error, 1)
	go func() {
		f, err := os.Open(fifo)
		if err == nil {
			defer f.Close()
			_, err = io.Copy(io.Discard, f)
		}
		gone <- err
	}()
	h := Hook{Command: "exec 3> " + fifo + "; sleep 600 & wait", Timeout: 300 * time.Millisecond, Out: &bytes.Buffer{}}
	if err := h.Run(End{Job: "dump"}); err == nil || !strings.Contains(err.Error(), "longer than 300ms") {
		t.Error(err)
	}
	select {
	case err := <-gone:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("what it has started is alive")
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// What a command leaves in the background is none of our business.
func TestHookThatLeavesSomething(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	h := Hook{Command: "sleep 5 & exit 0", Timeout: time.Minute, Out: &bytes.Buffer{}}
	if err := h.Run(End{Job: "dump"}); err != nil {
		t.Error(err)
	}
}
