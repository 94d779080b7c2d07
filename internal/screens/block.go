package screens

import "unicode/utf8"

// box is a part of a cell, 0 to 1.
type box struct{ x, y, w, h float64 }

// isBlock tells what is drawn as rectangles, since fonts differ in their block glyphs.
func isBlock(s string) bool {
	_, ok := block(s)
	return ok
}

// fillsCell tells whether neighbours of this glyph make one rectangle.
func fillsCell(s string) bool {
	b, ok := block(s)
	return ok && b.x == 0 && b.w == 1
}

// block gives the rectangle of a text that begins with a block glyph: spans have no others beside it.
func block(s string) (box, bool) {
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case r == '█':
		return box{0, 0, 1, 1}, true
	case r >= '▁' && r <= '▇':
		h := float64(r-'▁'+1) / 8
		return box{0, 1 - h, 1, h}, true
	case r >= '▉' && r <= '▏':
		return box{0, 0, float64('▏'-r+1) / 8, 1}, true
	case r == '▓', r == '▒', r == '░':
		return box{0, 0, 1, 1}, true
	case r == '━':
		return box{0, 0.44, 1, 0.12}, true
	case r == '╸':
		return box{0, 0.44, 0.5, 0.12}, true
	case r == '─':
		return box{0, 0.47, 1, 0.06}, true
	}
	return box{}, false
}

// shade is the opacity of a glyph that is a pattern of dots.
func shade(s, opacity string) string {
	switch r, _ := utf8.DecodeRuneInString(s); r {
	case '▓':
		return ` opacity="0.75"`
	case '▒':
		return ` opacity="0.5"`
	case '░':
		return ` opacity="0.2"`
	}
	return opacity
}
