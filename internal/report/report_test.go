package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bytehaul/pghaul/internal/progress"
)

// job is the end of a restore of n tables; the first has a name that is out for the terminal.
func job(n int) *Report {
	p := progress.Report{Job: "restore", Source: "shop.dump", Target: "db2:5432/shop", Elapsed: 72 * time.Second, WarningCount: 1, Warnings: []string{"role \x1b[31m is missing"}, GapCount: 1,
		Gaps:    []progress.Gap{{Kind: "INDEX", Name: "public.orders_at", SQLState: "23505", Message: "duplicate\nkey"}},
		Phases:  []progress.Phase{{Name: "preflight", Elapsed: time.Second}, {Name: "data", Elapsed: 71 * time.Second}},
		Stages:  []progress.StageReport{{Name: "read", BusySeconds: 1.5, Share: 0.1, RowMicros: 0.25, DatumMicros: 0.125, MBPerSec: 214}, {Name: "insert", ServerSeconds: 60, Share: 0.97}},
		Verdict: progress.Verdict{Bottleneck: "insert", Sentence: "insert-bound: the server spent 61 % on CPU and 20 % on WALWrite; more jobs will not help on 2 cores"}}
	for i := range n {
		t := progress.TableReport{Name: fmt.Sprintf("public.t%02d", i), State: progress.Done, Rows: int64(1000 * i), Bytes: int64(i) << 20, Segments: 1, SegmentsTotal: 1, Seconds: 1.5,
			MBPerSec: 12.34, KRowsPerSec: 0.5, MDatumsPerSec: 0.125, Proof: progress.Proven}
		switch i {
		case 0:
			t.Name = "public.\x1b]52;c;eA==\a"
		case 1:
			t.Proof, t.Note = progress.NotProven, "text of type x differs"
		}
		p.Tables = append(p.Tables, t)
		p.Totals.Rows += t.Rows
		p.Totals.Bytes += t.Bytes
		p.Counts.Segments++
		p.Counts.SegmentsEnded++
	}
	p.Totals.Seconds = 72
	return &Report{Progress: p, Facts: []Fact{{Key: "tables_proven", Value: n - 1}, {Key: "path", Value: "d", Text: "left out: nothing"}}, Outcome: "restored"}
}

func TestText(t *testing.T) {
	want := `restore shop.dump → db2:5432/shop

table                     rows    bytes  segments  seconds  MB/s  KRows/s  MDatums/s  proof
public.\x1b]52;c;eA==\a      0      0 B         1    1.500  12.3     0.50       0.12  proven
public.t01               1,000  1.0 MiB         1    1.500  12.3     0.50       0.12  not proven: text of type x differs
public.t02               2,000  2.0 MiB         1    1.500  12.3     0.50       0.12  proven
total                    3,000  3.0 MiB         3     72.0  0.00     0.00       0.00

stage   busy s  server s  share  µs/row  µs/datum  MB/s
read      1.50      0.00   10 %   0.250    0.1250   214
insert    0.00      60.0   97 %   0.000    0.0000  0.00

phases: preflight 1.000 s, data 71.0 s

missing:
  INDEX public.orders_at: duplicate key (SQLSTATE 23505)

warnings:
  role \x1b[31m is missing

left out: nothing
insert-bound: the server spent 61 % on CPU and 20 % on WALWrite; more jobs will not help on 2 cores
restored
`
	if diff := cmp.Diff(want, job(3).Text(0)); diff != "" {
		t.Error(diff)
	}
}

func TestManyTablesAreSummedUp(t *testing.T) {
	text := job(100).Text(0)
	if n := strings.Count(text, "\npublic."); n != 21 { // the twenty largest, and the one that is not proven
		t.Errorf("%d tables are named", n)
	}
	for _, want := range []string{"public.t99 ", "public.t80 ", "public.t01 ", "\n79 more tables "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if n := len(job(100).Document()["tables"].([]map[string]any)); n != 100 {
		t.Errorf("the document has %d tables", n)
	}
	if n := strings.Count(job(40).Text(0), "\npublic."); n != 40 {
		t.Errorf("%d of 40 tables are named", n)
	}
}

// The fields are an interface: a change here belongs into CHANGELOG.md.
func TestDocumentFields(t *testing.T) {
	r := job(2)
	r.Progress.Tables[1].Err = errors.New("boom")
	b, err := json.Marshal(r.Document())
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"":       "elapsed_s gaps job ok outcome path phases source stages tables tables_proven target totals verdict waits warnings",
		"tables": "bytes error krows_per_s mb_per_s mdatums_per_s name note proof rows seconds segments segments_total state",
		"stages": "blocked_s busy_s mb_per_s server_s share stage starved_s us_per_datum us_per_row", "phases": "n of phase seconds",
		"totals": "bytes datums krows_per_s mb_per_s mdatums_per_s rows seconds segments tables", "gaps": "kind message name sqlstate", "verdict": "bottleneck sentence",
	}
	got := map[string]string{"": keys(doc)}
	for name := range want {
		switch v := doc[name].(type) {
		case []any:
			got[name] = keys(v[len(v)-1].(map[string]any))
		case map[string]any:
			got[name] = keys(v)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if doc["ok"] != false {
		t.Error("ok, with a gap")
	}
}

func keys(m map[string]any) string { return strings.Join(slices.Sorted(maps.Keys(m)), " ") }

// A terminal that is too narrow loses columns of numbers, not the proof, and breaks no line.
func TestNarrow(t *testing.T) {
	r := job(3)
	r.Progress.Tables[1].Note = ""
	text := r.Text(80)
	if !strings.Contains(text, "\ntable                     rows    bytes  segments  seconds  MB/s  proof\n") {
		t.Errorf("columns of a table in 80:\n%s", text)
	}
	if !strings.Contains(r.Text(20), "\ntable                     rows    bytes  proof\n") {
		t.Errorf("columns of a table in 20:\n%s", r.Text(20))
	}
}

// A check without a proof marks the table that failed.
func TestFailedTableIsMarked(t *testing.T) {
	r := job(2)
	r.Progress.Tables[0].Proof, r.Progress.Tables[1].Proof, r.Progress.Tables[1].Note = progress.NotTried, progress.NotTried, ""
	r.Progress.Tables[1].Err, r.Progress.Tables[1].State = errors.New("bad frame"), progress.Failed
	text := r.Text(0)
	for _, want := range []string{"MDatums/s  state\n", " 0.12  failed\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

// What had all been done before a --resume has no stages to show.
func TestIdleStages(t *testing.T) {
	r := job(2)
	r.Progress.Stages = []progress.StageReport{{Name: "read"}, {Name: "insert"}}
	if text := r.Text(0); strings.Contains(text, "stage") {
		t.Errorf("stages of no work:\n%s", text)
	}
}
