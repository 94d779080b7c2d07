package flow

import (
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pipeline"
)

// Segment is a part of a table that is open for reading, in a file or on a server. It belongs to one lane, whose owner calls Finish after a clean
// end, and Close in any case.
type Segment struct {
	Source pipeline.Source
	Walker *format.Walker                   // for Parse: knows how many fields a row has
	Finish func(passed format.Totals) error // compares what passed with what the origin says of itself
	Close  func()                           // gives the file or the session back
}
