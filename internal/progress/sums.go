package progress

// tableWeight is the work that a table means whatever its size, in bytes: a
// hundred thousand empty tables take their time too.
const tableWeight = 8 << 10

// contribution is a table's part in the sums over all tables. Sums are kept up
// to date whenever a table changes, so that a snapshot need not look at all
// tables. Rows and bytes are what is expected, and for a table that is done,
// what it had.
type contribution struct {
	rows, bytes                int64
	rowsUnknown, rowsInexact   int
	bytesUnknown, bytesInexact int

	weight      int64 // work in bytes
	weightDone  int64 // of tables that are done
	weightEnded int64 // of tables that will not go on: done, failed, cancelled
	sizeless    int   // tables still to move of which nothing is known

	beforeRows, beforeBytes int64

	segments, segmentsEnded                   int
	total                                     int
	waiting, running, done, failed, cancelled int
	proven, notProven, mismatched, skipped    int
}

type sums = contribution

func (t *Tracker) count(tb *Table) {
	tb.counted = tb.total()
	t.sums.add(tb.contribution(tb.counted), 1)
}

func (t *Tracker) uncount(tb *Table) { t.sums.add(tb.contribution(tb.counted), -1) }

// contribution works out the part of a table in its present state, when so much has moved.
func (tb *Table) contribution(moved amount) contribution {
	c := contribution{
		total: 1, segments: tb.info.Segments, segmentsEnded: min(tb.ended, tb.info.Segments),
		beforeRows: tb.before.rows, beforeBytes: tb.before.bytes,
	}
	switch tb.state {
	case Waiting:
		c.waiting = 1
	case Running:
		c.running = 1
	case Done:
		c.done = 1
	case Failed:
		c.failed = 1
	case Cancelled:
		c.cancelled = 1
	}
	switch tb.proof {
	case Proven:
		c.proven = 1
	case NotProven:
		c.notProven = 1
	case Mismatch:
		c.mismatched = 1
	case Skipped:
		c.skipped = 1
	}

	if tb.state == Done {
		c.rows, c.bytes = moved.rows, moved.bytes
		c.weight = tb.weight(moved)
		c.weightDone, c.weightEnded = c.weight, c.weight
		return c
	}
	c.rows, c.rowsUnknown, c.rowsInexact = expected(tb.info.Rows, tb.info.RowsExact)
	c.bytes, c.bytesUnknown, c.bytesInexact = expected(tb.info.Bytes, tb.info.BytesExact)
	c.weight = tb.weight(moved)
	if tb.state == Failed || tb.state == Cancelled {
		c.weightEnded = c.weight
	} else if tb.info.Bytes < 0 && tb.info.Rows < 0 {
		c.sizeless = 1
	}
	return c
}

func expected(n int64, exact bool) (known int64, unknown, inexact int) {
	switch {
	case n < 0:
		return 0, 1, 1
	case !exact:
		return n, 0, 1
	}
	return n, 0, 0
}

// weight is the work that the table means, in bytes as they were estimated, or
// guessed from the rows, or known afterwards.
func (tb *Table) weight(moved amount) int64 {
	switch {
	case tb.info.Bytes >= 0:
		return tb.info.Bytes + tableWeight
	case tb.info.Rows >= 0:
		const rowBytes = 100
		return tb.info.Rows*rowBytes + tableWeight
	case tb.state == Done:
		return moved.bytes + tableWeight
	}
	return tableWeight
}

// fraction is how much of the table is done, 0 to 1. A table that has outgrown
// its estimate is nearly done until it is.
func (tb *Table) fraction() float64 {
	const nearly = 0.99
	moved := tb.total()
	switch {
	case tb.state == Done:
		return 1
	case tb.info.Rows > 0 && (tb.info.RowsExact || !tb.info.BytesExact):
		return portion(moved.rows, tb.info.Rows, tb.info.RowsExact, nearly)
	case tb.info.Bytes > 0:
		return portion(moved.bytes, tb.info.Bytes, tb.info.BytesExact, nearly)
	}
	return 0
}

func portion(n, of int64, exact bool, nearly float64) float64 {
	f := max(float64(n)/float64(of), 0)
	if exact {
		return min(f, 1)
	}
	return min(f, nearly)
}

// runningWeight is the work done of the tables that run now.
func (t *Tracker) runningWeight() int64 {
	w := int64(0)
	for _, tb := range t.running {
		w += int64(float64(tb.weight(tb.total())) * tb.fraction())
	}
	return w
}

// weightDone is the work done, running tables included.
func (t *Tracker) weightDone() int64 { return t.sums.weightDone + t.runningWeight() }

func (s *contribution) add(c contribution, sign int) {
	n := int64(sign)
	s.rows += n * c.rows
	s.bytes += n * c.bytes
	s.rowsUnknown += sign * c.rowsUnknown
	s.rowsInexact += sign * c.rowsInexact
	s.bytesUnknown += sign * c.bytesUnknown
	s.bytesInexact += sign * c.bytesInexact
	s.weight += n * c.weight
	s.weightDone += n * c.weightDone
	s.weightEnded += n * c.weightEnded
	s.sizeless += sign * c.sizeless
	s.beforeRows += n * c.beforeRows
	s.beforeBytes += n * c.beforeBytes
	s.segments += sign * c.segments
	s.segmentsEnded += sign * c.segmentsEnded
	s.total += sign * c.total
	s.waiting += sign * c.waiting
	s.running += sign * c.running
	s.done += sign * c.done
	s.failed += sign * c.failed
	s.cancelled += sign * c.cancelled
	s.proven += sign * c.proven
	s.notProven += sign * c.notProven
	s.mismatched += sign * c.mismatched
	s.skipped += sign * c.skipped
}
