package tui

import tea "github.com/charmbracelet/bubbletea"

// List is the cursor and the scroll position of a list whose rows its owner draws, the visible ones alone.
type List struct {
	Cursor int
	top    int // first visible row
	page   int // visible rows, as far as was known when it was drawn last
}

// Update moves the cursor in a list of n rows, and tells whether the message was one for it.
func (l *List) Update(k KeyMap, m tea.Msg, n int) bool {
	page := max(l.page, 1)
	if w, ok := m.(tea.MouseMsg); ok {
		switch {
		case w.Button == tea.MouseButtonWheelUp:
			l.Cursor--
		case w.Button == tea.MouseButtonWheelDown:
			l.Cursor++
		default:
			return false
		}
		l.clamp(n)
		return true
	}
	switch {
	case Pressed(m, k.Up):
		l.Cursor--
	case Pressed(m, k.Down):
		l.Cursor++
	case Pressed(m, k.PageUp):
		l.Cursor -= page
	case Pressed(m, k.PageDown):
		l.Cursor += page
	case Pressed(m, k.Top):
		l.Cursor = 0
	case Pressed(m, k.Bottom):
		l.Cursor = n - 1
	default:
		return false
	}
	l.clamp(n)
	return true
}

func (l *List) clamp(n int) { l.Cursor = max(min(l.Cursor, n-1), 0) }

// SetPage says how many rows are visible of n; call it in Update, when the size or the number of rows changes.
func (l *List) SetPage(page, n int) {
	l.page = max(page, 0)
	l.clamp(n)
	l.top = windowTop(l.top, l.Cursor, l.page, n)
}

// Window is the range of rows that are visible: [from, to) of n, in a pane of that many rows. The cursor is within it.
func (l *List) Window(page, n int) (from, to int) {
	page = max(page, 0)
	from = windowTop(l.top, max(min(l.Cursor, n-1), 0), page, n)
	return from, min(from+page, n)
}

// windowTop moves a window no further than it must so that the cursor is in it.
func windowTop(top, cursor, page, n int) int {
	top = min(top, cursor)
	if cursor >= top+page {
		top = cursor - page + 1
	}
	return max(min(top, n-page), 0)
}
