package report

import (
	"github.com/bytehaul/pghaul/internal/progress"
)

// Document is the report as one JSON document. The names of the fields are an interface.
func (r *Report) Document() map[string]any {
	p := &r.Progress
	doc := map[string]any{
		"job": p.Job, "source": p.Source, "target": p.Target, "elapsed_s": p.Elapsed.Seconds(), "ok": p.Err == nil && p.GapCount == 0,
		"tables": documentTables(p.Tables), "stages": documentStages(p.Stages), "phases": documentPhases(p.Phases),
		"totals": map[string]any{"tables": p.Counts.Total, "segments": p.Counts.SegmentsEnded, "rows": p.Totals.Rows, "bytes": p.Totals.Bytes, "datums": p.Totals.Datums,
			"seconds": p.Totals.Seconds, "mb_per_s": p.Totals.MBPerSec, "krows_per_s": p.Totals.KRowsPerSec, "mdatums_per_s": p.Totals.MDatumsPerSec},
		"waits":   documentWaits(p.Waits),
		"verdict": map[string]any{"bottleneck": p.Verdict.Bottleneck, "sentence": p.Verdict.Sentence}, "outcome": r.Outcome,
		"warnings": listOf(p.Warnings), "gaps": documentGaps(p.Gaps),
	}
	for _, f := range r.Facts {
		doc[f.Key] = f.Value
	}
	return doc
}

// listOf makes an empty list of nil, so that it is [] and not null.
func listOf[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

func documentTables(all []progress.TableReport) []map[string]any {
	out := []map[string]any{}
	for _, t := range all {
		m := map[string]any{"name": t.Name, "state": t.State, "rows": t.Rows, "bytes": t.Bytes, "segments": t.Segments, "segments_total": t.SegmentsTotal,
			"seconds": t.Seconds, "mb_per_s": t.MBPerSec, "krows_per_s": t.KRowsPerSec, "mdatums_per_s": t.MDatumsPerSec, "proof": t.Proof, "note": t.Note}
		if t.Err != nil {
			m["error"] = t.Err.Error()
		}
		out = append(out, m)
	}
	return out
}

func documentStages(all []progress.StageReport) []map[string]any {
	out := []map[string]any{}
	for _, s := range all {
		out = append(out, map[string]any{"stage": s.Name, "busy_s": s.BusySeconds, "server_s": s.ServerSeconds, "starved_s": s.StarvedSeconds, "blocked_s": s.BlockedSeconds,
			"share": s.Share, "us_per_row": s.RowMicros, "us_per_datum": s.DatumMicros, "mb_per_s": s.MBPerSec})
	}
	return out
}

func documentPhases(all []progress.Phase) []map[string]any {
	out := []map[string]any{}
	for _, p := range all {
		out = append(out, map[string]any{"phase": p.Name, "n": p.N, "of": p.Of, "seconds": p.Elapsed.Seconds()})
	}
	return out
}

func documentWaits(all []progress.ServerWaits) map[string]map[string]float64 {
	out := map[string]map[string]float64{}
	for _, w := range all {
		out[w.Server] = map[string]float64{}
		for _, s := range w.Shares {
			out[w.Server][s.Event] = s.Share
		}
	}
	return out
}

func documentGaps(all []progress.Gap) []map[string]string {
	out := []map[string]string{}
	for _, g := range all {
		out = append(out, map[string]string{"kind": g.Kind, "name": g.Name, "sqlstate": g.SQLState, "message": g.Message})
	}
	return out
}
