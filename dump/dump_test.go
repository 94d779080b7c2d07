package dump_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

func TestMain(m *testing.M) { pgtest.Run(m) }

func parse(t *testing.T, dsn string) *pg.DSN {
	t.Helper()
	d, err := pg.ParseDSN(dsn, pg.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// options are those of a test's dump into a fresh folder.
func options(t *testing.T, dsn string) dump.Options {
	t.Helper()
	return dump.Options{DSN: parse(t, dsn), Dir: filepath.Join(t.TempDir(), "dump"), Jobs: 2, Tool: "pghaul test", Compression: format.Compression{Level: 1}, SegmentSize: 256 << 20, Logf: t.Logf}
}

func TestDumpRoundNumbers(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE a (id int PRIMARY KEY, s text, n numeric(10,2), ts timestamptz);
INSERT INTO a SELECT g, 'row ' || g, g / 7.0, '2009-08-10'::timestamptz + g * interval '1 hour' FROM generate_series(1, 10000) g;
CREATE TABLE empty (x int); CREATE TABLE nothing (); INSERT INTO nothing SELECT FROM generate_series(1, 3);
CREATE SEQUENCE s; SELECT nextval('s'), nextval('s');`)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, z := range []int{0, 1} {
		o := options(t, dsn)
		o.Compression.Level = z
		o.SegmentSize = 128 << 10
		sum, err := dump.Run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		if sum.Rows != 10003 {
			t.Errorf("compression %v: %d rows, want 10003", o.Compression, sum.Rows)
		}
		root, err := os.OpenRoot(o.Dir)
		if err != nil {
			t.Fatal(err)
		}
		m, err := format.ReadManifest(root)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(m.Tables[0].Segments); m.Tables[0].Name != "a" || got < 3 {
			t.Errorf("table %s has %d segments, want a with 3 or more", m.Tables[0].Name, got)
		}
		if s := m.Sequences[0]; s.Name != "s" || s.LastValue != 2 || !s.IsCalled {
			t.Errorf("sequence %+v", s)
		}
		root.Close()
	}
}
