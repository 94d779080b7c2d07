package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// withServer stops the shared server at the end of the tests.
type withServer struct{ *testing.M }

func (m withServer) Run() int {
	code := pgtest.Code(m.M)
	if err := removeBuilt(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

func TestMain(m *testing.M) {
	testscript.Main(withServer{m}, map[string]func(){"pghaul": main})
}

// databases numbers the databases of scripts.
var databases atomic.Int64

// TestScripts runs the command line as a user would. Each script has PGHOST, PGPORT, PGUSER, and a database of its own, $DB.
//
// Commands beside testscript's own:
//
//	exits CODE COMMAND ARG…  runs a command that must end with this exit code
//	sql DATABASE SQL         runs statements with psql; what they print can be matched with stdout
//	newdb NAME               makes a database and puts its real name into $NAME
//	flip FILE OFFSET         changes a byte; a negative offset counts from the end
//	cut FILE N               cuts N bytes off the end
//	poke FILE OFFSET HEX     puts bytes in the place of others
//	zero FILE OFFSET N       makes N bytes zeros
//	append FILE TEXT         puts text behind the end
//	edit FILE TEXT NEW       replaces a text that the file must hold
//	copydump DIR DIR         copies a folder with all that is in it
//	rename FILE FILE
//	matches [-lines] SCHEMA FILE  validates JSON by a schema of docs/schema
func TestScripts(t *testing.T) {
	cluster := pgtest.Cluster(t)
	newDB := func(name string) string {
		db := fmt.Sprintf("script%d_%s", databases.Add(1), name)
		pgtest.SQL(t, cluster.DSN("postgres"), `CREATE DATABASE "`+db+`" TEMPLATE template0`)
		return db
	}
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("testdata", "script"),
		RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PGHOST", cluster.Host())
			e.Setenv("PGPORT", strconv.Itoa(cluster.Port()))
			e.Setenv("PGUSER", "postgres")
			e.Setenv("PGHAUL_PG_BINDIR", cluster.BinDir())
			e.Setenv("DB", newDB("db"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"matches": matches,
			"flip":    flip,
			"cut":     cut,
			"poke": func(ts *testscript.TestScript, neg bool, args []string) {
				change(ts, neg, args, 3, func(b []byte) []byte {
					with, err := hex.DecodeString(args[2])
					ts.Check(err)
					copy(b[number(ts, args[1]):], with)
					return b
				})
			},
			"zero": func(ts *testscript.TestScript, neg bool, args []string) {
				change(ts, neg, args, 3, func(b []byte) []byte {
					clear(b[number(ts, args[1]):][:number(ts, args[2])])
					return b
				})
			},
			"append": func(ts *testscript.TestScript, neg bool, args []string) {
				change(ts, neg, args, 2, func(b []byte) []byte { return append(b, args[1]...) })
			},
			"edit": func(ts *testscript.TestScript, neg bool, args []string) {
				change(ts, neg, args, 3, func(b []byte) []byte {
					if !bytes.Contains(b, []byte(args[1])) {
						ts.Fatalf("%s does not hold %q", args[0], args[1])
					}
					return bytes.ReplaceAll(b, []byte(args[1]), []byte(args[2]))
				})
			},
			"copydump": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: copydump DIR DIR")
				}
				ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(ts.MkAbs(args[0]))))
			},
			"rename": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: rename FILE FILE")
				}
				ts.Check(os.Rename(ts.MkAbs(args[0]), ts.MkAbs(args[1])))
			},
			"sql": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: sql DATABASE SQL")
				}
				out, err := pgtest.TrySQL(t, cluster.DSN(args[0]), args[1])
				ts.Check(err)
				fmt.Fprintln(ts.Stdout(), out)
			},
			"newdb": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 1 {
					ts.Fatalf("usage: newdb NAME")
				}
				ts.Setenv(args[0], newDB(strings.ToLower(args[0])))
			},
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func flip(ts *testscript.TestScript, neg bool, args []string) {
	change(ts, neg, args, 2, func(b []byte) []byte {
		n := number(ts, args[1])
		if n < 0 {
			n += len(b)
		}
		b[n] ^= 0x40
		return b
	})
}

func cut(ts *testscript.TestScript, neg bool, args []string) {
	change(ts, neg, args, 2, func(b []byte) []byte { return b[:len(b)-number(ts, args[1])] })
}

// change rewrites the file that the first of n arguments names.
func change(ts *testscript.TestScript, neg bool, args []string, n int, f func([]byte) []byte) {
	if neg || len(args) != n {
		ts.Fatalf("%d arguments, want %d", len(args), n)
	}
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	ts.Check(os.WriteFile(path, f(b), 0o600))
}

func number(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}
