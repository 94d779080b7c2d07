package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// screenGroup is the name of this part for -only.
const screenGroup = "screen"

// What the terminal UI may cost.
const (
	screenTime  = 0.03     // of a job's time
	screenRSS   = 30 << 20 // bytes
	screenStart = 100 * time.Millisecond
	startRounds = 20
)

// onTerminal runs a program on a terminal of 80 by 24 that never answers, types keys when the screen shows a word, and gives the time until then.
func onTerminal(cmd *exec.Cmd, word, keys string) (shown time.Duration, err error) {
	start := time.Now()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		return 0, err
	}
	defer tty.Close() // it was only watched
	var seen []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := tty.Read(buf)
		seen = append(seen, buf[:n]...)
		if shown == 0 && bytes.Contains(seen, []byte(word)) {
			shown = time.Since(start)
			if _, err := tty.WriteString(keys); err != nil {
				return 0, err
			}
		}
		if shown == 0 && len(seen) > 2*len(word) {
			seen = append(seen[:0], seen[len(seen)-len(word):]...)
		}
		if err != nil { // EIO: the program has closed its terminal
			break
		}
	}
	err = cmd.Wait()
	if shown == 0 {
		return 0, errors.Join(errors.New("the screen never showed "+word), err)
	}
	return shown, err
}

// screens measures a dump with the terminal UI beside one that shows nothing, in turns, and how soon the UI stands.
func (b *bench) screens() error {
	dir, dsn, j := filepath.Join(b.work, "screen"), b.cluster.DSN("bench"), fmt.Sprint(b.jobs)
	none, screen := &result{name: "--progress none"}, &result{name: "--progress tui"}
	for range b.rounds {
		for _, r := range []*result{none, screen} {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			cmd := exec.Command(b.pghaul, "dump", dsn, "-f", dir, "-j", j)
			start := time.Now()
			took := time.Duration(0)
			var err error
			if r == screen {
				cmd.Args = append(cmd.Args, "--progress", "tui")
				cmd.Env = append(os.Environ(), "TERM=xterm-256color")
				took, err = onTerminal(cmd, "dumped ", "q")
			} else {
				cmd.Args = append(cmd.Args, "--progress", "none", "-q")
				err = cmd.Run()
				took = time.Since(start)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			r.wall = append(r.wall, took)
			r.cpu = append(r.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
			if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
				r.maxRSS = max(r.maxRSS, u.Maxrss<<10)
			}
		}
	}
	cpu, wall := median(screen.cpu)-median(none.cpu), median(none.wall)
	share := cpu.Seconds() / wall.Seconds()
	fmt.Fprintf(b.out, "\nthe terminal UI, beside a dump that shows nothing:\n  client CPU  %.2f s against %.2f s: %+.1f %% of the job's %.2f s (limit %.0f %%): %s\n",
		median(screen.cpu).Seconds(), median(none.cpu).Seconds(), 100*share, wall.Seconds(), 100*screenTime, within(share <= screenTime))
	more := screen.maxRSS - none.maxRSS
	fmt.Fprintf(b.out, "  memory      %.1f MiB against %.1f MiB: %+.1f MiB (limit %d MiB): %s\n", float64(screen.maxRSS)/(1<<20), float64(none.maxRSS)/(1<<20), float64(more)/(1<<20), screenRSS>>20, within(more <= screenRSS))
	return b.starts()
}

// starts measures how soon the first screen stands, on a terminal that answers no question.
func (b *bench) starts() error {
	empty, err := os.MkdirTemp(b.work, "empty")
	if err != nil {
		return err
	}
	for _, x := range []struct {
		name, word, keys string
		args             []string
	}{
		{"pghaul", "Migrate", "q", nil},
		{"pghaul verify --progress tui", "verify", "\x03\x03", []string{"verify", empty, "--progress", "tui"}},
	} {
		var all []time.Duration
		for range startRounds {
			cmd := exec.Command(b.pghaul, x.args...)
			cmd.Dir = empty
			cmd.Env = append(os.Environ(), "TERM=xterm-256color", "XDG_STATE_HOME="+empty)
			took, err := onTerminal(cmd, x.word, x.keys)
			var exit *exec.ExitError // an empty folder is no dump
			if took == 0 || err != nil && !errors.As(err, &exit) {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			all = append(all, took)
		}
		m := median(all)
		fmt.Fprintf(b.out, "  first frame of %s: %d ms (limit %d ms): %s\n", x.name, m.Milliseconds(), screenStart.Milliseconds(), within(m <= screenStart))
	}
	return nil
}

func within(yes bool) string {
	if yes {
		return "within"
	}
	return "OVER"
}
