package tui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/internal/show"
)

// Dialog is a question over the top screen. It is answered by y or n; with Word by typing that word in; with Prompt by typing a text in.
// Its texts are drawn escaped.
type Dialog struct {
	Title   string
	Lines   []string // what it means
	Trouble string   // what went wrong with the answer before
	Yes     string   // what y or enter does: "cancel the job"
	No      string   // what n or esc does: "go on"
	Word    string   // to be typed in, such as the name of a database that is written over
	// Prompt is what is asked for; Text is what stands there at first and what was typed in at last.
	Prompt string
	Text   string
	Secret bool // what is typed in is drawn as dots
	Danger bool
	// Then is called with the answer, in Update: what takes time is the command that it returns.
	Then func(yes bool, text string) tea.Cmd

	input Input
	wrong bool // enter without the right word
}

func (d *Dialog) typing() bool { return d.Word != "" || d.Prompt != "" }

// update takes a key; done says that the dialog is answered.
func (d *Dialog) update(k KeyMap, m tea.KeyMsg) (cmd tea.Cmd, done bool) {
	switch {
	case Pressed(m, k.Back, k.Interrupt), !d.typing() && Pressed(m, k.No):
		return d.answer(false), true
	case !d.typing():
		if Pressed(m, k.Yes) {
			return d.answer(true), true
		}
	case Pressed(m, k.Enter):
		if d.wrong = d.Word != "" && d.input.Text != d.Word || d.input.Text == ""; d.wrong {
			return nil, false
		}
		return d.answer(true), true
	case d.input.Update(k, m):
		d.wrong = false
	}
	return nil, false
}

func (d *Dialog) answer(yes bool) tea.Cmd {
	if d.Then == nil {
		return nil
	}
	return d.Then(yes, d.input.Text)
}

func (d *Dialog) keys(k KeyMap) []key.Binding {
	yes, no := d.Yes, d.No
	if yes == "" {
		yes = "yes"
	}
	if no == "" {
		no = "no"
	}
	if d.typing() {
		return []key.Binding{As(k.Enter, yes), As(k.Back, no)}
	}
	return []key.Binding{As(k.Yes, yes), As(k.No, no)}
}

const dialogWidth = 64

// view is the box, with its frame. What does not fit into height is left out: first the keys, which the help bar names too, then what the question means; the title and
// what is typed in stay.
func (d *Dialog) view(e *Env, width, height int) []string {
	inner := min(dialogWidth, width) - 4
	framed := 2
	if inner < 8 {
		inner, framed = max(width, 1), 0
	}
	title := e.Styles.Title
	if d.Danger {
		title = e.Styles.Bad.With(bold)
	}
	head := d.paragraph(inner, title, show.Text(d.Title))
	var meaning []string
	for _, l := range d.Lines {
		meaning = append(meaning, wrap(show.Line(l), inner)...)
	}
	trouble, asked, keys := d.paragraph(inner, e.Styles.Bad, show.Line(d.Trouble)), d.asked(e, inner), d.keyLines(e, inner)
	room := height - framed - len(head) - len(trouble) - len(asked)
	text := head
	part := func(lines []string, spaced bool) {
		if len(lines) == 0 {
			return
		}
		if spaced {
			text = append(text, "")
		}
		text = append(text, lines...)
	}
	const gaps = 4 // at most, between the parts
	whole := room >= gaps+len(meaning)+len(keys)
	if !whole {
		keys = nil
		meaning = meaning[:min(len(meaning), max(room, 0))]
	}
	part(meaning, whole)
	part(trouble, whole)
	part(asked, whole)
	part(keys, true)
	return e.frame(text, inner, width)
}

// paragraph wraps a text in one style; nothing becomes no line.
func (d *Dialog) paragraph(inner int, st Style, text string) (lines []string) {
	if text == "" {
		return nil
	}
	for _, l := range wrap(text, inner) {
		lines = append(lines, st.On(l))
	}
	return lines
}

// asked is what is to be typed in.
func (d *Dialog) asked(e *Env, inner int) []string {
	switch {
	case d.Word != "":
		lines := append(d.paragraph(inner, e.Styles.Warn, "type "+show.Text(d.Word)+" to go on"), d.input.view(e, inner))
		if d.wrong {
			lines = append(lines, e.Styles.Bad.On("that is not it"))
		}
		return lines
	case d.Prompt != "":
		return []string{e.Styles.Muted.On(e.cut(show.Text(d.Prompt), inner)), d.input.view(e, inner)}
	}
	return nil
}

// keyLines say what the keys do.
func (d *Dialog) keyLines(e *Env, inner int) (lines []string) {
	for _, k := range d.keys(e.Keys) {
		h := k.Help()
		for i, l := range wrap(h.Desc, max(inner-7, 1)) {
			name := spaces(7)
			if i == 0 {
				name = e.Styles.Key.On(e.left(h.Key, 6)) + " "
			}
			lines = append(lines, name+l)
		}
	}
	return lines
}

// frame draws a border around lines, where there is room for it.
func (e *Env) frame(lines []string, inner, width int) []string {
	if inner+4 > width {
		return lines
	}
	g, st := e.Glyphs, e.Styles.Frame
	rule := ""
	for range inner + 2 {
		rule += g.Rule
	}
	out := []string{st.On(g.Corners[0] + rule + g.Corners[1])}
	for _, l := range lines {
		out = append(out, st.On(g.Edge)+" "+e.left(l, inner)+" "+st.On(g.Edge))
	}
	return append(out, st.On(g.Corners[2]+rule+g.Corners[3]))
}
