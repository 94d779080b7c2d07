package tui

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// KeyMap is all keys of the program. A screen shows those that it uses by naming them in Keys, with words of its own where it wants ([As]).
type KeyMap struct {
	// Everywhere.
	Help, Back, Quit, Interrupt key.Binding
	// Moving.
	Up, Down, Left, Right, PageUp, PageDown, Top, Bottom, Tab, BackTab key.Binding
	// Choosing.
	Enter, Filter, Sort, Toggle, All, Invert, Yes, No key.Binding
	// Of a job.
	Pause, More, Fewer, Cancel, Log, Write key.Binding
	// Typing a line.
	Erase, EraseAll key.Binding
}

func bind(keys []string, help, does string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, does))
}

// NewKeyMap gives the keys; with ascii their names are ASCII too.
func NewKeyMap(ascii bool) KeyMap {
	up, down, left, right := "↑/k", "↓/j", "←/h", "→/l"
	if ascii {
		up, down, left, right = "up/k", "down/j", "left/h", "right/l"
	}
	return KeyMap{
		Help: bind([]string{"?"}, "?", "help"), Back: bind([]string{"esc"}, "esc", "back"), Quit: bind([]string{"q"}, "q", "quit"),
		Interrupt: bind([]string{"ctrl+c"}, "ctrl-c", "quit"),
		Up:        bind([]string{"up", "k", "ctrl+p"}, up, "up"), Down: bind([]string{"down", "j", "ctrl+n"}, down, "down"),
		Left: bind([]string{"left", "h"}, left, "left"), Right: bind([]string{"right", "l"}, right, "right"),
		PageUp: bind([]string{"pgup", "ctrl+b", "ctrl+u"}, "pgup", "a page up"), PageDown: bind([]string{"pgdown", "ctrl+f", "ctrl+d"}, "pgdn", "a page down"),
		Top: bind([]string{"home", "g"}, "g", "first"), Bottom: bind([]string{"end", "G"}, "G", "last"),
		Tab: bind([]string{"tab"}, "tab", "next pane"), BackTab: bind([]string{"shift+tab"}, "shift-tab", "pane before"),
		Enter: bind([]string{"enter"}, "enter", "open"), Filter: bind([]string{"/"}, "/", "filter"), Sort: bind([]string{"s"}, "s", "sort"),
		Toggle: bind([]string{" "}, "space", "choose"), All: bind([]string{"a"}, "a", "all or none"), Invert: bind([]string{"i"}, "i", "invert"),
		Yes: bind([]string{"y", "Y"}, "y", "yes"), No: bind([]string{"n", "N", "esc"}, "n", "no"),
		Pause: bind([]string{"p"}, "p", "pause"), More: bind([]string{"+", "="}, "+", "more jobs"), Fewer: bind([]string{"-", "_"}, "-", "fewer jobs"),
		Cancel: bind([]string{"c"}, "c", "cancel"), Log: bind([]string{"l"}, "l", "log"), Write: bind([]string{"w"}, "w", "write to a file"),
		Erase: bind([]string{"backspace", "ctrl+h"}, "backspace", "erase"), EraseAll: bind([]string{"ctrl+u"}, "ctrl-u", "erase all"),
	}
}

// As gives a key with other words for what it does.
func As(b key.Binding, does string) key.Binding {
	b.SetHelp(b.Help().Key, does)
	return b
}

// Pair gives two keys that belong together as one for the help: "+/- jobs".
func Pair(a, b key.Binding, does string) key.Binding {
	both := key.NewBinding(key.WithKeys(append(a.Keys(), b.Keys()...)...))
	first, _, _ := strings.Cut(a.Help().Key, "/")
	second, _, _ := strings.Cut(b.Help().Key, "/")
	both.SetHelp(first+"/"+second, does)
	return both
}

// Pressed tells whether a message is one of these keys.
func Pressed(m tea.Msg, keys ...key.Binding) bool {
	k, ok := m.(tea.KeyMsg)
	return ok && key.Matches(k, keys...)
}

// moving are the keys that every list has, for the full help.
func (k KeyMap) moving() []key.Binding {
	return []key.Binding{Pair(k.Up, k.Down, "move"), Pair(k.PageUp, k.PageDown, "a page"), Pair(k.Top, k.Bottom, "first, last")}
}

// everywhere are the keys that the program itself has.
func (k KeyMap) everywhere() []key.Binding {
	return []key.Binding{k.Help, k.Back, k.Quit, k.Interrupt}
}
