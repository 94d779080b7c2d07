package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// killable is a database whose migrate takes a moment in each phase.
const killable = `CREATE TABLE a (id int PRIMARY KEY, v text); INSERT INTO a SELECT g, repeat(md5(g::text), 5) FROM generate_series(1, 100000) g;
CREATE TABLE b (id serial PRIMARY KEY, a int REFERENCES a); INSERT INTO b (a) SELECT g FROM generate_series(1, 50000) g; CREATE INDEX ON a (v); CREATE INDEX ON a (md5(v));
CREATE TABLE c (id int); INSERT INTO c SELECT generate_series(1, 1000); CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM a, pg_sleep(0.2);
CREATE VIEW w AS SELECT * FROM a; SELECT lo_from_bytea(4711, '\x0102') FROM pg_sleep(0);`

// killableState is what of it must be equal in the end.
const killableState = `SELECT count(*), sum(hashtext(a::text)) FROM a; SELECT count(*), sum(a) FROM b; SELECT count(*) FROM c; SELECT last_value FROM b_id_seq; SELECT n FROM m; SELECT lo_get(4711);
SELECT count(*) FROM pg_constraint WHERE connamespace = 'public'::regnamespace; SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = 'public'::regnamespace`

// TestKilledMigrate: whenever the program is killed, --resume makes the target equal to the source.
func TestKilledMigrate(t *testing.T) {
	path := built(t)
	source := pgtest.DB(t, killable)
	want := pgtest.SQL(t, source, killableState)
	journal := `SELECT to_regclass('pghaul_journal.phase') IS NOT NULL AND `
	for moment, when := range map[string]string{
		"before the journal": `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'pghaul%')`,
		"pre-data":           journal + `EXISTS (SELECT FROM pg_class WHERE relname = 'a')`,
		"data":               journal + `EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'COPY%')`,
		"proof":              journal + `EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'COPY%TO STDOUT%')`,
		"post-data":          journal + `EXISTS (SELECT FROM pg_index WHERE indrelid = to_regclass('public.a'))`,
		"matviews":           journal + `EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'REFRESH%')`,
	} {
		t.Run(moment, func(t *testing.T) {
			target, temp := pgtest.DB(t), t.TempDir()
			run := func(more ...string) (*exec.Cmd, *bytes.Buffer) {
				c := exec.Command(path, append([]string{"migrate", "--yes", "-q", "--segment-size", "1MB", databaseOf(t, source), databaseOf(t, target)}, more...)...)
				c.Env = append(withServerEnv(t), "TMPDIR="+temp)
				var b bytes.Buffer
				c.Stdout, c.Stderr = &b, &b
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				return c, &b
			}
			c, out := run()
			if err := await(t.Context(), target, when); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := c.Wait(); err == nil {
				t.Fatalf("it was not killed\n%s", out)
			}
			var resume []string
			if pgtest.SQL(t, target, `SELECT to_regclass('pghaul_journal.phase') IS NOT NULL`) == "t" {
				resume = append(resume, "--resume")
			}
			awaitGone(t, target)
			if c, out = run(resume...); c.Wait() != nil {
				t.Fatalf("%v\n%s", c.ProcessState, out)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("of the killed one and the other is left %v, %v", left, err)
			}
			if got := pgtest.SQL(t, target, killableState); got != want {
				t.Errorf("source\n%s\ntarget\n%s", want, got)
			}
			if !strings.Contains(out.String(), "every row proven in 3 tables") {
				t.Errorf("%s", out)
			}
		})
	}
}

// await asks a query of yes or no until it says yes.
func await(ctx context.Context, dsn, query string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	d, err := pg.ParseDSN(dsn, pg.Flags{})
	if err != nil {
		return err
	}
	c, err := pg.Connect(ctx, d, pg.Options{AppName: "watcher"})
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		var yes bool
		if err := c.QueryRow(ctx, query).Scan(&yes); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
		if yes {
			return nil
		}
	}
}

// awaitGone waits until the server has missed a killed program's sessions, pg_restore's among them.
func awaitGone(t *testing.T, dsn string) {
	t.Helper()
	if err := await(t.Context(), dsn, `SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend')`); err != nil {
		t.Fatal(err)
	}
}
