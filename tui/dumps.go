package tui

import (
	"path/filepath"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/internal/shelf"
	"github.com/bytehaul/pghaul/internal/show"
)

func base(path string) string { return filepath.Base(path) }

// chooser is a screen with a title over a menu.
type chooser struct {
	env   *Env
	menu  menu
	title string   // drawn escaped
	lines []string // under the title; drawn as they are
	enter string
	items func() []item // made anew when the screen opens
	init  func() tea.Cmd
	on    func(tea.Msg) tea.Cmd // other messages
}

// Init implements Screen.
func (c *chooser) Init(e *Env) tea.Cmd {
	c.env, c.menu.env = e, e
	c.refresh()
	if c.init != nil {
		return c.init()
	}
	return nil
}

func (c *chooser) refresh() {
	c.menu.set(c.items())
	c.menu.resize(c.env.Height - c.head() - 1)
}

// head is the number of lines above the menu.
func (c *chooser) head() int { return 2 + len(c.lines) }

// Update implements Screen.
func (c *chooser) Update(m tea.Msg) tea.Cmd {
	switch m := m.(type) {
	case tea.WindowSizeMsg:
		c.menu.resize(m.Height - c.head() - 1)
	case tea.MouseMsg:
		return c.menu.mouse(m, c.head())
	case tea.KeyMsg:
		return c.menu.key(m, true)
	}
	if c.on != nil {
		return c.on(m)
	}
	return nil
}

// View implements Screen.
func (c *chooser) View(width, height int) string {
	lines := []string{c.env.Styles.Title.On(c.env.cut(show.Text(c.title), width))}
	for _, l := range c.lines {
		lines = append(lines, c.env.cut(l, width))
	}
	lines = append(lines, "")
	return fitFrame(append(lines, c.menu.view(width, height-len(lines))...), width, height)
}

// Keys implements Screen.
func (c *chooser) Keys() []key.Binding { return c.menu.keys(c.enter) }

// Captures implements Capturer.
func (c *chooser) Captures(m tea.KeyMsg) bool { return c.menu.captures(m) }

// Title implements Screen.
func (c *chooser) Title() string { return show.Text(c.title) }

// newDumpList chooses a dump.
func newDumpList(h *home, title string, then func(path string) tea.Cmd) Screen {
	c := &chooser{title: title + ": which dump?", enter: "choose"}
	c.on = func(m tea.Msg) tea.Cmd {
		if _, ok := m.(dumpsMsg); ok { // which the home screen has taken in
			c.refresh()
		}
		return nil
	}
	c.items = func() []item {
		var items []item
		for _, d := range h.dumps {
			it := h.dumpItem(d, func() tea.Cmd { return then(d.Path) })
			it.off = d.State != shelf.Complete && title == "Restore"
			items = append(items, it)
		}
		return append(items, item{group: "elsewhere", left: "another folder or file", about: "by its path", detail: "its path is typed in", choose: func() tea.Cmd {
			return Ask(&Dialog{Title: title, Prompt: "path of the dump", Text: h.o.Dir, Yes: "choose", No: "back", Then: func(yes bool, path string) tea.Cmd {
				if !yes {
					return nil
				}
				return then(path)
			}})
		}})
	}
	return c
}

// newDumpMenu is what can be done with one dump.
func newDumpMenu(h *home, d shelf.Dump) Screen {
	c := &chooser{title: base(d.Path), enter: "choose"}
	c.items = func() []item {
		whole := h.dumpItem(d, nil)
		return []item{
			{left: "Restore", about: "into a database", detail: whole.detail, off: d.State != shelf.Complete, choose: func() tea.Cmd { return h.restore(d.Path) }},
			{left: "Verify", about: "every byte of it", detail: whole.detail, choose: func() tea.Cmd { return h.verify(d.Path) }},
			{left: "Inspect", about: "tables, columns, samples", detail: whole.detail, choose: func() tea.Cmd { return h.inspect(d.Path) }},
		}
	}
	return c
}
