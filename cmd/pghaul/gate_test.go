package main

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// TestGatesAsk: on a terminal migrate shows after each phase what was done and what is next; a no ends it, and --resume goes on.
func TestGatesAsk(t *testing.T) {
	path := built(t)
	source, target := pgtest.DB(t, `CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2)`), pgtest.DB(t)
	run := func(answers string, args ...string) (string, int) {
		c := exec.Command(path, append([]string{"migrate", "--progress", "plain", databaseOf(t, source), databaseOf(t, target)}, args...)...)
		c.Env = withServerEnv(t)
		tty, err := pty.StartWithSize(c, &pty.Winsize{Rows: 24, Cols: 200})
		if err != nil {
			t.Fatal(err)
		}
		defer tty.Close()
		if _, err := tty.WriteString(answers); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := io.Copy(&b, tty); err != nil && !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := c.Wait(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return b.String(), c.ProcessState.ExitCode()
	}
	said, code := run("\nwhat\nno\n") // on behind preflight, a word that is none, a no behind pre-data
	for _, part := range []string{"preflight is done: took 0.", "next, phase 2 of 8: pre-data (makes schemas", "pre-data is done: ", "next, phase 3 of 8: data (copies the rows", "Go on? yes or no: ",
		"stopped here, as you said", "--resume goes on from there"} {
		if !strings.Contains(said, part) {
			t.Errorf("%q is not said:\n%s", part, said)
		}
	}
	if code != exitIncomplete || pgtest.SQL(t, target, `SELECT count(*) FROM t`) != "0" {
		t.Errorf("exit code %d", code)
	}
	said, code = run(strings.Repeat("y\n", 6), "--resume")
	if code != exitDone || !strings.Contains(said, "proof is done: 2 rows") || !strings.Contains(said, "matviews is done: there was nothing to do; ") || !strings.Contains(said, "every row proven in 1 table") {
		t.Errorf("exit code %d:\n%s", code, said)
	}
	if table, gate := strings.Index(said, "public.t: 2 rows"), strings.Index(said, "\ndata is done: "); table < 0 || gate < table {
		t.Errorf("the table's line does not stand before the gate behind it:\n%s", said)
	}
	if got := pgtest.SQL(t, target, `SELECT count(*) FROM t`); got != "2" {
		t.Errorf("%s rows", got)
	}
}
