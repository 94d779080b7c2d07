package restore

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pg"
)

// reading is what one COPY reads back: a group, or a range of the pages of its table.
type reading struct {
	group  *proofGroup
	pages  *format.CTIDRange // nil: the whole group
	effort float64
}

// readBack is what reading a group takes, and how far its readings have come.
type readBack struct {
	no     int     // of the group
	bytes  int64   // of its tables
	effort float64 // of reading them
	piece  int64   // bytes into which they may be cut; 0: they stay whole

	mu      sync.Mutex
	missing int // readings that have not ended
	sum     format.Totals
}

// add adds what one reading found, and gives the sum. whole: it was the last.
func (p *readBack) add(t format.Totals) (sum format.Totals, whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sum = p.sum.Add(t)
	p.missing--
	return p.sum, p.missing == 0
}

// weigh sums up what reading the tables of a group costs.
func (g *proofGroup) weigh() {
	for _, t := range g.tables {
		g.bytes += t.entry.Bytes
		g.effort += flow.Effort(t.entry.Bytes, t.entry.Rows, len(t.columns))
	}
}

// cutReadings cuts tables for which the other connections would wait, and puts the readings first that take longest. Groups without a target are left whole. Between
// two readings of a table its rows must stay in their pages: see [job.holdSnapshot].
func (j *job) cutReadings(ctx context.Context, groups []*proofGroup) ([]reading, error) {
	var total float64
	for i, g := range groups {
		g.no = i
		g.weigh()
		total += g.effort
	}
	var large []uint32
	for _, g := range groups {
		if g.target == nil || g.target.Kind != 'r' || j.leader.Version < pg.PagesFrom {
			continue
		}
		if g.piece = flow.PieceBytes(g.bytes, g.effort, total, j.o.Jobs, cmp.Or(j.o.smallestReading, flow.SmallestPiece)); g.piece > 0 && g.piece < g.bytes {
			large = append(large, g.target.OID)
		}
	}
	var heaps map[uint32]int64 // pages
	if len(large) > 0 {
		var err error
		if heaps, err = j.leader.HeapPages(ctx, large); err != nil {
			return nil, err
		}
	}
	var list []reading
	for _, g := range groups {
		ranges := []*format.CTIDRange{nil}
		if g.target != nil {
			if pages, ok := heaps[g.target.OID]; ok {
				ranges = flow.PageRanges(pages, g.bytes, g.piece)
			}
			if len(ranges) > 1 {
				j.logf("table %s is read back in %d parts", g.name, len(ranges))
			}
		}
		g.missing = len(ranges)
		for _, pages := range ranges {
			list = append(list, reading{group: g, pages: pages, effort: g.effort / float64(len(ranges))})
		}
	}
	slices.SortStableFunc(list, func(a, b reading) int { return cmp.Compare(b.effort, a.effort) })
	return list, nil
}

// readPart reads a part back. Who brings the last one of a group gets the group's sum, and whole.
func (r *reader) readPart(ctx context.Context, part reading) (sum format.Totals, whole bool, err error) {
	got, err := r.read(ctx, part.group, part.pages)
	if err != nil {
		return sum, false, err
	}
	sum, whole = part.group.add(got)
	return sum, whole, nil
}
