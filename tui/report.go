package tui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// NewReport makes the screen of a job's end.
func NewReport(end Ended) Screen { return &reportScreen{end: end} }

type reportScreen struct {
	env *Env
	end Ended
}

func (s *reportScreen) Init(e *Env) tea.Cmd           { s.env = e; return nil }
func (s *reportScreen) Update(m tea.Msg) tea.Cmd      { return nil }
func (s *reportScreen) View(width, height int) string { return s.end.Report.Text() }
func (s *reportScreen) Keys() []key.Binding           { return nil }
func (s *reportScreen) Title() string                 { return "report" }
