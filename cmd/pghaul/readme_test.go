package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// shownCommand is a command of a page and what the page says it prints.
type shownCommand struct {
	line    int
	command string
	shown   []string
}

// shownCommands gives the commands of a page's console blocks, in order.
func shownCommands(page string) (all []shownCommand) {
	inside := false
	for i, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case !inside:
		case strings.HasPrefix(line, "$ "):
			all = append(all, shownCommand{line: i + 1, command: line[2:]})
		case len(all) > 0:
			last := &all[len(all)-1]
			if strings.HasSuffix(last.command, `\`) && len(last.shown) == 0 {
				last.command += "\n" + line
				continue
			}
			last.shown = append(last.shown, line)
		}
	}
	return all
}

var (
	numbers = regexp.MustCompile(`-?[0-9][0-9a-f.,:-]*|<[0-9]+`)
	units   = regexp.MustCompile(`\b0 (B|KiB|MiB|GiB|min|h|d)\b`)
	ragged  = regexp.MustCompile(`[ ─━—]+`)
	judged  = regexp.MustCompile(`^(read|parse|convert|write|insert|check)-bound: .*|^no stage .*`)
)

// shape is a line without what differs between two runs: numbers, the width of columns, and what held the job back.
func shape(line string) string {
	if judged.MatchString(line) {
		return "the verdict"
	}
	line = units.ReplaceAllString(numbers.ReplaceAllString(line, "0"), "0 B")
	return strings.TrimSpace(ragged.ReplaceAllString(line, " "))
}

// follows tells whether lines are what is shown; a line of "…" stands for any number of lines.
func follows(shown, lines []string) bool {
	if len(shown) == 0 {
		return len(lines) == 0
	}
	if strings.TrimSpace(shown[0]) == "…" {
		for skip := range len(lines) + 1 {
			if follows(shown[1:], lines[skip:]) {
				return true
			}
		}
		return false
	}
	return len(lines) > 0 && shape(shown[0]) == shape(lines[0]) && follows(shown[1:], lines[1:])
}

// TestReadme runs the commands of the README's console blocks, one after the other as a reader would, and compares what they print.
func TestReadme(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := shownCommands(string(page))
	if len(all) < 10 {
		t.Fatalf("%d commands in the README", len(all))
	}
	here, next := pgtest.Own(t, pgcluster.Options{}), pgtest.Own(t, pgcluster.Options{})
	work := t.TempDir()
	services := filepath.Join(work, "pg_service.conf")
	if err := os.WriteFile(services, fmt.Appendf(nil, "[next]\nhost=%s\nport=%d\nuser=postgres\n", next.Host(), next.Port()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "docs"), filepath.Join(work, "docs")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Dir(built(t)) + ":" + here.BinDir() + ":" + os.Getenv("PATH")
	env := append(os.Environ(), "PATH="+path, "PGHOST="+here.Host(), "PGPORT="+strconv.Itoa(here.Port()), "PGUSER=postgres", "PGSERVICEFILE="+services, "PGHAUL_PG_BINDIR="+here.BinDir(),
		"XDG_CONFIG_HOME="+work, "XDG_STATE_HOME="+work, "NO_COLOR=1", "TZ=UTC")
	for _, s := range all {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		c := exec.CommandContext(ctx, "bash", "-c", s.command)
		c.Dir, c.Env = work, env
		out, err := c.CombinedOutput()
		cancel()
		lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
		if len(out) == 0 {
			lines = nil
		}
		if !follows(s.shown, lines) {
			t.Errorf("README.md:%d: $ %s (%v) prints\n%s\nand not\n%s", s.line, s.command, err, out, strings.Join(s.shown, "\n"))
		}
	}
}
