package tui

import (
	"fmt"
	"runtime/debug"

	tea "github.com/charmbracelet/bubbletea"
)

// PanicError is what [Run] returns when the program has panicked: the terminal is as it was, and jobs go on.
type PanicError struct {
	Value any    // that was panicked with
	Stack []byte // of the goroutine that did
}

// Error is one line.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// guarded is the model that runs: a panic in it, or in one of its commands, ends the program with an error. Bubble Tea itself would write the panic to
// standard output, which is for results.
type guarded struct {
	p   *Program
	err *PanicError // the first one
}

// panicMsg is a command's panic.
type panicMsg struct{ err *PanicError }

// breakAt panics in tests of the built program (build tag uipanic); nil: never.
var breakAt func(tea.Msg)

func (g *guarded) catch(r any) tea.Cmd {
	if g.err == nil {
		g.err = &PanicError{Value: r, Stack: debug.Stack()}
	}
	return tea.Quit
}

// Init implements tea.Model.
func (g *guarded) Init() (cmd tea.Cmd) {
	defer func() {
		if r := recover(); r != nil {
			cmd = g.catch(r)
		}
	}()
	return guard(g.p.Init())
}

// Update implements tea.Model.
func (g *guarded) Update(m tea.Msg) (model tea.Model, cmd tea.Cmd) {
	defer func() {
		if r := recover(); r != nil {
			model, cmd = g, g.catch(r)
		}
	}()
	if failed, ok := m.(panicMsg); ok && g.err == nil {
		g.err = failed.err
	}
	if g.err != nil {
		return g, tea.Quit
	}
	if breakAt != nil {
		breakAt(m)
	}
	return g, guard(g.p.update(m))
}

// View implements tea.Model. Its panic ends the program at the next message, which a tick brings.
func (g *guarded) View() (frame string) {
	defer func() {
		if r := recover(); r != nil {
			g.catch(r)
			frame = ""
		}
	}()
	if g.err != nil {
		return ""
	}
	return g.p.View()
}

// guard makes a command's panic a message. Commands in a sequence are guarded where it is made: its type is not ours to open.
func guard(c tea.Cmd) tea.Cmd {
	if c == nil {
		return nil
	}
	return func() (m tea.Msg) {
		defer func() {
			if r := recover(); r != nil {
				m = panicMsg{&PanicError{Value: r, Stack: debug.Stack()}}
			}
		}()
		m = c()
		if batch, ok := m.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = guard(batch[i])
			}
		}
		return m
	}
}
