package tui

import "strings"

// Style is a text's look: parameters of SGR ("1;36"), or empty for the terminal's own.
type Style string

// On gives the text in this style. It is not meant for text that has styles in it.
func (s Style) On(text string) string {
	if s == "" || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[m"
}

// With adds the looks of another style.
func (s Style) With(t Style) Style {
	return Style(strings.Trim(string(s)+";"+string(t), ";"))
}

// SGR parameters. Of the colours only the eight normal ones are used: they are readable on light and on dark backgrounds, which is not asked for.
const (
	bold    Style = "1"
	faint   Style = "2"
	reverse Style = "7"
	red     Style = "31"
	green   Style = "32"
	yellow  Style = "33"
	blue    Style = "34"
	magenta Style = "35"
	cyan    Style = "36"
)

// Styles are looks by meaning.
type Styles struct {
	Text     Style
	Title    Style // what a screen or a pane is about
	Muted    Style // what is there for those who look for it
	Accent   Style // the one colour that leads the eye
	Good     Style
	Warn     Style
	Bad      Style
	Key      Style // in the help bar
	Selected Style // the row under the cursor
	Match    Style // what a filter has found, what is typed in
	Frame    Style // of dialogs
	Cursor   Style

	Busy    Style // the four times of a stage
	Server  Style
	Blocked Style
	Starved Style

	Bar   Style // progress
	Rest  Style // what is left of a bar
	Spark Style
}

// Theme names a set of styles.
type Theme string

// The themes.
const (
	Default      Theme = "default"
	HighContrast Theme = "high-contrast"
	Mono         Theme = "mono" // no colour; bold, faint and reverse alone
)

// Themes are all of them.
func Themes() []Theme { return []Theme{Default, HighContrast, Mono} }

// NewStyles gives a theme's styles; noColor takes the colours away.
func NewStyles(t Theme, noColor bool) Styles {
	switch {
	case noColor || t == Mono:
		return Styles{Title: bold, Muted: faint, Accent: bold, Good: "", Warn: bold, Bad: bold, Key: bold, Selected: bold, Match: "4", Frame: faint, Cursor: reverse,
			Starved: faint, Blocked: faint, Rest: faint, Spark: ""}
	case t == HighContrast:
		return Styles{Title: bold, Accent: bold.With(cyan), Good: bold.With(green), Warn: bold.With(yellow), Bad: bold.With(red), Key: bold, Selected: reverse, Match: "1;4", Cursor: reverse,
			Busy: bold.With(cyan), Server: bold.With(magenta), Blocked: bold.With(yellow), Bar: bold.With(cyan), Spark: bold.With(cyan)}
	}
	return Styles{Title: bold, Muted: faint, Accent: cyan, Good: green, Warn: yellow, Bad: red, Key: bold, Selected: bold, Match: cyan, Frame: faint, Cursor: reverse,
		Busy: cyan, Server: blue, Blocked: yellow, Starved: faint, Bar: cyan, Rest: faint, Spark: cyan}
}
