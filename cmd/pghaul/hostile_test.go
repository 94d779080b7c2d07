package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// What no hostile dump may take from anybody: half a minute on a busy machine, and this much memory.
const (
	hostileTime   = 30 * time.Second
	hostileMemory = 400 << 20
)

// victim is a database before an attack.
const victim = `CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN pos AS int CHECK (VALUE > 0); CREATE TYPE pair AS (a int, m mood);
CREATE TABLE t (id int PRIMARY KEY, v text, m mood, p pair, d pos, cash money);
CREATE TABLE y (id int, v text); CREATE TABLE z (id int, v text); CREATE SEQUENCE s; CREATE MATERIALIZED VIEW mv AS SELECT 1 AS one;`

const victimRows = `INSERT INTO t SELECT g, 'v' || g, 'ok', ROW(g, 'sad')::pair, g, g::numeric::money FROM generate_series(1, 3000) g;
INSERT INTO y SELECT g, 'y' || g FROM generate_series(1, 10) g; INSERT INTO z SELECT g, 'y' || g FROM generate_series(1, 10) g; SELECT nextval('s');`

// state is what an attack must leave as it is.
const state = `SELECT string_agg(format('%s %s.%s', c.relkind, n.nspname, c.relname), ', ' ORDER BY n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname !~ '^pg_(toast|catalog)' AND n.nspname <> 'information_schema';
SELECT string_agg(nspname, ', ' ORDER BY nspname) FROM pg_namespace WHERE nspname !~ '^pg_temp|^pg_toast_temp'; SELECT string_agg(rolname, ', ' ORDER BY rolname) FROM pg_roles; SELECT string_agg(typname, ',' ORDER BY typname) FROM pg_type WHERE oid >= 16384;
SELECT coalesce(string_agg(setdatabase || setconfig::text, ', '), '') FROM pg_db_role_setting; SELECT count(*) FROM pg_authid; SELECT count(*) FROM pg_proc WHERE oid >= 16384;`

const rowsState = `SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM y), (SELECT count(*) FROM z), (SELECT is_called FROM s);`

// battlefield is a true dump, an empty database, and one that has its tables without rows.
type battlefield struct {
	program     string
	dump        string
	env         []string
	empty, made string // names
	emptyDSN    string
	madeDSN     string
	before      string // of both
	attacks     int    // so far
}

func newBattlefield(t *testing.T) *battlefield {
	t.Helper()
	b := &battlefield{program: built(t), env: withServerEnv(t), dump: filepath.Join(t.TempDir(), "dump")}
	source := pgtest.DB(t, victim, victimRows)
	b.emptyDSN, b.madeDSN = pgtest.DB(t), pgtest.DB(t, victim)
	b.empty, b.made = databaseOf(t, b.emptyDSN), databaseOf(t, b.madeDSN)
	r := b.run(t, "dump", databaseOf(t, source), "-f", b.dump, "-Z", "none", "--segment-size", "64kB", "-q")
	if r.code != 0 {
		t.Fatalf("dump: %s", r.stderr)
	}
	b.before = b.state(t)
	return b
}

// state shows both databases.
func (b *battlefield) state(t *testing.T) string {
	t.Helper()
	return pgtest.SQL(t, b.emptyDSN, state) + pgtest.SQL(t, b.madeDSN, state+rowsState)
}

// ran is what became of a command.
type ran struct {
	code           int
	stdout, stderr []byte
}

// run runs a command within the limits of time and memory.
func (b *battlefield) run(t *testing.T, args ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hostileTime)
	defer cancel()
	c := exec.CommandContext(ctx, b.program, args...)
	c.Env = b.env
	c.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	peak, err := runPeak(c)
	if ctx.Err() != nil {
		t.Fatalf("%.200q hangs", args)
	}
	if c.ProcessState == nil {
		t.Fatalf("%.200q: %v", args, err)
	}
	if peak > hostileMemory {
		t.Errorf("%.200q took %d MiB of memory", args, peak>>20)
	}
	r := ran{c.ProcessState.ExitCode(), stdout.Bytes(), stderr.Bytes()}
	if bytes.Contains(r.stderr, []byte("panic: ")) || bytes.Contains(r.stderr, []byte("goroutine ")) || bytes.Contains(r.stderr, []byte("fatal error: ")) {
		t.Errorf("%.200q crashed: %s", args, r.stderr)
	}
	return r
}

// assault is one way to look at a hostile dump, or to load it.
type assault struct {
	name string
	turn int      // 1 or 2: one of two attacks is made in this way, and the other in that; 0: all are
	args []string // DIR, FILE, EMPTY, MADE, OUT and LOG stand for themselves
	json bool     // standard output is one document
}

