package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// A benchmark that is interrupted says so and takes everything away.
func TestBenchInterrupted(t *testing.T) {
	dir := t.TempDir()
	c := exec.Command(built(t), "bench", databaseOf(t, pgtest.DB(t)), "--scale", "0.01", "--rounds", "1000", "--tables", "citydata", "--dir", dir)
	c.Env = withServerEnv(t)
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	database, sent := "", false
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if _, after, ok := strings.Cut(lines.Text(), "in the scratch databases "); ok {
			database, _, _ = strings.Cut(after, " ")
		}
		if !sent && strings.Contains(lines.Text(), "(round 1 of 1000)") {
			sent = true
			if err := c.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Wait(); c.ProcessState.ExitCode() != exitCancelled {
		t.Errorf("exit: %v", err)
	}
	if !sent || !strings.Contains(said.String(), "pghaul: cancelled: nothing is left of the benchmark\n") {
		t.Errorf("it said:\n%s", said.String())
	}
	if n := pgtest.SQL(t, pgtest.Cluster(t).DSN("postgres"), "SELECT count(*) FROM pg_database WHERE datname LIKE '"+database+"%'"); database == "" || n != "0" {
		t.Errorf("%s databases are left like %q", n, database)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the folder holds %v (%v)", left, err)
	}
}
