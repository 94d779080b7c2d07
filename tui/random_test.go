package tui_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/screens"
	"github.com/bytehaul/pghaul/tui"
)

var oddNames = []string{"", "t", "public.orders", "\x1b]52;c;cm0gLXJm\a", "注文明細.注文", "a\nb\tc\r", "\u202eevil", "e\u0301\u0301\u0301", "👩‍👩‍👧‍👦.👍🏽", "\xff\xfe", strings.Repeat("long", 40), "\u009b31m", "مرحبا"}

// randomJob is a job with nonsense in it.
func randomJob(r *rand.Rand) *screens.Job {
	name := func() string { return oddNames[r.IntN(len(oddNames))] }
	number := func() int64 { return []int64{-1, 0, 1, 999, 1 << 20, 1 << 40, math.MaxInt64 / 4}[r.IntN(7)] }
	share := func() float64 {
		return []float64{0, 0.5, 1, r.Float64(), 7, -1, math.NaN(), math.Inf(1)}[r.IntN(8)]
	}
	j := &screens.Job{Name: name(), Source: name(), Target: name(), Width: r.IntN(6), Rate: func(time.Duration) float64 { return float64(r.Int64N(1 << 33)) }}
	for range r.IntN(6) {
		j.Lanes = append(j.Lanes, screens.Stage{Name: name(), Busy: r.Float64(), Server: r.Float64(), Starved: r.Float64(), Blocked: r.Float64()})
	}
	for range r.IntN(4) {
		w := progress.ServerWaits{Server: name()}
		for range r.IntN(9) {
			w.Shares = append(w.Shares, progress.WaitShare{Event: name(), Share: share()})
		}
		j.Waits = append(j.Waits, w)
	}
	for range []int{0, 1, 5, 40, 1000}[r.IntN(5)] {
		t := &progress.TableSnapshot{TableInfo: progress.TableInfo{Name: name(), Rows: number(), Bytes: number(), Segments: r.IntN(3000)}, Note: name(), Fraction: share()}
		if r.IntN(10) == 0 {
			t.Proof = []progress.Proof{progress.Proven, progress.NotProven, progress.Mismatch, progress.Skipped}[r.IntN(4)]
		}
		if r.IntN(10) == 0 {
			t.Err = errors.New(name() + strings.Repeat(" word", r.IntN(100)))
		}
		j.Tables = append(j.Tables, t)
	}
	j.Begin()
	for n := range r.IntN(4) {
		j.StartPhase(name(), n, r.IntN(12))
	}
	if r.IntN(4) == 0 {
		j.GateAt = &tui.Gate{N: r.Int(), Title: name(), Done: oddNames, Next: oddNames[:r.IntN(len(oddNames))], Word: name()}
	}
	return j
}

var someKeys = []string{"up", "down", "left", "right", "pgup", "pgdown", "g", "G", "tab", "enter", "esc", "/", "s", "p", "+", "-", "c", "n", "y", "l", "w", "?", "q", "x", "注", " ",
	"backspace", "ctrl+u", "ctrl+c"}

// play sends random keys, sizes and clicks, and looks at every frame.
func play(t *testing.T, seed uint64) {
	t.Chdir(t.TempDir()) // reports are written
	r := rand.New(rand.NewPCG(seed, 1))
	j := randomJob(r)
	o := screens.RunOf(j, oddNames[:r.IntN(len(oddNames))])
	o.Ended = func() tui.Ended { return randomEnd(r, j) }
	opts := tui.Options{Screen: tui.NewRun(o), Theme: tui.Themes()[r.IntN(3)], ASCII: r.IntN(2) == 0, NoColor: r.IntN(2) == 0}
	width, height := 80, 24
	s := screens.Play(opts, j, width, height)
	trail := fmt.Sprintf("seed %d", seed)
	for step := 0; step < 60 && !s.Left; step++ {
		switch r.IntN(8) {
		case 0:
			width, height = r.IntN(301), r.IntN(101)
			if r.IntN(3) == 0 {
				width, height = r.IntN(30), r.IntN(12)
			}
			s.Send(tea.WindowSizeMsg{Width: width, Height: height})
		case 1:
			s.Wait(time.Duration(r.IntN(20)) * 100 * time.Millisecond)
		case 2:
			s.Send(tea.MouseMsg{X: r.IntN(300), Y: r.IntN(100) - 1, Button: tea.MouseButton(r.IntN(6)), Action: tea.MouseActionPress})
		case 3:
			j.Warn(oddNames[r.IntN(len(oddNames))])
			if r.IntN(10) == 0 {
				j.Finish([]error{nil, errors.New("x\x1by")}[r.IntN(2)])
			}
		default:
			k := someKeys[r.IntN(len(someKeys))]
			trail += " " + k
			s.Press(k)
		}
		fits(t, trail, s.Program.View(), width, height)
	}
}

