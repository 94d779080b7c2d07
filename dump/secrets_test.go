package dump_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/internal/progress"
)

// TestNoPasswordAnywhere: a dump that needs a password leaves it in no file, log, event or process list.
func TestNoPasswordAnywhere(t *testing.T) {
	const password = `Gx7 'ge:h\eim`
	c := pgtest.Own(t, pgcluster.Options{TCP: true})
	socket := c.SocketDSN("postgres")
	pgtest.SQL(t, socket, `CREATE ROLE keeper LOGIN SUPERUSER PASSWORD `+pg.QuoteLiteral(password)+`; CREATE DATABASE safe`)
	hba := filepath.Join(c.DataDir(), "pg_hba.conf")
	if err := os.WriteFile(hba, []byte("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pgtest.SQL(t, socket, `SELECT pg_reload_conf()`)
	safe := c.SocketDSN("safe")
	pgtest.SQL(t, safe, `CREATE TABLE t AS SELECT generate_series(1, 1000) AS x; CREATE MATERIALIZED VIEW mv AS SELECT 1 AS x`)
	watcher := connect(t, safe)
	await(t, watcher, "SELECT count(*) = 2 FROM pg_hba_file_rules")

	dsn := fmt.Sprintf("host=127.0.0.1 port=%d user=keeper dbname=safe", c.Port())
	noPassword := options(t, dsn)
	fails(context.Background(), t, noPassword, "keeper")
	t.Setenv("PGPASSWORD", password+"wrong")
	wrong := options(t, dsn)
	if err := fails(context.Background(), t, wrong, "28P01"); strings.Contains(err.Error(), "Gx7") {
		t.Errorf("the error tells the password: %v", err)
	}
	t.Setenv("PGPASSWORD", password)

	var logged syncBuffer
	o := options(t, dsn)
	o.Tracker = progress.New("dump", "read", "parse", "convert", "write")
	o.Logf = func(format string, args ...any) { fmt.Fprintf(&logged, format+"\n", args...) }
	blocker := connect(t, safe)
	exec1(t, blocker, "BEGIN; REFRESH MATERIALIZED VIEW public.mv") // pg_dump waits for it
	done := start(context.Background(), o)
	await(t, watcher, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = 'safe' AND application_name = 'pg_dump' AND wait_event_type = 'Lock')")
	if n := lookAtProcesses(t, password); n == 0 {
		t.Error("no pg_dump was seen in the process list")
	}
	exec1(t, blocker, "COMMIT")
	r := wait(t, done)
	if r.err != nil {
		t.Fatal(r.err)
	}
	found := func(where, text string) {
		if strings.Contains(text, "Gx7") {
			t.Errorf("%s holds the password", where)
		}
	}
	found("the log", logged.String())
	found("the summary", fmt.Sprintf("%+v", r.sum.Manifest))
	events, _ := o.Tracker.Events(0)
	found("the events", fmt.Sprintf("%+v %+v %+v", events, o.Tracker.Snapshot(), o.Tracker.Report()))
	err := filepath.WalkDir(o.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.HasSuffix(path, ".zst") {
			content = append(content, tool(t, "", nil, "zstd", "-dcq", path)...)
		}
		found(path, string(content))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "pghaul-pass-*")); err != nil || len(left) > 0 {
		for _, dir := range left {
			if b, err := os.ReadFile(filepath.Join(dir, "pgpass")); err == nil {
				found(dir, string(b))
			}
		}
	}
}

// lookAtProcesses searches what every user may read of the running pg_dumps, and counts them.
func lookAtProcesses(t *testing.T, password string) (seen int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		cmdline, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !bytes.Contains(cmdline, []byte("pg_dump\x00")) {
			continue // it has ended, or is another one
		}
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil {
			continue
		}
		seen++
		for name, content := range map[string][]byte{"cmdline": cmdline, "environ": environ} {
			if bytes.Contains(content, []byte("Gx7")) || bytes.Contains(content, []byte(password)) {
				t.Errorf("%s/%s holds the password: %q", dir, name, content)
			}
		}
	}
	return seen
}

// syncBuffer is a buffer for several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}
