package tui

import (
	"slices"
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

// fullHelp is all keys in columns, the screen's own first, and what else the screen explains. What there is no room for goes in this order: the
// explanations, the blank lines, the width of the columns.
func (e *Env) fullHelp(title string, keys []key.Binding, explained []string, width, height int) []string {
	entries := e.helpEntries(keys)
	column, keyWidth := 38, 11
	if width < 2*column {
		column, keyWidth = max(width/2, 20), 9
	}
	columns := max(min(2, width/column), 1)
	rows := (len(entries) + columns - 1) / columns
	head := e.Styles.Title.On("keys") + e.Styles.Muted.On("  "+title)
	lines := []string{head}
	roomy := height >= rows+4
	if roomy {
		lines = append(lines, "")
	}
	for r := range rows {
		line := ""
		for c := range columns {
			if i := c*rows + r; i < len(entries) {
				h := entries[i].Help()
				line += e.left(e.Styles.Key.On(e.left(h.Key, keyWidth))+" "+h.Desc, column)
			}
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	if len(explained) > 0 && height >= len(lines)+len(explained)+3 {
		lines = append(append(lines, ""), explained...)
	}
	if roomy {
		lines = append(lines, "", e.Styles.Muted.On("any key closes this"))
	}
	return lines
}

// helpEntries are all keys that work now, each once.
func (e *Env) helpEntries(keys []key.Binding) []key.Binding {
	var some []key.Binding
	seen := map[string]bool{}
	for _, k := range slices.Concat(keys, e.Keys.moving(), e.Keys.everywhere()) {
		if h := k.Help(); k.Enabled() && h.Key != "" && !seen[h.Key] {
			seen[h.Key] = true
			some = append(some, k)
		}
	}
	return some
}
