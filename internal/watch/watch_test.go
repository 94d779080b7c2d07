package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bytehaul/pghaul/internal/progress"
)

// job plays a restore of two tables: 30 s, 1 MB and 1,000 rows a second each, the second with a name that is out for the terminal.
func job(t *progress.Tracker, ob *Observer) {
	time.Sleep(50 * time.Millisecond) // so that it never acts just when the observer looks
	t.StartPhase("preflight A", 1, 3)
	time.Sleep(500 * time.Millisecond)
	t.StartPhase("data", 2, 3)
	orders := t.AddTable(progress.TableInfo{Name: "public.orders", Rows: 30000, RowsExact: true, Bytes: 30e6, BytesExact: true, Columns: 4})
	odd := t.AddTable(progress.TableInfo{Name: "public.\x1b]52;c;eA==\a", Rows: 30000, RowsExact: true, Bytes: 30e6, BytesExact: true, Columns: 4})
	for _, tb := range []*progress.Table{orders, odd} {
		tb.StartSegment()
		for range 300 {
			time.Sleep(100 * time.Millisecond)
			tb.Add(100, 1e5)
		}
		tb.EndSegment(nil)
	}
	t.Warn("role %s is missing", "shop")
	t.StartPhase("post-data", 3, 3)
	t.Gap("INDEX", "public.orders_at", "23505", "duplicate key")
	ob.Say("pg_restore says hello")
	time.Sleep(time.Second)
}

