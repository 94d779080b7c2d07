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
		"twice":      {&Failed{Phase: PhaseData, Loaded: 1, Of: 3, JournalSchema: "Odd", Err: &pgconn.PgError{Code: "23505"}}, `DROP SCHEMA "Odd" CASCADE`},
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

// TestQueueOfManyTables: a segment costs about the same however many there are: a million segments of one table, and a hundred thousand tables that
// wait for each other in chains, go through several workers. With anything quadratic in it this test would not end.
func TestQueueOfManyTables(t *testing.T) {
	const workers = 8
	var tables []*loadTable
	sizes := make([]int64, 1_000_000)
	for i := range sizes {
		sizes[i] = int64(i % 7)
	}
	tables = append(tables, tableOf("big", sizes...))
	for i := range 100_000 {
		child := tableOf("small", int64(i%1000), 1)
		if i%10 != 0 {
			child.after = []*loadTable{tables[len(tables)-1]}
		}
		tables = append(tables, child)
	}
	q := newQueue(tables)
	ctx := context.Background()
	taken := 0
	var last [workers]*loadTable
	for running := true; running; {
		running = false
		for w := range workers {
			if last[w] != nil {
				q.finish(last[w])
			}
			q.mu.Lock()
			next := q.pick(last[w]) // next waits where there is nothing for this worker now
			q.mu.Unlock()
			if last[w] = nil; next == nil {
				continue
			}
			got, _, ok := q.next(ctx, next)
			if !ok {
				t.Fatal("the queue ended early")
			}
			last[w], running = got, true
			taken++
		}
	}
	if want := 1_000_000 + 200_000; taken != want || q.left != 0 {
		t.Errorf("%d of %d segments were taken, %d are left", taken, want, q.left)
	}
	for _, table := range tables {
		if !table.done() {
			t.Fatalf("table %s is not done", table.entry.Name)
		}
	}
}

// TestRemainingOfManySegments: what an interrupted copy has left is found in one pass.
func TestRemainingOfManySegments(t *testing.T) {
	const n = 200_000
	var planned, done []format.ManifestSegment
	for i := range uint32(n) {
		s := format.ManifestSegment{CTIDRange: &format.CTIDRange{From: i * 10, To: i*10 + 10}}
		planned = append(planned, s)
		if i%2 == 0 {
			done = append(done, s)
		}
	}
	left := remaining("t", planned, done)
	if len(left) != n/2 || left[0].CTIDRange.From != 10 || left[n/2-1].CTIDRange.From != (n-1)*10 {
		t.Errorf("%d segments are left, the first %+v", len(left), left[0])
	}
}
