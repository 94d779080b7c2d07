package restore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/restore"
)

// holdTable locks a table against everybody, until the session is closed.
func holdTable(t *testing.T, dsn, sql string) *pg.Conn {
	t.Helper()
	c, err := pg.Connect(context.Background(), parse(t, dsn), pg.Options{AppName: "a neighbour"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Exec(context.Background(), "BEGIN; "+sql); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestBlockedRestoreSaysSo: somebody's lock on a target table makes a restore wait, in whatever phase, and the restore says for whom. When the lock is given back, it goes on.
func TestBlockedRestoreSaysSo(t *testing.T) {
	source := pgtest.DB(t, threeTables)
	dir := takeDump(t, source)
	const tables = `CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE a (id int, v text, m mood); CREATE TABLE b (id int, n numeric(5,2)); CREATE TABLE c (id int);`
	for name, c := range map[string]struct {
		sql    string
		change func(o *restore.Options)
	}{
		"preflight": {"LOCK TABLE public.c IN ACCESS EXCLUSIVE MODE", func(o *restore.Options) { o.DataOnly = true }},
		"rows":      {"LOCK TABLE public.c IN SHARE MODE", func(o *restore.Options) { o.DataOnly = true }},
		"truncate":  {"LOCK TABLE public.c IN SHARE MODE", func(o *restore.Options) { o.DataOnly, o.OnExisting = true, restore.Truncate }},
		"pre-data":  {"CREATE TABLE public.c ()", func(*restore.Options) {}},
	} {
		t.Run(name, func(t *testing.T) {
			target := pgtest.DB(t)
			if name != "pre-data" {
				pgtest.SQL(t, target, tables)
			}
			holder := holdTable(t, target, c.sql)
			o := options(t, dir, target)
			c.change(&o)
			done := make(chan error, 1)
			go func() {
				_, err := restore.Run(context.Background(), o)
				done <- err
			}()
			told(t, o.Tracker, done, `"a neighbour", idle in transaction`)
			if err := holder.Exec(context.Background(), "ROLLBACK"); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			same(t, source, target, `SELECT id FROM c ORDER BY 1`)
			sessionsEnd(t, target)
		})
	}
}

// told waits until a job has warned of something.
func told(t *testing.T, tracker *progress.Tracker, done <-chan error, part string) {
	t.Helper()
	limit := time.After(time.Minute)
	from := 0
	for {
		var news []progress.Event
		news, from = tracker.Events(from)
		for _, e := range news {
			if e.Kind == progress.Warning && strings.Contains(e.Message, part) {
				return
			}
		}
		select {
		case err := <-done:
			t.Fatalf("the job has ended without a word: %v", err)
		case <-limit:
			t.Fatalf("no warning says %q", part)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestNothingToResume: without a journal, a resumed restore says what that means.
func TestNothingToResume(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, threeTables))
	o := options(t, dir, pgtest.DB(t))
	o.Resume = true
	refusal(t, o, "preflight A", "nothing to resume", "none of the dump's tables", "leave out --resume")
	target := pgtest.DB(t)
	o = options(t, dir, target)
	mustRestore(t, o)
	o = options(t, dir, target)
	o.Resume = true
	refusal(t, o, "preflight A", "nothing to resume", "hold rows", "its work is done")
	pgtest.SQL(t, target, "TRUNCATE a, b, c")
	refusal(t, o, "preflight A", "nothing to resume", "hold no rows", "--data-only")
}
