package restore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/internal/yardstick"
	"github.com/bytehaul/pghaul/restore"
)

// pooled starts a PgBouncer in front of the shared cluster and gives its port.
func pooled(t *testing.T, program, mode string) int {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	cluster := pgtest.Cluster(t)
	config := fmt.Sprintf("[databases]\n* = host=%s port=%d user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = any\npool_mode = %s\n",
		cluster.SocketDir(), cluster.Port(), port, mode)
	if os.Geteuid() == 0 {
		config += "user = postgres\n"
	}
	path := filepath.Join(t.TempDir(), "pgbouncer.ini")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	cmd := exec.Command(program, path)
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // at once: it may have ended
		_ = cmd.Wait()                          // by the signal
		if t.Failed() {
			t.Logf("pgbouncer: %s", log.String())
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = c.Close() // it was only looked at
			return port
		}
	}
	t.Fatalf("pgbouncer does not listen: %s", log.String())
	return 0
}

// TestPooler: through a pool of sessions all works; one of transactions is refused, with a hint, before anything is written.
func TestPooler(t *testing.T) {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/pgbouncer")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "\n****\n**** NOT TESTED: connection poolers, because there is no pgbouncer (apt-get install pgbouncer)\n****")
		t.Skip("no pgbouncer")
	}
	source := pgtest.DB(t, varied)
	through := func(port int, dsn string) string {
		return fmt.Sprintf("host=127.0.0.1 port=%d user=postgres sslmode=disable dbname=%s", port, parse(t, dsn).Config.Database)
	}
	port := pooled(t, program, "session")
	target := pgtest.DB(t)
	dir := takeDump(t, through(port, source))
	o := options(t, dir, through(port, target))
	o.StopAfter = restore.PhaseData
	mustRestore(t, o)
	o = options(t, dir, through(port, target))
	o.Resume = true
	if sum := mustRestore(t, o); len(sum.Gaps) > 0 {
		t.Errorf("gaps: %+v", sum.Gaps)
	}
	sameState(t, source, target)

	for _, mode := range []string{"transaction", "statement"} {
		port = pooled(t, program, mode)
		refused := func(what string, err error) {
			t.Helper()
			var pooler *pg.PoolerError
			if !errors.As(err, &pooler) || !strings.Contains(hint.Of(err), "pool_mode = session") {
				t.Errorf("%s of a pool by %s: %v, hint %q", what, mode, err, hint.Of(err))
			}
		}
		into := filepath.Join(t.TempDir(), "dump")
		_, err = dump.Run(context.Background(), dump.Options{DSN: parse(t, through(port, source)), Dir: into, Jobs: 2, SegmentSize: 1 << 20})
		refused("dump", err)
		if _, err := os.Stat(into); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("left: %v", err)
		}
		_, err = yardstick.Run(context.Background(), yardstick.Options{DSN: parse(t, through(port, source)), Scale: 1e-6, Jobs: 1, Rounds: 1, Dir: t.TempDir()})
		refused("bench", err)
		empty := pgtest.DB(t)
		_, err = restore.Run(context.Background(), options(t, dir, through(port, empty)))
		refused("restore", err)
		if got := pgtest.SQL(t, empty, `SELECT count(*) FROM pg_class WHERE relnamespace >= 16384`); got != "0" {
			t.Errorf("%s relations were made", got)
		}
	}
}