func randomEnd(r *rand.Rand, j *screens.Job) tui.Ended {
	end := tui.Ended{Hint: oddNames[r.IntN(len(oddNames))], Next: oddNames}
	if r.IntN(3) > 0 && len(j.Lanes) > 0 {
		end.Report = screens.EndOf(j, r.IntN(5)).Report
	}
	if r.IntN(2) == 0 {
		end.Err = errors.New("a\nb" + oddNames[r.IntN(len(oddNames))])
	}
	return end
}

func TestRandomKeysSizesAndJobs(t *testing.T) {
	for seed := range uint64(25) {
		play(t, seed)
	}
}

// Every size shows something, and never too much.
func TestEverySize(t *testing.T) {
	s := restoring(tui.Options{}, 0, 0)
	s.Wait(20 * time.Second)
	for width := 0; width <= 300; width += 7 {
		for height := 0; height <= 100; height += 3 {
			s.Send(tea.WindowSizeMsg{Width: width, Height: height})
			frame := s.Program.View()
			fits(t, "run", frame, width, height)
			if width >= 20 && height >= 2 && !strings.Contains(frame, "restore") {
				t.Fatalf("%d × %d: %q", width, height, frame)
			}
		}
	}
}

// What the smallest screen must show: the job, how far it is, the time left, the pace, the limit, three tables, keys.
func TestSmallestScreen(t *testing.T) {
	s := restoring(tui.Options{}, 40, 10)
	s.Wait(72 * time.Second)
	sees(t, s, "restore", "data 5/10", "41 %", "left 01:", "MB/s", "▸ insert", "97 %", "public.order_items", "public.audit", "public.orders", "c cancel", "? help")
	s.Press("ctrl+c")
	sees(t, s, "cancelling")
}

// pretended is a JobView of a tracker.
type pretended struct {
	*progress.Tracker
	looks int // at tables
}

func (p *pretended) Done() <-chan struct{} { return nil }
func (p *pretended) Err() error            { return nil }
func (p *pretended) TablesByID(ids []int) []progress.TableSnapshot {
	p.looks += len(ids)
	return p.Tracker.TablesByID(ids)
}

// A frame's cost does not grow with the number of tables.
func TestCostOfManyTables(t *testing.T) {
	const tables = 100_000
	p := &pretended{Tracker: progress.New("dump", "read", "write")}
	p.StartPhase("data", 1, 1)
	var all []*progress.Table
	for i := range tables {
		all = append(all, p.AddTable(progress.TableInfo{Name: fmt.Sprint("public.t", i), Rows: 10, Bytes: 1000}))
	}
	s := screens.Play(tui.Options{Screen: tui.NewRun(tui.RunOptions{View: p})}, nil, 120, 36)
	s.Wait(time.Second)
	sees(t, s, "100,000 waiting", "public.t0 ")
	for i := range 20 {
		all[i].StartSegment()
	}
	s.Wait(time.Second)
	p.looks = 0
	if n := testing.AllocsPerRun(20, func() { s.Wait(100 * time.Millisecond); s.Program.View() }); n > 4000 {
		t.Errorf("%v allocations in a frame", n)
	}
	if per := p.looks / 21; per > 40 {
		t.Errorf("%d tables are looked at for a frame", per)
	}
}

// A job without tables, lanes and phases has a screen too.
func TestEmptyJob(t *testing.T) {
	p := &pretended{Tracker: progress.New("verify")}
	s := screens.Play(tui.Options{Screen: tui.NewRun(tui.RunOptions{View: p})}, nil, 80, 24)
	s.Wait(time.Second)
	sees(t, s, "verify", "starting", "no tables yet", "left unknown")
	s.Press("p", "+", "c", "enter", "l", "q")
	fits(t, "empty", s.Program.View(), 80, 24)
}
