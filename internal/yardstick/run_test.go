package yardstick

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

func TestMain(m *testing.M) { pgtest.Run(m) }

// tiny makes a run short.
func tiny(t *testing.T, dsn string) Options {
	t.Helper()
	d, err := pg.ParseDSN(dsn, pg.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	return Options{DSN: d, Scale: 0.0001, Jobs: 2, Rounds: 1, StepTime: time.Millisecond, Dir: t.TempDir(), PgBinDir: pgtest.Cluster(t).BinDir(), Tool: "pghaul test",
		Say: func(line string) { t.Log(line) }}
}

// nothingLeft demands that neither database nor folder is there.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	if left := pgtest.SQL(t, pgtest.Cluster(t).DSN("postgres"), "SELECT datname FROM pg_database WHERE datname LIKE 'pghaul_bench_%'"); left != "" {
		t.Errorf("databases are left: %s", left)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("the folder holds %v (%v)", entries, err)
	}
}

func TestEverySection(t *testing.T) {
	o := tiny(t, pgtest.Cluster(t).DSN("postgres"))
	o.Peers = true
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + r.Text() + r.Plot(100))
	nothingLeft(t, o.Dir)
	if !strings.Contains(r.Text(), "Verdict") {
		t.Error("no verdict")
	}
}
