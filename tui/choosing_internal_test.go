package tui

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/shelf"
	"github.com/bytehaul/pghaul/internal/workbench"
	"github.com/bytehaul/pghaul/restore"
)

// evil is a name that must not reach the terminal as it is.
const evil = "a\x1b]52;c;eHh4\x07\u202eb"

// noJobs starts jobs that look at once and are refused.
type noJobs struct{ started []string }

// lookingJob is a job in its preflight.
type lookingJob struct {
	*progress.Tracker
	done chan struct{}
	gate *Gate
}

func (j *lookingJob) Done() <-chan struct{} { return j.done }
func (j *lookingJob) Err() error            { return nil }
func (j *lookingJob) Gate() (Gate, bool) {
	if j.gate == nil {
		return Gate{}, false
	}
	return *j.gate, true
}
func (j *lookingJob) PassGate(int) { j.gate = nil }
func (j *lookingJob) Comparisons() []restore.Comparison {
	return []restore.Comparison{{DiffTable: restore.DiffTable{Schema: "public", Name: evil, Refused: true, Columns: []restore.DiffColumn{{Name: evil, Verdict: restore.NoFit, Refused: true, Dump: "int", Why: evil}}},
		Samples: []restore.SampleReading{{Type: evil, Source: evil, Target: "x"}}}}
}

func newLooking() *lookingJob {
	j := &lookingJob{Tracker: progress.New("restore", "read", "insert"), done: make(chan struct{})}
	j.StartPhase(restore.PhasePreflight, 1, 3)
	j.StartCheck("files")(progress.CheckOK, "3 files")
	j.StartCheck("tables and columns")(progress.CheckProblem, "2 problems", "problem: "+evil, "warning: w")
	j.StartCheck("more")
	return j
}

func (n *noJobs) run(what string) RunOptions {
	n.started = append(n.started, what)
	return RunOptions{View: newLooking()}
}
func (n *noJobs) Dump(o dump.Options) RunOptions       { return n.run("dump " + o.Dir) }
func (n *noJobs) Verify(path string) RunOptions        { return n.run("verify " + path) }
func (n *noJobs) Restore(o restore.Options) RunOptions { return n.run("restore " + o.Dir) }

func (n *noJobs) Migrate(dump.Options, restore.Options, bool) RunOptions { return n.run("migrate") }

// desk is a program at its home screen, with what it would ask a server for.
type desk struct {
	t    *testing.T
	p    *Program
	home *home
	jobs *noJobs
}

func newDesk(t *testing.T, width, height int) *desk {
	t.Helper()
	t.Setenv("PGHOST", t.TempDir()) // where no server is
	state, err := workbench.LoadState("")
	if err != nil {
		t.Fatal(err)
	}
	if err := state.Note(workbench.Job{Kind: "dump", Source: evil, Target: evil, Result: evil, OK: true, Bytes: 1 << 30, Millis: 1000}); err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, jobs: &noJobs{}}
	d.home = NewHome(HomeOptions{Jobs: d.jobs, State: state, Dir: t.TempDir(), Now: func() time.Time { return time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC) }, Dumps: func() ([]shelf.Dump, error) {
		return []shelf.Dump{{Path: "/d/shop-2026-11-30", State: shelf.Complete, Database: evil, Tables: 3, Rows: 5}, {Path: "/d/" + evil, State: shelf.Unfinished, Why: evil}}, nil
	}}).(*home)
	d.p = New(Options{Screen: d.home, Still: true})
	d.do(d.p.Init())
	d.size(width, height)
	return d
}

// do runs commands to their end.
func (d *desk) do(c tea.Cmd) {
	if c == nil {
		return
	}
	m := c()
	if v := reflect.ValueOf(m); v.IsValid() && v.Kind() == reflect.Slice && v.Type().Elem() == reflect.TypeFor[tea.Cmd]() {
		for i := range v.Len() {
			d.do(v.Index(i).Interface().(tea.Cmd))
		}
		return
	}
	if _, end := m.(tea.QuitMsg); m == nil || end {
		return
	}
	_, next := d.p.Update(m)
	d.do(next)
}

func (d *desk) size(width, height int) {
	d.do(func() tea.Msg { return tea.WindowSizeMsg{Width: width, Height: height} })
}

