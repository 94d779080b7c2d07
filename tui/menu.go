package tui

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/internal/show"
)

// item is one line of a menu. Its texts are drawn escaped.
type item struct {
	group  string // heading above the first of its group
	left   string
	about  string // behind left, in a column of its own for the group
	right  string // at the right margin
	detail string // at the foot of the screen, while the cursor is on it
	sign   string // in front, one column
	look   Style  // of sign
	off    bool   // cannot be chosen; detail says why
	choose func() tea.Cmd
}

// menu is a list to choose from, filtered by what is typed. It is no screen but the body of one.
type menu struct {
	env    *Env
	items  []item
	shown  []int // of items, that the filter leaves
	list   List
	filter Input
	typing bool
	page   int
}

func (m *menu) set(items []item) {
	m.items = items
	m.arrange()
}

func (m *menu) arrange() {
	words := strings.ToLower(m.filter.Text)
	m.shown = m.shown[:0]
	for i, it := range m.items {
		if words == "" || strings.Contains(strings.ToLower(it.left+" "+it.about+" "+it.right+" "+it.group), words) {
			m.shown = append(m.shown, i)
		}
	}
	m.list.clamp(len(m.shown))
}

// captures tells keys that the menu wants before the program: all letters while a filter is typed in, and esc that ends it.
func (m *menu) captures(k tea.KeyMsg) bool {
	switch {
	case Pressed(k, m.env.Keys.Interrupt):
		return false
	case m.typing:
		return true
	}
	return Pressed(k, m.env.Keys.Back) && m.filter.Text != ""
}

// key takes a key. Letters that mean nothing else begin a filter, when free says so.
func (m *menu) key(k tea.Msg, free bool) tea.Cmd {
	keys := m.env.Keys
	switch {
	case m.typing && Pressed(k, keys.Enter):
		return m.open()
	case Pressed(k, keys.Back):
		m.typing, m.filter.Text = false, ""
	case m.typing:
		w, ok := k.(tea.KeyMsg)
		if !ok || !m.filter.Update(keys, w) {
			m.list.Update(keys, k, len(m.shown))
			return nil
		}
		m.list.Cursor = 0
		if m.filter.Text == "" {
			m.typing = false
		}
	case Pressed(k, keys.Enter, keys.Right):
		return m.open()
	case Pressed(k, keys.Filter):
		m.typing = true
	case m.list.Update(keys, k, len(m.shown)):
		return nil
	default:
		if w, ok := k.(tea.KeyMsg); ok && free && w.Type == tea.KeyRunes && !Pressed(k, keys.Left) {
			m.typing = m.filter.Update(keys, w)
			m.list.Cursor = 0
		}
	}
	m.arrange()
	return nil
}

// mouse moves the cursor, and opens what is clicked twice. at is the screen line of the menu's first line.
func (m *menu) mouse(w tea.MouseMsg, at int) tea.Cmd {
	if w.Button == tea.MouseButtonLeft && w.Action == tea.MouseActionPress {
		if row, ok := m.rowAt(w.Y - at); ok {
			if row == m.list.Cursor {
				return m.open()
			}
			m.list.Cursor = row
		}
		return nil
	}
	m.list.Update(m.env.Keys, w, len(m.shown))
	return nil
}

func (m *menu) current() *item {
	if m.list.Cursor < len(m.shown) {
		return &m.items[m.shown[m.list.Cursor]]
	}
	return nil
}

func (m *menu) open() tea.Cmd {
	it := m.current()
	if m.filter.Text != "" && it != nil { // which has found what it was for
		at := m.shown[m.list.Cursor]
		m.typing, m.filter.Text, m.list.Cursor = false, "", at
		m.arrange()
	}
	switch {
	case it == nil || it.choose == nil && !it.off:
		return nil
	case it.off:
		return send(toastMsg{text: it.detail, bad: true})
	}
	return it.choose()
}

// menuLine is a line of the drawn menu: a heading, or a row.
type menuLine struct {
	heading string
	row     int // of shown; -1: none
}

