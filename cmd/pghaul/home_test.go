package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// atHome starts the program without a command in an empty folder.
func atHome(t *testing.T, width, height int) (s *screenTest, dir string) {
	t.Helper()
	dir = t.TempDir()
	c := exec.Command(built(t))
	c.Dir = dir
	c.Env = append(withServerEnv(t), "XDG_STATE_HOME="+filepath.Join(dir, ".state"), "PGSERVICEFILE="+filepath.Join(dir, "none"), "HOME="+dir, "PGHAUL_LOG_FILE="+filepath.Join(dir, ".log"), "PGHAUL_LOG_FORMAT=json")
	s = onScreen(t, c, width, height)
	s.sees("pghaul", "Restore")
	return s, dir
}

// choose filters the list that is on the screen by a word, which may be cut there, and opens the first of what is left.
func (s *screenTest) choose(word string) {
	s.t.Helper()
	s.types("/", word, enter)
}

// backup takes a dump from the home screen and comes back to it.
func backup(s *screenTest, dir, database string) {
	s.t.Helper()
	s.types(enter) // Dump
	s.sees("which server?", "environment")
	s.types(enter)
	s.sees("which database?")
	s.choose(database)
	s.sees("which tables", "public")
	s.types(enter)
	s.sees("folder of the dump")
	s.types(eraseAll, filepath.Join(dir, "saved"), enter)
	s.sees("Ready: dump", "$ pghaul dump", "free there")
	s.types(enter)
	s.sees("dumped ")
}

// toHome leaves the report of a job, and with it the job's run screen.
func (s *screenTest) toHome() {
	s.t.Helper()
	s.back("dumped ")
	s.sees("Verify", "Inspect")
}

func TestBackupAndRestoreFromHome(t *testing.T) {
	source := pgtest.DB(t, "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t SELECT g, 'v' || g FROM generate_series(1, 5000) g")
	target := pgtest.DB(t)
	s, dir := atHome(t, 80, 24)
	backup(s, dir, databaseOf(t, source))
	s.toHome()
	s.choose("Restore")
	s.sees("which dump?", "saved")
	s.types(enter)
	s.sees("into which server?", "environment")
	s.types(enter)
	s.sees("into which database?")
	s.choose(databaseOf(t, target))
	s.sees("how?", "Everything")
	s.types(enter)
	s.sees("Ready: restore", "$ pghaul restore")
	s.types(enter)
	s.sees("nothing stands against it", "files", "whole and undamaged")
	if n := pgtest.SQL(t, target, "SELECT count(*) FROM pg_class WHERE relname = 't'"); n != "0" {
		t.Error("something was written before the operator said so")
	}
	s.types(enter)
	s.sees("restored ", "proven")
	s.types("q")
	if code := s.ends(); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	if n := pgtest.SQL(t, target, "SELECT count(*) FROM t"); n != "5000" {
		t.Errorf("%s rows", n)
	}
	state, err := os.ReadFile(filepath.Join(dir, ".state", "pghaul", "state.json"))
	if err != nil || strings.Count(string(state), `"ok": true`) != 2 {
		t.Errorf("%v\n%s", err, state)
	}
	logged(t, filepath.Join(dir, ".log"), `{"level":"info","msg":"phase 1 of 3: plan","job":"dump"`, `{"level":"info","msg":"phase 1 of 8: preflight","job":"restore"`)
}

func TestRefusedPreflightFromHome(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {40, 10}} {
		source := pgtest.DB(t, "CREATE TABLE t (id int, v text); INSERT INTO t VALUES (1, 'x')")
		target := pgtest.DB(t, "CREATE TABLE t (id int, v point)")
		s, dir := atHome(t, size[0], size[1])
		backup(s, dir, databaseOf(t, source))
		s.toHome()
		s.choose("Restore")
		s.sees("which dump?", "saved")
		s.types(enter)
		s.sees("into which server?")
		s.types(enter)
		s.sees("into which database?")
		s.choose(databaseOf(t, target))
		s.sees("how?", "Everything")
		s.choose("empty tables")
		s.sees("Ready: restore")
		s.types(enter)
		s.sees("refused: nothing was written")
		s.types(enter)
		s.sees("refused", "public.t", "esc checks")
		s.back("esc checks")
		s.types("q")
		if code := s.ends(); code != exitDone {
			t.Errorf("exit code %d", code)
		}
	}
}

