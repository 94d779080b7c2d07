package tui

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/show"
)

// choice is the line of the form that says which tables a restore or a migrate takes; it opens a [tree].
func (r *ready) choice() option {
	text := "all"
	return option{name: "tables", detail: "all of them, or those that you choose", value: func() string { return text }, open: func() tea.Cmd {
		t := &tree{home: r.home, kind: r.o.Kind, verb: "these", closed: map[format.Name]bool{}, ask: r.tables()}
		t.title = "Which tables to " + r.o.Kind + "?"
		t.then = func() tea.Cmd {
			to := &r.o.To
			to.Tables, to.ExcludeTables = t.patterns()
			if r.o.Kind == "migrate" {
				r.o.From.Tables, r.o.From.ExcludeTables = to.Tables, to.ExcludeTables
			}
			text = t.chosenText()
			r.refresh()
			return Back()
		}
		return Push(t)
	}}
}

// tables asks the dump, or the source of a migrate, what there is.
func (r *ready) tables() func() ([]dump.Surveyed, error) {
	ask, dir, dsn := r.home.o.Ask, r.o.To.Dir, r.o.From.DSN
	if r.o.Kind == "migrate" {
		return func() ([]dump.Surveyed, error) { return ask.Tables(background(), dsn) }
	}
	return func() (list []dump.Surveyed, err error) {
		m, err := ask.Manifest(dir)
		if err != nil {
			return nil, err
		}
		for i := range m.Tables {
			t := &m.Tables[i]
			list = append(list, dump.Surveyed{Schema: t.Schema, Name: t.Name, Kind: t.Kind, Rows: t.Rows, Bytes: t.Bytes, Unlogged: t.Unlogged, HasRows: true})
		}
		return list, nil
	}
}

// chosenText says how many tables are chosen: all, or the name of the only one.
func (t *tree) chosenText() string {
	n, last := 0, 0
	for i, on := range t.chosen {
		if on {
			n, last = n+1, i
		}
	}
	switch n {
	case len(t.all):
		return "all"
	case 1:
		return show.Text(string(t.all[last].Schema) + "." + string(t.all[last].Name))
	}
	return fmt.Sprintf("%d of %d", n, len(t.all))
}
