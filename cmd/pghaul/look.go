package main

import (
	"os"

	"github.com/bytehaul/pghaul/tui"
)

// look is how the terminal UI is drawn.
type look struct {
	theme string
	ascii bool
}

func (l *look) flags(f flags) {
	if l.theme == "" {
		l.theme = string(tui.Default)
	}
	words := make([]string, 0, len(tui.Themes()))
	for _, t := range tui.Themes() {
		words = append(words, string(t))
	}
	f.choice(&l.theme, "theme", "", "colours of the terminal UI (default; NO_COLOR: none)", words...)
	f.boolean(&l.ascii, "ascii", "", "draw the terminal UI with ASCII characters alone")
}

// options are those of the program, on the terminal that standard error is.
func (l *look) options(a *app, first tui.Screen) (tui.Options, func(), error) {
	in, done := a.stdin, func() {}
	if !isTerminal(in) {
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			return tui.Options{}, nil, errNoScreen()
		}
		in, done = tty, func() { _ = tty.Close() } // it was only read
	}
	return tui.Options{Screen: first, Theme: tui.Theme(l.theme), NoColor: os.Getenv("NO_COLOR") != "", ASCII: l.ascii, Input: in, Output: a.stderr}, done, nil
}

func errNoScreen() error {
	return usagef("--progress tui needs a terminal").hint("without one the same job runs with --progress plain or json")
}
