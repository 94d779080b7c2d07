package format

import "errors"

// Walker cuts a stream of COPY rows: it finds where rows end, counts and digests them. Its methods allocate nothing.
type Walker struct {
	columns int
	totals  Totals
	need    int
	ended   bool
	err     error
}

// NewWalker returns a walker over rows of so many fields.
func NewWalker(columns int) *Walker { return &Walker{columns: columns} }

// Walk consumes as many whole rows, and the trailer, as p holds, and returns how many bytes that were. Pass p[n:] again with more bytes behind it.
// Errors are [*Error] and stick; rows before the damage have been counted.
func (w *Walker) Walk(p []byte) (n int, err error) { return 0, errors.New("not written yet") }

// Need returns how many bytes the unfinished row at p[n:] of the last Walk has in all, as far as is known by now; 0 at a boundary.
func (w *Walker) Need() int { return w.need }

// Ended says whether the trailer was seen.
func (w *Walker) Ended() bool { return w.ended }

// Totals returns the totals of what was consumed.
func (w *Walker) Totals() Totals { return w.totals }

// Close returns an error of kind ErrTruncated when there was no trailer, or the error that stuck.
func (w *Walker) Close() error { return w.err }