// TestCancelOnScreen: one ctrl-c ends a job cleanly and shows that it has.
func TestCancelOnScreen(t *testing.T) {
	source := pgtest.DB(t, "CREATE TABLE t AS SELECT g, repeat(md5(g::text), 8) FROM generate_series(1, 400000) g")
	dir := filepath.Join(t.TempDir(), "dump")
	c := exec.Command(built(t), "dump", databaseOf(t, source), "-f", dir, "--progress", "tui", "-j", "1")
	c.Env = withServerEnv(t)
	s := onScreen(t, c, 80, 24)
	s.sees("data", "public.t")
	s.types("p")
	s.sees("paused")
	s.types(ctrlC)
	s.sees("cancelled")
	s.types("q")
	if code := s.ends(); code != exitCancelled {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is there: %v", err)
	}
	for _, want := range []string{"cancelled: no file is left of the dump"} {
		if !strings.Contains(s.text(), want) {
			t.Errorf("no %q in\n%s", want, s.text())
		}
	}
}

// TestTruncateOnScreenAsksForTheName: what destroys rows is confirmed inside the screen.
func TestTruncateOnScreenAsksForTheName(t *testing.T) {
	source := pgtest.DB(t, "CREATE TABLE t (id int); INSERT INTO t VALUES (1), (2)")
	target := pgtest.DB(t, "CREATE TABLE t (id int); INSERT INTO t VALUES (7)")
	path, dir := built(t), filepath.Join(t.TempDir(), "dump")
	dump := exec.Command(path, "dump", databaseOf(t, source), "-q", "-f", dir)
	dump.Env = withServerEnv(t)
	if out, err := dump.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	name := databaseOf(t, target)
	c := exec.Command(path, "restore", "--data-only", "--on-existing", string(restore.Truncate), dir, name, "--progress", "tui")
	c.Env = withServerEnv(t)
	s := onScreen(t, c, 80, 24)
	s.sees("go on")
	s.types(enter)
	s.sees("type " + name)
	s.types("no", enter)
	s.sees("that is not it")
	s.types(eraseAll, name, enter)
	s.sees("restored 2 rows")
	s.types("q")
	if code := s.ends(); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	if n := pgtest.SQL(t, target, "SELECT count(*) FROM t"); n != "2" {
		t.Errorf("%s rows", n)
	}
}

// TestScreenStartsAtOnce: on a terminal that never answers, too, and without a question to it.
func TestScreenStartsAtOnce(t *testing.T) {
	path := built(t)
	first := exec.Command(path, "--help") // a new file may wait for the disk
	if err := first.Run(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{}, {"verify", t.TempDir(), "--progress", "tui"}} {
		c := exec.Command(path, args...)
		c.Dir = t.TempDir()
		c.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor", "XDG_STATE_HOME="+t.TempDir())
		began := time.Now()
		s := onScreen(t, c, 80, 24)
		s.sees("help")
		// Asking costs five seconds. The limit is far from that and from a start (100 ms), for busy machines.
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%q took %v", args, took)
		}
		if len(args) > 0 {
			s.sees("damaged") // it is an empty folder
		}
		s.types("q")
		_ = s.ends()
		for _, question := range []string{"\x1b]10;?", "\x1b]11;?", "\x1b[6n", "\x1b[c", "\x1b[>"} {
			if strings.Contains(s.raw.String(), question) {
				t.Errorf("%q asks the terminal %q", args, question)
			}
		}
	}
}
