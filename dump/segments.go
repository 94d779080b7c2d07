package dump

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/flow"
)

// cutSegments splits large heaps by ranges of pages and puts the segments first that take longest.
func (p *plan) cutSegments(o *Options, version int) {
	slices.SortStableFunc(p.tables, func(a, b *table) int { return strings.Compare(a.rel.String(), b.rel.String()) })
	var total float64
	for _, t := range p.tables {
		total += t.effort()
	}
	for i, t := range p.tables {
		size := t.bytes()
		ranges := []*format.CTIDRange{nil}
		if t.rel.Heap && version >= 140000 && t.condition == "" && !o.single() {
			ranges = pageRanges(t.rel.Pages, size, o.segmentSize(size, t.effort(), total))
		}
		for no, pages := range ranges {
			s := &segment{table: t, no: no + 1, pages: pages, bytes: size / int64(len(ranges)), effort: t.effort() / float64(len(ranges))}
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

// A table that takes more than half of a connection's share of the work would keep one connection busy when the others have ended. It is cut into pieces of an
// eighth of a share, which can be put where there is time left; into none smaller than this, for a piece costs a file and, in a restore, a transaction.
const (
	smallestPiece   = 32 << 20 // bytes
	piecesPerWorker = 8
	longPieces      = 4 // half a share
)

// segmentSize is the size in bytes of the segments of a table of so many bytes, which takes so much effort out of total for all tables.
func (o *Options) segmentSize(bytes int64, effort, total float64) int64 {
	jobs := o.jobs()
	piece := total / float64(jobs*piecesPerWorker)
	if !o.Balance || o.SegmentSize <= 0 || jobs == 1 || effort <= longPieces*piece {
		return o.SegmentSize
	}
	return min(o.SegmentSize, max(smallestPiece, int64(float64(bytes)*piece/effort)))
}

// pageRanges cuts a heap of so many pages, with TOAST size bytes, into ranges of about segmentSize bytes. The last one is open-ended: rows that
// are younger than the page count are invisible to the snapshot anyway.
func pageRanges(pages, size, segmentSize int64) []*format.CTIDRange {
	if segmentSize <= 0 || size <= segmentSize || pages < 2 {
		return []*format.CTIDRange{nil}
	}
	n := min((size+segmentSize-1)/segmentSize, pages, maxSegments)
	ranges := make([]*format.CTIDRange, n)
	for i := range ranges {
		ranges[i] = &format.CTIDRange{From: uint32(int64(i) * pages / n), To: uint32(int64(i+1) * pages / n)}
	}
	ranges[n-1].To = 0
	return ranges
}
