// Package tui is the terminal user interface: one Bubble Tea program, [Run], that shows a stack of screens.
//
// The program owns no job. It pulls snapshots ten times a second from a [JobView] and sends commands through a [JobControl], both of which
// return at once; whoever started the job waits for it after Run has returned. Nothing here is called from a data path.
//
//   - A [Screen] is a plain struct: Update changes it and does no I/O, View draws it and changes nothing. What takes time is a tea.Cmd.
//   - Keys stand in one [KeyMap], from which the help bar and the full help are made.
//   - Colours stand in [Styles], by meaning; glyphs in [Glyphs]. The 16 colours of the terminal are used and no state is told by colour alone.
//   - Text from a database or a file passes internal/show before it is drawn.
//   - A frame is cut to the screen at the end, whatever a screen has drawn: see [Program.View].
package tui
