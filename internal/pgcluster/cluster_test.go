package pgcluster_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

func TestMain(m *testing.M) {
	if parent := os.Getenv(orphanEnv); parent != "" {
		runOrphan(parent)
	}
	pgtest.Run(m)
}

// start makes a cluster that the test may treat badly.
func start(t *testing.T, o pgcluster.Options) *pgcluster.Cluster {
	t.Helper()
	c, err := pgcluster.Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestStartAndStop(t *testing.T) {
	c := start(t, pgcluster.Options{})
	if got := pgtest.SQL(t, c.DSN("postgres"), "SELECT current_user, current_setting('fsync'), current_setting('server_encoding')"); got != "postgres|off|UTF8" {
		t.Errorf("got %q", got)
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.Dir()); !os.IsNotExist(err) {
		t.Errorf("the folder %s is still there: %v", c.Dir(), err)
	}
	if c.Pid() != 0 {
		t.Errorf("pid %d after Stop", c.Pid())
	}
	if err := c.Stop(); err != nil {
		t.Errorf("second Stop: %v", err)
	}
	if err := c.Restart(context.Background()); !errors.Is(err, pgcluster.ErrStopped) {
		t.Errorf("Restart after Stop: %v", err)
	}
}

func TestKillAndRestart(t *testing.T) {
	c := start(t, pgcluster.Options{})
	dsn := c.DSN("postgres")
	pgtest.SQL(t, dsn, "CREATE TABLE a AS SELECT generate_series(1, 1000) i")
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if c.Pid() != 0 {
		t.Fatalf("pid %d after Kill", c.Pid())
	}
	if _, err := pgtest.TrySQL(t, dsn, "SELECT 1"); err == nil {
		t.Error("a killed server answers")
	}
	if err := c.Restart(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := pgtest.SQL(t, dsn, "SELECT count(*) FROM a"); got != "1000" {
		t.Errorf("after the crash: %s rows", got)
	}
	if err := c.Restart(context.Background()); err == nil {
		t.Error("Restart of a running server gives no error")
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := pgtest.SQL(t, c.DSN("postgres"), "SELECT count(*) FROM a"); got != "1000" {
		t.Errorf("after the shutdown: %s rows", got)
	}
}

func TestDB(t *testing.T) {
	var dsn string
	t.Run("made", func(t *testing.T) {
		dsn = pgtest.DB(t, "CREATE TABLE x (i int)", "INSERT INTO x VALUES (1), (2)")
		if got := pgtest.SQL(t, dsn, "SELECT i FROM x ORDER BY i"); got != "1\n2" {
			t.Errorf("got %q", got)
		}
	})
	if _, err := pgtest.TrySQL(t, dsn, "SELECT 1"); err == nil {
		t.Errorf("%s outlives its test", dsn)
	}
}
