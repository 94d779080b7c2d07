package dump

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pg"
)

// cutSegments splits large heaps by ranges of pages and puts the segments first that take longest.
func (p *plan) cutSegments(o *Options, version int) {
	slices.SortStableFunc(p.tables, func(a, b *table) int { return strings.Compare(a.rel.String(), b.rel.String()) })
	var total float64
	efforts := make([]float64, len(p.tables))
	for i, t := range p.tables {
		efforts[i] = t.effort()
		total += efforts[i]
	}
	for i, t := range p.tables {
		size, effort := t.bytes(), efforts[i]
		ranges := []*format.CTIDRange{nil}
		if t.rel.Heap && version >= pg.PagesFrom && t.condition == "" && !o.single() {
			ranges = flow.PageRanges(t.rel.Pages, size, o.segmentSize(size, effort, total))
		}
		for no, pages := range ranges {
			s := &segment{table: t, no: no + 1, pages: pages, bytes: size / int64(len(ranges)), effort: effort / float64(len(ranges))}
			s.path = format.SegmentPath(i+1, t.rel.Schema, t.rel.Name, s.no, o.Compression)
			t.segments = append(t.segments, s)
		}
		p.segments = append(p.segments, t.segments...)
	}
	slices.SortStableFunc(p.segments, func(a, b *segment) int { return cmp.Compare(b.effort, a.effort) })
}

// bytes is the size of heap and TOAST when the plan was made.
func (t *table) bytes() int64 { return t.rel.Pages*pageSize + t.rel.ToastBytes }

// effort is what reading the table costs, by the planner's estimate of its rows, or by a guess from its size where there is none.
func (t *table) effort() float64 {
	const rowOverhead, column = 28, 8 // bytes in a heap
	rows := int64(t.rel.Tuples)
	if rows <= 0 {
		rows = t.rel.Pages * pageSize / int64(rowOverhead+column*len(t.columns))
	}
	return flow.Effort(t.bytes(), rows, len(t.columns))
}

// segmentSize is the size in bytes of the segments of a table of so many bytes, which takes so much effort out of total for all tables.
func (o *Options) segmentSize(bytes int64, effort, total float64) int64 {
	piece := flow.PieceBytes(bytes, effort, total, o.jobs(), flow.SmallestPiece)
	if !o.Balance || o.SegmentSize <= 0 || piece == 0 {
		return o.SegmentSize
	}
	return min(o.SegmentSize, piece)
}
