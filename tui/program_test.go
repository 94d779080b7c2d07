package tui_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/screens"
	"github.com/bytehaul/pghaul/tui"
)

var (
	sgr      = regexp.MustCompile(`\x1b\[[0-9;]*m`)
	coloured = regexp.MustCompile(`[\[;](3[0-7]|4[0-7]|9[0-7]|10[0-7]|38|48)[;m]`)
)

// text is a frame without looks.
func text(s *screens.Scene) string { return s.Text() }

func sees(t *testing.T, s *screens.Scene, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text(s), w) {
			t.Errorf("no %q in\n%s", w, text(s))
		}
	}
}

func seesNot(t *testing.T, s *screens.Scene, want ...string) {
	t.Helper()
	for _, w := range want {
		if strings.Contains(text(s), w) {
			t.Errorf("%q in\n%s", w, text(s))
		}
	}
}

func TestFirstInterruptCancelsSecondLeaves(t *testing.T) {
	s := restoring(tui.Options{}, 80, 24)
	s.Wait(10 * time.Second)
	s.Press("ctrl+c")
	if !s.Job.Cancelled || s.Job.Killed || s.Left {
		t.Fatalf("after the first: cancelled %v, killed %v, left %v", s.Job.Cancelled, s.Job.Killed, s.Left)
	}
	sees(t, s, "cancelling: waiting for the clean end; ctrl-c leaves at once")
	s.Press("ctrl+c")
	if !s.Job.Killed || !s.Left {
		t.Errorf("after the second: killed %v, left %v", s.Job.Killed, s.Left)
	}
}

// The second ctrl-c counts in whatever is open.
func TestInterruptReachesTheJob(t *testing.T) {
	for _, keys := range [][]string{{"c"}, {"q"}, {"?"}, {"/", "a"}, {"l"}, {"enter"}} {
		s := restoring(tui.Options{}, 80, 24)
		s.Wait(time.Second)
		s.Press(append(keys, "ctrl+c")...)
		if !s.Job.Cancelled || s.Left {
			t.Errorf("after %q: cancelled %v, left %v", keys, s.Job.Cancelled, s.Left)
		}
	}
}

func TestCancelAsks(t *testing.T) {
	s := restoring(tui.Options{}, 80, 24)
	s.Wait(10 * time.Second)
	s.Press("c")
	sees(t, s, "Cancel the job?", "What was loaded stays", "y cancel it", "n let it go on")
	s.Press("x", "enter")
	sees(t, s, "Cancel the job?")
	s.Press("n")
	if s.Job.Cancelled {
		t.Fatal("n cancels")
	}
	s.Press("c", "y")
	if !s.Job.Cancelled || s.Left {
		t.Errorf("y: cancelled %v, left %v", s.Job.Cancelled, s.Left)
	}
	s.Job.Finish(screens.ErrCancelled)
	s.Wait(time.Second)
	sees(t, s, "– cancelled")
}

func TestLeavingIsAskedFor(t *testing.T) {
	for _, key := range []string{"q", "esc"} {
		s := restoring(tui.Options{}, 80, 24)
		s.Wait(time.Second)
		s.Press(key)
		sees(t, s, "Leave this screen?", "The job goes on; its progress is shown as a line.")
		s.Press("esc")
		if s.Left {
			t.Fatal("left although the answer was no")
		}
		s.Press(key, "y")
		if !s.Left || s.Job.Cancelled {
			t.Errorf("left %v, cancelled %v", s.Left, s.Job.Cancelled)
		}
	}
}

func TestPauseAndJobs(t *testing.T) {
	s := restoring(tui.Options{}, 100, 24)
	s.Wait(20 * time.Second)
	s.Press("p", "+", "+", "-")
	if !s.Job.Paused() || s.Job.Jobs() != 3 {
		t.Errorf("paused %v, %d jobs", s.Job.Paused(), s.Job.Jobs())
	}
	s.Wait(10 * time.Second)
	sees(t, s, "paused", "p resume", "left unknown", "3 jobs")
	s.Press("p", "-", "-", "-", "-")
	if s.Job.Paused() || s.Job.Jobs() != 1 {
		t.Errorf("paused %v, %d jobs", s.Job.Paused(), s.Job.Jobs())
	}
}

