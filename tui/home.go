package tui

import (
	"context"
	"fmt"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/shelf"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/internal/workbench"
	"github.com/bytehaul/pghaul/restore"
)

// Jobs starts jobs. Each call returns at once: the job runs beside the program, and whoever has made Jobs waits for it.
type Jobs interface {
	Dump(dump.Options) RunOptions
	Verify(path string) RunOptions
	Restore(restore.Options) RunOptions
	Migrate(from dump.Options, to restore.Options) RunOptions
}

// HomeOptions are what the home screen works with.
type HomeOptions struct {
	Jobs  Jobs
	State *workbench.State
	Dir   string                       // where dumps are looked for and written
	Now   func() time.Time             // times are shown in its zone
	Dumps func() ([]shelf.Dump, error) // below Dir; called outside of Update
	Ask   Sources
}

// NewHome makes the first screen: what can be done, what was done, which dumps there are.
func NewHome(o HomeOptions) Screen {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Ask.complete(o.State)
	return &home{o: o}
}

// local writes a time in the operator's zone.
func (h *home) local(t time.Time, layout string) string {
	return t.In(h.o.Now().Location()).Format(layout)
}

type home struct {
	o     HomeOptions
	env   *Env
	menu  menu
	dumps []shelf.Dump
	trove error // of the list of dumps
	ready bool
}

type dumpsMsg struct {
	list []shelf.Dump
	err  error
}

// Init implements Screen.
func (h *home) Init(e *Env) tea.Cmd {
	h.env, h.menu.env = e, e
	h.fill()
	return h.look()
}

// look lists the dumps of the folder.
func (h *home) look() tea.Cmd {
	return func() tea.Msg {
		list, err := h.o.Dumps()
		return dumpsMsg{list, err}
	}
}

func (h *home) fill() {
	g := h.env.Glyphs
	items := []item{
		{left: "Dump", right: "a database into files", detail: "takes a database, or parts of it, under one snapshot into a folder", sign: g.Dot, choose: h.dump},
		{left: "Verify", right: "that a dump is whole", detail: "reads every byte of a dump; needs no server", sign: g.Dot, choose: func() tea.Cmd { return h.pick("Verify", h.verify) }},
		{left: "Restore", right: "a dump into a database", detail: "loads a dump and proves that every row arrived", sign: g.Dot, choose: func() tea.Cmd { return h.pick("Restore", h.restore) }},
		{left: "Migrate", right: "from server to server", detail: "copies a database without files between, with a word from you before each phase", sign: g.Dot, choose: h.migrate},
		{left: "Inspect", right: "what is in a dump", detail: "shows tables, columns, types and samples; needs no server", sign: g.Dot, choose: func() tea.Cmd { return h.pick("Inspect", h.inspect) }},
	}
	for _, d := range h.dumps {
		items = append(items, h.dumpItem(d, func() tea.Cmd { return Push(newDumpMenu(h, d)) }))
	}
	for i, j := range h.o.State.Jobs() {
		if i == 10 {
			break
		}
		sign, look := g.Done, h.env.Styles.Good
		if !j.OK {
			sign, look = g.Failed, h.env.Styles.Bad
		}
		items = append(items, item{group: "recent jobs", left: j.Kind + " " + joinWords(" "+g.Arrow+" ", j.Source, j.Target), right: h.local(j.Ended, "01-02 15:04"), detail: j.Result, sign: sign, look: look})
	}
	h.menu.set(items)
	h.menu.resize(h.env.Height - 4)
}

func (h *home) dumpItem(d shelf.Dump, choose func() tea.Cmd) item {
	g, st := h.env.Glyphs, h.env.Styles
	it := item{group: "dumps in " + show.Text(h.o.Dir), left: base(d.Path), right: show.Size(d.StoredBytes) + "  " + h.local(d.Time, "2006-01-02 15:04"), sign: g.Done, look: st.Good, choose: choose}
	it.detail = fmt.Sprintf("%s of database %s in %s", show.Plural(d.Rows, "row", "rows"), string(d.Database), show.Plural(int64(d.Tables), "table", "tables"))
	if d.State != shelf.Complete {
		it.sign, it.look, it.detail = g.Warn, st.Warn, string(d.State)+": "+d.Why
	}
	return it
}

