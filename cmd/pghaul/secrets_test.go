package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// secret is a password that has to be quoted in every place where one is written. secretMark is the part of it that nothing quotes.
const (
	secret     = `Gx7q 'ge:h\eim`
	secretMark = "Gx7q"
)

// vault is a server that wants the password, and all that has been found of it where it does not belong.
type vault struct {
	*battlefield
	cluster *pgcluster.Cluster
	log     string       // lines; beside it, with .json behind its name, one of JSON
	runs    atomic.Int64 // of commands: every second one writes JSON

	careless atomic.Bool // the test itself puts the password into our command line

	mu       sync.Mutex
	leaks    map[string]bool
	children map[string]bool // programs that were seen beside ours
}

func newVault(t *testing.T) *vault {
	t.Helper()
	c := pgtest.Own(t, pgcluster.Options{TCP: true})
	pgtest.SQL(t, c.SocketDSN("postgres"), `CREATE ROLE keeper LOGIN SUPERUSER PASSWORD `+pg.QuoteLiteral(secret))
	for _, name := range []string{"safe", "copy", "copy2", "copy3"} {
		pgtest.SQL(t, c.SocketDSN("postgres"), `CREATE DATABASE `+name)
	}
	pgtest.SQL(t, c.SocketDSN("safe"), `CREATE TABLE t AS SELECT generate_series(1, 1000) AS x; CREATE INDEX ON t (x); CREATE MATERIALIZED VIEW mv AS SELECT 1 AS x`)
	hba := "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
	if err := os.WriteFile(filepath.Join(c.DataDir(), "pg_hba.conf"), []byte(hba), 0o600); err != nil {
		t.Fatal(err)
	}
	for pgtest.SQL(t, c.SocketDSN("safe"), `SELECT pg_reload_conf(); SELECT count(*) FROM pg_hba_file_rules WHERE auth_method = 'scram-sha-256'`) != "t\n1" {
	}
	v := &vault{battlefield: &battlefield{program: built(t)}, cluster: c, log: filepath.Join(t.TempDir(), "log"), leaks: map[string]bool{}, children: map[string]bool{}}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PG") {
			v.env = append(v.env, kv)
		}
	}
	v.env = append(v.env, "PGHOST=127.0.0.1", fmt.Sprintf("PGPORT=%d", c.Port()), "PGUSER=keeper", "PGHAUL_PG_BINDIR="+c.BinDir())
	return v
}

// search notes where the password stands in a text.
func (v *vault) search(where string, text []byte) {
	if i := bytes.Index(text, []byte(secretMark)); i >= 0 {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.leaks[fmt.Sprintf("%s: %.200q", where, text[max(0, i-80):])] = true
	}
}

// watch looks at all processes until the context ends: at what each was started with, and at the environment of all but ours, whose user has put it there.
func (v *vault) watch(ctx context.Context) {
	for ctx.Err() == nil {
		dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
		for _, dir := range dirs {
			cmdline, err := os.ReadFile(filepath.Join(dir, "cmdline"))
			if err != nil || len(cmdline) == 0 {
				continue // it has ended
			}
			program, _, _ := strings.Cut(string(cmdline), "\x00")
			if program != v.program || !v.careless.Load() {
				v.search("command line", cmdline)
			}
			if program == v.program {
				continue
			}
			environ, err := os.ReadFile(filepath.Join(dir, "environ"))
			if again, e := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil && e == nil && bytes.Equal(again, cmdline) { // else it has become another program in between
				v.search("environment of "+program, environ)
			}
			v.mu.Lock()
			v.children[filepath.Base(program)] = true
			v.mu.Unlock()
		}
		time.Sleep(time.Millisecond) // between two looks at all there is
	}
}

// command runs a command with more environment, and searches all that it says.
func (v *vault) command(t *testing.T, code int, env []string, args ...string) {
	t.Helper()
	b := *v.battlefield
	b.env = append(append([]string{}, v.env...), env...)
	if v.runs.Add(1)%2 == 0 {
		args = append(args, "--log-file", v.log+".json", "--log-format", "json")
	}
	r := b.run(t, append([]string{args[0], "--log-file", v.log}, args[1:]...)...) // the last one counts
	v.search(fmt.Sprintf("%q: standard output", args), r.stdout)
	v.search(fmt.Sprintf("%q: standard error", args), r.stderr)
	if r.code != code {
		t.Errorf("%q ends with %d, want %d: %s%s", args, r.code, code, r.stdout, r.stderr)
	}
}

