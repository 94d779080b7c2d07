package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// result is one thing measured, a sample per round.
type result struct {
	name       string
	phase      string // that is read out of a report of ours: "data", "dry load"
	floor      bool   // what the servers alone can do: ratios of the same group are made of it
	wall, cpu  []time.Duration
	data       []time.Duration // the phase alone, where the program tells; cpu: of the client process and its children
	maxRSS     int64           // bytes, the largest of all rounds
	stored     int64           // bytes written
	prepare    func() error
	measured   func() (*exec.Cmd, error) // a client process, or
	inServer   func() error              // work of the server alone
	afterwards func() error
}

// group is the word in front of the name: "dump", "restore" …
func (r *result) group() string {
	g, _, _ := strings.Cut(r.name, ":")
	return g
}

func (b *bench) add(r ...*result) { b.results = append(b.results, r...) }

// command makes a result's process out of a program.
func command(path string, args ...string) func() (*exec.Cmd, error) {
	return func() (*exec.Cmd, error) { return exec.Command(path, args...), nil }
}

func (b *bench) tool(name string, args ...string) func() (*exec.Cmd, error) {
	return command(filepath.Join(b.cluster.BinDir(), name), args...)
}

// ours runs pghaul, whose report is read.
func (b *bench) ours(args ...string) func() (*exec.Cmd, error) {
	return command(b.pghaul, append(args, "--progress", "none", "--json")...)
}

// shell runs a line of shell with $1 and so on.
func shell(line string, args ...string) func() (*exec.Cmd, error) {
	return command("sh", append([]string{"-c", line, "sh"}, args...)...)
}

// made runs a command that is not measured.
func made(command func() (*exec.Cmd, error)) error {
	cmd, err := command()
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd.Args[0], err, bytes.TrimSpace(out))
	}
	return nil
}

// warm runs what is measured once before, with the files that it makes removed before and behind. Whoever writes first into memory that the host of a virtual machine
// has taken back pays for it: with the same files written and removed just before, everybody finds the memory there, and the order of rounds does not decide.
func (r *result) warm(clean func() error) {
	r.prepare = func() error { return errors.Join(clean(), made(r.measured), clean()) }
}

func (b *bench) measure(r *result) error {
	if r.prepare != nil {
		if err := r.prepare(); err != nil {
			return err
		}
	}
	start := time.Now()
	if r.inServer != nil {
		if err := r.inServer(); err != nil {
			return err
		}
		r.wall = append(r.wall, time.Since(start))
		return nil
	}
	cmd, err := r.measured()
	if err != nil {
		return err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	r.wall = append(r.wall, time.Since(start))
	if r.phase != "" {
		took, err := phaseOf(stdout.Bytes(), r.phase)
		if err != nil {
			return err
		}
		r.data = append(r.data, took)
	}
	r.cpu = append(r.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.maxRSS = max(r.maxRSS, u.Maxrss<<10)
	}
	if r.afterwards != nil {
		return r.afterwards()
	}
	return nil
}

// phaseOf reads how long a phase took out of a report of ours.
func phaseOf(document []byte, phase string) (time.Duration, error) {
	var report struct {
		Phases []struct {
			Phase   string
			Seconds float64
		}
	}
	if err := json.Unmarshal(document, &report); err != nil {
		return 0, fmt.Errorf("report: %w", err)
	}
	for _, p := range report.Phases {
		if p.Phase == phase {
			return time.Duration(p.Seconds * float64(time.Second)), nil
		}
	}
	return 0, fmt.Errorf("the report has no phase %q", phase)
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	return s[len(s)/2]
}

// size is the sum of the files below a folder in bytes.
func size(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}
