package tui

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/internal/workbench"
)

// tree is the screen that chooses tables for a job: schemas with their tables, all of them chosen at first but what cannot be dumped.
type tree struct {
	env    *Env
	home   *home
	kind   string // of the job
	title  string
	verb   string // what enter does
	ask    func() ([]dump.Surveyed, error)
	then   func() tea.Cmd // goes on with what is chosen
	all    []dump.Surveyed
	err    error
	ready  bool
	chosen []bool // by position in all
	closed map[format.Name]bool
	rows   []treeRow
	list   List
	filter Input
	typing bool
}

// treeRow is a schema (at -1) or a table of it.
type treeRow struct {
	schema format.Name
	at     int
}

type surveyMsg struct {
	of   *tree
	list []dump.Surveyed
	err  error
}

// newTables chooses what of a database is dumped.
func newTables(h *home, l link) Screen {
	tables, database := h.o.Ask.Tables, l.dsn.Config.Database
	t := &tree{home: h, kind: "dump", title: "Dump: which tables of " + database + "?", verb: "dump these", closed: map[format.Name]bool{}}
	t.ask = func() ([]dump.Surveyed, error) { return tables(background(), l.dsn) }
	t.then = func() tea.Cmd { return t.askFolder(l) }
	return t
}

// Init implements Screen.
func (t *tree) Init(e *Env) tea.Cmd {
	t.env = e
	ask := t.ask
	return func() tea.Msg {
		list, err := ask()
		return surveyMsg{t, list, err}
	}
}

// Title implements Screen.
func (t *tree) Title() string { return "tables of a " + t.kind }

// Update implements Screen.
func (t *tree) Update(m tea.Msg) tea.Cmd {
	switch m := m.(type) {
	case surveyMsg:
		if m.of == t {
			t.all, t.err, t.ready = m.list, m.err, true
			t.chosen = make([]bool, len(t.all))
			for i := range t.all {
				t.chosen[i] = t.all[i].Why == ""
			}
			t.arrange()
		}
	case tea.WindowSizeMsg:
		t.arrange()
	case tea.MouseMsg:
		if m.Button == tea.MouseButtonLeft && m.Action == tea.MouseActionPress {
			from, to := t.list.Window(t.page(), len(t.rows))
			if at := from + m.Y - treeHead; m.Y >= treeHead && at < to {
				t.list.Cursor = at
				t.toggle()
			}
			return nil
		}
		t.list.Update(t.env.Keys, m, len(t.rows))
	case tea.KeyMsg:
		return t.key(m)
	}
	return nil
}

func (t *tree) key(m tea.KeyMsg) tea.Cmd {
	k := t.env.Keys
	switch {
	case t.typing && Pressed(m, k.Enter):
		t.typing = false
	case Pressed(m, k.Back):
		t.typing, t.filter.Text = false, ""
	case t.typing:
		if !t.filter.Update(k, m) {
			t.list.Update(k, m, len(t.rows))
		}
	case Pressed(m, k.Filter):
		t.typing = true
	case Pressed(m, k.Toggle):
		t.toggle()
	case Pressed(m, k.All):
		t.allOrNone()
	case Pressed(m, k.Invert):
		t.each(func(was bool) bool { return !was })
	case Pressed(m, k.Left, k.Right):
		if row, ok := t.row(); ok {
			t.closed[row.schema] = Pressed(m, k.Left)
		}
	case Pressed(m, k.Enter):
		return t.goOn()
	default:
		t.list.Update(k, m, len(t.rows))
		return nil
	}
	t.arrange()
	return nil
}

func (t *tree) row() (treeRow, bool) {
	if t.list.Cursor < len(t.rows) {
		return t.rows[t.list.Cursor], true
	}
	return treeRow{}, false
}

// toggle changes a table, or all of a schema.
func (t *tree) toggle() {
	row, ok := t.row()
	if !ok {
		return
	}
	if row.at >= 0 {
		t.put(row.at, !t.chosen[row.at])
		return
	}
	some, _ := t.count(row.schema)
	for i := range t.all {
		if t.all[i].Schema == row.schema && t.matches(i) {
			t.put(i, some == 0)
		}
	}
}

// put chooses a table, if it can be dumped.
func (t *tree) put(at int, on bool) { t.chosen[at] = on && t.all[at].Why == "" }

// each changes all tables that the filter shows.
func (t *tree) each(f func(bool) bool) {
	for i := range t.all {
		if t.matches(i) && t.all[i].Why == "" {
			t.put(i, f(t.chosen[i]))
		}
	}
}

// allOrNone chooses all tables that the filter shows; when they are chosen already, none of them.
func (t *tree) allOrNone() {
	all := true
	t.each(func(was bool) bool {
		all = all && was
		return true
	})
	if all {
		t.each(func(bool) bool { return false })
	}
}

func (t *tree) matches(at int) bool {
	name := strings.ToLower(string(t.all[at].Schema) + "." + string(t.all[at].Name))
	return strings.Contains(name, strings.ToLower(t.filter.Text))
}

