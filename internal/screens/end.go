package screens

import (
	"errors"
	"fmt"
	"time"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/report"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/tui"
)

// MigratePhases are those of a migration.
var MigratePhases = []string{"preflight", "snapshot", "pre-data", "data", "proof", "sequences", "post-data", "analyze", "cut-over"}

// AtGate is a migration that waits for its operator before the indexes are built.
func AtGate() *Job {
	j := Restore()
	j.Name, j.Source, j.Phase = "migrate", "db1:5432/shop", progress.Phase{}
	for at := 0; at < 300; at++ {
		j.Step(time.Second)
	}
	for i, name := range MigratePhases[:5] {
		j.StartPhase(name, i+1, len(MigratePhases))
	}
	j.GateAt = &tui.Gate{N: 1, Title: "the rows are there and proven",
		Done: []string{"22 tables, 248,117,204 rows, 37 GiB loaded from one snapshot", "every row proven: both sides have the same digests"},
		Next: []string{"sequences are set to the source's values", "61 indexes, 38 constraints and 12 triggers are made, the largest first"}}
	return j
}

// Preflight is a restore that is still looking, or was refused.
func Preflight() *Job {
	j := Restore()
	j.StartPhase(RestorePhases[0], 1, len(RestorePhases))
	j.Width = 0
	j.Checks = []progress.Check{
		{Name: "target and dump", State: progress.CheckOK, Text: "PostgreSQL 15 → 17, UTF8 → UTF8, 4 roles, 3 extensions"},
		{Name: "data files", State: progress.CheckOK, Text: "61 data files, whole and undamaged"},
		{Name: "extensions", State: progress.CheckWarning, Text: "extension citext: version 1.6 in the dump, 1.5 at the target", Details: []string{"warning: extension citext: version 1.6 in the dump, 1.5 at the target"}},
		{Name: "tables and columns", State: progress.CheckProblem, Text: "2 problems", Details: []string{"problem: order_state: label \"returned\" is missing at the target (ALTER TYPE order_state ADD VALUE 'returned')",
			"problem: public.orders.total: numeric(12,2) in the dump, numeric(10,2) at the target"}},
		{Name: "samples of builtin types", State: progress.CheckOK, Text: "31 types, read alike by both servers"},
		{Name: "tables that exist", State: progress.CheckRunning},
	}
	return j
}

// played lets a job run until it is done, at most this long.
func played(j *Job, most time.Duration) *Job {
	for at := time.Duration(0); at < most; at += time.Second {
		j.Step(time.Second)
	}
	return j
}

// EndOf is the end of a job, with some objects that could not be made.
func EndOf(j *Job, gaps int) tui.Ended {
	s := j.Snapshot()
	p := progress.Report{Job: s.Job, Source: s.Source, Target: s.Target, Elapsed: s.Elapsed, Counts: s.Tables, Waits: s.Waits,
		Phases: []progress.Phase{{Name: "preflight", Elapsed: 812 * time.Millisecond}, {Name: "pre-data", Elapsed: 420 * time.Millisecond}, {Name: "data", Elapsed: s.Elapsed},
			{Name: "proof", Elapsed: 18 * time.Second}, {Name: "post-data", Elapsed: 74 * time.Second}},
		Verdict: progress.Judge(s.Stages, s.Waits, s.CPUs)}
	sec := s.Elapsed.Seconds()
	for _, t := range j.Tables {
		p.Tables = append(p.Tables, progress.TableReport{Name: t.Name, State: t.State, Rows: t.DoneRows, Bytes: t.DoneBytes, Segments: t.SegmentsEnded, SegmentsTotal: t.Segments,
			Seconds: t.Elapsed.Seconds(), MBPerSec: float64(t.DoneBytes) / 1e6 / max(t.Elapsed.Seconds(), 0.1), KRowsPerSec: float64(t.DoneRows) / 1e3 / max(t.Elapsed.Seconds(), 0.1),
			MDatumsPerSec: float64(t.DoneRows*9) / 1e6 / max(t.Elapsed.Seconds(), 0.1), Proof: t.Proof, Note: t.Note, Err: t.Err})
		p.Counts.Segments += t.Segments
		p.Counts.SegmentsEnded += t.SegmentsEnded
	}
	p.Totals = progress.Totals{Rows: s.Rows, Bytes: s.Bytes, Seconds: sec, MBPerSec: float64(s.Bytes) / 1e6 / sec, KRowsPerSec: float64(s.Rows) / 1e3 / sec, MDatumsPerSec: float64(s.Rows*9) / 1e6 / sec}
	for i, st := range s.Stages {
		work := (st.Busy + st.Server).Seconds()
		p.Stages = append(p.Stages, progress.StageReport{Name: st.Name, BusySeconds: st.Busy.Seconds(), ServerSeconds: st.Server.Seconds(), Share: j.Lanes[i].Busy + j.Lanes[i].Server,
			RowMicros: work * 1e6 / float64(s.Rows), DatumMicros: work * 1e6 / float64(s.Rows*9), MBPerSec: float64(s.Bytes) / 1e6 / work})
	}
	for i := range gaps {
		p.Gaps = append(p.Gaps, []progress.Gap{{Kind: "INDEX", Name: "public.orders_customer_id_placed", SQLState: "23505", Message: "could not create unique index: Key (customer_id, placed)=(4711, 2026-11-30) is duplicated"},
			{Kind: "EXTENSION", Name: "postgis", SQLState: "0A000", Message: "extension \"postgis\" is not available"},
			{Kind: "MATERIALIZED VIEW DATA", Name: "stats.by_region", SQLState: "42883", Message: "function st_within(geometry, geometry) does not exist"}}[i%3])
	}
	p.GapCount = gaps
	end := tui.Ended{Report: &report.Report{Progress: p, Outcome: fmt.Sprintf("restored %s rows into shop in %.1f s, every row proven in 22 tables", show.Count(s.Rows), sec)},
		Next: []string{"point the application at db2:5432/shop", "keep /backup/shop-2026-11-30 until it has run there for a while"}}
	if gaps > 0 {
		end.Report.Outcome = "incomplete: the rows are there, every row proven, but 3 objects could not be made"
		end.Next = []string{"make what is missing possible, then: pghaul restore --resume shop-2026-11-30 db2/shop"}
	}
	return end
}

// failed is the end of a job that failed.
func failed(j *Job) tui.Ended {
	end := EndOf(j, 0)
	end.Report.Outcome = ""
	end.Report.Progress.WarningCount, end.Report.Progress.Warnings = 1, []string{"role \x1b[31mreporting is missing: its rights were left out"}
	end.Err = errors.New("table billing.invoices, segment 1, row 418,220, column \"issued\": date out of range: \"20260-11-30\" (SQLSTATE 22008)")
	end.Hint = "the same command with --resume goes on from here; --allow-cast issued=text would take it as text"
	end.Next = nil
	return end
}
