package flow

import "github.com/bytehaul/pghaul/internal/pipeline"

// BlocksPerLane is the memory budget of one lane in blocks: queues and stages hold six, two more keep the source busy.
const BlocksPerLane = 8

// Tally is a Counter that passes on what it is told and remembers the sum, so that it can be taken back when a segment is rolled back or begun again.
type Tally struct {
	To          Counter
	Rows, Bytes int64
}

// Add implements [Counter].
func (t *Tally) Add(rows, bytes int64) {
	t.Rows += rows
	t.Bytes += bytes
	t.To.Add(rows, bytes)
}

// LaneMeters picks the meters of a lane with so many stages out of all of a job's: a lane of one stage has nothing to convert. Without a match nothing is measured.
func LaneMeters(all []*pipeline.Meter, stages int) []*pipeline.Meter {
	switch {
	case len(all) == stages+2:
		return all
	case len(all) == 4 && stages == 1:
		return []*pipeline.Meter{all[0], all[1], all[3]}
	}
	return nil
}