func (d *desk) press(keys ...tea.KeyMsg) {
	for _, k := range keys {
		d.do(func() tea.Msg { return k })
		d.do(func() tea.Msg { return TickMsg{time.Unix(1, 0)} })
	}
}

func (d *desk) words(s string) { d.press(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s)}) }

// frame is what is drawn, after it was looked at: no longer and no wider than the screen, no control characters but colours.
func (d *desk) frame() string {
	d.t.Helper()
	f := d.p.View()
	e := d.p.env
	lines := strings.Split(f, "\n")
	if len(lines) > max(e.Height, 1) {
		d.t.Errorf("%d lines on a screen of %d", len(lines), e.Height)
	}
	for _, l := range lines {
		if w := ansi.StringWidth(l); w > e.Width {
			d.t.Fatalf("a line of %d columns on a screen of %d: %q", w, e.Width, l)
		}
	}
	if strings.Contains(f, "\x1b]") || strings.ContainsAny(f, "\x07\u202e") {
		d.t.Fatalf("a name has reached the terminal: %q", f)
	}
	return ansi.Strip(f)
}

func (d *desk) sees(words ...string) {
	d.t.Helper()
	f := d.frame()
	for _, w := range words {
		if !strings.Contains(f, w) {
			d.t.Fatalf("no %q in\n%s", w, f)
		}
	}
}

func (d *desk) link() link {
	dsn, err := pg.ParseDSN("dbname=shop", pg.Flags{})
	if err != nil {
		d.t.Fatal(err)
	}
	return link{dsn: dsn, server: &workbench.Server{Version: "15.4", Role: pg.RoleInfo{Name: evil, CreateDB: true},
		Databases: []pg.DatabaseInfo{{Name: "shop", Bytes: 1 << 30, Connect: true}, {Name: evil, Bytes: -1}}}}
}

// survey is what a database holds.
func survey() []dump.Surveyed {
	list := []dump.Surveyed{{Schema: "public", Name: "orders", Kind: "table", Rows: 1000, Bytes: 1 << 20, HasRows: true}, {Schema: "public", Name: evil, Kind: "table", Rows: -1, HasRows: true, Why: "column \"p\": " + evil, Hint: "leave it out"},
		{Schema: "public", Name: "v", Kind: "materialized view"}}
	for i := range 50 {
		list = append(list, dump.Surveyed{Schema: "sales", Name: format.Name(strings.Repeat("long", 20) + string(rune('a'+i%26))), Kind: "table", Rows: 5, Bytes: 1 << 40, HasRows: true, Notes: []string{evil}})
	}
	return list
}

var (
	keyEnter = tea.KeyMsg{Type: tea.KeyEnter}
	keyEsc   = tea.KeyMsg{Type: tea.KeyEsc}
	keyDown  = tea.KeyMsg{Type: tea.KeyDown}
	keySpace = tea.KeyMsg{Type: tea.KeySpace}
)

func TestHomeFilters(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.sees("Dump", "Verify", "Restore", "Inspect", "shop-2026-11-30", "recent jobs")
	d.words("ver")
	d.press(keyEnter)
	d.sees("Verify: which dump?")
	d.press(keyEnter)
	if strings.Join(d.jobs.started, "") != "verify /d/shop-2026-11-30" {
		t.Errorf("started %q", d.jobs.started)
	}
	d.sees("files", "3 files", "2 problems")
}

func TestTablesAreChosen(t *testing.T) {
	d := newDesk(t, 80, 24)
	s := newTables(d.home, d.link()).(*tree)
	d.do(Push(s))
	d.do(func() tea.Msg { return surveyMsg{of: s, list: survey()} })
	d.sees("51 tables", "orders", "1.0 MiB", "50 of 50")
	d.press(keyDown, keyDown)
	d.sees("leave it out")
	d.press(keySpace) // it cannot be chosen
	d.words("i")
	d.sees("nothing is chosen")
	d.words("/orders")
	d.press(keyEnter)
	d.words("a")
	d.sees("1 table,", "filter orders")
	d.press(keyEsc, keyEnter)
	d.sees("folder of the dump", "shop-2026-11-30")
	if in, out := s.patterns(); len(out) != 0 || len(in) != 1 || in[0] != "public.orders" {
		t.Errorf("in %q, out %q", in, out)
	}
	d.press(keyEnter)
	d.sees("Ready: dump", "compression", "zstd:1", "free there")
	d.press(keyDown, keyDown, keyEnter)
	d.sees("zstd:3")
	d.press(tea.KeyMsg{Type: tea.KeyHome}, keyEnter)
	if len(d.jobs.started) != 1 || !strings.HasSuffix(d.jobs.started[0], "shop-2026-11-30") {
		t.Errorf("started %q", d.jobs.started)
	}
}

