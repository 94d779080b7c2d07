package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// widthOf is how many columns text takes.
func widthOf(s string) int { return ansi.StringWidth(s) }

// cut shortens text, styles and all, to a width, with dots where something is missing.
func (e *Env) cut(s string, width int) string {
	if width <= 0 {
		return ""
	}
	if len(s) <= width || widthOf(s) <= width {
		return s
	}
	if width <= len(e.Glyphs.Dots) && e.Glyphs.Dots == "..." {
		return ansi.Truncate(s, width, "")
	}
	return ansi.Truncate(s, width, e.Glyphs.Dots)
}

// left makes text exactly this wide: cut, or filled up behind.
func (e *Env) left(s string, width int) string {
	s = e.cut(s, width)
	return s + spaces(width-widthOf(s))
}

// right makes text exactly this wide: cut, or filled up before.
func (e *Env) right(s string, width int) string {
	s = e.cut(s, width)
	return spaces(width-widthOf(s)) + s
}

// spread puts one text to the left and one to the right end of a line of this width; the left one is cut first.
func (e *Env) spread(l, r string, width int) string {
	r = e.cut(r, width)
	rw := widthOf(r)
	if rw == 0 {
		return e.cut(l, width)
	}
	return e.left(l, max(width-rw-2, 0)) + spaces(min(2, width-rw)) + r
}

const blanks = "                                                                                                    "

func spaces(n int) string {
	switch {
	case n <= 0:
		return ""
	case n <= len(blanks):
		return blanks[:n]
	}
	return strings.Repeat(" ", n)
}

// fitFrame makes a frame of at most width × height of lines.
func fitFrame(lines []string, width, height int) string {
	if width <= 0 || height <= 0 {
		return ""
	}
	lines = lines[:min(len(lines), height)]
	for i, l := range lines {
		if len(l) > width && widthOf(l) > width {
			lines[i] = ansi.Truncate(l, width, "")
		}
	}
	return strings.Join(lines, "\n")
}

// fill makes lines exactly height many.
func fill(lines []string, height int) []string {
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines[:max(height, 0)]
}

// lay puts box over the lines, its upper left corner at column x, line y; what does not fit is cut.
func lay(lines, box []string, x, y, width int) []string {
	for i, over := range box {
		at := y + i
		if at < 0 || at >= len(lines) {
			continue
		}
		under := lines[at]
		w := widthOf(over)
		before := ansi.Truncate(under, x, "")
		before += spaces(x - widthOf(before))
		after := ""
		if have := widthOf(under); have > x+w {
			after = ansi.TruncateLeft(under, x+w, "")
			after = spaces(have-x-w-widthOf(after)) + after
		}
		lines[at] = ansi.Truncate(before+over+after, width, "")
	}
	return lines
}

// wrap breaks text at words into lines of at most this width.
func wrap(s string, width int) []string {
	if width <= 0 {
		return nil
	}
	return strings.Split(ansi.Wrap(s, width, ""), "\n")
}
