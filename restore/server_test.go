package restore_test

import (
	"context"
	"errors"
	"os"
	"os/user"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// TestServerKilledInData: a server that dies under the rows. What was committed is there once it is back, and nothing twice.
func TestServerKilledInData(t *testing.T) {
	cluster := pgtest.Own(t, pgcluster.Options{})
	source := pgtest.DB(t, segmented)
	target := pgtest.DBIn(t, cluster)
	dir := takeDump(t, source, inSegments)
	holder, result := blocked(t, context.Background(), dir, target)
	if err := cluster.Kill(); err != nil {
		t.Fatal(err)
	}
	err := <-result
	holder.Close()
	var failed *restore.Failed
	if !errors.As(err, &failed) || failed.Phase != restore.PhaseData || failed.Loaded < 2 || failed.Loaded >= failed.Of {
		t.Fatalf("error %v", err)
	}
	if !strings.Contains(failed.Hint(), "--resume") {
		t.Errorf("hint %q", failed.Hint())
	}
	// While it is down, there is nothing to go on with.
	o := options(t, dir, target)
	o.Resume = true
	if _, err := restore.Run(context.Background(), o); err == nil || errors.As(err, &failed) || !strings.Contains(hint.Of(err), "is the server running") {
		t.Errorf("restore into a dead server: %v, hint %q", err, hint.Of(err))
	}
	if err := cluster.Restart(context.Background()); err != nil {
		t.Fatal(err)
	}
	o = options(t, dir, target)
	o.Resume = true
	sum := mustRestore(t, o)
	for _, table := range []string{"a", "b", "c", "u"} {
		same(t, source, target, `SELECT count(*), sum(id) FROM `+table)
	}
	if sum.Proven != 4 {
		t.Errorf("%d tables proven", sum.Proven)
	}
	untouched(t, target)
}

// smallDisk makes a table's disk too small for its rows, and returns what makes room. Without the right to mount one, a constraint
// says what the server says then.
func smallDisk(t *testing.T, target string) (makeRoom func()) {
	t.Helper()
	disk, err := os.MkdirTemp("", "pghaul-test-") // not below t.TempDir, which the server's user cannot enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(disk); err != nil {
			t.Error(err)
		}
	})
	how := "size=4m,mode=700"
	if server, err := user.Lookup("postgres"); err == nil && os.Getuid() == 0 {
		how += ",uid=" + server.Uid + ",gid=" + server.Gid
	}
	switch err := unix.Mount("tmpfs", disk, "tmpfs", 0, how); {
	case errors.Is(err, os.ErrPermission):
		pgtest.SQL(t, target, `CREATE FUNCTION room(int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN IF $1 > 30000 THEN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END IF; RETURN true; END $$;
CREATE TABLE a (id int, v text, CONSTRAINT room CHECK (room(id)))`)
		return func() { pgtest.SQL(t, target, `ALTER TABLE a DROP CONSTRAINT room`) }
	case err != nil:
		t.Fatal(err)
	}
	space := "tiny_" + strconv.Itoa(os.Getpid())
	pgtest.SQL(t, target, `CREATE TABLESPACE `+space+` LOCATION '`+disk+`'`)
	pgtest.SQL(t, target, `CREATE TABLE a (id int, v text) TABLESPACE `+space)
	t.Cleanup(func() {
		pgtest.SQL(t, target, `DROP TABLE a`)
		pgtest.SQL(t, target, `DROP TABLESPACE `+space)
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil { // the server may still hold a file that is gone
			t.Error(err)
		}
	})
	return func() {
		if err := unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, strings.Replace(how, "4m", "64m", 1)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTargetDiskFull: the rows that fitted stay and are counted, the others are not called done, and room is all that it takes to go on.
func TestTargetDiskFull(t *testing.T) {
	source := pgtest.DB(t, `CREATE TABLE a AS SELECT g AS id, repeat(md5(g::text), 5) AS v FROM generate_series(1, 50000) g`)
	dir := takeDump(t, source, func(o *dump.Options) { o.SegmentSize = 1 << 20 })
	target := pgtest.DB(t)
	makeRoom := smallDisk(t, target)
	o := options(t, dir, target)
	o.DataOnly = true
	_, err := restore.Run(context.Background(), o)
	var failed *restore.Failed
	if !errors.As(err, &failed) || failed.Phase != restore.PhaseData || failed.Loaded >= failed.Of || failed.Of < 8 {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{"table public.a, segment", "No space left on device", "53100", "did not finish"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
	if h := failed.Hint(); !strings.Contains(h, "disk is full") || !strings.Contains(h, "--resume") {
		t.Errorf("hint %q", h)
	}
	journalled := pgtest.SQL(t, target, `SELECT coalesce(sum(rows), 0) FROM pghaul_journal.segment`)
	if there := pgtest.SQL(t, target, `SELECT count(*) FROM a`); there != journalled {
		t.Errorf("%s rows are there, the journal has %s", there, journalled)
	}
	makeRoom()
	o = options(t, dir, target)
	o.DataOnly, o.Resume = true, true
	if sum := mustRestore(t, o); sum.Proven != 1 || sum.Rows != 50000 {
		t.Errorf("%+v", sum)
	}
	same(t, source, target, `SELECT count(*), sum(id), count(DISTINCT v) FROM a`)
	untouched(t, target)
}
