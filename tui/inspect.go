package tui

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/show"
)

// inspect is the screen of what is in a dump.
type inspect struct {
	chooser
	path string
	home *home
}

type manifestMsg struct {
	of  *inspect
	m   *format.Manifest
	err error
}

func newInspect(h *home, path string) Screen {
	s := &inspect{path: path, home: h}
	s.title, s.enter = "What is in "+base(path), "open"
	s.items = func() []item { return nil }
	s.init = func() tea.Cmd {
		s.lines = []string{s.env.Styles.Accent.On("reading the manifest" + s.env.Glyphs.Dots)}
		return func() tea.Msg {
			m, err := h.o.Ask.Manifest(path)
			return manifestMsg{s, m, err}
		}
	}
	s.on = s.read
	return s
}

func readManifest(path string) (m *format.Manifest, err error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return format.ReadManifest(root)
}

func (s *inspect) read(m tea.Msg) tea.Cmd {
	got, ok := m.(manifestMsg)
	if !ok || got.of != s {
		return nil
	}
	e := s.env
	if got.err != nil {
		s.lines = []string{e.Styles.Bad.On(errorText(got.err))}
		s.refresh()
		return nil
	}
	man := got.m
	source := man.Source
	var rows, bytes int64
	for i := range man.Tables {
		rows += man.Tables[i].Rows
		bytes += man.Tables[i].Bytes
	}
	taken := man.Started
	if t, err := time.Parse(time.RFC3339, man.Started); err == nil {
		taken = s.home.local(t, "2006-01-02 15:04")
	}
	s.lines = []string{e.Styles.Muted.On(fmt.Sprintf("database %s of PostgreSQL %d, %s, taken %s", show.Text(string(source.Database)), source.Server.VersionNum/10000, show.Text(source.Server.Encoding), show.Text(taken))),
		fmt.Sprintf("%s, %s, %s", show.Plural(int64(len(man.Tables)), "table", "tables"), show.Plural(rows, "row", "rows"), show.Size(bytes))}
	s.items = func() []item {
		var items []item
		for i := range man.Tables {
			t := &man.Tables[i]
			items = append(items, item{group: "tables", left: string(t.Schema) + "." + string(t.Name), right: show.Plural(t.Rows, "row", "rows") + e.right(show.Size(t.Bytes), sizeWidth+2),
				detail: fmt.Sprintf("%s in %s", show.Plural(int64(len(t.Columns)), "column", "columns"), show.Plural(int64(len(t.Segments)), "file", "files")),
				choose: func() tea.Cmd { return Push(newInspectTable(&s.home.o.Ask, s.path, t)) }})
		}
		for _, q := range man.Sequences {
			items = append(items, item{group: "sequences", left: string(q.Schema) + "." + string(q.Name), right: "at " + count(q.LastValue)})
		}
		for _, l := range man.LeftOut {
			items = append(items, item{group: "left out", left: l.Kind + " " + joinWords(".", string(l.Schema), string(l.Name)), about: l.Why, detail: l.Why, sign: e.Glyphs.Warn, look: e.Styles.Warn})
		}
		return items
	}
	s.refresh()
	return nil
}

// inspectTable is the screen of one table of a dump.
type inspectTable struct {
	env    *Env
	ask    *Sources
	path   string
	table  *format.ManifestTable
	meta   *format.Meta
	err    error
	scroll int
}

type metaMsg struct {
	of   *inspectTable
	meta *format.Meta
	err  error
}

func newInspectTable(ask *Sources, path string, t *format.ManifestTable) Screen {
	return &inspectTable{ask: ask, path: path, table: t}
}

// Init implements Screen.
func (s *inspectTable) Init(e *Env) tea.Cmd {
	s.env = e
	if len(s.table.Segments) == 0 {
		return nil
	}
	return func() tea.Msg {
		meta, err := s.ask.Meta(s.path, s.table.Segments[0].Path)
		return metaMsg{s, meta, err}
	}
}

func readMeta(dir, file string) (meta *format.Meta, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	f, err := root.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	r, err := format.NewReader(f)
	if err != nil {
		return nil, err
	}
	return &r.Header().Meta, nil
}

// Update implements Screen.
func (s *inspectTable) Update(m tea.Msg) tea.Cmd {
	switch m := m.(type) {
	case metaMsg:
		if m.of == s {
			s.meta, s.err = m.meta, m.err
		}
	case tea.MouseMsg:
		s.scroll += map[tea.MouseButton]int{tea.MouseButtonWheelUp: -1, tea.MouseButtonWheelDown: 1}[m.Button]
	case tea.KeyMsg:
		s.scroll = scrolled(s.env.Keys, m, s.scroll, 1, max(s.env.Height-3, 1), len(s.text(s.env.Width)))
		if Pressed(m, s.env.Keys.Left) {
			return Back()
		}
	}
	s.scroll = max(min(s.scroll, len(s.text(s.env.Width))-max(s.env.Height-3, 1)), 0)
	return nil
}

func (s *inspectTable) text(width int) (out []string) {
	e, t := s.env, s.table
	if s.err != nil {
		out = append(out, e.Styles.Bad.On(e.cut(errorText(s.err), width)))
	}
	name, typ := max(width/3, 8), max(width/3, 8)
	out = append(out, e.Styles.Muted.On(e.left("column", name)+" "+e.left("type", typ)+" carried"))
	for _, c := range t.Columns {
		how := string(c.Carried)
		if c.Generated != "" {
			how = "generated: no values"
		}
		if c.OIDs {
			how += ", OIDs rewritten"
		}
		if c.NotNull {
			how += ", not null"
		}
		out = append(out, e.cut(e.left(show.Text(string(c.Name)), name)+" "+e.left(show.Text(c.Type), typ)+" "+show.Text(how), width))
	}
	out = append(out, "", e.Styles.Muted.On("files"))
	for i, g := range t.Segments {
		out = append(out, e.cut(fmt.Sprintf("%3d  %s, %s stored  %s", i+1, show.Plural(g.Rows, "row", "rows"), show.Size(g.StoredBytes), show.Text(g.Path)), width))
	}
	if s.meta == nil {
		return out
	}
	names := map[uint32]string{}
	for _, n := range s.meta.Types {
		names[n.OID] = string(n.Schema) + "." + string(n.Name)
		if n.Schema == "pg_catalog" {
			names[n.OID] = string(n.Name)
		}
	}
	out = append(out, "", e.Styles.Muted.On("samples: a literal, and what the source showed"))
	for _, x := range s.meta.Samples {
		for _, v := range x.Values {
			out = append(out, e.cut(e.left(show.Text(names[x.OID]), name)+" "+e.left(show.Line(v.Literal), typ)+" "+show.Line(v.Text), width))
		}
	}
	return out
}

// View implements Screen.
func (s *inspectTable) View(width, height int) string {
	e, t := s.env, s.table
	lines := []string{e.spread(e.Styles.Title.On(show.Table(t.Schema, t.Name)), show.Plural(t.Rows, "row", "rows")+"  "+show.Size(t.Bytes), width), ""}
	text := s.text(width)
	return fitFrame(append(lines, text[min(s.scroll, max(len(text)-1, 0)):]...), width, height)
}

// Keys implements Screen.
func (s *inspectTable) Keys() []key.Binding {
	return append(s.env.Keys.moving(), s.env.Keys.Back, s.env.Keys.Quit)
}

// Title implements Screen.
func (s *inspectTable) Title() string { return "a table of a dump" }
