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
	kinds := map[string][2]string{workbench.FromEnvironment: {"environment", "as psql would connect"}, workbench.FromService: {"services", "of pg_service.conf"}, workbench.FromRecent: {"used before", "without its password"}}
	var items []item
	for _, p := range c.home.o.Ask.Places() {
		items = append(items, item{group: kinds[p.Kind][0], left: p.Name, about: p.Detail, detail: kinds[p.Kind][1], choose: func() tea.Cmd { return c.try(p.Name, p.DSN) }})
	}
	return append(items, item{group: "another", left: "connection string", about: "URI, keyword=value, or a database", detail: "typed in, without a password: that is asked for, masked", choose: func() tea.Cmd {
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
		title := "Password"
		if a.l.dsn.Config.Password != "" {
			title = "Password: that one was wrong"
		}
		return Ask(&Dialog{Title: title, Trouble: a.err.Error(), Prompt: "password of role " + a.l.dsn.Config.User, Secret: true, Yes: "connect", No: "back", Then: func(yes bool, password string) tea.Cmd {
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

// newDatabase is one to be made: its likely name, and what to do with the name that was chosen. Without then none is made.
type newDatabase struct {
	name string
	then func(link) tea.Cmd
}

// newDatabases chooses a database of a server, the cursor on the one that is likely meant.
func newDatabases(h *home, title string, l link, then func(link) tea.Cmd, create newDatabase) Screen {
	c := &chooser{title: title, enter: "choose"}
	c.items = func() []item {
		e := h.env
		c.lines = []string{e.Styles.Muted.On(fmt.Sprintf("PostgreSQL %s   role %s: %s", l.server.Version, show.Text(l.server.Role.Name), l.server.May()))}
		var items []item
		if create.then != nil {
			items = append(items, create.item(e, l))
		}
		for _, d := range l.server.Databases {
			size := "?"
			if d.Bytes >= 0 {
				size = show.Size(d.Bytes)
			}
			it := item{group: "databases", left: d.Name, about: "of " + d.Owner, right: size, detail: "owned by " + d.Owner, off: !d.Connect, choose: func() tea.Cmd { return then(l.at(d.Name)) }}
			if !d.Connect {
				it.about = "the role may not connect to it"
				it.detail = it.about
			}
			items = append(items, it)
		}
		return items
	}
	c.init = func() tea.Cmd {
		if create.then != nil && l.server.Role.CreateDB { // nothing is in the way there
			return nil
		}
		name := likely(l)
		for i, it := range c.items() {
			if it.group == "databases" && it.left == name {
				c.menu.list.Cursor = i
			}
		}
		return nil
	}
	return c
}

func (n newDatabase) item(e *Env, l link) item {
	it := item{left: "a new database", about: "is made for it", detail: "with the source's encoding, locale and settings", sign: "+", look: e.Styles.Accent, off: !l.server.Role.CreateDB, choose: func() tea.Cmd {
		return Ask(&Dialog{Title: "A new database", Prompt: "its name", Text: freeName(n.name, l.server), Yes: "choose", No: "back", Then: func(yes bool, name string) tea.Cmd {
			if !yes {
				return nil
			}
			return n.then(l.at(name))
		}})
	}}
	if it.off {
		it.about = "the role may not make databases"
		it.detail = it.about
	}
	return it
}

// likely is the database that is probably meant: the one that the connection names, unless that is the one that everybody connects to, else the largest.
func likely(l link) string {
	best, size := "", int64(-2)
	for _, d := range l.server.Databases {
		switch {
		case !d.Connect || d.Name == "postgres":
		case d.Name == l.dsn.Config.Database:
			return d.Name
		case d.Bytes > size:
			best, size = d.Name, d.Bytes
		}
	}
	return best
}

// freeName is a name that no database of the server has.
func freeName(name string, s *workbench.Server) string {
	taken := map[string]bool{}
	for _, d := range s.Databases {
		taken[d.Name] = true
	}
	free := name
	for n := 2; name != "" && taken[free]; n++ {
		free = fmt.Sprintf("%s_%d", name, n)
	}
	return free
}
