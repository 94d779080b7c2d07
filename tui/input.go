package tui

import (
	"unicode"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/internal/show"
)

// maxInput is how many bytes can be typed into a line.
const maxInput = 4096

// Input is a line that is typed in: at its end alone, which is enough for a filter, a path or a name.
type Input struct {
	Text   string
	Secret bool // drawn as dots
}

// Update takes a key and tells whether it was one for the line.
func (in *Input) Update(k KeyMap, m tea.KeyMsg) bool {
	switch {
	case Pressed(m, k.EraseAll):
		in.Text = ""
	case Pressed(m, k.Erase):
		_, n := utf8.DecodeLastRuneInString(in.Text)
		in.Text = in.Text[:len(in.Text)-n]
	case m.Type == tea.KeySpace:
		in.add(" ")
	case m.Type == tea.KeyRunes && !m.Alt:
		for _, r := range m.Runes {
			if unicode.IsPrint(r) {
				in.add(string(r))
			}
		}
	default:
		return false
	}
	return true
}

func (in *Input) add(s string) {
	if len(in.Text)+len(s) <= maxInput {
		in.Text += s
	}
}

// view is the line with its cursor, its end visible when it is longer than the width.
func (in *Input) view(e *Env, width int) string {
	text := show.Text(in.Text)
	if in.Secret {
		text = ""
		for range utf8.RuneCountInString(in.Text) {
			text += "*"
		}
	}
	for widthOf(text) > max(width-1, 0) {
		_, n := utf8.DecodeRuneInString(text)
		text = text[n:]
	}
	return e.Styles.Match.On(text) + e.Styles.Cursor.On(" ")
}
