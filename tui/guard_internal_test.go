package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// broken is a screen that panics in one of its methods.
type broken struct{ where string }

func (b *broken) at(where string) {
	if b.where == where {
		panic(where)
	}
}
func (b *broken) Init(*Env) tea.Cmd { b.at("init"); return nil }
func (b *broken) Update(tea.Msg) tea.Cmd {
	b.at("update")
	command := func() tea.Msg { b.at("command"); return nil }
	return tea.Batch(command, command, tea.Sequence(guard(command)))
}
func (b *broken) View(int, int) string { b.at("view"); return "" }
func (b *broken) Keys() []key.Binding  { return nil }
func (b *broken) Title() string        { return "broken" }

// A panic ends the program with an error, wherever it happens.
func TestPanicIsAnError(t *testing.T) {
	for _, where := range []string{"init", "update", "view", "command"} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		in, keep := io.Pipe()
		var out bytes.Buffer
		program := tea.NewProgram(&guarded{p: New(Options{Screen: &broken{where}})}, tea.WithInput(in), tea.WithOutput(&out), tea.WithoutSignalHandler(), tea.WithContext(ctx))
		go program.Send(tea.WindowSizeMsg{Width: 80, Height: 24})
		model, err := program.Run()
		var broke *PanicError
		g, ok := model.(*guarded)
		if err != nil || !ok || g.err == nil || !errors.As(g.err, &broke) || broke.Value != where || len(broke.Stack) == 0 {
			t.Errorf("%s: %v, %+v", where, err, model)
		}
		_ = keep.Close()
		cancel()
	}
}