// Update implements Screen.
func (h *home) Update(m tea.Msg) tea.Cmd {
	switch m := m.(type) {
	case dumpsMsg:
		h.dumps, h.trove, h.ready = m.list, m.err, true
		h.fill()
	case endedMsg: // of a job that has left a dump, perhaps
		return h.look()
	case tea.WindowSizeMsg:
		h.menu.resize(m.Height - 4)
	case tea.MouseMsg:
		return h.menu.mouse(m, 2)
	case tea.KeyMsg:
		return h.menu.key(m, true)
	}
	return nil
}

// View implements Screen.
func (h *home) View(width, height int) string {
	e := h.env
	note := ""
	switch {
	case !h.ready:
		note = "looking for dumps"
	case h.trove != nil:
		note = errorText(h.trove)
	}
	lines := []string{e.spread(e.Styles.Title.On("pghaul"), e.Styles.Muted.On(e.cut(note, width/2)), width), ""}
	return fitFrame(append(lines, h.menu.view(width, height-len(lines))...), width, height)
}

// Keys implements Screen.
func (h *home) Keys() []key.Binding {
	k := h.env.Keys
	if h.menu.typing {
		return h.menu.keys("open")
	}
	return []key.Binding{As(k.Enter, "open"), Pair(k.Up, k.Down, "move"), As(k.Filter, "filter (or just type)"), k.Quit}
}

// Captures implements Capturer.
func (h *home) Captures(m tea.KeyMsg) bool { return h.menu.captures(m) }

// Title implements Screen.
func (h *home) Title() string { return "home" }

func (h *home) dump() tea.Cmd {
	return Push(newConnect(h, "Dump: which server?", func(l link) tea.Cmd { return Push(newDatabases(h, "Dump: which database?", l, h.tables, nil)) }))
}

func (h *home) tables(l link) tea.Cmd { return Push(newTables(h, l)) }

// pick chooses one of the dumps, or a path that is typed in.
func (h *home) pick(title string, then func(path string) tea.Cmd) tea.Cmd {
	return Push(newDumpList(h, title, then))
}

func (h *home) verify(path string) tea.Cmd {
	return startRun(func() RunOptions { return h.o.Jobs.Verify(path) })
}

func (h *home) inspect(path string) tea.Cmd { return Push(newInspect(h, path)) }

func (h *home) restore(path string) tea.Cmd {
	return Push(newConnect(h, "Restore "+base(path)+": into which server?", func(l link) tea.Cmd {
		return Push(newDatabases(h, "Restore "+base(path)+": into which database?", l, func(l link) tea.Cmd { return Push(newRestoreWays(h, path, l, false)) },
			func(l link) tea.Cmd { return Push(newRestoreWays(h, path, l, true)) }))
	}))
}

// migrate asks for two servers.
func (h *home) migrate() tea.Cmd {
	return Push(newConnect(h, "Migrate: from which server?", func(l link) tea.Cmd {
		return Push(newDatabases(h, "Migrate: which database?", l, func(from link) tea.Cmd {
			name := from.dsn.Config.Database
			start := func(create bool) func(link) tea.Cmd {
				return func(to link) tea.Cmd {
					return startRun(func() RunOptions {
						return h.o.Jobs.Migrate(dump.Options{DSN: from.dsn, SegmentSize: defaultSegment}, restore.Options{DSN: to.dsn, Create: create})
					})
				}
			}
			return Push(newConnect(h, "Migrate "+name+": to which server?", func(l link) tea.Cmd {
				return Push(newDatabases(h, "Migrate "+name+": into which database?", l, start(false), start(true)))
			}))
		}, nil))
	}))
}

// defaultSegment is how much of a table goes into one piece.
const defaultSegment = 256 << 20

// startedMsg carries a job that runs now.
type startedMsg struct{ run RunOptions }

// startRun starts a job outside of Update and shows it in place of all screens but the first.
func startRun(start func() RunOptions) tea.Cmd {
	return func() tea.Msg { return startedMsg{start()} }
}

// background is the context of questions to servers: they have limits of their own.
func background() context.Context { return context.Background() }
