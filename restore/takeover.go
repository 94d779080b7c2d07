package restore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pg"
)

// takeOver decides what becomes of the rows that an interrupted run has copied from a live origin. Two snapshots are never mixed: rows of another one
// stay only when all of them are there.
func (j *job) takeOver(ctx context.Context, f *findings) error {
	if !j.live() {
		return nil
	}
	switch {
	case j.allCopied():
		return j.adopt(ctx, f)
	case j.journal.snapshot == j.origin.Snapshot():
		return j.recut()
	case !j.journal.begun[PhaseData]:
		return nil // no rows yet
	}
	return j.discardCopied(ctx, f)
}

// allCopied tells that an earlier run has copied all that must be of one snapshot.
func (j *job) allCopied() bool {
	return j.journal.phases[PhaseData] && (!j.hasLargeObjects() || j.journal.phases[PhaseLargeObjects])
}

// discardCopied prepares for emptying the tables and copying all again.
func (j *job) discardCopied(ctx context.Context, f *findings) error {
	object := "database " + j.o.DSN.Config.Database
	if j.o.OnExisting == Append {
		f.bad(object, "the snapshot of the interrupted run is gone", "its rows can't be told from those that were there before", "delete its rows by hand, drop the journal's schema, and start again")
		return nil
	}
	if j.journal.begun[PhaseLargeObjects] && !j.journal.begun[phaseNoLargeObjects] {
		f.bad(object, "the snapshot of the interrupted run is gone", "large objects of it are among others that were there before", "remove them (vacuumlo, lo_unlink) and the rows, drop the journal's schema, and start again")
		return nil
	}
	strangers, err := j.strangers(ctx)
	if err != nil {
		return err
	}
	for _, name := range strangers {
		f.bad(name, "not in the source any more", "holds rows of the interrupted run, whose snapshot is gone", "TRUNCATE or DROP it, then --resume")
	}
	if n := len(j.journal.filled); n > 0 {
		f.warn(object, "the snapshot of the interrupted run is gone", fmt.Sprintf("its rows, in %d tables, will be deleted, and all rows copied again", n), "")
	}
	if err := j.warnOfUnlink(ctx, f, object); err != nil {
		return err
	}
	j.copyAgain = true
	j.journal.segments = map[string]journalSegment{}
	for _, phase := range []string{PhaseData, PhaseLargeObjects, PhaseSequences, PhaseProof} {
		delete(j.journal.phases, phase)
	}
	return nil
}

// warnOfUnlink says that large objects go whose maker nobody knows: the target had none before, but others may have made some since.
func (j *job) warnOfUnlink(ctx context.Context, f *findings, object string) error {
	if !j.journal.begun[phaseNoLargeObjects] {
		return nil
	}
	n, err := j.leader.LargeObjects(ctx)
	if n > 0 {
		f.warn(object, "the snapshot of the interrupted run is gone", fmt.Sprintf("all its large objects, %d of them, will be removed, for there were none before that run; and copied again", n),
			"save those that somebody else has made since")
	}
	return err
}

// phaseNoLargeObjects is noted as a phase of its own when the target had no large objects before: all that there are later are ours.
const phaseNoLargeObjects = "no large objects before"

// noteLargeObjects notes whether the target has large objects before the first of ours.
func (j *job) noteLargeObjects(ctx context.Context) error {
	if !j.live() || !j.hasLargeObjects() {
		return nil
	}
	n, err := j.leader.LargeObjects(ctx)
	if err != nil || n > 0 {
		return err
	}
	j.journal.begun[phaseNoLargeObjects] = true
	return j.journal.start(ctx, j.leader, phaseNoLargeObjects)
}

// unlinkBatch bounds the large objects that one transaction removes: each takes a lock.
const unlinkBatch = 1000

// unlinkLargeObjects removes those that an interrupted run has made.
func (j *job) unlinkLargeObjects(ctx context.Context) error {
	if !j.copyAgain || !j.journal.begun[phaseNoLargeObjects] {
		return nil
	}
	for {
		n, err := j.leader.UnlinkLargeObjects(ctx, unlinkBatch)
		if err != nil || n == 0 {
			return pg.Wrap(err, "removal of the interrupted run's large objects")
		}
	}
}

// strangers are tables that an earlier run has filled and this one does not know.
func (j *job) strangers(ctx context.Context) (names []string, err error) {
	known := map[string]bool{}
	for _, q := range j.plan.names() {
		known[q.SQL()] = true
	}
	for target := range j.journal.filled {
		if target == "" || known[target] {
			continue
		}
		has, err := j.leader.HoldsRows(ctx, target)
		if err != nil {
			return nil, err
		}
		if has {
			names = append(names, target)
		}
	}
	slices.Sort(names)
	return names, nil
}

// copied gives what the journal knows of each table of the origin, by its quoted name.
func (j *job) copied() (map[string][]format.ManifestSegment, error) {
	byTable := map[string][]format.ManifestSegment{}
	for _, s := range j.journal.segments {
		if s.target == "" {
			continue // no rows: see journal.finish
		}
		table, pages, err := flow.ParseSegmentName(s.path)
		if err != nil {
			return nil, err
		}
		byTable[table] = append(byTable[table], format.ManifestSegment{StoredFile: format.StoredFile{Path: s.path}, CTIDRange: pages,
			Rows: s.totals.Rows, RawBytes: s.totals.Length, RowDigest: s.totals.Digest.String()})
	}
	for _, list := range byTable {
		slices.SortFunc(list, func(a, b format.ManifestSegment) int { return cmp.Compare(firstPage(a), firstPage(b)) })
	}
	return byTable, nil
}

