package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// TestDetailsOfATable: enter shows columns, how they are carried and why, samples and segments, of each kind of job.
func TestDetailsOfATable(t *testing.T) {
	path := built(t)
	source := pgtest.DB(t, "CREATE TABLE t AS SELECT g AS id, repeat(md5(g::text), 8) AS v, to_tsvector('simple', 'word') AS words, 'pg_class'::regclass AS class FROM generate_series(1, 300000) g")
	into := pgtest.DB(t)
	dir := filepath.Join(t.TempDir(), "dump")
	for _, job := range []struct {
		args        []string
		where, over string
	}{
		{[]string{"dump", databaseOf(t, source), "-f", dir, "--segment-size", "16MB"}, "pages 0 to ", "dumped "},
		{[]string{"restore", dir, databaseOf(t, into)}, ".pgcopy.zst", "restored "},
	} {
		c := exec.Command(path, append(job.args, "--progress", "tui", "-j", "1")...)
		c.Env = withServerEnv(t)
		s := onScreen(t, c, 140, 60)
		s.sees("data", "public.t")
		s.types("p")
		s.sees("paused")
		s.types(enter)
		s.sees("column", "type", "carried", "integer", "segment", "state")
		s.sees("text by regclass", job.where, "waiting")
		s.types("p")
		s.sees(job.over)
		s.types("q")
		if code := s.ends(); code != exitDone {
			t.Fatalf("%q: exit code %d\n%s", job.args, code, s.text())
		}
	}
}
