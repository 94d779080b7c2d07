package tui

import (
	"context"
	"fmt"
	"path/filepath"
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
	// Migrate waits between phases when there are gates.
	Migrate(from dump.Options, to restore.Options, gates bool) RunOptions
}

// HomeOptions are what the home screen works with.
type HomeOptions struct {
	Jobs  Jobs
	State *workbench.State
	Dir   string                       // where dumps are looked for and written
	Now   func() time.Time             // times are shown in its zone
	Dumps func() ([]shelf.Dump, error) // below Dir; called outside of Update
	// Defaults fills in what a job of that kind is started with by habit; nil: nothing.
	Defaults func(*JobOptions)
	// Command is the command line that does the same; nil: it is not shown.
	Command func(JobOptions) string
	Ask     Sources
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
	items := []item{
		{left: "Dump", about: "a database into files", detail: "takes a database, or parts of it, under one snapshot into a folder", choose: h.dump},
		{left: "Verify", about: "that a dump is whole", detail: "reads every byte of a dump; needs no server", choose: func() tea.Cmd { return h.pick("Verify", h.verify) }},
		{left: "Restore", about: "a dump into a database", detail: "loads a dump and proves that every row arrived", choose: func() tea.Cmd { return h.pick("Restore", h.restore) }},
		{left: "Migrate", about: "a database from server to server", detail: "copies a database without files between, with a word from you before each phase", choose: h.migrate},
		{left: "Inspect", about: "what is in a dump", detail: "shows tables, columns, types and samples; needs no server", choose: func() tea.Cmd { return h.pick("Inspect", h.inspect) }},
	}
	for _, d := range h.dumps {
		items = append(items, h.dumpItem(d, func() tea.Cmd { return Push(newDumpMenu(h, d)) }))
	}
	if h.ready && h.trove == nil && len(h.dumps) == 0 {
		items = append(items, item{group: h.shelf(), left: "none yet: Dump makes the first one here", off: true, detail: "Verify, Restore and Inspect take the path of a dump elsewhere, too"})
	}
	for i, j := range h.o.State.Jobs() {
		if i == 10 {
			break
		}
		items = append(items, h.jobItem(j))
	}
	h.menu.set(items)
	h.menu.resize(h.env.Height - 4)
}

// shelf is the heading above the dumps.
func (h *home) shelf() string { return "dumps in " + show.Text(h.o.Dir) }

// jobItem is a job that has ended. Choosing it opens the dump that it was about, where that is here.
func (h *home) jobItem(j workbench.Job) item {
	e := h.env
	it := item{group: "recent jobs", left: j.Kind, about: joinWords(" "+e.Glyphs.Arrow+" ", h.near(j.Source), h.near(j.Target)), right: h.local(j.Ended, "01-02 15:04"), detail: j.Result,
		sign: e.Glyphs.Done, look: e.Styles.Good}
	if !j.OK {
		it.sign, it.look, it.detail = e.Glyphs.Failed, e.Styles.Bad, "failed: "+j.Result
	}
	it.choose = func() tea.Cmd { return send(toastMsg{text: it.detail, bad: !j.OK}) }
	for _, d := range h.dumps {
		if d.Path == j.Target || d.Path == j.Source {
			it.choose = func() tea.Cmd { return Push(newDumpMenu(h, d)) }
		}
	}
	return it
}

// near leaves the folder that dumps are looked for in away.
func (h *home) near(path string) string {
	if filepath.IsAbs(path) && filepath.Dir(path) == h.o.Dir {
		return base(path)
	}
	return path
}

func (h *home) dumpItem(d shelf.Dump, choose func() tea.Cmd) item {
	e := h.env
	it := item{group: h.shelf(), left: base(d.Path), right: e.right(show.Size(d.StoredBytes), sizeWidth) + "  " + h.local(d.Time, "01-02 15:04"), sign: e.Glyphs.Done, look: e.Styles.Good, choose: choose}
	it.about = fmt.Sprintf("%s, %s rows", show.Plural(int64(d.Tables), "table", "tables"), show.Short(float64(d.Rows)))
	it.detail = fmt.Sprintf("%s of database %s in %s, %s", show.Plural(d.Rows, "row", "rows"), string(d.Database), show.Plural(int64(d.Tables), "table", "tables"), h.local(d.Time, "2006-01-02 15:04"))
	if d.State != shelf.Complete {
		it.sign, it.look, it.about, it.detail = e.Glyphs.Warn, e.Styles.Warn, string(d.State), string(d.State)+": "+d.Why
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
	if note == "" && width >= wideFull {
		note = "what do you want to do?"
	}
	lines := []string{e.cut(joinWords("   ", e.Styles.Title.With(e.Styles.Accent).On("pghaul"), e.Styles.Muted.On(note)), width), ""}
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
	return Push(newConnect(h, "Dump: which server?", func(l link) tea.Cmd {
		return Push(newDatabases(h, "Dump: which database?", l, h.tables, newDatabase{}))
	}))
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
			newDatabase{h.databaseOf(path), func(l link) tea.Cmd { return Push(newRestoreWays(h, path, l, true)) }}))
	}))
}

// databaseOf is the name of the database that a dump was taken of; "" where that is not known.
func (h *home) databaseOf(path string) string {
	for _, d := range h.dumps {
		if d.Path == path {
			return string(d.Database)
		}
	}
	return ""
}

// migrate asks for two servers.
func (h *home) migrate() tea.Cmd {
	return Push(newConnect(h, "Migrate: from which server?", func(l link) tea.Cmd {
		return Push(newDatabases(h, "Migrate: which database?", l, func(from link) tea.Cmd {
			name := from.dsn.Config.Database
			start := func(create bool) func(link) tea.Cmd {
				return func(to link) tea.Cmd {
					return Push(newReady(h, JobOptions{Kind: "migrate", From: dump.Options{DSN: from.dsn, SegmentSize: defaultSegment}, To: restore.Options{DSN: to.dsn, Create: create}, Gates: true}, 0))
				}
			}
			return Push(newConnect(h, "Migrate "+name+": to which server?", func(l link) tea.Cmd {
				return Push(newDatabases(h, "Migrate "+name+": into which database?", l, start(false), newDatabase{name, start(true)}))
			}))
		}, newDatabase{}))
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
