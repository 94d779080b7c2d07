package progress

import (
	"errors"
	"testing"
)

func kinds(events []Event) []EventKind {
	var k []EventKind
	for _, e := range events {
		k = append(k, e.Kind)
	}
	return k
}

func wantKinds(t *testing.T, events []Event, want ...EventKind) {
	t.Helper()
	got := kinds(events)
	if len(got) != len(want) {
		t.Fatalf("events %q, want %q", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("events %q, want %q", got, want)
		}
	}
}

func TestEventsTellTheStory(t *testing.T) {
	boom := errors.New("boom")
	tr := New("restore", "read", "insert")
	tr.StartPhase("data", 4, 10)
	a := tr.AddTable(TableInfo{Name: "a", Segments: 2})
	b := tr.AddTable(TableInfo{Name: "b"})
	a.StartSegment()
	a.StartSegment()
	a.Add(5, 50)
	a.EndSegment(nil)
	b.StartSegment()
	b.EndSegment(boom)

	first, next := tr.Events(0)
	wantKinds(t, first, PhaseStart, TableStart, TableStart, TableError)
	if first[0].Phase != "data" || first[0].N != 4 || first[0].Of != 10 || first[3].Table != "b" || first[3].Err != boom {
		t.Errorf("%+v", first)
	}
	if none, again := tr.Events(next); none != nil || again != next {
		t.Errorf("nothing happened, yet %v", none)
	}

	a.EndSegment(nil)
	tr.Warn("row %d is odd", 7)
	tr.Gap("index", "i", "23505", "duplicate key")
	tr.Finish(boom)
	rest, next := tr.Events(next)
	wantKinds(t, rest, TableEnd, Warning, GapFound, PhaseEnd, Finished)
	if rest[0].Rows != 5 || rest[0].Bytes != 50 || rest[1].Message != "row 7 is odd" ||
		*rest[2].Gap != (Gap{"index", "i", "23505", "duplicate key"}) || rest[4].Err != boom {
		t.Errorf("%+v", rest)
	}
	all, _ := tr.Events(-5)
	for i, e := range all {
		if e.Seq != i {
			t.Errorf("event %d has number %d", i, e.Seq)
		}
	}
	if len(all) != next {
		t.Errorf("%d events, next is %d", len(all), next)
	}
	if beyond, n := tr.Events(next + 100); beyond != nil || n != next {
		t.Errorf("beyond the end: %v, %d", beyond, n)
	}
	if s := tr.Snapshot(); s.Warnings != 1 || s.Gaps != 1 {
		t.Errorf("%d warnings, %d gaps", s.Warnings, s.Gaps)
	}
}

func TestEventsAreBounded(t *testing.T) {
	tr := New("dump", "read", "write")
	const n = 3*maxEvents + 5
	for i := range n {
		tr.Warn("%d", i)
	}
	events, next := tr.Events(10)
	if next != n || len(events) != maxEvents+1 {
		t.Fatalf("%d events, next %d", len(events), next)
	}
	if d := events[0]; d.Kind != Dropped || d.N != n-maxEvents-10 || d.Seq != 10 {
		t.Errorf("%+v", d)
	}
	for i, e := range events[1:] {
		if e.Seq != n-maxEvents+i || e.Kind != Warning {
			t.Fatalf("event %d: %+v", i, e)
		}
	}
	if last := events[maxEvents]; last.Message != "12292" {
		t.Errorf("last %+v", last)
	}
	r := tr.Report()
	if len(r.Warnings) != maxWarnings || r.WarningCount != n {
		t.Errorf("report has %d of %d warnings", len(r.Warnings), r.WarningCount)
	}
}
