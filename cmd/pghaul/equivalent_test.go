package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
	"github.com/bytehaul/pghaul/tui"
)

// shellWords lets a shell take a line apart.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", "set -- "+line+`; for w in "$@"; do printf '%s\0' "$w"; done`).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// TestEquivalentCommand: what is shown before a job from the home screen, typed into a shell, means the same.
func TestEquivalentCommand(t *testing.T) {
	parse := func(s string) *pg.DSN {
		d, err := pg.ParseDSN(s, pg.Flags{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	shop, odd := parse("host=db1 user=ann dbname=shop"), parse(`host=db2 dbname='it\'s \\ a "shop"'`)
	a := &app{}
	for _, o := range []tui.JobOptions{
		{Kind: "dump", From: dump.Options{DSN: odd, Dir: "/a folder/$x", Jobs: 3, SegmentSize: 1 << 30, Compression: format.Compression{Level: 9}, Tables: []string{`"public"."it's"`}}},
		{Kind: "dump", From: dump.Options{DSN: shop, Dir: "d", Jobs: 1, SegmentSize: defaultSegment, ExcludeTables: []string{`"a b"."c"`}}},
	} {
		d := &dumpFlags{job: newJobFlags(), compress: "zstd:1", o: dump.Options{SegmentSize: defaultSegment}}
		c := a.dumpCommand()
		c.ResetFlags()
		d.flags(c)
		words := shellWords(t, equivalent(o))
		if err := c.ParseFlags(words[2:]); err != nil {
			t.Fatalf("%q: %v", words, err)
		}
		got, err := d.options(a, c, c.Flags().Args())
		if err != nil {
			t.Fatalf("%q: %v", words, err)
		}
		if got.Dir != o.From.Dir || got.Jobs != o.From.Jobs || got.SegmentSize != o.From.SegmentSize || got.Compression != o.From.Compression || !reflect.DeepEqual(got.Tables, o.From.Tables) ||
			got.Balance != dumpFromHome(o.From).Balance || !reflect.DeepEqual(got.ExcludeTables, o.From.ExcludeTables) || !reflect.DeepEqual(got.DSN.Given, o.From.DSN.Given) {
			t.Errorf("%q becomes %+v", words, got)
		}
	}
	to := restore.Options{DSN: shop, Dir: "it's", Jobs: 2, DataOnly: true, OnExisting: restore.Append, NoProve: true, NoAnalyze: true, NoOwner: true,
		Choice: restore.Choice{Tables: []string{`"sales"."orders"`}}}
	r := &restoreFlags{job: newJobFlags(), onExisting: string(restore.Fail)}
	c := a.restoreCommand()
	c.ResetFlags()
	r.flags(c)
	words := shellWords(t, equivalent(tui.JobOptions{Kind: "restore", To: to}))
	if err := c.ParseFlags(words[2:]); err != nil {
		t.Fatal(err)
	}
	got, err := r.options(a, c, c.Flags().Args())
	if err != nil || got.Dir != to.Dir || got.Jobs != 2 || !got.DataOnly || got.OnExisting != restore.Append || !got.NoProve || !got.NoAnalyze || !got.NoOwner || !reflect.DeepEqual(got.DSN.Given, shop.Given) ||
		!reflect.DeepEqual(got.Tables, to.Tables) {
		t.Errorf("%q becomes %+v, %v", words, got, err)
	}
	if line := equivalent(tui.JobOptions{Kind: "migrate", From: dump.Options{DSN: shop, SegmentSize: defaultSegment}, To: restore.Options{DSN: odd, Create: true, Jobs: 2}}); !strings.HasPrefix(line, "pghaul migrate 'dbname=shop host=db1 user=ann' ") ||
		!strings.HasSuffix(line, " --yes -j 2 --create") {
		t.Errorf("%s", line)
	}
}

// TestNotifyFromHome: the operator's habits hold at the home screen too: connections, compression, and the command at the end.
func TestNotifyFromHome(t *testing.T) {
	source := pgtest.DB(t, "CREATE TABLE t (id int); INSERT INTO t VALUES (1)")
	dir := t.TempDir()
	told, config := filepath.Join(dir, "told"), filepath.Join(dir, "pghaul.toml")
	if err := os.WriteFile(config, []byte("notify = 'echo \"$PGHAUL_JOB $PGHAUL_OUTCOME $PGHAUL_EXIT_CODE\" > "+told+"'\njobs = 3\n[dump]\ncompress = 'zstd:5'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGHAUL_CONFIG", config)
	s, at := atHome(t, 80, 24)
	s.types(enter)
	s.sees("which server?", "environment")
	s.types(enter)
	s.sees("which database?")
	s.choose(databaseOf(t, source))
	s.sees("which tables", "public")
	s.types(enter)
	s.sees("folder of the dump")
	s.types(eraseAll, filepath.Join(at, "saved"), enter)
	s.sees("Ready: dump", "-j 3", "-Z zstd:5")
	s.types(enter)
	s.sees("dumped ")
	s.types("q")
	if code := s.ends(); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	if got, err := os.ReadFile(told); err != nil || string(got) != "dump done 0\n" {
		t.Errorf("%q, %v", got, err)
	}
}