func TestWrongPasswordIsAskedForMasked(t *testing.T) {
	d := newDesk(t, 80, 24)
	var got link
	c := newConnect(d.home, "which server?", func(l link) tea.Cmd { got = l; return nil }).(*connect)
	d.do(Push(c))
	l := d.link()
	d.do(func() tea.Msg { return answeredMsg{c, l, errors.New("password authentication failed")} })
	d.sees("password of role")
	d.words("hunter2")
	if f := d.frame(); strings.Contains(f, "hunter2") || !strings.Contains(f, "*******") {
		t.Errorf("the password is not masked:\n%s", f)
	}
	d.press(keyEsc)
	d.do(func() tea.Msg { return answeredMsg{c, l, nil} })
	if got.server == nil {
		t.Error("the connection was not gone on with")
	}
}

// The cursor stands on the database that is likely meant, and a new one gets a name that is free.
func TestLikelyDatabase(t *testing.T) {
	d := newDesk(t, 80, 24)
	l := d.link()
	l.server.Databases = []pg.DatabaseInfo{{Name: "a", Bytes: 5, Connect: true}, {Name: "big", Bytes: 9, Connect: true}, {Name: "closed", Bytes: 99}, {Name: "postgres", Bytes: 50, Connect: true}, {Name: "shop", Connect: true}}
	for name, want := range map[string]string{"shop": "shop", "postgres": "big", "closed": "big", "elsewhere": "big"} {
		if got := likely(l.at(name)); got != want {
			t.Errorf("connected to %s: %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{"": "", "new": "new", "shop": "shop_2"} {
		if got := freeName(name, l.server); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	d.do(Push(newDatabases(d.home, "which?", l.at("shop"), d.home.tables, newDatabase{})))
	d.sees("▌  shop")
}

func TestPreflightOpens(t *testing.T) {
	d := newDesk(t, 80, 24)
	j := newLooking()
	d.do(Push(NewPlan(RunOptions{View: j})))
	d.sees("nothing is written", "files")
	d.press(keyEnter) // the cursor stands on the problem
	d.sees("✗ a", "column", "verdict", "refused", "samples")
	d.press(keyEsc)
	j.gate = &Gate{N: 1, Title: "Begin?", Next: []string{"next"}, Word: "shop"}
	d.press(keyDown)
	d.sees("asks for the name")
	d.press(keyEnter)
	d.sees("type shop")
	d.words("nope")
	d.press(keyEnter)
	if j.gate == nil {
		t.Error("the gate was passed with another word")
	}
	d.press(tea.KeyMsg{Type: tea.KeyCtrlU})
	d.words("shop")
	d.press(keyEnter)
	if j.gate != nil {
		t.Error("the gate was not passed")
	}
}

// TestRandomKeysWhileChoosing: whatever is pressed at whatever size, nothing panics and every frame fits.
func TestRandomKeysWhileChoosing(t *testing.T) {
	keys := []tea.KeyMsg{keyEnter, keyEsc, keyDown, keySpace, {Type: tea.KeyUp}, {Type: tea.KeyLeft}, {Type: tea.KeyRight}, {Type: tea.KeyPgDown}, {Type: tea.KeyPgUp}, {Type: tea.KeyHome}, {Type: tea.KeyEnd},
		{Type: tea.KeyTab}, {Type: tea.KeyBackspace}, {Type: tea.KeyCtrlU}}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		d := newDesk(t, 80, 24)
		s := newTables(d.home, d.link()).(*tree)
		first := []Screen{s, NewPlan(RunOptions{View: newLooking()}), newDatabases(d.home, "which?", d.link(), d.home.tables, newDatabase{"shop", d.home.tables}), newRestoreWays(d.home, "/d/"+evil, d.link(), false), newInspect(d.home, t.TempDir()),
			newInspectTable(&d.home.o.Ask, t.TempDir(), &format.ManifestTable{Schema: "s", Name: evil, Columns: []format.Column{{Name: evil, Type: evil}}})}
		d.do(Push(first[r.IntN(len(first))]))
		d.do(func() tea.Msg { return surveyMsg{of: s, list: survey()} })
		for range 60 {
			switch n := r.IntN(20); {
			case n == 0:
				d.size(r.IntN(140), r.IntN(50))
			case n < 6:
				d.words(string("abijks/?+-wlpcGgh"[r.IntN(17)]))
			case n == 6:
				d.do(func() tea.Msg {
					return tea.MouseMsg{X: r.IntN(80), Y: r.IntN(24), Button: tea.MouseButtonLeft, Action: tea.MouseActionPress}
				})
			default:
				d.press(keys[r.IntN(len(keys))])
			}
			_ = d.frame()
		}
	}
}

// Esc once too often throws nobody out.
func TestEscStaysAtHome(t *testing.T) {
	d := newDesk(t, 80, 24)
	for range 3 {
		d.press(keyEsc, keyEsc)
		d.sees("what do you want to do?", "q quits")
	}
	if cmd := d.p.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q")}); cmd == nil {
		t.Error("q does nothing")
	} else if _, quits := cmd().(tea.QuitMsg); !quits {
		t.Error("q does not quit")
	}
}

// One table is restored from the form alone; what a migrate takes is said to both sides.
func TestTablesOfARestore(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.home.o.Ask.Manifest = func(string) (*format.Manifest, error) {
		return &format.Manifest{Tables: []format.ManifestTable{{Schema: "public", Name: "orders", Kind: "table", Rows: 7, Bytes: 1 << 20}, {Schema: "public", Name: "lines", Kind: "table"}}}, nil
	}
	l := d.link()
	r := newReady(d.home, JobOptions{Kind: "restore", To: restore.Options{Dir: "/d/x", DSN: l.dsn, DataOnly: true}}, 0).(*ready)
	d.do(Push(r))
	d.sees("tables", "all")
	d.press(keyDown, keyDown, keyEnter)
	d.sees("Which tables to restore?", "2 tables, ~7 rows")
	d.words("a")
	d.press(keyEnter)
	d.sees("no table is chosen")
	d.press(keyDown, keySpace, keyEnter)
	d.sees("Ready: restore", "public.orders")
	if got := r.o.To; len(got.ExcludeTables)+len(r.o.From.Tables) != 0 || len(got.Tables) != 1 || got.Tables[0] != "public.orders" {
		t.Errorf("chosen %q, left out %q, of the source %q", got.Tables, got.ExcludeTables, r.o.From.Tables)
	}

	d.home.o.Ask.Tables = func(context.Context, *pg.DSN) ([]dump.Surveyed, error) { return survey()[:3], nil }
	m := newReady(d.home, JobOptions{Kind: "migrate", From: dump.Options{DSN: l.dsn}, To: restore.Options{DSN: l.dsn}}, 0).(*ready)
	d.do(Push(m))
	d.press(keyDown, keyDown, keyEnter)
	d.sees("Which tables to migrate?", "orders")
	d.words("/orders")
	d.press(keyEnter)
	d.words("a") // all that the filter shows are chosen: none of them
	d.press(keyEsc, keyEnter)
	d.sees("Ready: migrate", "public.v")
	if in := m.o.From.Tables; len(in) != 1 || in[0] != "public.v" || !reflect.DeepEqual(m.o.To.Tables, in) {
		t.Errorf("the source takes %q, the target %q", in, m.o.To.Tables)
	}
	d.do(Push(newReady(d.home, JobOptions{Kind: "restore", To: restore.Options{Dir: "/d/x", DSN: l.dsn, Resume: true}}, 0)))
	if f := d.frame(); strings.Contains(f, "tables") {
		t.Errorf("tables are chosen for a restore that goes on:\n%s", f)
	}
}

// A pattern matches its name alone.
func TestPattern(t *testing.T) {
	for name, want := range map[format.Name]string{"orders": "orders", "Orders": `"Orders"`, "a.b": `"a.b"`, `a"b*`: `"a""b*"`, "été": `"été"`, "": `""`, "a$": `"a$"`} {
		if got := pattern(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