// watched runs the job under an observer and returns all that it wrote.
func watched(t *testing.T, o Options, job func(*progress.Tracker, *Observer), end error) string {
	t.Helper()
	var b lockedBuffer
	o.Out = &b
	synctest.Test(t, func(*testing.T) {
		tracker := progress.New("restore", "read", "parse", "convert", "insert")
		ob := Start(tracker, o)
		job(tracker, ob)
		tracker.Finish(end)
		ob.Stop()
	})
	return b.b.String()
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// A question stands behind what it is about, however soon after that it is asked.
func TestQuestionIsAskedBehindTheNews(t *testing.T) {
	for _, mode := range []Mode{Plain, Bar} {
		out := watched(t, Options{Mode: mode}, func(tr *progress.Tracker, ob *Observer) {
			tr.StartPhase("data", 1, 2)
			tb := tr.AddTable(progress.TableInfo{Name: "public.orders"})
			tb.StartSegment()
			tb.EndSegment(nil)
			ob.Pause(func() { tr.StartPhase("asked", 2, 2); ob.views[0].say("Go on?") })
		}, nil)
		if table, question := strings.Index(out, "public.orders: 0 rows"), strings.Index(out, "Go on?"); table < 0 || question < table {
			t.Errorf("%s: %q", mode, out)
		}
	}
}

func TestPlain(t *testing.T) {
	want := `00:00 phase 1 of 3: preflight A
00:01 phase 2 of 3: data
00:11 data: 16 %, 9.4 MiB of 57 MiB, 1.0 MB/s, 1.00 k rows/s, 0 of 2 tables, left 00:50
00:21 data: 33 %, 19 MiB of 57 MiB, 1.0 MB/s, 1.00 k rows/s, 0 of 2 tables, left 00:40
00:31 data: 50 %, 29 MiB of 57 MiB, 1.0 MB/s, 1.00 k rows/s, 0 of 2 tables, left 00:30
00:31 public.orders: 30,000 rows, 29 MiB, 30.0 s, 1.0 MB/s
00:41 data: 66 %, 38 MiB of 57 MiB, 1.0 MB/s, 1.00 k rows/s, 1 of 2 tables, left 00:20
00:51 data: 83 %, 48 MiB of 57 MiB, 1.0 MB/s, 1.00 k rows/s, 1 of 2 tables, left 00:10
01:01 data: 100 %, 57 MiB of 57 MiB, 1.0 MB/s, 1.00 k rows/s, 1 of 2 tables, left 00:00
01:01 public.\x1b]52;c;eA==\a: 30,000 rows, 29 MiB, 30.0 s, 1.0 MB/s
01:01 warning: role shop is missing
01:01 phase 3 of 3: post-data
01:01 missing: INDEX public.orders_at: duplicate key (SQLSTATE 23505)
`
	got := watched(t, Options{Mode: Plain}, job, nil)
	said := "pg_restore says hello\n"
	if !strings.Contains(got, said) {
		t.Errorf("the line of the caller is missing")
	}
	got = regexp.MustCompile(`(?m)^.*pg_restore says hello\n`).ReplaceAllString(got, "")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestQuietTellsWarningsAlone(t *testing.T) {
	want := "pghaul: warning: role shop is missing\npghaul: missing: INDEX public.orders_at: duplicate key (SQLSTATE 23505)\n"
	for _, mode := range []Mode{Plain, Bar} {
		got := watched(t, Options{Mode: mode, Quiet: true}, func(tr *progress.Tracker, ob *Observer) { job(tr, ob) }, nil)
		got = strings.ReplaceAll(got, "pghaul: pg_restore says hello\n", "")
		if !sameLines(want, got) {
			t.Errorf("%s: %s", mode, cmp.Diff(want, got))
		}
	}
}

func sameLines(a, b string) bool {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

func TestNoneIsSilent(t *testing.T) {
	if got := watched(t, Options{Mode: None}, job, errors.New("boom")); got != "" {
		t.Errorf("wrote %q", got)
	}
}

func TestBar(t *testing.T) {
	for _, width := range []int{80, 120, 30} {
		got := watched(t, Options{Mode: Bar, Width: func() int { return width }}, job, nil)
		drawn := strings.Split(got, eraseLine)
		if last := drawn[len(drawn)-1]; strings.TrimSpace(last) != "" {
			t.Errorf("width %d: the bar still stands: %q", width, last)
		}
		if strings.Contains(strings.ReplaceAll(got, eraseLine, ""), "\x1b") {
			t.Errorf("width %d: an escape sequence of the table's name reached the terminal", width)
		}
		for _, d := range drawn {
			lines := strings.Split(d, "\n")
			status := lines[len(lines)-1]
			if n := len([]rune(status)); n >= width {
				t.Errorf("width %d: status of %d columns: %q", width, n, status)
			}
		}
		if width == 80 {
			for _, want := range []string{
				"data    0% ░░░░░░░░░░░░░░░░░░░░       0 rows/s     0 MB/s  left ?",
				"data   50% ██████████░░░░░░░░░░  1.00 k rows/s   1.0 MB/s  left 00:29",
			} {
				if !slices.Contains(drawn, want) {
					t.Errorf("no status %q", want)
				}
			}
		}
		if !strings.Contains(got, "public.orders: 30,000 rows, 29 MiB, 30.0 s, 1.0 MB/s\n") {
			t.Errorf("width %d: the finished table is missing", width)
		}
	}
}

func TestPauseClearsTheLine(t *testing.T) {
	var during string
	var b lockedBuffer
	synctest.Test(t, func(*testing.T) {
		tracker := progress.New("restore", "read", "insert")
		ob := Start(tracker, Options{Mode: Bar, Out: &b})
		tracker.StartPhase("data", 1, 1)
		time.Sleep(time.Second)
		ob.Pause(func() { during = b.b.String() })
		tracker.Finish(nil)
		ob.Stop()
	})
	if !strings.HasSuffix(during, eraseLine) {
		t.Errorf("while paused: %q", during)
	}
}

// The fields are an interface: a change here belongs into CHANGELOG.md.
func TestJSONFields(t *testing.T) {
	got := watched(t, Options{Mode: JSON}, func(tr *progress.Tracker, ob *Observer) {
		job(tr, ob)
		bad := tr.AddTable(progress.TableInfo{Name: "public.bad", Rows: -1, Bytes: -1})
		bad.StartSegment()
		bad.EndSegment(errors.New("boom"))
	}, errors.New("boom"))
	keys := map[string][]string{}
	for l := range strings.Lines(got) {
		var m map[string]any
		if err := json.Unmarshal([]byte(l), &m); err != nil {
			t.Fatalf("line %q: %v", l, err)
		}
		if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`).MatchString(m["t"].(string)) {
			t.Errorf("time %q", m["t"])
		}
		name := m["event"].(string)
		if state, ok := m["state"].(string); ok {
			name += " " + state
		}
		if m["kind"] != nil {
			name += " gap"
		}
		var k []string
		for key, value := range m {
			k = append(k, key)
			if stages, ok := value.([]any); ok && len(stages) > 0 {
				var inner []string
				for key := range stages[0].(map[string]any) {
					inner = append(inner, key)
				}
				slices.Sort(inner)
				keys["stages"] = inner
			}
		}
		slices.Sort(k)
		keys[name] = k
	}
	want := map[string][]string{
		"progress":    {"bottleneck", "bytes", "bytes_total", "eta_s", "event", "job", "phase", "rows", "rows_total", "stages", "t", "waits"},
		"stages":      {"blocked_s", "busy_s", "bytes", "rows", "server_s", "stage", "starved_s"},
		"phase start": {"event", "job", "n", "of", "phase", "state", "t"},
		"phase end":   {"elapsed_s", "event", "job", "n", "of", "phase", "state", "t"},
		"table start": {"event", "job", "state", "t", "table"},
		"table end":   {"bytes", "elapsed_s", "event", "job", "rows", "state", "t", "table"},
		"table error": {"bytes", "elapsed_s", "error", "event", "job", "rows", "state", "t", "table"},
		"warning":     {"event", "job", "message", "t"},
		"warning gap": {"event", "job", "kind", "message", "name", "sqlstate", "t"},
		"log":         {"event", "job", "message", "t"},
		"summary":     {"bytes", "elapsed_s", "error", "event", "gaps", "job", "ok", "rows", "t", "tables", "tables_done", "tables_proven", "verdict", "warnings"},
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Error(diff)
	}
}

func TestLogHasDates(t *testing.T) {
	var log lockedBuffer
	got := watched(t, Options{Mode: None, Log: NewLog(&log, LogText, "restore")}, job, nil)
	if got != "" {
		t.Errorf("wrote %q", got)
	}
	if !regexp.MustCompile(`(?m)^2000-01-01T00:00:30\.\d{3}Z public\.orders: 30,000 rows`).MatchString(log.b.String()) {
		t.Errorf("log: %s", log.b.String())
	}
}

// Close implements io.Closer.
func (l *lockedBuffer) Close() error { return nil }

// The fields are an interface: a change here belongs into CHANGELOG.md and docs/schema/log.json.
func TestLogOfJSON(t *testing.T) {
	var log lockedBuffer
	l := NewLog(&log, LogJSON, "restore")
	watched(t, Options{Mode: None, Log: l}, func(tr *progress.Tracker, ob *Observer) {
		job(tr, ob)
		bad := tr.AddTable(progress.TableInfo{Name: "public.bad", Rows: -1, Bytes: -1})
		bad.StartSegment()
		bad.EndSegment(fmt.Errorf("copy: %w", serverError("22P04")))
	}, errors.New("boom"))
	l.Tell(slog.LevelError, "the end", SQLState(serverError("40001"))...)
	var got []string
	for line := range strings.Lines(log.b.String()) {
		if strings.ContainsAny(line, "\x1b\x07") || strings.Contains(line, "null") {
			t.Errorf("line %q", line)
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		if at, err := time.Parse(time.RFC3339, m["time"].(string)); err != nil || !strings.HasSuffix(m["time"].(string), "Z") || at.IsZero() || m["job"] != "restore" {
			t.Errorf("line %q: %v", line, err)
		}
		delete(m, "time")
		delete(m, "job")
		got = append(got, fmt.Sprint(m["level"], " ", m["msg"], " ", rest(m)))
	}
	got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, "info pg_restore says hello") }) // beside the job's events
	want := []string{
		"info phase 1 of 3: preflight A phase=preflight A state=start",
		"info phase 1 of 3: preflight A: ended elapsed_s=0.5 phase=preflight A state=end",
		"info phase 2 of 3: data phase=data state=start",
		"info data: 16 %, 9.4 MiB of 57 MiB, 1.0 MB/s, 1.00 k rows/s, 0 of 2 tables, left 00:50 bytes=9.9e+06 phase=data rows=9900",
		"info data: 33 %, 19 MiB of 57 MiB, 1.0 MB/s, 1.00 k rows/s, 0 of 2 tables, left 00:40 bytes=1.99e+07 phase=data rows=19900",
		"info data: 50 %, 29 MiB of 57 MiB, 1.0 MB/s, 1.00 k rows/s, 0 of 2 tables, left 00:30 bytes=2.99e+07 phase=data rows=29900",
		"info public.orders: 30,000 rows, 29 MiB, 30.0 s, 1.0 MB/s bytes=3e+07 elapsed_s=30 phase=data rows=30000 table=public.orders",
		"info data: 66 %, 38 MiB of 57 MiB, 1.0 MB/s, 1.00 k rows/s, 1 of 2 tables, left 00:20 bytes=3.99e+07 phase=data rows=39900",
		"info data: 83 %, 48 MiB of 57 MiB, 1.0 MB/s, 1.00 k rows/s, 1 of 2 tables, left 00:10 bytes=4.99e+07 phase=data rows=49900",
		"info data: 100 %, 57 MiB of 57 MiB, 1.0 MB/s, 1.00 k rows/s, 1 of 2 tables, left 00:00 bytes=5.99e+07 phase=data rows=59900",
		`info public.\x1b]52;c;eA==\a: 30,000 rows, 29 MiB, 30.0 s, 1.0 MB/s bytes=3e+07 elapsed_s=30 phase=data rows=30000 table=public.` + "\x1b]52;c;eA==\a",
		"warning role shop is missing phase=data",
		"info phase 2 of 3: data: ended elapsed_s=60 phase=data state=end",
		"info phase 3 of 3: post-data phase=post-data state=start",
		"error missing: INDEX public.orders_at: duplicate key (SQLSTATE 23505) kind=INDEX name=public.orders_at phase=post-data sqlstate=23505",
		"error public.bad: failed: copy: the server's bytes=0 elapsed_s=0 phase=post-data rows=0 sqlstate=22P04 table=public.bad",
		"info phase 3 of 3: post-data: ended elapsed_s=1 phase=post-data state=end",
		"error failed: 60,000 rows, 57 MiB, 61.5 s bytes=6e+07 elapsed_s=61.55 gaps=1 ok=false rows=60000 tables=3 tables_done=2 tables_proven=0 warnings=1",
		"error the end sqlstate=40001",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// rest are the fields but for the level and the message.
func rest(m map[string]any) string {
	var all []string
	for k, v := range m {
		if k != "level" && k != "msg" {
			all = append(all, fmt.Sprintf("%s=%v", k, v))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

type serverError string

func (e serverError) Error() string    { return "the server's" }
func (e serverError) SQLState() string { return string(e) }

// What could not be written is told at the end, once, and the job goes on.
func TestLogKeepsItsError(t *testing.T) {
	for _, form := range []LogForm{LogText, LogJSON} {
		full := &fullDisk{}
		l := NewLog(full, form, "dump")
		watched(t, Options{Mode: None, Log: l}, job, nil)
		l.Tell(slog.LevelInfo, "the end")
		if err := l.Close(); !errors.Is(err, errFull) || !full.closed || full.writes != 1 {
			t.Errorf("%s: %v, closed %v, %d writes", form, err, full.closed, full.writes)
		}
	}
}

var errFull = errors.New("no space left")

type fullDisk struct {
	writes int
	closed bool
}

func (f *fullDisk) Write([]byte) (int, error) { f.writes++; return 0, errFull }
func (f *fullDisk) Close() error              { f.closed = true; return nil }
