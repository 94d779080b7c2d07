package tui

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/bytehaul/pghaul/internal/show"
)

// Options of the program.
type Options struct {
	Screen  Screen // the first one
	Theme   Theme
	NoColor bool // NO_COLOR is set
	ASCII   bool
	Input   io.Reader // the terminal
	Output  io.Writer // the terminal
	Still   bool      // the program has no clock: who drives it sends TickMsg
}

// Program is the one tea.Model: a stack of screens, a dialog over it, a help bar under it.
type Program struct {
	env    *Env
	first  Screen
	still  bool
	stack  []Screen
	dialog *Dialog
	help   bool
	toast  toastMsg
	until  time.Time // the toast goes
	err    error
}

const toastFor = 4 * time.Second

// New gives the model; [Run] is what a command calls.
func New(o Options) *Program {
	e := &Env{Styles: NewStyles(o.Theme, o.NoColor), Glyphs: NewGlyphs(o.ASCII), Keys: NewKeyMap(o.ASCII)}
	return &Program{env: e, first: o.Screen, still: o.Still}
}

// Run shows the program until the operator leaves it, or ctx ends it at once. It restores the terminal and waits for no job. The error is
// nil when the operator has left, [ErrAtOnce] without waiting for the job, or what a screen has ended the program with, or a
// [*PanicError].
func Run(ctx context.Context, o Options) error {
	program := tea.NewProgram(&guarded{p: New(o)}, tea.WithInput(o.Input), tea.WithOutput(o.Output), tea.WithAltScreen(), tea.WithMouseCellMotion(), tea.WithoutSignalHandler())
	// Not tea.WithContext: that leaves a reader behind, which would take what is typed afterwards.
	ended := context.AfterFunc(ctx, func() { program.Send(quitMsg{context.Cause(ctx)}) })
	defer ended()
	model, err := program.Run()
	g, ok := model.(*guarded)
	if !ok {
		return err
	}
	if g.err != nil {
		return errors.Join(g.err, err, g.p.err)
	}
	return errors.Join(err, g.p.err)
}

// Init implements tea.Model.
func (p *Program) Init() tea.Cmd {
	return tea.Batch(p.tick(), p.push(p.first))
}

func (p *Program) tick() tea.Cmd {
	if p.still {
		return nil
	}
	return tea.Tick(tickEvery, func(t time.Time) tea.Msg { return TickMsg{t} })
}

func (p *Program) push(s Screen) tea.Cmd {
	if s == nil {
		return tea.Quit
	}
	p.stack = append(p.stack, s)
	return s.Init(p.env)
}

func (p *Program) top() Screen {
	if len(p.stack) == 0 {
		return nil
	}
	return p.stack[len(p.stack)-1]
}

// Update implements tea.Model.
func (p *Program) Update(m tea.Msg) (tea.Model, tea.Cmd) { return p, p.update(m) }

func (p *Program) update(m tea.Msg) tea.Cmd {
	switch m := m.(type) {
	case tea.WindowSizeMsg:
		p.env.Width, p.env.Height = max(m.Width, 0), max(m.Height, 0)
	case TickMsg:
		p.env.Time = m.Time
		return tea.Batch(p.all(m), p.tick())
	case tea.KeyMsg:
		return p.keys(m)
	case tea.MouseMsg:
		if p.dialog == nil && !p.help && p.top() != nil {
			return p.top().Update(m)
		}
		return nil
	case startedMsg: // in place of all screens but the first
		p.stack = p.stack[:min(len(p.stack), 1)]
		return p.push(NewPlan(m.run))
	case pushMsg:
		p.dialog, p.help = nil, false // what is asked about the screen beneath is out of date
		return p.push(m.screen)
	case replaceMsg:
		p.dialog, p.help = nil, false
		p.stack = p.stack[:max(len(p.stack)-1, 0)]
		return p.push(m.screen)
	case backMsg:
		return p.back()
	case leaveMsg:
		if len(p.stack) > 2 {
			p.stack = p.stack[:len(p.stack)-1]
		}
		return p.back()
	case askMsg:
		m.dialog.input = Input{Text: m.dialog.Text, Secret: m.dialog.Secret}
		p.dialog = m.dialog
		return nil
	case toastMsg:
		p.toast, p.until = m, p.env.Time.Add(toastFor)
		return nil
	case quitMsg:
		p.err = m.err
		return tea.Quit
	}
	return p.all(m)
}

