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

// view is the box, with its frame.
func (d *Dialog) view(e *Env, width int) []string {
	inner := min(dialogWidth, width) - 4
	if inner < 8 {
		inner = max(width, 1)
	}
	title := e.Styles.Title
	if d.Danger {
		title = e.Styles.Bad.With(bold)
	}
	var text []string
	for _, l := range wrap(show.Text(d.Title), inner) {
		text = append(text, title.On(l))
	}
	if len(d.Lines) > 0 {
		text = append(text, "")
	}
	for _, l := range d.Lines {
		text = append(text, wrap(show.Line(l), inner)...)
	}
	if d.Trouble != "" {
		text = append(text, "")
		for _, l := range wrap(show.Line(d.Trouble), inner) {
			text = append(text, e.Styles.Bad.On(l))
		}
	}
	text = append(text, "")
	switch {
	case d.Word != "":
		for _, l := range wrap("type "+show.Text(d.Word)+" to go on", inner) {
			text = append(text, e.Styles.Warn.On(l))
		}
		text = append(text, d.input.view(e, inner))
		if d.wrong {
			text = append(text, e.Styles.Bad.On("that is not it"))
		}
	case d.Prompt != "":
		text = append(text, e.Styles.Muted.On(e.cut(show.Text(d.Prompt), inner)), d.input.view(e, inner))
	}
	if d.typing() {
		text = append(text, "")
	}
	for _, k := range d.keys(e.Keys) {
		h := k.Help()
		for j, l := range wrap(h.Desc, max(inner-7, 1)) {
			if j == 0 {
				text = append(text, e.Styles.Key.On(e.left(h.Key, 6))+" "+l)
			} else {
				text = append(text, spaces(7)+l)
			}
		}
	}
	return e.frame(text, inner, width)
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
