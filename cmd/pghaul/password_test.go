package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// answered runs a command on a terminal and gives each answer when its prompt has come. It returns all that the terminal showed.
func answered(t *testing.T, c *exec.Cmd, prompt string, answers ...string) (shown string, err error) {
	t.Helper()
	tty, err := pty.StartWithSize(c, &pty.Winsize{Rows: 24, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	var b bytes.Buffer
	buf := make([]byte, 4096)
	for given := 0; ; {
		n, err := tty.Read(buf)
		b.Write(buf[:n])
		if given < len(answers) && strings.Count(b.String(), prompt) > given {
			if _, err := tty.WriteString(answers[given] + "\n"); err != nil {
				t.Fatal(err)
			}
			given++
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EIO) {
				t.Fatal(err)
			}
			return b.String(), c.Wait()
		}
	}
}

// TestPasswordPrompt: a password that is asked for is not shown, and serves all sessions and the children.
func TestPasswordPrompt(t *testing.T) {
	path := built(t)
	const password = "pr0mpt:secret"
	c := pgtest.Own(t, pgcluster.Options{TCP: true})
	socket := c.SocketDSN("postgres")
	pgtest.SQL(t, socket, `CREATE ROLE typed LOGIN SUPERUSER PASSWORD '`+password+`'; CREATE DATABASE typed_source; CREATE DATABASE typed_target`)
	pgtest.SQL(t, c.SocketDSN("typed_source"), `CREATE TABLE t AS SELECT generate_series(1, 100) AS x`)
	hba := filepath.Join(c.DataDir(), "pg_hba.conf")
	if err := os.WriteFile(hba, []byte("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pgtest.SQL(t, socket, `SELECT pg_reload_conf()`)
	for pgtest.SQL(t, socket, `SELECT count(*) FROM pg_hba_file_rules`) != "2" {
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(path, args...)
		cmd.Env = append(os.Environ(), "PGHOST=127.0.0.1", "PGPORT="+strconv.Itoa(c.Port()), "PGUSER=typed", "PGPASSWORD=", "PGPASSFILE=/nosuch", "PGHAUL_PG_BINDIR="+c.BinDir(), "TERM=xterm-256color")
		return cmd
	}
	const prompt = "Password for user typed at 127.0.0.1:"
	dir := filepath.Join(t.TempDir(), "dump")
	shown, err := answered(t, command("dump", "typed_source", "-q", "-f", dir), prompt, password)
	if err != nil || !strings.Contains(shown, "dumped 100 rows") {
		t.Fatalf("%v: %s", err, shown)
	}
	if strings.Contains(shown, "secret") || strings.Count(shown, prompt) != 1 {
		t.Errorf("shown: %q", shown)
	}
	if shown, err := answered(t, command("restore", dir, "typed_target", "-q", "-W"), prompt, password); err != nil || !strings.Contains(shown, "every row proven") {
		t.Errorf("%v: %s", err, shown)
	}
	if shown, err := answered(t, command("migrate", "typed_source", "typed_target", "--data-only", "--on-existing", "truncate", "--yes", "-q"), prompt, password, password); err != nil || !strings.Contains(shown, "every row proven") || strings.Contains(shown, "secret") {
		t.Errorf("%v: %s", err, shown)
	}
	if shown, err := answered(t, command("diff", dir, "typed_target"), prompt, password+"wrong"); err == nil || !strings.Contains(shown, "28P01") && !strings.Contains(shown, "password authentication failed") || strings.Contains(shown, "secret") {
		t.Errorf("%v: %s", err, shown)
	}
	if shown, err := answered(t, command("diff", dir, "typed_target", "-w"), prompt); err == nil || strings.Contains(shown, prompt) {
		t.Errorf("%v: %s", err, shown)
	}
	var exit *exec.ExitError
	if shown, err := answered(t, command("diff", dir, "typed_target"), prompt, "\x03"); !errors.As(err, &exit) || exit.ExitCode() != exitCancelled {
		t.Errorf("%v: %s", err, shown)
	}
	out, err := command("dump", "typed_source", "-f", filepath.Join(t.TempDir(), "no"), "-W").CombinedOutput() // without a terminal
	if err == nil || !strings.Contains(string(out), "there is no terminal to ask at") {
		t.Errorf("%v: %s", err, out)
	}
}
