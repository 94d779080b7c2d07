package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// place is where the last run of a make target stands in a text: between two comments of Markdown that name the target.
func place(file, target string) (before, after []byte, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	begin, end := []byte("<!-- make "+target+" -->\n"), []byte("<!-- end of make "+target+" -->\n")
	from, to := bytes.Index(text, begin), bytes.Index(text, end)
	if from < 0 || to < from {
		return nil, nil, fmt.Errorf("%s has no lines %q and %q, between which the measurement goes", file, bytes.TrimSpace(begin), bytes.TrimSpace(end))
	}
	return text[:from+len(begin)], text[to:], nil
}

// record runs a measurement, and puts what it printed into a text; file "": into none.
func (b *bench) record(run func(context.Context) error, file, target string) error {
	if file == "" {
		return run(context.Background())
	}
	if _, _, err := place(file, target); err != nil { // now, and not after an hour
		return err
	}
	if err := run(context.Background()); err != nil {
		return err
	}
	return b.document(file, target)
}

// document puts what a run printed into the place of the last run's in a text, with what it was measured on.
func (b *bench) document(file, target string) error {
	before, after, err := place(file, target)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	out.Write(before)
	fmt.Fprintf(&out, "%s\n\n```\n%s\n```\n", b.conditions(), bytes.TrimSpace(b.said.Bytes()))
	out.Write(after)
	return os.WriteFile(file, out.Bytes(), 0o600) // it is there, and keeps its mode
}

// conditions tells what was measured, when, and on what.
func (b *bench) conditions() string {
	args := make([]string, 0, len(os.Args))
	for _, a := range os.Args[1:] {
		if filepath.IsAbs(a) {
			a = filepath.Base(a)
		}
		args = append(args, a)
	}
	said := fmt.Sprintf("`go run ./internal/bench %s`, %s, on %s. %s; %s.", strings.Join(args, " "), b.began.Format("2 January 2006"), machine(),
		version(b.pghaul, "--version"), version(filepath.Join(b.cluster.BinDir(), "postgres"), "--version"))
	if peer, err := exec.LookPath("pgcopydb"); err == nil {
		said = strings.TrimSuffix(said, ".") + "; " + version(peer, "--version") + "."
	}
	return said
}

// machine names the processor, the cores, the memory and the kernel, as far as the machine tells.
func machine() string {
	said := fmt.Sprintf("%s, %d cores", cmp.Or(field("/proc/cpuinfo", "model name"), runtime.GOARCH), runtime.NumCPU())
	var kB int64
	if _, err := fmt.Sscanf(field("/proc/meminfo", "MemTotal"), "%d kB", &kB); err == nil {
		said += fmt.Sprintf(", %d GiB", (kB+1<<19)>>20)
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		said += ", Linux " + strings.TrimSpace(string(release))
	}
	return said
}

// field is what a file of lines "name: value" says of a name; "" when it says nothing.
func field(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if known, value, _ := strings.Cut(line, ":"); strings.TrimSpace(known) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// version is the first line that a program says of itself.
func version(program string, args ...string) string {
	out, err := exec.Command(program, args...).Output() // what else some say goes to stderr
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || line == "" {
		return fmt.Sprintf("%s (which does not tell its version: %v)", filepath.Base(program), err)
	}
	return line
}
