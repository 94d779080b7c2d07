package dump_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/netfault"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// waitLimit is how long a busy machine may take for what comes at once on an idle one.
const waitLimit = time.Minute

// run takes a dump that must succeed.
func run(t *testing.T, o dump.Options) *dump.Summary {
	t.Helper()
	sum, err := dump.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// manifest reads a finished dump's manifest and checks that its files are those that it names.
func manifest(t *testing.T, dir string) *format.Manifest {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	m, err := format.ReadManifest(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := format.CheckSums(root, m); err != nil {
		t.Error(err)
	}
	named := map[string]bool{format.ManifestName: true, format.ChecksumName: true}
	for _, f := range m.Files() {
		named[f.Path] = true
	}
	err = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !named[path] {
			t.Errorf("%s is in the dump, and not in its manifest", path)
		}
		if info, e := e.Info(); err == nil && (e != nil || info.Mode().Perm()&0o077 != 0) {
			t.Errorf("%s: mode %v, %v", path, info.Mode(), e)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return m
}

// table finds a table of a manifest.
func table(t *testing.T, m *format.Manifest, name string) *format.ManifestTable {
	t.Helper()
	for i := range m.Tables {
		if string(m.Tables[i].Schema)+"."+string(m.Tables[i].Name) == name {
			return &m.Tables[i]
		}
	}
	t.Fatalf("no table %s in the manifest", name)
	return nil
}

func tableNames(m *format.Manifest) string {
	var names []string
	for _, k := range m.Tables {
		names = append(names, string(k.Schema)+"."+string(k.Name))
	}
	return strings.Join(names, " ")
}

// nothingLeft checks that a failed dump has taken its folder away with it.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		entries, _ := os.ReadDir(dir)
		t.Errorf("%s is left behind with %v (%v)", dir, entries, err)
	}
}

// fails takes a dump that must fail, say why, with a hint, and leave nothing behind.
func fails(ctx context.Context, t *testing.T, o dump.Options, part string) error {
	t.Helper()
	sum, err := dump.Run(ctx, o)
	if err == nil {
		t.Fatalf("the dump succeeded with %d rows; want an error with %q", sum.Rows, part)
	}
	if !strings.Contains(err.Error(), part) {
		t.Errorf("%v\nwant an error with %q", err, part)
	}
	nothingLeft(t, o.Dir)
	return err
}

// hinted checks that an error says what to do.
func hinted(t *testing.T, err error, part string) {
	t.Helper()
	if got := hint.Of(err); got == "" || !strings.Contains(got, part) {
		t.Errorf("%v: hint %q, want %q", err, got, part)
	}
}

// noLeak checks at the test's end that no goroutine of it is left.
func noLeak(t *testing.T) {
	t.Helper()
	pgtest.Cluster(t) // its own are not ours
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
}

func connect(t *testing.T, dsn string) *pg.Conn {
	t.Helper()
	c, err := pg.Connect(context.Background(), parse(t, dsn), pg.Options{AppName: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func exec1(t *testing.T, c *pg.Conn, sql string) {
	t.Helper()
	if err := c.Exec(context.Background(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// await asks a server until the answer is yes. Views of the statistics are frozen in a transaction, so c must not be in one.
func await(t *testing.T, c *pg.Conn, sql string, args ...any) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), waitLimit)
	defer stop()
	for yes := false; !yes; {
		if err := c.QueryRow(ctx, sql, args...).Scan(&yes); err != nil {
			t.Fatalf("wait for %s: %v", sql, err)
		}
	}
}

// noBackends checks that no session of a dump is left in a database, nor comes back.
func noBackends(t *testing.T, c *pg.Conn) {
	t.Helper()
	await(t, c, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> 'test')")
}

// start runs a dump beside the test.
func start(ctx context.Context, o dump.Options) <-chan result {
	done := make(chan result, 1)
	go func() {
		sum, err := dump.Run(ctx, o)
		done <- result{sum, err}
	}()
	return done
}

type result struct {
	sum *dump.Summary
	err error
}

func (r result) String() string { return fmt.Sprintf("%+v, %v", r.sum, r.err) }

// wait gives a dump's result, and ends the test when it does not come.
func wait(t *testing.T, done <-chan result) result {
	t.Helper()
	timer := time.NewTimer(waitLimit)
	defer timer.Stop()
	select {
	case r := <-done:
		return r
	case <-timer.C:
		t.Fatal("the dump hangs")
		return result{}
	}
}

// proxied gives the connection string of a database of a cluster behind a proxy.
func proxied(t *testing.T, c *pgcluster.Cluster, dsn string, r netfault.Rule) (string, *netfault.Proxy) {
	t.Helper()
	p, err := netfault.New("unix", fmt.Sprintf("%s/.s.PGSQL.%d", c.SocketDir(), c.Port()), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return fmt.Sprintf("host=127.0.0.1 port=%d user=postgres sslmode=disable dbname=%s", p.Port(), parse(t, dsn).Config.Database), p
}

// tool runs a program and gives its output.
func tool(t *testing.T, dir string, stdin []byte, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

func pgTool(t *testing.T, name string) string { return filepath.Join(pgtest.Cluster(t).BinDir(), name) }
