package progress

import (
	"slices"
	"time"
)

// Report is the numbers for the end of a job. MB are 10^6 bytes.
type Report struct {
	Job, Source, Target string
	Elapsed             time.Duration
	Err                 error
	Phases              []Phase
	Tables              []TableReport // in the order in which they were added
	Counts              TableCounts
	Stages              []StageReport
	Totals              Totals
	Waits               []ServerWaits
	Verdict             Verdict
	Warnings            []string // the first thousand
	WarningCount        int
	Gaps                []Gap // the first ten thousand
	GapCount            int
}

// TableReport is one line of the table list. Rates are of this run: rows that
// an earlier run had moved count in Rows and Bytes alone.
type TableReport struct {
	Name          string
	State         State
	Rows, Bytes   int64
	Segments      int // ended, of SegmentsTotal
	SegmentsTotal int
	Seconds       float64 // from the first segment's start to the last one's end
	MBPerSec      float64
	KRowsPerSec   float64
	MDatumsPerSec float64 // datums are rows × columns
	Proof         Proof
	Note          string
	Err           error
}

// StageReport is one line of the stage table. Times add up over lanes.
type StageReport struct {
	Name                                                       string
	BusySeconds, ServerSeconds, StarvedSeconds, BlockedSeconds float64
	Share                                                      float64 // busy and server of the lanes' time, 0 to 1
	RowMicros                                                  float64 // busy and server time per row
	DatumMicros                                                float64 // busy and server time per datum
	MBPerSec                                                   float64 // bytes of rows per second of that
	BytesIn, BytesOut, Raw                                     int64
}

// Totals is the last line. Rates are over the whole job's time.
type Totals struct {
	Rows, Bytes, Datums                  int64
	Seconds                              float64
	MBPerSec, KRowsPerSec, MDatumsPerSec float64
}

// Report gives the job's numbers, up to now or up to Finish. Its cost grows
// with the number of tables. It is zero for a nil Tracker.
func (t *Tracker) Report() Report {
	if t == nil {
		return Report{}
	}
	s := t.Snapshot()
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Report{
		Job: s.Job, Source: s.Source, Target: s.Target, Elapsed: s.Elapsed, Err: s.Err,
		Phases: s.Phases, Counts: s.Tables, Waits: s.Waits, Verdict: s.Verdict,
		Warnings: slices.Clone(t.warnings), WarningCount: t.warned,
		Gaps: slices.Clone(t.gaps), GapCount: t.gapped,
	}
	var moved, datums int64
	for _, tb := range t.tables {
		row := tb.report(s.Time)
		r.Tables = append(r.Tables, row)
		r.Totals.Rows += row.Rows
		r.Totals.Bytes += row.Bytes
		r.Totals.Datums += row.Rows * int64(tb.info.Columns)
		moved += tb.rows.Load()
		datums += tb.rows.Load() * int64(tb.info.Columns)
	}
	sec := s.Elapsed.Seconds()
	r.Totals.Seconds = sec
	r.Totals.MBPerSec = per(float64(s.MovedBytes)/1e6, sec)
	r.Totals.KRowsPerSec = per(float64(moved)/1e3, sec)
	r.Totals.MDatumsPerSec = per(float64(datums)/1e6, sec)
	for _, st := range s.Stages {
		r.Stages = append(r.Stages, st.report(moved, datums))
	}
	return r
}

func (tb *Table) report(now time.Time) TableReport {
	total := tb.total()
	rows, bytes := float64(tb.rows.Load()), float64(tb.bytes.Load())
	sec := tb.elapsed(now).Seconds()
	return TableReport{
		Name: tb.info.Name, State: tb.state, Rows: total.rows, Bytes: total.bytes,
		Segments: tb.ended, SegmentsTotal: tb.info.Segments, Seconds: sec,
		MBPerSec: per(bytes/1e6, sec), KRowsPerSec: per(rows/1e3, sec),
		MDatumsPerSec: per(rows*float64(tb.info.Columns)/1e6, sec),
		Proof:         tb.proof, Note: tb.note, Err: tb.err,
	}
}

// report spreads the stage's work, the server's for it included, over the rows and datums of
// the job: the source does not know its rows, and a sink that only waits for a server has no
// work of its own.
func (s StageSnapshot) report(rows, datums int64) StageReport {
	work := (s.Busy + s.Server).Seconds()
	return StageReport{
		Name: s.Name, BusySeconds: s.Busy.Seconds(), ServerSeconds: s.Server.Seconds(),
		StarvedSeconds: s.Starved.Seconds(), BlockedSeconds: s.Blocked.Seconds(),
		Share:     s.share(s.Busy + s.Server),
		RowMicros: per(work*1e6, float64(rows)), DatumMicros: per(work*1e6, float64(datums)),
		MBPerSec: per(float64(s.Raw)/1e6, work),
		BytesIn:  s.BytesIn, BytesOut: s.BytesOut, Raw: s.Raw,
	}
}

// per divides, and gives 0 where there is nothing to divide by.
func per(n, by float64) float64 {
	if by <= 0 {
		return 0
	}
	return n / by
}
