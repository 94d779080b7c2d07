package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// widthOf is how many columns text takes. Nearly all that is drawn is ASCII, looks and block glyphs, which are counted here; the rest is for
// ansi.StringWidth, which knows all of Unicode and takes ten times as long.
func widthOf(s string) int {
	width := 0
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c >= ' ' && c <= '~':
			width++
			i++
		case c == 0x1b && i+1 < len(s) && s[i+1] == '[':
			i += 2
			for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == ';') {
				i++
			}
			if i == len(s) || s[i] != 'm' {
				return ansi.StringWidth(s)
			}
			i++
		case c == 0xe2 && i+2 < len(s) && (s[i+1] == 0x94 || s[i+1] == 0x95 || s[i+1] == 0x96) && s[i+2]&0xc0 == 0x80: // U+2500 to U+25BF
			width++
			i += 3
		default:
			return ansi.StringWidth(s)
		}
	}
	return width
}

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

// wrap breaks text without looks at its spaces, and nowhere else if that can be: options and names stay whole. There is at least one line.
func wrap(s string, width int) []string {
	if width <= 0 {
		return nil
	}
	lines := []string{""}
	used := 0
	for _, word := range strings.Fields(s) {
		w := widthOf(word)
		last := len(lines) - 1
		if used > 0 && used+1+w <= width {
			lines[last] += " " + word
			used += 1 + w
			continue
		}
		for w > width { // longer than a line: cut into pieces
			piece := ansi.Truncate(word, width, "")
			if piece == "" { // a wide character on the narrowest of screens
				return lines
			}
			lines = appendWord(lines, piece)
			word = word[len(piece):]
			w = widthOf(word)
		}
		if word != "" {
			lines = appendWord(lines, word)
			used = w
		}
	}
	return lines
}

// appendWord begins a line with a word; the first line is there already.
func appendWord(lines []string, word string) []string {
	if len(lines) == 1 && lines[0] == "" {
		return []string{word}
	}
	return append(lines, word)
}

// sentence makes words a sentence.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 || strings.HasSuffix(s, ".") {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:] + "."
}
