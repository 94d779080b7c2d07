package matrix_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/restore"
)

// TestMigratePairs: the same rows from server to server, and then the comparison of the live sides.
func TestMigratePairs(t *testing.T) {
	for _, p := range wanted(t) {
		t.Run(p.String(), func(t *testing.T) {
			source, target := build(t, p)
			from := dump.Options{DSN: parse(t, source), Jobs: 2, Tool: "pghaul test", SegmentSize: 64 << 10, DataOnly: true, Tracker: progress.New("migrate", "read", "parse", "convert", "insert")}
			o := options(t, "", target)
			sum, err := migrate(t, from, o)
			if err != nil {
				t.Fatalf("migrate: %v%s", err, findings(err))
			}
			unproven := otherForms(p)
			if sum.Proven+len(sum.Unproven) != len(sum.Manifest.Tables) || len(sum.Unproven) != len(unproven) || len(sum.Gaps) > 0 {
				t.Errorf("proven %d of %d, not proven %q, want %q, gaps %v", sum.Proven, len(sum.Manifest.Tables), sum.Unproven, unproven, sum.Gaps)
			}
			compare(t, p, source, target)
			live, err := dump.Open(t.Context(), from)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := live.Close(); err != nil {
					t.Error(err)
				}
			}()
			o.Origin = live
			d, err := restore.DiffData(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range d.Tables {
				want := restore.DataSame
				if slices.Contains(unproven, strings.TrimPrefix(table.Table, "public.")) {
					want = restore.DataSameRows
				}
				if table.State != want {
					t.Errorf("%+v, want %s", table, want)
				}
			}
		})
	}
}

func migrate(t *testing.T, from dump.Options, to restore.Options) (*restore.Summary, error) {
	t.Helper()
	live, err := dump.Open(t.Context(), from)
	if err != nil {
		return nil, err
	}
	to.Origin = live
	sum, err := restore.Run(t.Context(), to)
	return sum, errors.Join(err, live.Close())
}