func firstPage(s format.ManifestSegment) uint32 {
	if s.CTIDRange == nil {
		return 0
	}
	return s.CTIDRange.From
}

// emptiedHint keeps the definitions in, as indexes and constraints may have to be made yet; with -T it would be another restore than the one begun, and refused.
const emptiedHint = "go on without its rows (--exclude-table-data), and copy them when the rest is done: --data-only -t, with --no-journal and --disable-triggers; then refresh materialized views of it"

// adopt takes the rows of an earlier run as they are: all are there.
func (j *job) adopt(ctx context.Context, f *findings) error {
	copied, err := j.copied()
	if err != nil {
		return err
	}
	j.plan.tables = slices.DeleteFunc(j.plan.tables, func(t *loadTable) bool {
		t.entry.Segments = copied[t.name.SQL()]
		if len(t.entry.Segments) > 0 {
			t.settle()
			return false
		}
		if t.entry.Unlogged && j.journal.begun[PhaseData] {
			f.bad(t.name.String(), "", "is unlogged, and empty after a crash; the snapshot of its rows is gone", emptiedHint)
			return false
		}
		f.warn(t.name.String(), "was made after the rows were copied", "", "")
		return true
	})
	return ctx.Err()
}

// recut cuts what an earlier run under the same snapshot has not copied: the heap may have grown since, and with it the segments.
func (j *job) recut() error {
	copied, err := j.copied()
	if err != nil {
		return err
	}
	for _, t := range j.plan.tables {
		done := copied[t.name.SQL()]
		if len(done) == 0 {
			continue
		}
		t.entry.Segments = append(slices.Clone(done), remaining(t.name.SQL(), t.entry.Segments, done)...)
		t.freeze = t.freeze && len(t.entry.Segments) == 1
	}
	return nil
}

// remaining is what of the planned segments is not in those that are done, which are in the order of their pages.
func remaining(table string, planned, done []format.ManifestSegment) (left []format.ManifestSegment) {
	const end = int64(1) << 32 // behind the last page of any heap
	span := func(s format.ManifestSegment) (from, to int64) {
		switch {
		case s.CTIDRange == nil:
			return 0, end
		case s.CTIDRange.To == 0:
			return int64(s.CTIDRange.From), end
		}
		return int64(s.CTIDRange.From), int64(s.CTIDRange.To)
	}
	for _, p := range planned {
		at, to := span(p)
		total := to - at
		piece := func(from, to int64) {
			if from >= to {
				return
			}
			pages := &format.CTIDRange{From: uint32(from)}
			if to < end {
				pages.To = uint32(to)
			}
			bytes := p.StoredBytes
			if to-from < total && to < end {
				bytes = int64(float64(bytes) * float64(to-from) / float64(total))
			}
			left = append(left, format.ManifestSegment{StoredFile: format.StoredFile{Path: flow.SegmentName(table, pages), StoredBytes: bytes}, CTIDRange: pages})
		}
		for len(done) > 0 { // both are in the order of their pages: what ends before this segment ends before all behind it
			if _, until := span(done[0]); until > at {
				break
			}
			done = done[1:]
		}
		for _, d := range done {
			from, until := span(d)
			if from >= to {
				break
			}
			piece(at, from)
			at = max(at, until)
		}
		piece(at, to)
	}
	return left
}

// settle sums up what has passed of a table whose rows were not counted before.
func (t *loadTable) settle() {
	var sum format.Totals
	for i := range t.entry.Segments {
		s := &t.entry.Segments[i]
		digest, _ := format.ParseRowDigest(s.RowDigest) // our own
		sum = sum.Add(format.Totals{Rows: s.Rows, Length: s.RawBytes, Digest: digest})
	}
	t.entry.Rows, t.entry.Bytes, t.entry.RowDigest = sum.Rows, sum.Length, sum.Digest.String()
}

// startSnapshot makes the origin's snapshot that of the journal, before the first row. Rows of another one go, with what the journal says of them, in
// one transaction.
func (j *job) startSnapshot(ctx context.Context) error {
	if !j.live() || j.journal == nil || j.journal.snapshot == j.origin.Snapshot() {
		return nil
	}
	if err := j.unlinkLargeObjects(ctx); err != nil {
		return err
	}
	sql := "BEGIN"
	if j.copyAgain {
		list, err := j.truncateList(ctx)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			sql += "; TRUNCATE " + strings.Join(list, ", ")
		}
	}
	c := j.leader
	for _, table := range []string{"segment", "segment_unlogged"} {
		sql += "; DELETE FROM " + j.journal.table(table)
	}
	sql += "; UPDATE " + j.journal.table("phase") + " SET finished = NULL WHERE name IN (" + c.TextLiteral(PhaseData) + ", " + c.TextLiteral(PhaseLargeObjects) + ", " +
		c.TextLiteral(PhaseSequences) + ", " + c.TextLiteral(PhaseProof) + ")"
	sql += "; UPDATE " + j.journal.table("restore") + " SET snapshot = " + c.TextLiteral(j.origin.Snapshot()) + "; COMMIT"
	if err := c.Exec(ctx, sql); err != nil {
		_ = c.Exec(ctx, "ROLLBACK") // the first error is the one to tell
		return pg.Wrap(err, "start under another snapshot")
	}
	j.journal.snapshot = j.origin.Snapshot()
	if j.copyAgain {
		j.logf("the rows of the interrupted run are deleted")
	}
	return nil
}