// lay gives the lines that fit, the cursor's among them.
func (m *menu) lay(height int) []menuLine {
	var lines []menuLine
	at, group := 0, "\x00"
	headings := height > 8
	for row, i := range m.shown {
		if g := m.items[i].group; g != group && headings {
			if len(lines) > 0 && height > 14 {
				lines = append(lines, menuLine{row: -1})
			}
			if g != "" {
				lines = append(lines, menuLine{heading: g, row: -1})
			}
			group = g
		}
		if row == m.list.Cursor {
			at = len(lines)
		}
		lines = append(lines, menuLine{row: row})
	}
	height = max(height, 0)
	top := 0
	if at >= height-1 { // no further than it must
		top = max(min(at-height/2, len(lines)-height), 0)
	}
	return lines[top:min(top+height, len(lines))]
}

func (m *menu) rowAt(line int) (int, bool) {
	lines := m.lay(m.page - footOf(m.page))
	if line < 0 || line >= len(lines) || lines[line].row < 0 {
		return 0, false
	}
	return lines[line].row, true
}

// menuWidth is how wide rows are at most: the eye finds no way across more.
const menuWidth = 96

// footOf is how many lines of a menu say something about the row under the cursor.
func footOf(height int) int {
	if height > 6 {
		return 2
	}
	return 0
}

// resize tells the menu its height, in Update.
func (m *menu) resize(height int) { m.page = max(height, 1); m.list.SetPage(m.page, len(m.shown)) }

// view draws the menu and, at its foot, what there is to say of the row under the cursor.
func (m *menu) view(width, height int) []string {
	e := m.env
	foot := footOf(height)
	var out []string
	width, full := min(width, menuWidth), width
	for _, l := range m.lay(height - foot) {
		if l.row < 0 {
			out = append(out, e.Styles.Muted.On(e.cut(l.heading, width)))
			continue
		}
		out = append(out, m.line(&m.items[m.shown[l.row]], l.row == m.list.Cursor, width))
	}
	if len(out) == 0 {
		out = append(out, e.Styles.Muted.On(e.cut("  nothing here has these words; esc shows all again", width)))
	}
	if foot == 0 {
		return out
	}
	out, width = fill(out, height-foot), full
	switch it := m.current(); {
	case m.typing || m.filter.Text != "":
		out = append(out, "", e.cut(e.Styles.Muted.On("filter ")+m.filter.view(e, width-8), width))
	case it != nil && it.detail != "":
		out = append(out, "", e.Styles.Muted.On(e.cut("  "+show.Line(it.detail), width)))
	}
	return out
}

func (m *menu) line(it *item, here bool, width int) string {
	e := m.env
	mark, st := " ", e.Styles.Text
	if here {
		mark, st = e.Styles.Accent.On(e.Glyphs.Select), e.Styles.Selected
	}
	if it.off {
		st = e.Styles.Muted
	}
	sign := it.sign
	if sign == "" {
		sign = " "
	}
	room := max(width-3, 0)
	right := e.cut(show.Line(it.right), room*3/5)
	left := e.cut(show.Text(it.left), max(room-widthOf(right)-2, room/2))
	about := ""
	if column := m.column(it.group, room); it.about != "" && column < room-8 {
		left = e.left(left, column-3)
		about = "   " + e.cut(show.Line(it.about), room-column-widthOf(right)-1)
	}
	gap := ""
	if right != "" {
		gap = spaces(max(room-widthOf(left)-widthOf(about)-widthOf(right), 0))
	}
	return mark + it.look.On(sign) + " " + st.On(left) + e.Styles.Muted.On(about) + gap + e.Styles.Muted.On(right)
}

// column is where the second column of a group stands: behind its longest name, but not so far that nothing fits behind it.
func (m *menu) column(group string, room int) int {
	longest := 0
	for i := range m.items {
		if it := &m.items[i]; it.group == group && it.about != "" {
			longest = max(longest, widthOf(show.Text(it.left)))
		}
	}
	return min(longest, room*3/5) + 3
}

func (m *menu) keys(enter string) []key.Binding {
	k := m.env.Keys
	if m.typing {
		return []key.Binding{As(k.Enter, enter), As(k.Back, "show all")}
	}
	return []key.Binding{As(k.Enter, enter), k.Filter, Pair(k.Up, k.Down, "move"), k.Back, k.Quit}
}
