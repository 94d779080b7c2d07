package tui

import (
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/internal/workbench"
)

// link is a server that was connected to, and what it said.
type link struct {
	text   string // the connection string as given; "" for the environment's
	dsn    *pg.DSN
	server *workbench.Server
}

// at is the same server with another database.
func (l link) at(database string) link {
	l.dsn = l.dsn.WithDatabase(database)
	return l
}

type answeredMsg struct {
	of  *connect
	l   link
	err error
}

// connect is the screen that chooses a server.
type connect struct {
	chooser
	home  *home
	then  func(link) tea.Cmd
	asked string // that is being connected to; "": none
}

func newConnect(h *home, title string, then func(link) tea.Cmd) Screen {
	c := &connect{home: h, then: then}
	c.title, c.enter = title, "connect"
	c.items = c.places
	c.on = c.answer
	return c
}

func (c *connect) places() []item {
	names := map[string]string{workbench.FromEnvironment: "environment", workbench.FromService: "services", workbench.FromRecent: "used before"}
	var items []item
	for _, p := range c.home.o.Ask.Places() {
		items = append(items, item{group: names[p.Kind], left: p.Name, right: p.Detail, detail: p.Detail, sign: c.env.Glyphs.Dot, choose: func() tea.Cmd { return c.try(p.Name, p.DSN) }})
	}
	return append(items, item{group: "another", left: "connection string", right: "URI, keyword=value, or a database", detail: "typed in, without a password: that is asked for, masked", sign: c.env.Glyphs.Dot, choose: func() tea.Cmd {
		return Ask(&Dialog{Title: "Connect", Prompt: "postgres://user@host:port/db  or  host=… user=… dbname=…", Yes: "connect", No: "back", Then: func(yes bool, text string) tea.Cmd {
			if !yes {
				return nil
			}
			return c.try(text, text)
		}})
	}})
}

func (c *connect) try(name, text string) tea.Cmd {
	dsn, err := pg.ParseDSN(text, pg.Flags{})
	if err != nil {
		return Complain(err)
	}
	return c.ask(name, link{text: text, dsn: dsn})
}

// ask connects, outside of Update.
func (c *connect) ask(name string, l link) tea.Cmd {
	if c.asked != "" {
		return nil
	}
	c.asked = name
	c.lines = []string{c.env.Styles.Accent.On("connecting to " + show.Text(name) + c.env.Glyphs.Dots)}
	server := c.home.o.Ask.Server
	return func() tea.Msg {
		var err error
		l.server, err = server(background(), l.dsn)
		return answeredMsg{c, l, err}
	}
}

func (c *connect) answer(m tea.Msg) tea.Cmd {
	a, ok := m.(answeredMsg)
	if !ok || a.of != c {
		return nil
	}
	name := c.asked
	c.asked, c.lines = "", nil
	switch {
	case a.err == nil:
		state, text := c.home.o.State, a.l.text
		remember := func() tea.Msg {
			if text != "" {
				if err := state.Remember(text, time.Now()); err != nil {
					return toastMsg{text: err.Error(), bad: true}
				}
			}
			return nil
		}
		return tea.Batch(remember, c.then(a.l))
	case workbench.WrongPassword(a.err):
		return Ask(&Dialog{Title: "Password", Lines: []string{a.err.Error()}, Prompt: "password for " + a.l.dsn.Config.User, Secret: true, Yes: "connect", No: "back", Then: func(yes bool, password string) tea.Cmd {
			if !yes {
				return nil
			}
			a.l.dsn = a.l.dsn.WithPassword(password)
			return c.ask(name, a.l)
		}})
	}
	c.lines = nil
	for _, l := range wrap(show.Line(a.err.Error()), max(c.env.Width-2, 20)) {
		c.lines = append(c.lines, c.env.Styles.Bad.On(l))
	}
	c.lines = c.lines[:min(len(c.lines), 3)]
	c.refresh()
	return nil
}

// newDatabases chooses a database of a server. make is for a new one; nil: none is made.
func newDatabases(h *home, title string, l link, then, create func(link) tea.Cmd) Screen {
	c := &chooser{title: title, enter: "choose"}
	c.items = func() []item {
		e := h.env
		c.lines = []string{e.Styles.Muted.On(fmt.Sprintf("PostgreSQL %s   role %s: %s", l.server.Version, show.Text(l.server.Role.Name), l.server.May()))}
		var items []item
		if create != nil {
			items = append(items, item{left: "a new database", right: "is made by the restore", detail: "with the source's encoding, locale and settings", sign: "+", look: e.Styles.Accent, off: !l.server.Role.CreateDB, choose: func() tea.Cmd {
				return Ask(&Dialog{Title: "A new database", Prompt: "its name", Yes: "choose", No: "back", Then: func(yes bool, name string) tea.Cmd {
					if !yes {
						return nil
					}
					return create(l.at(name))
				}})
			}})
		}
		for _, d := range l.server.Databases {
			size := "?"
			if d.Bytes >= 0 {
				size = show.Size(d.Bytes)
			}
			it := item{group: "databases", left: d.Name, right: size, detail: "owned by " + d.Owner, sign: e.Glyphs.Dot, off: !d.Connect, choose: func() tea.Cmd { return then(l.at(d.Name)) }}
			if !d.Connect {
				it.detail = "the role may not connect to it"
			}
			items = append(items, it)
		}
		return items
	}
	return c
}
