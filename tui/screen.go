package tui

import (
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// Screen is one screen of the program.
type Screen interface {
	// Init is called once, when the screen is put onto the stack.
	Init(*Env) tea.Cmd
	// Update takes keys and the mouse while the screen is the top one, and everything else always; it does no I/O.
	Update(tea.Msg) tea.Cmd
	// View draws at most height lines of at most width columns; it changes nothing. Both may be 0.
	View(width, height int) string
	// Keys are those that work now, the most important first. The help bar shows as many as fit, the full help all.
	Keys() []key.Binding
	// Title names the screen in the full help.
	Title() string
}

// Capturer is a screen that wants some keys before the program gives them its own meaning (esc back, q quit, ? help, ctrl-c quit): while
// text is typed in, or where leaving must be asked for.
type Capturer interface {
	Captures(tea.KeyMsg) bool
}

// Explainer is a screen that has more to explain in the full help than keys: what its signs mean.
type Explainer interface {
	// Explain gives styled lines.
	Explain() []string
}

// Env is what all screens share. It changes in nothing but Width, Height and Time while the program runs.
type Env struct {
	Styles Styles
	Glyphs Glyphs
	Keys   KeyMap
	Width  int // of the whole terminal
	Height int
	Time   time.Time // of the last tick
}

// TickMsg comes ten times a second, to all screens.
type TickMsg struct{ Time time.Time }

const tickEvery = 100 * time.Millisecond

type (
	pushMsg    struct{ screen Screen }
	replaceMsg struct{ screen Screen }
	backMsg    struct{}
	leaveMsg   struct{} // a job's report: its run screen beneath closes with it, where there is another one beneath that
	askMsg     struct{ dialog *Dialog }
	toastMsg   struct {
		text string
		bad  bool
	}
	quitMsg struct{ err error }
)

func send(m tea.Msg) tea.Cmd { return func() tea.Msg { return m } }

// Push opens a screen on top of the present one.
func Push(s Screen) tea.Cmd { return send(pushMsg{s}) }

// Replace opens a screen in place of the present one.
func Replace(s Screen) tea.Cmd { return send(replaceMsg{s}) }

// Back closes the top screen; without another one beneath it the program ends.
func Back() tea.Cmd { return send(backMsg{}) }

// Ask opens a dialog over the top screen. It calls its Then with the answer.
func Ask(d *Dialog) tea.Cmd { return send(askMsg{d}) }

// Toast shows a line for a few seconds.
func Toast(text string) tea.Cmd { return send(toastMsg{text: text}) }

// Complain shows an error's line for a few seconds.
func Complain(err error) tea.Cmd { return send(toastMsg{text: err.Error(), bad: true}) }

// Quit ends the program; [Run] returns err.
func Quit(err error) tea.Cmd { return send(quitMsg{err}) }