// behind runs a command while a session holds something that it waits for, until a child of ours was seen.
func (v *vault) behind(t *testing.T, database, sql, child string, run func()) {
	t.Helper()
	dsn, err := pg.ParseDSN(v.cluster.SocketDSN(database), pg.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pg.Connect(context.Background(), dsn, pg.Options{AppName: "holder"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec(context.Background(), "BEGIN; "+sql); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	for seen := false; !seen; {
		v.mu.Lock()
		seen = v.children[child]
		v.mu.Unlock()
		select {
		case <-done:
			if !seen {
				t.Errorf("the job has ended, and no %s was seen", child)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := c.Exec(context.Background(), "ROLLBACK"); err != nil {
		t.Error(err)
	}
	<-done
}

// TestNoPasswordAnywhere: from wherever the password comes, it is in no command line, no environment of a child, no file, no journal, no log, no event
// and no error.
func TestNoPasswordAnywhere(t *testing.T) {
	v := newVault(t)
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { v.watch(ctx) })
	dir := t.TempDir()
	dump := filepath.Join(dir, "dump")
	env := []string{"PGPASSWORD=" + secret}
	v.behind(t, "safe", "REFRESH MATERIALIZED VIEW public.mv", "pg_dump", func() {
		v.command(t, 0, env, "dump", "safe", "-f", dump, "-v", "--progress", "json")
	})
	v.command(t, 0, env, "verify", dump, "--against", "copy", "-v", "--rehearse", "--dry-load", "--json")
	v.command(t, 3, env, "diff", dump, "copy", "--json")
	v.behind(t, "copy", "CREATE TABLE public.t ()", "pg_restore", func() {
		v.command(t, 4, env, "restore", dump, "copy", "-v", "--progress", "json", "--stop-after", "data")
	})
	journal := pgtest.SQL(t, v.cluster.SocketDSN("copy"), `SELECT (SELECT string_agg(r::text, ' ') FROM pghaul_journal.restore r), (SELECT string_agg(r::text, ' ') FROM pghaul_journal.phase r), (SELECT string_agg(r::text, ' ') FROM pghaul_journal.segment r), (SELECT string_agg(r::text, ' ') FROM pghaul_journal.gap r)`)
	v.search("the journal", []byte(journal))
	v.command(t, 0, env, "restore", dump, "copy", "-v", "--resume", "--json")
	v.command(t, 0, env, "diff", dump, "copy", "-v")

	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	passfile := write("pgpass", "127.0.0.1:*:*:keeper:"+strings.NewReplacer(":", `\:`, `\`, `\\`).Replace(secret)+"\n")
	services := write("services", fmt.Sprintf("[vault]\nhost=127.0.0.1\nport=%d\nuser=keeper\npassword=%s\n", v.cluster.Port(), secret))
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	write("home/.pgpass", "*:*:*:*:"+strings.NewReplacer(":", `\:`, `\`, `\\`).Replace(secret)+"\n")
	for i, way := range []struct {
		env    []string
		source string
		target string
	}{
		{[]string{"PGPASSFILE=" + passfile}, "safe", "copy2"},
		{[]string{"PGSERVICEFILE=" + services}, "service=vault dbname=safe", "service=vault dbname=copy3"},
		{[]string{"HOME=" + home}, "postgresql://keeper@127.0.0.1/safe", "postgresql://127.0.0.1/copy2?user=keeper"},
	} {
		to := fmt.Sprintf("%s-%d", dump, i)
		v.command(t, 0, way.env, "dump", way.source, "-f", to, "-v", "--progress", "json")
		if i < 2 {
			v.command(t, 0, way.env, "restore", to, way.target, "-v", "--progress", "json")
		}
		v.command(t, 0, way.env, "diff", to, way.target, "-v")
	}
	failures(t, v, dump, services)
	stop()
	watching.Wait()
	searchFiles(t, v, dir, passfile, services, filepath.Join(home, ".pgpass"))
	for leak := range v.leaks {
		t.Errorf("the password is in %s", leak)
	}
}

// failures are errors that have the password at hand when they are told.
func failures(t *testing.T, v *vault, dump, services string) {
	t.Helper()
	right, wrong := []string{"PGPASSWORD=" + secret}, []string{"PGPASSWORD=" + secretMark + " wrong"}
	port := fmt.Sprint(v.cluster.Port())
	for _, c := range []struct {
		code int
		env  []string
		dsn  string
	}{
		{1, wrong, "safe"}, {1, right, "no such database"}, {1, right, "host=127.0.0.1 port=1 dbname=safe"}, {1, right, "host=no.such.host.invalid dbname=safe"}, {1, right, "host=/nowhere dbname=safe"},
		{1, right, "user=nobody dbname=safe"}, {1, append(right, "PGSSLMODE=require"), "safe"}, {2, right, "nosuch=1 dbname=safe"}, {2, right, "host='127.0.0.1 dbname=safe"},
		{1, []string{"PGSERVICEFILE=" + services}, "service=vault port=1 dbname=safe"}, {2, []string{"PGSERVICEFILE=" + services}, "service=nosuch dbname=safe"},
		{1, []string{"PGSERVICEFILE=" + services}, "service=vault user=nobody dbname=safe"},
	} {
		v.command(t, c.code, c.env, "dump", c.dsn, "-f", dump+"-no", "-v", "--progress", "json")
		v.command(t, c.code, c.env, "restore", dump, c.dsn, "-v", "--progress", "json")
		v.command(t, c.code, c.env, "diff", dump, c.dsn)
	}
	// A connection string with a password is refused, and not repeated: the log outlives the process list. Here nobody looks at that.
	v.careless.Store(true)
	for _, dsn := range []string{"postgresql://keeper:" + secretMark + "@127.0.0.1:" + port + "/safe", "postgresql://keeper@127.0.0.1/safe?password=" + secretMark, "password=" + secretMark,
		"password = '" + secretMark, "postgresql://keeper:" + secretMark + "@[::1/safe", "postgresql://keeper:" + secretMark + "/x@127.0.0.1/safe", "postgres://" + secretMark + "%zz@x", "host=x passwort=" + secretMark} {
		c := exec.Command(v.program, "dump", dsn, "-f", dump+"-no", "--log-file", v.log)
		c.Env, c.Args[0] = v.env, v.program
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		if err := c.Run(); err == nil || c.ProcessState.ExitCode() != 2 {
			t.Errorf("%q: %v", dsn, err)
		}
		v.search("what is said of a connection string with a password", out.Bytes())
	}
	v.command(t, 2, []string{"PGDATABASE=postgresql://keeper:" + secretMark + "@127.0.0.1:" + port + "/safe"}, "dump", "-f", dump+"-no")
	v.command(t, 2, []string{"PGDATABASE=host=x password=" + secretMark}, "dump", "-f", dump+"-no")
}

// searchFiles searches all files below a folder, decompressed too, but for those in which the password belongs, and what is left of password files.
func searchFiles(t *testing.T, v *vault, dir string, but ...string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		for _, b := range but {
			if path == b {
				return nil
			}
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".zst") {
			rows, err := exec.Command("zstd", "-dcq", path).Output()
			if err != nil {
				return fmt.Errorf("zstd -dc %s: %w", path, err)
			}
			content = append(content, rows...)
		}
		files++
		v.search(path, content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 10 {
		t.Errorf("only %d files were searched", files)
	}
	for _, path := range []string{v.log, v.log + ".json"} {
		log, err := os.ReadFile(path)
		if err != nil || len(log) == 0 {
			t.Fatal(path, err)
		}
		v.search("the log "+path, log)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "pghaul-pass-*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range left {
		if content, err := os.ReadFile(path); err == nil {
			v.search("a password file that is left: "+path, content)
		}
	}
}
