package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/restore"
)

// newRestoreWays chooses how a dump goes into a database.
func newRestoreWays(h *home, path string, l link, create bool) Screen {
	database := l.dsn.Config.Database
	c := &chooser{title: "Restore: how? " + base(path) + " into " + database, enter: "look, then ask"}
	start := func(change func(*restore.Options)) tea.Cmd {
		o := restore.Options{Dir: path, DSN: l.dsn}
		change(&o)
		if o.OnExisting == "" {
			o.OnExisting = restore.Fail
		}
		return Push(newReady(h, JobOptions{Kind: "restore", To: o}, 0))
	}
	c.items = func() []item {
		e := h.env
		c.lines = []string{e.Styles.Muted.On("first the preflight; nothing is written before you say so")}
		if create {
			return []item{{left: "Everything, into a new database", about: "makes " + database, detail: "definitions, rows, proof, indexes and constraints", sign: "+", look: e.Styles.Accent,
				choose: func() tea.Cmd { return start(func(o *restore.Options) { o.Create = true }) }}}
		}
		return []item{
			{left: "Everything", about: "where no such tables are yet", detail: "definitions, rows, proof, indexes and constraints", choose: func() tea.Cmd { return start(func(*restore.Options) {}) }},
			{left: "Go on with an interrupted restore", about: "by its journal", detail: "loads what is missing; nothing is loaded twice", choose: func() tea.Cmd { return start(func(o *restore.Options) { o.Resume = true }) }},
			{left: "Rows only, into empty tables", about: "the tables are there", detail: "refused when one of the tables holds rows", choose: func() tea.Cmd { return start(func(o *restore.Options) { o.DataOnly = true }) }},
			{left: "Rows only, beside those that are there", about: "appends", detail: "rows that are there stay; the proof is left out", choose: func() tea.Cmd {
				return start(func(o *restore.Options) { o.DataOnly, o.OnExisting = true, restore.Append })
			}},
			{left: "Rows only, in place of those that are there", about: "empties the tables", detail: "destroys all rows of these tables: asks for the database's name", sign: e.Glyphs.Warn, look: e.Styles.Warn, choose: func() tea.Cmd {
				return start(func(o *restore.Options) { o.DataOnly, o.OnExisting = true, restore.Truncate })
			}},
		}
	}
	return c
}
