package restore

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bytehaul/pghaul/format"
)

func tableOf(name format.Name, segments ...int64) *loadTable {
	t := &loadTable{entry: &format.ManifestTable{Name: name}}
	for i, n := range segments {
		t.entry.Segments = append(t.entry.Segments, format.ManifestSegment{StoredFile: format.StoredFile{StoredBytes: n}, RawBytes: n})
		t.left = append(t.left, i)
	}
	return t
}

func TestQueueOrder(t *testing.T) {
	ctx := context.Background()
	big, middle, small := tableOf("big", 10, 10, 10), tableOf("middle", 5, 5), tableOf("small", 1)
	q := newQueue([]*loadTable{small, middle, big})
	take := func(last *loadTable, want format.Name) *loadTable {
		t.Helper()
		got, _, ok := q.next(ctx, last)
		if !ok || got.entry.Name != want {
			t.Fatalf("next: %v, %v, want %s", got, ok, want)
		}
		return got
	}
	a := take(nil, "big")    // the largest first
	b := take(nil, "middle") // another worker, another table
	q.finish(a)
	q.finish(b)
	a = take(a, "big") // each keeps to its own
	b = take(b, "middle")
	q.finish(b)
	b = take(b, "small")
	q.finish(b)
	take(b, "big") // and helps where most is left
	q.finish(a)
	if _, _, ok := q.next(ctx, a); ok {
		t.Error("a segment too many")
	}
}

func TestQueueWaitsForParents(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	parent, child := tableOf("parent", 1), tableOf("child", 100)
	child.after = []*loadTable{parent}
	q := newQueue([]*loadTable{child, parent})
	got, _, ok := q.next(ctx, nil)
	if !ok || got != parent {
		t.Fatalf("first table %v", got.entry.Name)
	}
	second := make(chan *loadTable)
	go func() {
		got, _, _ := q.next(ctx, nil)
		second <- got
	}()
	q.finish(parent)
	if got := <-second; got != child {
		t.Errorf("second table %v", got)
	}

	stuck := tableOf("stuck", 1)
	stuck.after = []*loadTable{child} // running
	q = newQueue([]*loadTable{stuck})
	go func() {
		got, _, _ := q.next(ctx, nil)
		second <- got
	}()
	cancel()
	if got := <-second; got != nil {
		t.Errorf("table %v after a cancel", got.entry.Name)
	}
}

func TestFailedSaysWhatToDo(t *testing.T) {
	full := &pgconn.PgError{Severity: "ERROR", Code: "53100", Message: "could not extend file"}
	for name, c := range map[string]struct {
		err  *Failed
		hint string
	}{
		"disk full":  {&Failed{Phase: PhaseData, Loaded: 1, Of: 3, JournalSchema: "pghaul_journal", Err: full}, "disk is full"},
		"journal":    {&Failed{Phase: PhaseData, Loaded: 1, Of: 3, JournalSchema: "pghaul_journal", Err: context.Canceled}, "--resume"},
		"no journal": {&Failed{Phase: PhaseData, Loaded: 1, Of: 3, Err: context.Canceled}, "empty target"},
		"own hint":   {&Failed{Phase: PhaseData, JournalSchema: "j", Err: withHint(errors.New("x"), "do this")}, "do this; then the journal (schema j)"},
		"made":       {&Failed{Phase: PhaseData, Created: true, Database: "db", Err: full}, "disk is full"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(c.err.Hint(), c.hint) {
				t.Errorf("hint %q lacks %q", c.err.Hint(), c.hint)
			}
			text := c.err.Error()
			if !strings.Contains(text, "did not finish") || c.err.Of == 3 && !strings.Contains(text, "1 of 3 segments") || c.err.Created && !strings.Contains(text, `"db" was made and stays`) {
				t.Errorf("error %q", text)
			}
		})
	}
}