// all tells every screen.
func (p *Program) all(m tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, s := range p.stack {
		if c := s.Update(m); c != nil {
			cmds = append(cmds, c)
		}
	}
	return tea.Batch(cmds...)
}

func (p *Program) back() tea.Cmd {
	if len(p.stack) <= 1 {
		return tea.Quit
	}
	p.stack = p.stack[:len(p.stack)-1]
	return nil
}

// keys takes keys that were typed so quickly that they came as one.
func (p *Program) keys(m tea.KeyMsg) tea.Cmd {
	if m.Type != tea.KeyRunes || m.Paste || len(m.Runes) < 2 {
		return p.key(m)
	}
	var cmds []tea.Cmd
	for _, r := range m.Runes {
		one := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: m.Alt}
		if r == ' ' {
			one.Type = tea.KeySpace
		}
		if c := p.key(one); c != nil {
			cmds = append(cmds, guard(c))
		}
	}
	return tea.Sequence(cmds...)
}

func (p *Program) key(m tea.KeyMsg) tea.Cmd {
	k, top := p.env.Keys, p.top()
	switch {
	case top == nil:
		return tea.Quit
	case p.dialog != nil:
		d := p.dialog
		cmd, done := d.update(k, m)
		if done {
			p.dialog = nil
		}
		if Pressed(m, k.Interrupt) { // means the screen beneath
			return tea.Batch(cmd, p.interrupt(m))
		}
		return cmd
	case p.help:
		p.help = false
		if !Pressed(m, k.Interrupt) {
			return nil
		}
	}
	if c, ok := top.(Capturer); ok && c.Captures(m) {
		return top.Update(m)
	}
	switch {
	case Pressed(m, k.Interrupt, k.Quit):
		return tea.Quit
	case Pressed(m, k.Help):
		p.help = true
		return nil
	case Pressed(m, k.Back):
		if len(p.stack) == 1 { // whoever presses it once too often is not thrown out
			p.toast, p.until = toastMsg{text: "there is nothing to go back to; q quits"}, p.env.Time.Add(toastFor)
			return nil
		}
		return p.back()
	}
	return top.Update(m)
}

// interrupt is a ctrl-c for the top screen, or the end.
func (p *Program) interrupt(m tea.KeyMsg) tea.Cmd {
	if c, ok := p.top().(Capturer); ok && c.Captures(m) {
		return p.top().Update(m)
	}
	return tea.Quit
}

// View implements tea.Model. The frame is never wider or longer than the screen.
func (p *Program) View() string {
	e, top := p.env, p.top()
	width, height := e.Width, e.Height
	if width <= 0 || height <= 0 || top == nil {
		return ""
	}
	body := max(height-1, 0)
	var lines []string
	keys := top.Keys()
	if p.help {
		var explained []string
		if x, ok := top.(Explainer); ok {
			explained = x.Explain()
		}
		lines = e.fullHelp(top.Title(), keys, explained, width, body)
	} else {
		lines = strings.Split(top.View(width, body), "\n")
	}
	lines = fill(lines, body)
	if p.toast.text != "" && e.Time.Before(p.until) && body > 0 {
		text := e.toastLines(p.toast, width)
		text = text[:min(len(text), maxToast, body)]
		copy(lines[body-len(text):], text)
	}
	if d := p.dialog; d != nil {
		box := d.view(e, width, body)
		for i, l := range lines { // steps back
			lines[i] = e.Styles.Muted.On(ansi.Strip(l))
		}
		if w := widthOf(box[0]); w+2 <= width {
			for i, l := range box {
				box[i] = " " + e.left(l, w) + " "
			}
		}
		x := max((width-widthOf(box[0]))/2, 0)
		lines = lay(lines, box, x, max((body-len(box))/2, 0), width)
		keys = d.keys(e.Keys)
	}
	return fitFrame(append(lines, e.helpBar(keys, width, p.dialog != nil)), width, height)
}

// maxToast is how many lines a toast takes at most.
const maxToast = 3

func (e *Env) toastLines(t toastMsg, width int) []string {
	st, sign := e.Styles.Accent, e.Glyphs.Dot
	if t.bad {
		st, sign = e.Styles.Bad, e.Glyphs.Failed
	}
	return e.hang(st.On(sign)+" ", st, show.Line(t.text), width)
}
