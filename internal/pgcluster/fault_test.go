package pgcluster_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// openDir is a folder that the server's user can enter; t.TempDir's parent is closed.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// empty fails the test when dir holds anything.
func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left in %s: %v, %v", dir, left, err)
	}
}

func TestNoServer(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"PGHAUL_PG_BINDIR", "PG_BINDIR"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PGHAUL_PG_BINDIR", "") // which goes before the other
			t.Setenv(name, bin)
			if got, err := pgcluster.FindBinDir(); !errors.Is(err, pgcluster.ErrNoServer) || !strings.Contains(err.Error(), bin) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	if _, err := pgcluster.Start(context.Background(), pgcluster.Options{BinDir: bin}); !errors.Is(err, pgcluster.ErrNoServer) {
		t.Errorf("Start: %v", err)
	}
}

func TestStartFails(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		o    pgcluster.Options
		want string
	}{
		{"unknown setting", context.Background(), pgcluster.Options{Settings: map[string]string{"no_such_setting": "1"}}, `unrecognized configuration parameter "no_such_setting"`},
		{"setting that is no name", context.Background(), pgcluster.Options{Settings: map[string]string{"a b": "1"}}, `setting "a b"`},
		{"setting of two lines", context.Background(), pgcluster.Options{Settings: map[string]string{"port": "1\nfsync=on"}}, "line end"},
		{"locale", context.Background(), pgcluster.Options{Locale: "xx_YY"}, "invalid locale"},
		{"encoding", context.Background(), pgcluster.Options{Encoding: "EBCDIC"}, "EBCDIC"},
		{"cancelled", cancelled, pgcluster.Options{}, context.Canceled.Error()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Parent = openDir(t)
			c, err := pgcluster.Start(tt.ctx, tt.o)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if c != nil {
				t.Error("a cluster beside an error")
			}
			empty(t, tt.o.Parent)
		})
	}
}

func TestOptions(t *testing.T) {
	var log strings.Builder
	parent := filepath.Join(openDir(t), strings.Repeat("long", 30))
	if err := os.Mkdir(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	c := start(t, pgcluster.Options{
		Parent: parent, TCP: true, Encoding: "LATIN1", Locale: "C", Log: &log,
		Settings: map[string]string{"work_mem": "5MB", "application_name": `it's a \ name`},
	})
	const query = "SELECT current_setting('work_mem'), current_setting('server_encoding'), inet_server_addr() IS NOT NULL, inet_server_port()"
	if got, want := pgtest.SQL(t, c.DSN("postgres"), query), fmt.Sprintf("5MB|LATIN1|t|%d", c.Port()); got != want {
		t.Errorf("by TCP: %q, want %q", got, want)
	}
	if got := pgtest.SQL(t, c.SocketDSN("postgres"), "SELECT inet_server_addr() IS NULL, reset_val FROM pg_settings WHERE name = 'application_name'"); !strings.HasPrefix(got, "t|") {
		t.Errorf("by socket: %q", got)
	}
	name := `odd "na/me"?&%`
	pgtest.SQL(t, c.DSN("postgres"), `CREATE DATABASE "odd ""na/me""?&%"`)
	if got := pgtest.SQL(t, c.DSN(name), "SELECT current_database()"); got != name {
		t.Errorf("connected to %q", got)
	}
	if !strings.Contains(log.String(), fmt.Sprintf("pid %d", c.Pid())) {
		t.Errorf("log: %s", log.String())
	}
	if tail := c.LogTail(3); strings.Count(tail, "\n") != 2 || !strings.Contains(c.LogTail(50), "ready to accept connections") {
		t.Errorf("server's log: %s", tail)
	}
	if filepath.Dir(c.Dir()) != parent || c.SocketDir() == c.Dir() {
		t.Errorf("folder %s, socket in %s", c.Dir(), c.SocketDir())
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	empty(t, parent)
	if _, err := os.Stat(c.SocketDir()); !os.IsNotExist(err) {
		t.Errorf("socket's folder: %v", err)
	}
}

// A running query is gone with Kill, too: its backend is no member of the postmaster's group.
func TestKillReachesBackends(t *testing.T) {
	c := start(t, pgcluster.Options{})
	dsn := c.DSN("postgres")
	query := exec.Command(filepath.Join(c.BinDir(), "psql"), "-Xqd", dsn, "-c", "SET statement_timeout = '60s'",
		"-c", "DO $$ BEGIN LOOP END LOOP; END $$")
	if err := query.Start(); err != nil {
		t.Fatal(err)
	}
	var pid string
	for limit := time.Now().Add(30 * time.Second); pid == ""; {
		if time.Now().After(limit) {
			t.Fatal("the query never ran")
		}
		pid = pgtest.SQL(t, dsn, "SELECT pid FROM pg_stat_activity WHERE query LIKE 'DO %' AND state = 'active'")
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := query.Wait(); err == nil {
		t.Error("the client ended well")
	}
	if n, err := strconv.Atoi(pid); err != nil || pgcluster.IsAlive(n) {
		t.Errorf("backend %s lives: %v", pid, err)
	}
	if err := c.Kill(); err != nil {
		t.Errorf("second Kill: %v", err)
	}
	if _, err := os.Stat(c.DataDir()); err != nil {
		t.Errorf("the folder is gone: %v", err)
	}
}

// The environment variable makes a copy of this test binary start a cluster below the
// folder that it names, and wait to be killed.
const orphanEnv = "PGCLUSTER_TEST_ORPHAN"

func runOrphan(parent string) {
	c, err := pgcluster.Start(context.Background(), pgcluster.Options{Parent: parent})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(c.Pid(), c.Dir())
	select {}
}

func TestNothingOutlivesUs(t *testing.T) {
	parent := openDir(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), orphanEnv+"="+parent)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	var pid int
	var dir string
	if _, err := fmt.Sscan(line, &pid, &dir); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("ended well")
	}
	if err := pgcluster.AwaitGone([]int{pid}); err != nil {
		t.Fatal(err)
	}
	c := start(t, pgcluster.Options{Parent: parent})
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the next start left %s: %v", dir, err)
	}
	if got := pgtest.SQL(t, c.DSN("postgres"), "SELECT 1"); got != "1" {
		t.Errorf("got %q", got)
	}
}
