package restore_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/restore"
)

// migration is a migrate under test.
type migration struct {
	from dump.Options
	to   restore.Options
}

func migrating(t *testing.T, source, target string) *migration {
	t.Helper()
	tracker := progress.New("migrate", "read", "parse", "convert", "insert")
	return &migration{
		from: dump.Options{DSN: parse(t, source), Jobs: 2, SegmentSize: 256 << 10, Tool: "pghaul test", Tracker: tracker},
		to:   restore.Options{DSN: parse(t, target), Jobs: 2, Tool: "pghaul test", Tracker: tracker},
	}
}

// run opens the source and runs the restore side, as the command does.
func (m *migration) run(ctx context.Context) (*restore.Summary, error) {
	live, err := dump.Open(ctx, m.from)
	if err != nil {
		return nil, err
	}
	m.to.Origin = live
	sum, err := restore.Run(ctx, m.to)
	if e := live.Close(); err == nil {
		err = e
	}
	return sum, err
}

func (m *migration) must(t *testing.T) *restore.Summary {
	t.Helper()
	sum, err := m.run(t.Context())
	if err != nil {
		t.Fatalf("migrate: %v", err)
	}
	return sum
}

// whole demands that every table of a source was migrated and proven.
func whole(t *testing.T, sum *restore.Summary) {
	t.Helper()
	if len(sum.Gaps) > 0 || len(sum.Unproven) > 0 || sum.Proven != len(sum.Manifest.Tables) {
		t.Errorf("%d of %d tables proven, not %q, gaps %+v", sum.Proven, len(sum.Manifest.Tables), sum.Unproven, sum.Gaps)
	}
}

func TestMigrate(t *testing.T) {
	source, target := pgtest.DB(t, varied), pgtest.DB(t)
	t.Setenv("TMPDIR", t.TempDir())
	leaks := goleak.IgnoreCurrent()
	m := migrating(t, source, target)
	sum := m.must(t)
	goleak.VerifyNone(t, leaks)
	whole(t, sum)
	for _, query := range state {
		same(t, source, target, query)
	}
	if !slices.Equal(slices.Sorted(slices.Values(stockDump(t, source))), slices.Sorted(slices.Values(stockDump(t, target)))) { // segments come in as they like
		t.Error("to pg_dump's eyes the databases differ")
	}
	if got := pgtest.SQL(t, target, `SELECT count(*) FROM pg_namespace WHERE nspname = 'pghaul_journal'`); got != "0" {
		t.Error("the journal is left")
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "pghaul-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
	sessionsEnd(t, source)
	s := m.to.Tracker.Snapshot()
	if s.Rows != sum.Rows || s.Tables.Done != len(sum.Manifest.Tables) || sum.Rows < 22000 {
		t.Errorf("the tracker counts %d rows in %d tables, the summary %d in %d", s.Rows, s.Tables.Done, sum.Rows, len(sum.Manifest.Tables))
	}
}
