package tui_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"github.com/creack/pty"
	"go.uber.org/goleak"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/tui"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// expect reads what the program draws until a text is among it.
func expect(t *testing.T, terminal *os.File, text string) {
	t.Helper()
	var seen bytes.Buffer
	buf := make([]byte, 4096)
	for !bytes.Contains(seen.Bytes(), []byte(text)) {
		n, err := terminal.Read(buf)
		if err != nil {
			t.Errorf("%v before %q; seen: %q", err, text, seen.Bytes())
			return
		}
		seen.Write(buf[:n])
	}
}

// The program ends when the operator leaves, with the error that says how, and when its context ends.
func TestRunEnds(t *testing.T) {
	gone := errors.New("gone")
	for _, c := range []struct {
		name  string
		steps []string // what is typed, and what is seen after it
		want  error
	}{
		{"left", []string{"q", "Leave this screen?", "y"}, nil},
		{"twice ctrl-c", []string{"\x03", "cancelling", "\x03"}, tui.ErrAtOnce},
		{"context", nil, gone},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			terminal, tty, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer terminal.Close()
			defer tty.Close()
			if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
				t.Fatal(err)
			}
			job := &idle{pretended: pretended{Tracker: progress.New("dump", "read", "write")}}
			ended := make(chan error, 1)
			go func() {
				screen := tui.NewRun(tui.RunOptions{View: job, Control: job, Leaving: "It goes on"})
				ended <- tui.Run(ctx, tui.Options{Screen: screen, Input: tty, Output: tty})
			}()
			expect(t, terminal, "starting")
			for i, step := range c.steps {
				if i%2 == 1 {
					expect(t, terminal, step)
				} else if _, err := terminal.WriteString(step); err != nil {
					t.Fatal(err)
				}
			}
			if c.want == gone {
				cancel(gone)
			}
			if err := <-ended; !errors.Is(err, c.want) {
				t.Errorf("ended with %v, want %v", err, c.want)
			}
			if want := c.want == tui.ErrAtOnce; job.killed != want {
				t.Errorf("killed %v, want %v", job.killed, want)
			}
		})
	}
}

// idle is a job that does nothing.
type idle struct {
	pretended
	killed bool
}

func (i *idle) Pause()       {}
func (i *idle) Resume()      {}
func (i *idle) Paused() bool { return false }
func (i *idle) Jobs() int    { return 1 }
func (i *idle) SetJobs(int)  {}
func (i *idle) Cancel()      {}
func (i *idle) Kill()        { i.killed = true }
