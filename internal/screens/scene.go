package screens

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/bytehaul/pghaul/tui"
)

// Scene is the program before a job, with time in its hands.
type Scene struct {
	Program *tui.Program
	Job     *Job
	Left    bool // the program has ended
	now     time.Time
}

// Play starts the program with a first screen, at a size.
func Play(o tui.Options, j *Job, width, height int) *Scene {
	s := &Scene{Job: j, now: Start}
	o.Still = true
	s.Program = tui.New(o)
	s.Send(tui.TickMsg{Time: s.now})
	s.Send(tea.WindowSizeMsg{Width: width, Height: height})
	s.run(s.Program.Init())
	return s
}

// Send gives the program a message, and what its commands answer.
func (s *Scene) Send(m tea.Msg) {
	if m == nil {
		return
	}
	_, cmd := s.Program.Update(m)
	s.run(cmd)
}

func (s *Scene) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch m := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range m {
			s.run(c)
		}
	case tea.QuitMsg:
		s.Left = true
	default:
		s.Send(m)
	}
}

// Wait lets time pass, a tick at a time.
func (s *Scene) Wait(d time.Duration) {
	const tick = 100 * time.Millisecond
	for ; d > 0; d -= tick {
		s.now = s.now.Add(tick)
		if s.Job != nil {
			s.Job.Step(tick)
		}
		s.Send(tui.TickMsg{Time: s.now})
	}
}

// Press sends keys, by the names that Bubble Tea gives them: "enter", "ctrl+c", "q".
func (s *Scene) Press(keys ...string) {
	for _, k := range keys {
		s.Send(Key(k))
	}
}

// Key makes a key's message of its name.
func Key(name string) tea.KeyMsg {
	for t, n := range map[tea.KeyType]string{tea.KeyEnter: "enter", tea.KeyEsc: "esc", tea.KeyTab: "tab", tea.KeyShiftTab: "shift+tab", tea.KeyBackspace: "backspace",
		tea.KeyUp: "up", tea.KeyDown: "down", tea.KeyLeft: "left", tea.KeyRight: "right", tea.KeyPgUp: "pgup", tea.KeyPgDown: "pgdown", tea.KeyHome: "home", tea.KeyEnd: "end",
		tea.KeyCtrlC: "ctrl+c", tea.KeyCtrlU: "ctrl+u"} {
		if n == name {
			return tea.KeyMsg{Type: t}
		}
	}
	if name == " " {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune(" ")}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

// Text is the frame without its looks.
func (s *Scene) Text() string { return ansi.Strip(s.Program.View()) }