func TestFilterSortAndScroll(t *testing.T) {
	s := restoring(tui.Options{}, 80, 24)
	s.Wait(40 * time.Second)
	s.Press("/", "E", "v", "e", "n")
	sees(t, s, "public.events_2026_10", "/Even")
	seesNot(t, s, "public.customers")
	s.Press("q") // a letter like others
	sees(t, s, "no table matches")
	s.Press("backspace", "enter")
	sees(t, s, "/Even 2", "public.events_2026_11")
	s.Press("esc")
	seesNot(t, s, "/Even")
	s.Press("s")
	sees(t, s, "sort: size")
	s.Press("s")
	sees(t, s, "sort: name", "billing.currencies")
	s.Press("G")
	sees(t, s, "▌· stats.hourly")
	seesNot(t, s, "billing.currencies")
	s.Press("k", "g")
	sees(t, s, "billing.currencies")
}

func TestDetailsAndLog(t *testing.T) {
	s := restoring(tui.Options{}, 80, 24)
	s.Wait(40 * time.Second)
	s.Press("enter")
	sees(t, s, "table  public.orders", "OIDs rewritten", `größer als \x1b[31m`)
	s.Press("G")
	sees(t, s, " 7  · waiting")
	s.Press("esc", "l")
	sees(t, s, "✓ billing.payments: 3,702,118 rows")
	s.Press("g")
	sees(t, s, "phase preflight")
	s.Press("l")
	sees(t, s, "sort: state")
}

func TestGate(t *testing.T) {
	j := screens.AtGate()
	s := screens.Play(tui.Options{Screen: tui.NewRun(screens.RunOf(j, screens.MigratePhases))}, j, 80, 24)
	s.Wait(time.Second)
	sees(t, s, "the rows are there and proven", "enter goes on")
	s.Press("x", "enter")
	if len(j.Passed) != 1 || j.Passed[0] != 1 {
		t.Fatalf("passed %v", j.Passed)
	}
	s.Wait(time.Second)
	seesNot(t, s, "enter goes on")

	j.GateAt = &tui.Gate{N: 2, Title: "cut-over", Next: []string{"the database shop is replaced"}, Word: "shop"}
	s.Wait(time.Second)
	s.Press("enter", "s", "h", "enter")
	sees(t, s, "type shop to go on", "that is not it")
	if len(j.Passed) != 1 {
		t.Fatal("a wrong word passes the gate")
	}
	s.Press("o", "p", "enter")
	if len(j.Passed) != 2 || j.Passed[1] != 2 {
		t.Errorf("passed %v", j.Passed)
	}
}

// The report comes by itself when the job has ended, once; leaving it shows the job's last state.
func TestEndShowsTheReport(t *testing.T) {
	j := screens.Restore()
	o := screens.RunOf(j, screens.RestorePhases)
	o.Ended = func() tui.Ended { return screens.EndOf(j, 1) }
	s := screens.Play(tui.Options{Screen: tui.NewRun(o)}, j, 80, 24)
	s.Wait(30 * time.Second)
	j.Finish(nil)
	s.Wait(time.Second)
	sees(t, s, "incomplete: the rows are there", "missing", "(SQLSTATE 23505)", "w write to a file")
	s.Press("esc")
	s.Wait(time.Second)
	sees(t, s, "✓ done", "w report", "esc back")
	s.Press("w")
	sees(t, s, "incomplete")
	s.Press("q")
	if !s.Left {
		t.Error("q does not end the program")
	}
}

