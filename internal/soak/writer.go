package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// writerSchema is what a writer works on: two tables that are alike in every snapshot, far apart in the order of a copy; the number of the last
// transaction; and a sequence that is never behind it.
const writerSchema = `CREATE SEQUENCE writes; CREATE TABLE a_written (id int PRIMARY KEY, stamp bigint, filling text); CREATE TABLE z_written (id int PRIMARY KEY, stamp bigint, filling text);
CREATE TABLE last_written (stamp bigint); INSERT INTO last_written VALUES (0); INSERT INTO a_written SELECT g, 0, repeat(md5(g::text), 4) FROM generate_series(1, 4000) g;
INSERT INTO z_written SELECT * FROM a_written`

// writing is one transaction: rows of both tables changed, taken away and added.
const writing = `BEGIN; SELECT nextval('writes');
UPDATE a_written SET stamp = currval('writes') WHERE id = $ OR id = 4000 - $; DELETE FROM a_written WHERE id = 2 * $; INSERT INTO a_written VALUES (4000 + currval('writes'), currval('writes'), repeat('x', 100));
UPDATE z_written SET stamp = currval('writes') WHERE id = $ OR id = 4000 - $; DELETE FROM z_written WHERE id = 2 * $; INSERT INTO z_written VALUES (4000 + currval('writes'), currval('writes'), repeat('x', 100));
UPDATE last_written SET stamp = currval('writes'); COMMIT`

// ofWriter tells the names of what a writer changes: no state taken before is one of them later.
func ofWriter(line string) bool {
	for _, name := range []string{"rows of a_written", "rows of z_written", "rows of last_written", "state of writes"} {
		if line == name {
			return true
		}
	}
	return false
}

// writer changes a source for as long as it is not stopped.
type writer struct {
	commits int // to be read when it was stopped
	cancel  context.CancelFunc
	ended   chan struct{}
}

// pace is the pause between two transactions of a writer, which leaves the processors to others.
const pace = 5 * time.Millisecond

func startWriter(ctx context.Context, source end) *writer {
	ctx, cancel := context.WithCancel(ctx)
	w := &writer{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		for ctx.Err() == nil {
			w.write(ctx, source) // until the server is gone, and again when it is back
			rest(ctx, 10*pace)
		}
	}()
	return w
}

// write works in one session, for as long as it lives.
func (w *writer) write(ctx context.Context, source end) {
	c, err := pgx.Connect(ctx, source.direct())
	if err != nil {
		return
	}
	defer hangUp(ctx, c)
	for n := 1; ctx.Err() == nil; n++ {
		if _, err := c.PgConn().Exec(ctx, strings.ReplaceAll(writing, "$", fmt.Sprint(n%1999+1))).ReadAll(); err != nil {
			return
		}
		w.commits++
		rest(ctx, pace)
	}
}

func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// stop ends the writer, and returns when its session is closed.
func (w *writer) stop() {
	w.cancel()
	<-w.ended
}

// written is what a writer left in a database.
type written struct {
	a, z     string // of the two tables: rows, ordered md5
	newest   int64  // stamp of a row
	last     int64  // stamp of the last transaction
	sequence int64
}

// checkWritten looks for the marks of one snapshot.
func checkWritten(ctx context.Context, e end) error {
	c, err := pgx.Connect(ctx, e.direct())
	if err != nil {
		return err
	}
	defer hangUp(ctx, c)
	const of = `(SELECT count(*) || ' rows, md5 ' || md5(string_agg(x::text, ',' ORDER BY id)) FROM %s x)`
	var w written
	err = c.QueryRow(ctx, fmt.Sprintf(`SELECT `+of+`, `+of+`, (SELECT max(stamp) FROM a_written), (SELECT stamp FROM last_written), (SELECT last_value FROM writes)`, "a_written", "z_written")).
		Scan(&w.a, &w.z, &w.newest, &w.last, &w.sequence)
	if err == nil {
		err = w.check()
	}
	if err != nil {
		return fmt.Errorf("the %s: %w", e.database, err)
	}
	return nil
}

// check says which transaction is there by half.
func (w written) check() error {
	var bad []string
	if w.a != w.z {
		bad = append(bad, fmt.Sprintf("a_written has %s, z_written %s", w.a, w.z))
	}
	if w.newest != w.last {
		bad = append(bad, fmt.Sprintf("the newest row is of transaction %d, the last transaction is %d", w.newest, w.last))
	}
	if w.sequence < w.last {
		bad = append(bad, fmt.Sprintf("the sequence is at %d, behind transaction %d", w.sequence, w.last))
	}
	if len(bad) == 0 {
		return nil
	}
	return errors.New("rows of more than one snapshot: " + strings.Join(bad, "; "))
}
