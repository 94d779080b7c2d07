package progress

import (
	"context"
	"errors"
	"sync"
	"testing"
)

type facts struct{}

func (facts) Facts() Facts { return Facts{Notes: []string{"a note"}} }

func TestPartsAreDescribed(t *testing.T) {
	tr := New("restore", "read", "insert")
	many := tr.AddTable(TableInfo{Name: "many", Segments: 5, Describe: facts{}})
	one := tr.AddTable(TableInfo{Name: "one", Segments: 1})
	many.Part(0).Start()
	many.Part(0).Add(5, 50)
	many.Part(1).Start()
	many.Part(1).Add(7, 70)
	many.Part(1).Unwind(7, 70)
	many.Part(1).End(errors.New("boom"))
	many.Part(2).AlreadyDone(9, 90)
	many.Part(3).Start()
	many.Part(3).End(context.Canceled)
	one.Part(0).Start()
	one.Part(0).Add(1, 10)
	one.Part(0).End(nil)
	f, parts, ok := tr.Describe(0)
	want := []PartSnapshot{{Running, 5, 50}, {Failed, 0, 0}, {Done, 9, 90}, {Cancelled, 0, 0}, {Waiting, 0, 0}}
	if !ok || len(f.Notes) != 1 || len(parts) != len(want) {
		t.Fatalf("%+v, %+v, %v", f, parts, ok)
	}
	for i := range want {
		if parts[i] != want[i] {
			t.Errorf("segment %d: %+v, want %+v", i, parts[i], want[i])
		}
	}
	if _, parts, _ := tr.Describe(1); len(parts) != 1 || parts[0] != (PartSnapshot{Done, 1, 10}) {
		t.Errorf("%+v", parts)
	}
	if s := tr.TablesByID([]int{0, 1}); s[0].DoneRows != 14 || s[0].State != Failed || s[1].State != Done {
		t.Errorf("%+v", s)
	}
	if _, _, ok := tr.Describe(2); ok {
		t.Error("a table that is none is described")
	}
	var none *Table
	none.Part(0).Start()
	none.Part(0).Add(1, 1)
	none.Part(0).AlreadyDone(1, 1)
	none.Part(0).End(nil)
}

// Whoever looks while segments move sees no more than there is.
func TestPartsAreLookedAtWhileTheyMove(t *testing.T) {
	tr := New("dump", "read", "write")
	tb := tr.AddTable(TableInfo{Name: "t", Segments: 8})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			p := tb.Part(i)
			p.Start()
			for range 1000 {
				p.Add(1, 2)
			}
			p.End(nil)
		})
		all.Go(func() {
			for range 100 {
				if _, parts, _ := tr.Describe(0); len(parts) != 8 || parts[i].Rows > 1000 {
					t.Errorf("%+v", parts)
				}
			}
		})
	}
	all.Wait()
	if _, parts, _ := tr.Describe(0); parts[7] != (PartSnapshot{Done, 1000, 2000}) {
		t.Errorf("%+v", parts)
	}
}
