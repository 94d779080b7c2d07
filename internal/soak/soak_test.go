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

// TestTwoRounds: the soak itself works.
func TestTwoRounds(t *testing.T) {
	program := filepath.Join(t.TempDir(), "pghaul")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/pghaul").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := &soak{pghaul: program, seed: 203, limit: time.Minute, rounds: 2, keep: t.TempDir(), tally: newTally()}
	if err := s.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s.tally.tables == 0 || s.tally.rows == 0 {
		t.Errorf("%+v", s.tally)
	}
}

// TestSameSeed: a seed gives the same database and the same faults.
func TestSameSeed(t *testing.T) {
	make := func(seed uint64) (all []string) {
		r := rand.New(rand.NewPCG(seed, 1))
		all = randomSchema(r)
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
