package restore

import (
	"context"
	"slices"

	"github.com/bytehaul/pghaul/format"
)

// emptyBatch is the number of segments without rows that are noted together.
const emptyBatch = 1000

// emptySegment is a segment that needs no COPY.
type emptySegment struct {
	table *loadTable
	i     int
}

// loadEmpty is for the segments of a dump that hold no rows: where there are a hundred thousand tables most are empty. The files have been read already, so the
// journal alone is to know of them.
func (j *job) loadEmpty(ctx context.Context) error {
	if j.folder == nil || j.single() != nil {
		return nil
	}
	var list []emptySegment
	for _, t := range j.plan.tables {
		for _, i := range t.left {
			if s := &t.entry.Segments[i]; counted(s) && s.Rows == 0 {
				list = append(list, emptySegment{t, i})
			}
		}
	}
	for part := range slices.Chunk(list, emptyBatch) {
		if j.journal != nil {
			if err := j.journal.noteEmpty(ctx, j.leader, part); err != nil {
				return err
			}
		}
		for _, e := range part {
			part := e.table.progress.Part(e.i)
			part.Start()
			part.End(nil)
			j.loaded.Add(1)
		}
	}
	for _, t := range j.plan.tables {
		t.left = slices.DeleteFunc(t.left, func(i int) bool { s := &t.entry.Segments[i]; return len(list) > 0 && counted(s) && s.Rows == 0 })
	}
	return nil
}

// segment gives what the manifest says of it.
func (e emptySegment) segment() *format.ManifestSegment { return &e.table.entry.Segments[e.i] }
