package progress

import (
	"fmt"
	"testing"
)

func TestChecksAreSeenOneByOne(t *testing.T) {
	tr := New("restore", "read", "insert")
	files := tr.StartCheck("files")
	if c := tr.Snapshot().Checks; len(c) != 1 || c[0].State != CheckRunning || c[0].Name != "files" {
		t.Fatalf("%+v", c)
	}
	files(CheckOK, "3 files", "a", "b")
	files(CheckProblem, "twice")
	many := make([]string, maxCheckDetails+5)
	tr.StartCheck("columns")(CheckProblem, "2 problems", many...)
	s := tr.Snapshot()
	if len(s.Checks) != 2 || s.Checks[0].State != CheckOK || s.Checks[0].Text != "3 files" || len(s.Checks[0].Details) != 2 ||
		s.Checks[1].N != 1 || len(s.Checks[1].Details) != maxCheckDetails {
		t.Errorf("%+v", s.Checks)
	}
	events, _ := tr.Events(0)
	var seen []string
	for _, e := range events {
		if e.Kind == CheckChange {
			seen = append(seen, fmt.Sprint(e.Check.Name, " ", e.Check.State))
		}
	}
	if fmt.Sprint(seen) != "[files running files ok columns running columns problem]" {
		t.Errorf("%v", seen)
	}
	for range maxChecks + 10 {
		tr.StartCheck("more")(CheckOK, "")
	}
	if n := len(tr.Snapshot().Checks); n != maxChecks {
		t.Errorf("%d checks are kept", n)
	}
	var none *Tracker
	none.StartCheck("x")(CheckOK, "")
}
