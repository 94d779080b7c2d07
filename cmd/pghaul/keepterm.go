package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// leaveScreen ends what the terminal UI begins: mouse reports, bracketed paste, the hidden cursor, the alternate screen.
const leaveScreen = "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?25h\x1b[?1049l\x1b[m"

// keepTerminal remembers the terminal's state and gives the function that restores it when the program has no time to end its screen.
func keepTerminal(in io.Reader, out *os.File) (restore func()) {
	file, ok := in.(*os.File)
	if !ok {
		return func() {}
	}
	state, err := term.GetState(int(file.Fd()))
	if err != nil {
		return func() {}
	}
	return func() {
		_, _ = out.WriteString(leaveScreen) // the program ends: nobody could be told
		_ = term.Restore(int(file.Fd()), state)
	}
}