// count tells how many tables of a schema are chosen, of how many.
func (t *tree) count(schema format.Name) (some, of int) {
	for i := range t.all {
		if t.all[i].Schema == schema {
			of++
			if t.chosen[i] {
				some++
			}
		}
	}
	return some, of
}

const treeHead = 3 // lines above the list

// treeFoot is how many lines below the list there are in a body of this height.
func treeFoot(height int) int {
	if height < 14 {
		return 1
	}
	return 3
}

func (t *tree) page() int { return max(t.env.Height-1-treeHead-treeFoot(t.env.Height-1), 1) }

// arrange makes the rows that are shown.
func (t *tree) arrange() {
	t.rows = t.rows[:0]
	var last format.Name
	for i := range t.all {
		if !t.matches(i) {
			continue
		}
		if schema := t.all[i].Schema; len(t.rows) == 0 || schema != last {
			t.rows = append(t.rows, treeRow{schema, -1})
			last = schema
		}
		if !t.closed[last] || t.filter.Text != "" {
			t.rows = append(t.rows, treeRow{last, i})
		}
	}
	t.list.SetPage(t.page(), len(t.rows))
}

// sums are the rows and bytes of what is chosen.
func (t *tree) sums() (tables int, rows, bytes int64, unknown bool) {
	for i, s := range t.all {
		if !t.chosen[i] || !s.HasRows {
			continue
		}
		tables++
		bytes += s.Bytes
		if s.Rows < 0 {
			unknown = true
		} else {
			rows += s.Rows
		}
	}
	return tables, rows, bytes, unknown
}

// View implements Screen.
func (t *tree) View(width, height int) string {
	e := t.env
	lines := []string{e.Styles.Title.On(e.cut(show.Text(t.title), width)), t.total(width), ""}
	switch {
	case t.err != nil:
		for _, l := range wrap(errorText(t.err), width) {
			lines = append(lines, e.Styles.Bad.On(l))
		}
		return fitFrame(lines, width, height)
	case !t.ready:
		return fitFrame(append(lines, e.Styles.Accent.On("reading the catalog"+e.Glyphs.Dots)), width, height)
	case len(t.all) == 0:
		return fitFrame(append(lines, e.Styles.Muted.On("this database has no tables")), width, height)
	}
	page := max(height-treeHead-treeFoot(height), 1)
	from, to := t.list.Window(page, len(t.rows))
	for i := from; i < to; i++ {
		lines = append(lines, t.line(t.rows[i], i == t.list.Cursor, min(width, menuWidth)))
	}
	lines = fill(lines, treeHead+page)
	if treeFoot(height) > 1 {
		lines = append(lines, "")
	}
	return fitFrame(append(lines, t.foot(width)...), width, height)
}

// bytesOf is the size of what is chosen of a schema.
func (t *tree) bytesOf(schema format.Name) (bytes int64) {
	for i := range t.all {
		if s := &t.all[i]; s.Schema == schema && t.chosen[i] && s.HasRows {
			bytes += s.Bytes
		}
	}
	return bytes
}

// total is the running total, and how long the job may take.
func (t *tree) total(width int) string {
	e := t.env
	tables, rows, bytes, unknown := t.sums()
	about := "~"
	if unknown {
		about = "more than "
	}
	if t.none() {
		return e.cut("nothing is chosen"+e.Styles.Muted.On("   space chooses, a chooses all"), width)
	}
	text := fmt.Sprintf("%s, %s%s rows, %s", show.Plural(int64(tables), "table", "tables"), about, show.Short(float64(rows)), sizeOf(bytes, false))
	est := t.home.o.State.Estimate(t.kind, bytes)
	took := "time " + est.Basis
	if est.Took > 0 {
		took = "takes ~" + clock(est.Took) + ", " + est.Basis + " " + t.home.local(est.When, "01-02 15:04")
	}
	return e.cut(e.Styles.Title.On(text)+e.Styles.Muted.On("   "+show.Line(took)), width)
}

func (t *tree) line(r treeRow, here bool, width int) string {
	e := t.env
	mark, st := " ", e.Styles.Text
	if here {
		mark, st = e.Styles.Accent.On(e.Glyphs.Select), e.Styles.Selected
	}
	if r.at < 0 {
		some, of := t.count(r.schema)
		box := t.box(some == of, some > 0)
		right := fmt.Sprintf("%d of %d", some, of)
		if width >= wideFull {
			right = e.right(right, 13) + " " + e.right(sizeOf(t.bytesOf(r.schema), false), sizeWidth)
		}
		return mark + box + " " + e.spread(st.On(show.Text(string(r.schema))), e.Styles.Muted.On(right), max(width-4, 0))
	}
	s := &t.all[r.at]
	size, rows := sizeOf(s.Bytes, false), rowCount(s.Rows, false)
	if !s.HasRows {
		size, rows = "", "definition"
	}
	box := t.box(t.chosen[r.at], false)
	kind := s.Kind
	if s.Unlogged {
		kind = "unlogged " + kind
	}
	kindStyle := e.Styles.Muted
	if s.Why != "" {
		box, st = e.Styles.Bad.On(e.Glyphs.Failed), e.Styles.Muted
		kind, kindStyle = "refused", e.Styles.Bad
	}
	room := max(width-6, 0)
	right := e.Styles.Muted.On(e.right(rows, 13) + " " + e.right(size, sizeWidth))
	switch {
	case room >= 62:
		right = kindStyle.On(e.left(kind, 18)) + right
	case s.Why != "":
		right = kindStyle.On(e.right(kind, sizeWidth))
	case room < 40:
		right = e.Styles.Muted.On(e.right(size, sizeWidth))
	}
	name := e.cut(show.Text(string(s.Name)), max(room-widthOf(right)-1, 4))
	return mark + "  " + box + " " + e.spread(st.On(name), right, room)
}