// One esc leaves the report and its run screen, to where the job was started from; l shows the job's tables and log.
func TestReportIsLeftAtOnce(t *testing.T) {
	j := screens.Restore()
	o := screens.RunOf(j, screens.RestorePhases)
	o.Ended = func() tui.Ended { return screens.EndOf(j, 1) }
	s := screens.Play(tui.Options{Screen: beneath{o}}, j, 80, 24)
	s.Wait(30 * time.Second)
	j.Finish(nil)
	s.Wait(time.Second)
	sees(t, s, "incomplete: the rows are there", "l tables and log")
	s.Press("l")
	s.Wait(time.Second)
	sees(t, s, "✓ done", "w report")
	s.Press("w")
	sees(t, s, "incomplete: the rows are there")
	s.Press("esc")
	sees(t, s, "the first screen")
	if s.Left {
		t.Error("the program has ended")
	}
}

// beneath is a screen that starts a job.
type beneath struct{ run tui.RunOptions }

func (b beneath) Init(*tui.Env) tea.Cmd    { return tui.Push(tui.NewRun(b.run)) }
func (b beneath) Title() string            { return "beneath" }
func (b beneath) Keys() []key.Binding      { return nil }
func (b beneath) Update(tea.Msg) tea.Cmd   { return nil }
func (b beneath) View(width, _ int) string { return fmt.Sprintf("%-*s", width, "the first screen") }

// A question that the job's end has made pointless goes with it.
func TestEndClosesTheQuestion(t *testing.T) {
	j := screens.Restore()
	o := screens.RunOf(j, screens.RestorePhases)
	o.Ended = func() tui.Ended { return tui.Ended{Hint: "nothing", Next: []string{"rest"}} }
	s := screens.Play(tui.Options{Screen: tui.NewRun(o)}, j, 80, 24)
	s.Wait(time.Second)
	s.Press("c")
	j.Finish(nil)
	s.Wait(time.Second)
	seesNot(t, s, "Cancel the job?")
	sees(t, s, "the job is done", "→ rest")
	s.Press("y")
	if j.Cancelled {
		t.Error("a job that is done is cancelled")
	}
}

// The mouse does what keys do.
func TestMouse(t *testing.T) {
	s := restoring(tui.Options{}, 80, 24)
	s.Wait(40 * time.Second)
	rows := strings.Split(s.Text(), "\n")
	at := slices.IndexFunc(rows, func(l string) bool { return strings.Contains(l, "geo.regions") })
	click := tea.MouseMsg{X: 10, Y: at, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress}
	s.Send(click)
	sees(t, s, "▌✓ geo.regions")
	s.Send(tea.MouseMsg{Button: tea.MouseButtonWheelDown})
	seesNot(t, s, "▌✓ geo.regions")
	s.Send(tea.MouseMsg{Button: tea.MouseButtonWheelUp})
	s.Send(click)
	sees(t, s, "table  geo.regions")
	s.Send(tea.MouseMsg{Button: tea.MouseButtonWheelDown})
	seesNot(t, s, "✓ proven")
}

// A job that says nothing of its end has the tracker's figures as its report.
func TestReportOfTheTracker(t *testing.T) {
	tr := progress.New("dump", "read", "write")
	tb := tr.AddTable(progress.TableInfo{Name: "public.t", Rows: 7, Bytes: 100})
	tb.StartSegment()
	tb.Add(7, 100)
	tb.EndSegment(nil)
	done := make(chan struct{})
	close(done)
	view := &finished{Tracker: tr, done: done}
	s := screens.Play(tui.Options{Screen: tui.NewRun(tui.RunOptions{View: view, Ended: func() tui.Ended { return tui.Ended{Err: errors.New("boom"), Hint: "try again"} }})}, nil, 80, 24)
	s.Wait(time.Second)
	sees(t, s, "✗ boom", "hint try again", "public.t")
}

type finished struct {
	*progress.Tracker
	done chan struct{}
}

func (f *finished) Done() <-chan struct{} { return f.done }
func (f *finished) Err() error            { return nil }
