package main

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRounds: the soak itself works.
func TestRounds(t *testing.T) {
	program := filepath.Join(t.TempDir(), "pghaul")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/pghaul").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for migrates := range 2 { // none, all
		s := &soak{pghaul: program, seed: 203, limit: time.Minute, rounds: 1, migrates: migrates, keep: t.TempDir(), tally: newTally()}
		if err := s.run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if s.tally.tables == 0 || s.tally.rows == 0 {
			t.Errorf("%+v", s.tally)
		}
	}
}

// TestSameSeed: a seed gives the same database and the same faults.
func TestSameSeed(t *testing.T) {
	make := func(seed uint64) (all []string) {
		r := rand.New(rand.NewPCG(seed, 1))
		all = randomSchema(r, dumpRows)
		for i := range 20 {
			all = append(all, randomFault(r, i%2 == 0).String())
		}
		return all
	}
	if !slices.Equal(make(1), make(1)) || slices.Equal(make(1), make(2)) {
		t.Error("the seed does not decide")
	}
}

// TestDiffers: a row that is lost, and one that is there twice, is seen; what else is there is left alone where only rows are wanted.
func TestDiffers(t *testing.T) {
	want := &state{lines: map[string]string{"rows of t": "2 rows, md5 a", "index i": "x"}}
	for text, got := range map[string]map[string]string{
		"rows of t: 3 rows, md5 b, want 2 rows, md5 a": {"rows of t": "3 rows, md5 b", "index i": "x"},
		"index i: missing":                         {"rows of t": "2 rows, md5 a"},
		"schema pghaul_journal: not at the source": {"rows of t": "2 rows, md5 a", "index i": "x", "schema pghaul_journal": ""},
	} {
		if err := want.differs(&state{lines: got}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
	if err := want.rowsAlone().differs(&state{lines: map[string]string{"rows of t": "2 rows, md5 a", "index j": "y"}}); err != nil {
		t.Error(err)
	}
}

// TestMixedSnapshots: a transaction that came over by half is seen.
func TestMixedSnapshots(t *testing.T) {
	whole := written{a: "2 rows, md5 x", z: "2 rows, md5 x", newest: 7, last: 7, sequence: 8}
	if err := whole.check(); err != nil {
		t.Error(err)
	}
	for text, change := range map[string]func(*written){
		"z_written 1 rows, md5 y":        func(w *written) { w.z = "1 rows, md5 y" },
		"the last transaction is 6":      func(w *written) { w.last = 6 },
		"at 5, behind transaction 7":     func(w *written) { w.sequence = 5 },
		"newest row is of transaction 9": func(w *written) { w.newest = 9 },
	} {
		half := whole
		change(&half)
		if err := half.check(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
}

// TestEnds: both ends of a migrate are struck, and one that may not crash is not.
func TestEnds(t *testing.T) {
	rnd, seen := rand.New(rand.NewPCG(1, 2)), map[string]bool{}
	for range 2000 {
		f := randomFaultOfMigrate(rnd, true, false)
		seen[f.title("migrate")] = true
		if f := randomFaultOfMigrate(rnd, false, false); f.crash && f.source {
			t.Fatalf("%s strikes a source that may not crash", f)
		}
		if f := randomFaultOfMigrate(rnd, false, true); f.crash {
			t.Fatalf("%s strikes a server that may not crash", f)
		}
	}
	for _, name := range []string{"kill -9 the server", "network: cut", "network: reset", "pg_terminate_backend", "kill -9 a server's backend"} {
		for _, at := range []string{"source", "target"} {
			if !seen["migrate: "+at+": "+name] {
				t.Errorf("%s: never at the %s", name, at)
			}
		}
	}
}