func (t *tree) box(all, some bool) string {
	e := t.env
	switch {
	case all:
		return e.Styles.Accent.On(e.Glyphs.On)
	case some:
		return e.Styles.Warn.On(e.Glyphs.Cancelled)
	}
	return e.Styles.Muted.On(e.Glyphs.Off)
}

// foot says what is special about the table under the cursor, or shows the filter.
func (t *tree) foot(width int) []string {
	e := t.env
	if t.typing || t.filter.Text != "" {
		return []string{e.cut(e.Styles.Muted.On("filter ")+t.filter.view(e, width-8), width)}
	}
	row, ok := t.row()
	if !ok || row.at < 0 {
		return nil
	}
	s := &t.all[row.at]
	text, st := strings.Join(s.Notes, "; "), e.Styles.Muted
	if s.Why != "" {
		text, st = s.Why+": "+s.Hint, e.Styles.Bad
	}
	lines := wrap(show.Line(text), max(width-2, 1))
	for i := range lines {
		lines[i] = st.On(lines[i])
	}
	return lines[:min(len(lines), 2)]
}

// Keys implements Screen.
func (t *tree) Keys() []key.Binding {
	k := t.env.Keys
	if t.typing {
		return []key.Binding{As(k.Enter, "keep"), As(k.Back, "show all")}
	}
	return []key.Binding{As(k.Enter, t.verb), k.Toggle, k.All, k.Invert, k.Filter, Pair(k.Left, k.Right, "fold"), k.Back, k.Quit}
}

// Captures implements Capturer.
func (t *tree) Captures(m tea.KeyMsg) bool {
	if Pressed(m, t.env.Keys.Interrupt) {
		return false
	}
	return t.typing || t.filter.Text != "" && Pressed(m, t.env.Keys.Back)
}

// goOn goes on with what is chosen.
func (t *tree) goOn() tea.Cmd {
	switch {
	case !t.ready || t.err != nil:
		return nil
	case len(t.all) > 0 && t.none():
		return send(toastMsg{text: "no table is chosen", bad: true})
	}
	return t.then()
}

// askFolder asks where to, and shows the form before the dump.
func (t *tree) askFolder(l link) tea.Cmd {
	h := t.home
	o := dump.Options{DSN: l.dsn, Compression: format.Compression{Level: 1}, SegmentSize: defaultSegment}
	o.Tables, o.ExcludeTables = t.patterns()
	_, _, bytes, _ := t.sums()
	question := &Dialog{Title: "Where to?", Lines: []string{"A new or empty folder; it is made."}, Prompt: "folder of the dump", Yes: "go on", No: "back", Then: func(yes bool, dir string) tea.Cmd {
		if !yes {
			return nil
		}
		o.Dir = dir
		return Push(newReady(h, JobOptions{Kind: "dump", From: o}, bytes))
	}}
	in, database, day := h.o.Dir, l.dsn.Config.Database, h.o.Now()
	return func() tea.Msg { // which looks at the disk
		question.Text = workbench.DumpName(in, database, day)
		if free, ok := h.o.Ask.Free(in); ok {
			line := show.Size(free) + " are free in " + in + "; the rows take about " + show.Size(bytes) + " before compression."
			if bytes > free {
				line = "It may not be enough: " + line
			}
			question.Lines = append(question.Lines, line)
		}
		return askMsg{question}
	}
}

func (t *tree) none() bool {
	for _, on := range t.chosen {
		if on {
			return false
		}
	}
	return true
}

// patterns are the choice as a job's options have it: nothing when all are chosen, else the shorter one of the lists that say so.
func (t *tree) patterns() (in, out []string) {
	for i, s := range t.all {
		pattern := pattern(s.Schema) + "." + pattern(s.Name)
		if t.chosen[i] {
			in = append(in, pattern)
		} else {
			out = append(out, pattern)
		}
	}
	if len(out) < len(in) || len(out) == 0 {
		return nil, out
	}
	return in, nil
}

// plain is a name that a pattern takes as it is.
var plain = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// pattern is a name as a pattern that matches it alone.
func pattern(n format.Name) string {
	if plain.MatchString(string(n)) {
		return string(n)
	}
	return `"` + strings.ReplaceAll(string(n), `"`, `""`) + `"`
}
