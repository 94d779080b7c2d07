package tui

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
)

// helpBar is the last line: keys and what they do, as many as fit. "? help" is always the last, but where the keys stand alone: in a dialog.
func (e *Env) helpBar(keys []key.Binding, width int, alone bool) string {
	const gap = 3
	last := ""
	if !alone {
		last = e.keyHelp(e.Keys.Help)
	}
	left := width - widthOf(last)
	var b strings.Builder
	for _, k := range keys {
		if !k.Enabled() || k.Help().Key == "" {
			continue
		}
		text := e.keyHelp(k)
		w := widthOf(text) + gap
		if w > left {
			break
		}
		left -= w
		b.WriteString(text + spaces(gap))
	}
	b.WriteString(last)
	return b.String()
}

func (e *Env) keyHelp(k key.Binding) string {
	h := k.Help()
	return e.Styles.Key.On(h.Key) + " " + e.Styles.Muted.On(h.Desc)
}

// fullHelp is all keys in columns, the screen's own first.
func (e *Env) fullHelp(title string, keys []key.Binding, explained []string, width, height int) []string {
	lines := []string{e.Styles.Title.On("keys") + e.Styles.Muted.On("  "+title), ""}
	var entries []string
	seen := map[string]bool{}
	for _, k := range append(append(append([]key.Binding{}, keys...), e.Keys.moving()...), e.Keys.everywhere()...) {
		h := k.Help()
		if !k.Enabled() || h.Key == "" || seen[h.Key] {
			continue
		}
		seen[h.Key] = true
		entries = append(entries, e.Styles.Key.On(e.left(h.Key, 11))+" "+h.Desc)
	}
	rows := max(height-len(lines)-len(explained)-3, 1)
	column := 38
	columns := max(min((len(entries)+rows-1)/rows, width/column), 1)
	rows = (len(entries) + columns - 1) / columns
	for r := range rows {
		line := ""
		for c := range columns {
			if i := c*rows + r; i < len(entries) {
				line += e.left(entries[i], column)
			}
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	lines = append(lines, "")
	lines = append(lines, explained...)
	return append(lines, "", e.Styles.Muted.On("any key closes this"))
}
