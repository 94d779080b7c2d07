package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// screenLimit is how long a busy machine may take for what comes at once on an idle one.
const screenLimit = time.Minute

// screenTest is the built program on an emulated terminal.
type screenTest struct {
	t       *testing.T
	cmd     *exec.Cmd
	tty     *os.File
	changed chan struct{}
	ended   chan struct{} // the program has closed its terminal
	read    sync.WaitGroup

	mu  sync.Mutex
	emu *vt.Emulator
	raw strings.Builder
}

// onScreen starts a command on a terminal of that size.
func onScreen(t *testing.T, cmd *exec.Cmd, width, height int) *screenTest {
	t.Helper()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)})
	if err != nil {
		t.Fatal(err)
	}
	s := &screenTest{t: t, cmd: cmd, tty: tty, emu: vt.NewEmulator(width, height), changed: make(chan struct{}, 1), ended: make(chan struct{})}
	s.read.Go(s.draw)
	t.Cleanup(func() {
		select {
		case <-s.ended:
		default:
			_ = cmd.Process.Kill()
		}
		s.read.Wait()
		_ = tty.Close()
	})
	return s
}

func (s *screenTest) draw() {
	defer close(s.ended)
	buf := make([]byte, 64<<10)
	for {
		n, err := s.tty.Read(buf)
		s.mu.Lock()
		_, _ = s.emu.Write(buf[:n])
		s.raw.Write(buf[:n])
		s.mu.Unlock()
		select {
		case s.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (s *screenTest) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.emu.String()
}

// sees waits until all words are on the screen.
func (s *screenTest) sees(words ...string) {
	s.t.Helper()
	limit := time.After(screenLimit)
	for {
		text, missing := s.text(), ""
		for _, w := range words {
			if !strings.Contains(text, w) {
				missing = w
			}
		}
		if missing == "" {
			return
		}
		select {
		case <-s.changed:
		case <-s.ended:
			if text = s.text(); !strings.Contains(text, missing) {
				s.t.Fatalf("the program has ended without %q on the screen:\n%s", missing, text)
			}
		case <-limit:
			s.t.Fatalf("%q does not come onto the screen:\n%s", missing, text)
		}
	}
}

// back presses esc until a word has gone from the screen.
func (s *screenTest) back(from string) {
	s.t.Helper()
	s.types(escape)
	limit := time.After(screenLimit)
	for strings.Contains(s.text(), from) {
		select {
		case <-s.changed:
		case <-s.ended:
			s.t.Fatalf("the program has ended:\n%s", s.text())
		case <-limit:
			s.t.Fatalf("%q stays on the screen:\n%s", from, s.text())
		}
	}
}

// types sends keys.
func (s *screenTest) types(keys ...string) {
	s.t.Helper()
	for _, k := range keys {
		if _, err := s.tty.WriteString(k); err != nil {
			s.t.Fatalf("%v\n%s", err, s.text())
		}
	}
}

// ends waits for the program and gives its exit code.
func (s *screenTest) ends() int {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(screenLimit):
		s.t.Fatalf("the program does not end:\n%s", s.text())
	}
	err := s.cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit):
		return exit.ExitCode()
	default:
		s.t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if raw := s.raw.String(); strings.LastIndex(raw, "\x1b[?1049h") > strings.LastIndex(raw, "\x1b[?1049l") {
		s.t.Error("the alternate screen is still there")
	}
	return 0
}

// The keys that have no letter.
const (
	enter    = "\r"
	escape   = "\x1b"
	down     = "\x1b[B"
	ctrlC    = "\x03"
	eraseAll = "\x15"
)
