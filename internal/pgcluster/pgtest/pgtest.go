// Package pgtest gives tests a real PostgreSQL: one throwaway cluster for a test
// binary, and a database of its own for every test.
//
// A package that uses it says, once:
//
//	func TestMain(m *testing.M) { pgtest.Run(m) }
//
// A test fails when PostgreSQL's programs are missing; it is never skipped.
package pgtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster"
)

// shared is the cluster of this test binary.
var shared struct {
	sync.Mutex
	tried   bool
	managed bool // Run will stop it
	cluster *pgcluster.Cluster
	err     error
}

// Run is a TestMain: it runs the tests, stops the shared cluster and exits. An
// interrupt stops the cluster too.
func Run(m *testing.M) { os.Exit(Code(m)) }

// Code is Run for a TestMain that has something to do at the end itself: it
// returns the exit code.
func Code(m *testing.M) int {
	shared.Lock()
	shared.managed = true
	shared.Unlock()
	sig := make(chan os.Signal, 1)
	signal.Notify(sig, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-sig
		if err := stop(); err != nil {
			fmt.Fprintln(os.Stderr, "pgtest: stop the shared cluster:", err)
		}
		os.Exit(130)
	}()
	code := m.Run()
	if err := stop(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "pgtest: stop the shared cluster:", err)
		code = 1
	}
	return code
}

func stop() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		return nil
	}
	return shared.cluster.Stop()
}

// Cluster returns the test binary's shared cluster and starts it at the first call.
// Tests that kill or restart a server start one by [Own].
func Cluster(t testing.TB) *pgcluster.Cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if !shared.managed {
		t.Fatal("pgtest: this package lacks `func TestMain(m *testing.M) { pgtest.Run(m) }`")
	}
	if !shared.tried {
		shared.tried = true
		shared.cluster, shared.err = pgcluster.Start(context.Background(), pgcluster.Options{})
	}
	if shared.err != nil {
		t.Fatalf("pgtest: start a cluster: %v", shared.err)
	}
	return shared.cluster
}

// Own starts a cluster for one test, which may kill it or set it up its own way. It is stopped at the end of the test.
func Own(t testing.TB, o pgcluster.Options) *pgcluster.Cluster {
	t.Helper()
	c, err := pgcluster.Start(context.Background(), o)
	if err != nil {
		t.Fatalf("pgtest: start a cluster: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// serial numbers the databases of this test binary.
var serial atomic.Int64

// DB makes a fresh database in the shared cluster, runs the SQL in it and returns
// its DSN. It is dropped at the end of the test, connections or not.
func DB(t testing.TB, setupSQL ...string) string {
	t.Helper()
	return DBIn(t, Cluster(t), setupSQL...)
}

// DBIn is DB in a cluster of the caller's.
func DBIn(t testing.TB, c *pgcluster.Cluster, setupSQL ...string) string {
	t.Helper()
	name := fmt.Sprintf("t%d_%s", serial.Add(1), safeName(t.Name()))
	admin := c.DSN("postgres")
	SQL(t, admin, `CREATE DATABASE "`+name+`" TEMPLATE template0`)
	t.Cleanup(func() {
		if c.Pid() == 0 {
			return // the test stopped the server on purpose
		}
		SQL(t, admin, dropSQL(name))
	})
	dsn := c.DSN(name)
	for _, sql := range setupSQL {
		SQL(t, dsn, sql)
	}
	return dsn
}

// dropSQL drops a database, connections or not; before 13 DROP DATABASE has no FORCE.
func dropSQL(name string) string {
	return `SELECT current_setting('server_version_num')::int < 130000 AS unforced \gset
\if :unforced
UPDATE pg_database SET datallowconn = false WHERE datname = '` + name + `';
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '` + name + `' \g /dev/null
DROP DATABASE IF EXISTS "` + name + `";
\else
DROP DATABASE IF EXISTS "` + name + `" WITH (FORCE);
\endif`
}

// safeName makes the part of a database's name that tells a person whose it is.
func safeName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '_'
	}, s)
	return s[:min(len(s), 40)] // identifiers hold 63 bytes
}

// SQL runs statements through psql (-XAtq, stops at the first error) and returns
// what it prints, without the last line end. An error fails the test.
func SQL(t testing.TB, dsn, sql string) string {
	t.Helper()
	out, err := TrySQL(t, dsn, sql)
	if err != nil {
		t.Fatalf("pgtest: %v\nstatements: %s", err, sql)
	}
	return out
}

// TrySQL is SQL for statements that may fail; the error holds what psql said.
func TrySQL(t testing.TB, dsn, sql string) (string, error) {
	t.Helper()
	cmd := exec.Command(psql(t), "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", dsn)
	cmd.Stdin = strings.NewReader(sql)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PG") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("psql: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSuffix(stdout.String(), "\n"), nil
}

// Version is server_version_num of the shared cluster, 150018 for 15.18: for tests of what only some majors have.
func Version(t testing.TB) int {
	t.Helper()
	n, err := strconv.Atoi(SQL(t, Cluster(t).DSN("postgres"), "SHOW server_version_num"))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return n
}

// psql finds the client beside the server's programs, else in PATH.
func psql(t testing.TB) string {
	t.Helper()
	bin, err := pgcluster.FindBinDir()
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	if path, err := exec.LookPath(filepath.Join(bin, "psql")); err == nil {
		return path
	}
	path, err := exec.LookPath("psql")
	if err != nil {
		t.Fatalf("pgtest: %v; install PostgreSQL's client", err)
	}
	return path
}
