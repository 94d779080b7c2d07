package dump

import (
	"slices"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

const mb = 1 << 20

func TestSegmentSize(t *testing.T) {
	for name, c := range map[string]struct {
		jobs              int
		balance           bool
		limit, size, rest int64 // bytes, whose effort is as large
		want              int64
	}{
		"one table":                   {2, true, 256 * mb, 800 * mb, 0, 50 * mb},
		"one table, more jobs":        {8, true, 256 * mb, 4096 * mb, 0, 64 * mb},
		"one small table":             {8, true, 256 * mb, 100 * mb, 0, 32 * mb},
		"never above the limit":       {2, true, 256 * mb, 100_000 * mb, 0, 256 * mb},
		"half of a connection's":      {2, true, 256 * mb, 240 * mb, 720 * mb, 256 * mb},
		"more than half":              {2, true, 256 * mb, 250 * mb, 710 * mb, 60 * mb},
		"more than half of more jobs": {4, true, 256 * mb, 400 * mb, 1200 * mb, 50 * mb},
		"asked for a size":            {2, false, 256 * mb, 400 * mb, 0, 256 * mb},
		"never split":                 {2, true, 0, 400 * mb, 0, 0},
		"smaller than asked":          {2, true, 16 * mb, 400 * mb, 0, 16 * mb},
		"one connection":              {1, true, 256 * mb, 400 * mb, 0, 256 * mb},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Jobs: c.jobs, Balance: c.balance, SegmentSize: c.limit}
			if got := o.segmentSize(c.size, float64(c.size), float64(c.size+c.rest)); got != c.want {
				t.Errorf("%d MB, want %d MB", got/mb, c.want/mb)
			}
		})
	}
}

// TestLongestFirst: narrow rows of numbers take longer than their bytes tell, and what would keep one connection busy is cut.
func TestLongestFirst(t *testing.T) {
	relation := func(name string, bytes int64, rows float64, columns int) *table {
		return &table{rel: &pg.Relation{Schema: "public", Name: format.Name(name), Kind: 'r', Heap: true, Pages: bytes / pageSize, Tuples: rows}, columns: make([]format.Column, columns)}
	}
	p := plan{tables: []*table{
		relation("documents", 400*mb, 100_000, 3),
		relation("narrow", 200*mb, 6_000_000, 2),
		relation("never_analyzed", 200*mb, -1, 2),
		relation("numbers", 200*mb, 1_600_000, 28),
		relation("empty", 0, 0, 2),
	}}
	p.cutSegments(&Options{Jobs: 2, Balance: true, SegmentSize: 256 * mb}, 150000)
	var order []string
	segments := map[string]int{}
	for _, s := range p.segments {
		name := string(s.table.rel.Name)
		if segments[name]++; segments[name] == 1 {
			order = append(order, name)
		}
	}
	if want := []string{"narrow", "never_analyzed", "documents", "numbers", "empty"}; !slices.Equal(order, want) || segments["numbers"] < 4 || segments["narrow"] != 1 {
		t.Errorf("%v in %v segments", order, segments)
	}
	if !slices.IsSortedFunc(p.segments, func(a, b *segment) int { return int(b.effort - a.effort) }) {
		t.Error("a segment comes before a longer one")
	}
}
