//go:build uipanic

package tui

import tea "github.com/charmbracelet/bubbletea"

// A program that is built with the tag breaks at the key X: for tests of what becomes of its job.
func init() {
	breakAt = func(m tea.Msg) {
		if k, ok := m.(tea.KeyMsg); ok && k.String() == "X" {
			panic("broken by a test")
		}
	}
}
