package progress

import (
	"errors"
	"slices"
	"testing"
)

func TestTableChanges(t *testing.T) {
	tr := New("restore", "read", "insert")
	var tables []*Table
	for range 5 {
		tables = append(tables, tr.AddTable(TableInfo{Name: "t", Segments: 2}))
	}
	ids, next := tr.TableChanges(0)
	if !slices.Equal(ids, []int{0, 1, 2, 3, 4}) {
		t.Fatalf("added: %v", ids)
	}
	want := func(what string, want ...int) {
		t.Helper()
		if ids, next = tr.TableChanges(next); !slices.Equal(ids, want) {
			t.Errorf("%s: %v, want %v", what, ids, want)
		}
	}
	want("nothing")
	tables[3].StartSegment()
	tables[1].StartSegment()
	want("two started", 1, 3)
	tables[3].Add(10, 100)
	tables[3].StartSegment()
	want("rows and a second segment")
	tables[3].EndSegment(errors.New("boom"))
	tables[3].EndSegment(nil)
	tables[1].SetProof(Proven, "")
	want("failed, proven", 1, 3)
	tr.AddTable(TableInfo{Name: "u"})
	want("one more", 5)
	for _, from := range []int{-1, next + 10} {
		if _, n := tr.TableChanges(from); n != next {
			t.Errorf("from %d: next is %d, want %d", from, n, next)
		}
	}
}

func TestTablesByID(t *testing.T) {
	tr := New("dump", "read", "write")
	for _, name := range []string{"a", "b", "c"} {
		tr.AddTable(TableInfo{Name: name})
	}
	var names string
	for _, tb := range tr.TablesByID([]int{2, -1, 0, 3, 2}) {
		names += tb.Name
	}
	if names != "cac" {
		t.Errorf("%q", names)
	}
	var none *Tracker
	if ids, next := none.TableChanges(3); ids != nil || next != 0 || none.TablesByID([]int{0}) != nil {
		t.Error("a nil tracker has tables")
	}
}

func TestPlannedPhases(t *testing.T) {
	tr := New("restore", "read", "insert")
	names := []string{"preflight", "data"}
	tr.PlanPhases(names...)
	names[0] = "changed"
	if got := tr.Snapshot().Planned; !slices.Equal(got, []string{"preflight", "data"}) {
		t.Errorf("%q", got)
	}
	var none *Tracker
	none.PlanPhases("x")
}
