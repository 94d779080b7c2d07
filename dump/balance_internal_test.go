package dump

import "testing"

func TestSegmentSize(t *testing.T) {
	const mb = 1 << 20
	for name, c := range map[string]struct {
		jobs              int
		balance           bool
		limit, size, rest int64
		want              int64
	}{
		"one table":              {2, true, 256 * mb, 400 * mb, 0, 50 * mb},
		"one table, more jobs":   {8, true, 256 * mb, 4096 * mb, 0, 128 * mb},
		"one small table":        {8, true, 256 * mb, 100 * mb, 0, 32 * mb},
		"never above the limit":  {2, true, 256 * mb, 100_000 * mb, 0, 256 * mb},
		"no more than its share": {2, true, 256 * mb, 400 * mb, 400 * mb, 256 * mb},
		"more than its share":    {4, true, 256 * mb, 400 * mb, 400 * mb, 32 * mb},
		"asked for a size":       {2, false, 256 * mb, 400 * mb, 0, 256 * mb},
		"never split":            {2, true, 0, 400 * mb, 0, 0},
		"smaller than asked":     {2, true, 16 * mb, 400 * mb, 0, 16 * mb},
		"one connection":         {1, true, 256 * mb, 400 * mb, 0, 256 * mb},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Jobs: c.jobs, Balance: c.balance, SegmentSize: c.limit}
			if got := o.segmentSize(c.size, c.size+c.rest); got != c.want {
				t.Errorf("%d MB, want %d MB", got/mb, c.want/mb)
			}
		})
	}
}