var assaults = []assault{
	{"verify", 1, []string{"verify", "DIR", "--log-file", "LOG"}, false},
	{"verify json", 2, []string{"verify", "DIR", "--json", "--progress", "json", "--log-file", "LOG", "--log-format", "json"}, true},
	{"restore", 0, []string{"restore", "DIR", "EMPTY", "-v", "--log-file", "LOG", "--progress", "json", "--yes"}, false},
	{"data-only", 2, []string{"restore", "DIR", "MADE", "--data-only", "--json", "--yes", "--log-file", "LOG", "--log-format", "json"}, true},
	{"against", 1, []string{"verify", "DIR", "--against", "MADE", "--data-only", "-v"}, false},
	{"diff", 2, []string{"diff", "DIR", "MADE", "-v"}, false},
	{"diff json", 1, []string{"diff", "DIR", "MADE", "--json"}, true},
	{"inspect", 1, []string{"inspect", "DIR"}, false},
	{"inspect json", 2, []string{"inspect", "DIR", "--json"}, true},
	{"inspect file", 2, []string{"inspect", "FILE"}, false},
	{"inspect file json", 1, []string{"inspect", "FILE", "--json"}, true},
	{"list", 1, []string{"list", "DIR"}, false},
	{"list json", 2, []string{"list", "DIR", "--json"}, true},
	{"salvage", 1, []string{"salvage", "FILE", "-o", "OUT"}, false},
	{"cat", 0, []string{"cat", "FILE", "--json-lines", "--limit", "10"}, false},
}

// attack is one forgery.
type attack struct {
	name  string
	forge func(f *forged)
	// reason is what verify, or the restores where verify finds nothing, must say.
	reason string
	// whole says that the forgery is one that verify can't know: then only the restores refuse it.
	whole bool
	// thorough says that both turns are to be made.
	thorough bool
	// noFile leaves the commands out that look at FILE: there is none.
	noFile bool
	// skip names the assaults that the forgery means nothing to.
	skip []string
}

// assaultWith looks at a forged dump in all ways, and lets nothing happen.
func (b *battlefield) assaultWith(t *testing.T, a attack) {
	t.Helper()
	f := forge(t, b.dump)
	a.forge(f)
	log := filepath.Join(t.TempDir(), "log")
	replace := map[string]string{"DIR": f.dir, "FILE": f.path(fileT), "EMPTY": b.empty, "MADE": b.made, "LOG": log, "OUT": filepath.Join(filepath.Dir(log), "out.pgcopy")}
	b.attacks++
	for _, s := range assaults {
		other := s.turn != 0 && s.turn != 1+b.attacks%2 && !a.thorough
		if other || a.noFile && slices.Contains(s.args, "FILE") || slices.Contains(a.skip, s.name) {
			continue
		}
		args := slices.Clone(s.args)
		for i := range args {
			if v, ok := replace[args[i]]; ok {
				args[i] = v
			}
		}
		r := b.run(t, args...)
		harmless(t, s.name+": standard output", r.stdout)
		harmless(t, s.name+": standard error", r.stderr)
		if s.json && len(r.stdout) > 0 && !json.Valid(r.stdout) {
			t.Errorf("%s: no JSON: %.300q", s.name, r.stdout)
		}
		a.judge(t, s, r)
	}
	if content, err := os.ReadFile(log); err != nil {
		t.Error(err)
	} else {
		harmless(t, "the log", content)
	}
	if after := b.state(t); after != b.before {
		t.Errorf("the targets have changed:\n%s\n%s", b.before, after)
		b.before = after
	}
}

// judge checks how a command ended.
func (a attack) judge(t *testing.T, s assault, r ran) {
	t.Helper()
	said := string(r.stdout) + string(r.stderr)
	switch s.name {
	case "verify", "verify json":
		want := 3
		if a.whole {
			want = 0
		}
		if r.code != want {
			t.Errorf("%s ends with %d, want %d: %.600s", s.name, r.code, want, said)
		}
		if !a.whole && !strings.Contains(said, a.reason) {
			t.Errorf("%s does not say %q: %.900s", s.name, a.reason, said)
		}
	case "restore", "data-only", "against":
		if r.code != 3 {
			t.Errorf("%s ends with %d, want 3: %.900s", s.name, r.code, said)
		}
		if !strings.Contains(said, a.reason) {
			t.Errorf("%s does not say %q: %.900s", s.name, a.reason, said)
		}
	case "salvage": // which is made for files like these
		if !slices.Contains([]int{0, 3, 4}, r.code) {
			t.Errorf("%s ends with %d: %.600s", s.name, r.code, said)
		}
	default: // definitions and headers alone need not show it
		if r.code != 0 && r.code != 3 {
			t.Errorf("%s ends with %d: %.600s", s.name, r.code, said)
		}
		if r.code != 0 && len(r.stderr) == 0 && !strings.HasPrefix(s.name, "diff") {
			t.Errorf("%s does not say why it failed", s.name)
		}
	}
}

// harmless demands that an output has nothing in it that a terminal takes for more than letters.
func harmless(t *testing.T, where string, out []byte) {
	t.Helper()
	if !utf8.Valid(out) {
		t.Errorf("%s is not UTF-8: %.300q", where, out)
	}
	for i, r := range string(out) {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("%s holds %q: %q", where, r, out[max(0, i-60):min(len(out), i+60)])
			return
		}
	}
}

// TestHostileDumps forges a dump in every way that comes to mind, with all checksums right, and lets every command at it: each forgery is refused with a
// reason, nothing is written, nothing raw is shown, and neither time nor memory run away.
func TestHostileDumps(t *testing.T) {
	b := newBattlefield(t)
	for _, group := range []struct {
		name    string
		attacks []attack
	}{{"files", fileAttacks()}, {"manifest", manifestAttacks()}, {"meta", metaAttacks()}, {"rows", rowAttacks()}, {"archive", archiveAttacks(t, b)}} {
		for _, a := range group.attacks {
			t.Run(group.name+"/"+a.name, func(t *testing.T) { b.assaultWith(t, a) })
		}
	}
}
