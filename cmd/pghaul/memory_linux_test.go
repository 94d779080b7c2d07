package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// longField is near what a server takes for one value.
const longField = 500 << 20

// TestLongField: a field of 500 MB goes through dump, verify and restore, and no process holds it more than twice.
func TestLongField(t *testing.T) {
	source := pgtest.DB(t, `CREATE TABLE long (id int, v text); INSERT INTO long SELECT 1, repeat('0123456789abcdef', 500 * 65536); INSERT INTO long VALUES (2, 'short')`)
	program := built(t)
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(program, append(args, "--progress", "none", "-q")...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		peak, err := runPeak(cmd)
		if err != nil {
			t.Fatalf("%s: %v\n%s", args[0], err, stderr.Bytes())
		}
		if most := int64(2*longField + 150<<20); peak > most || peak < longField {
			t.Errorf("%v: %d MiB resident, want %d to %d", args, peak>>20, longField>>20, most>>20)
		}
	}
	for _, compression := range []string{"none", "zstd:1"} {
		dir, target := filepath.Join(t.TempDir(), "dump"), pgtest.DB(t)
		run("dump", source, "-f", dir, "-Z", compression)
		run("verify", dir)
		if compression != "none" {
			continue // what is loaded is the same
		}
		run("restore", dir, target)
		const ask = `SELECT id, length(v), md5(v) FROM long ORDER BY id`
		if got, want := pgtest.SQL(t, target, ask), pgtest.SQL(t, source, ask); got != want {
			t.Errorf("%s: %q arrived, not %q", compression, got, want)
		}
	}
}
