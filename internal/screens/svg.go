package screens

import (
	"bytes"
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Palette is a terminal's colours.
type Palette struct {
	Name             string
	Background, Text string
	Colours          [8]string // black, red, green, yellow, blue, magenta, cyan, white
}

// Palettes are a dark terminal, then a light one.
func Palettes() []Palette {
	return []Palette{
		{"dark", "#16181d", "#d5d8de", [8]string{"#2b2e36", "#e5707a", "#8fc17e", "#e0b566", "#6c9ce8", "#b98ae0", "#5cc0c7", "#d5d8de"}},
		{"light", "#fcfcfa", "#2a2d34", [8]string{"#2a2d34", "#c0323c", "#3d8b37", "#a8740a", "#2f62c4", "#8a3fb8", "#0e7f8c", "#e3e3e0"}},
	}
}

// Size of a cell, in pixels.
const (
	cellWidth  = 8.4
	cellHeight = 18.0
	margin     = 14.0
	fontSize   = 14.0
	baseline   = 13.5
)

// look is the SGR state of text.
type look struct {
	bold, faint, underline, reverse bool
	colour                          int // 0 to 7, or -1
}

// span is text of one look.
type span struct {
	text  string
	at, w int // columns
	look  look
}

// SVG draws a frame of ANSI text on a monospaced grid.
func SVG(frame string, width, height int, p Palette) []byte {
	var b bytes.Buffer
	w, h := float64(width)*cellWidth+2*margin, float64(height)*cellHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", p.Background)
	fmt.Fprintf(&b, `<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="%.0f" fill="%s" xml:space="preserve">`+"\n", fontSize, p.Text)
	for y, line := range strings.Split(frame, "\n") {
		for _, s := range spans(line) {
			s.draw(&b, y, p)
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// spans cuts a line where its look changes.
func spans(line string) []span {
	var all []span
	now := look{colour: -1}
	at := 0
	var state byte
	for len(line) > 0 {
		seq, w, n, next := ansi.DecodeSequence(line, state, nil)
		state = next
		line = line[n:]
		if w == 0 {
			if strings.HasPrefix(seq, "\x1b[") && strings.HasSuffix(seq, "m") {
				now = now.sgr(seq[2 : len(seq)-1])
			}
			continue
		}
		if k := len(all); k > 0 && all[k-1].joins(seq, at, w, now) {
			all[k-1].text += seq
			all[k-1].w++
		} else {
			all = append(all, span{seq, at, w, now})
		}
		at += w
	}
	return all
}

// joins tells whether one more character belongs to the span: text to text, and of blocks those that make one rectangle.
func (s *span) joins(seq string, at, w int, l look) bool {
	switch {
	case s.look != l || s.at+s.w != at || w != 1:
		return false
	case !isBlock(seq) && !isBlock(s.text):
		return true
	}
	return fillsCell(seq) && strings.HasSuffix(s.text, seq)
}

func (l look) sgr(params string) look {
	for _, p := range strings.Split(params, ";") {
		switch n, _ := strconv.Atoi(p); { // an empty parameter is 0
		case n == 0:
			l = look{colour: -1}
		case n == 1:
			l.bold = true
		case n == 2:
			l.faint = true
		case n == 4:
			l.underline = true
		case n == 7:
			l.reverse = true
		case n >= 30 && n <= 37:
			l.colour = n - 30
		}
	}
	return l
}

func (s *span) draw(b *bytes.Buffer, y int, p Palette) {
	colour := p.Text
	if s.look.colour >= 0 {
		colour = p.Colours[s.look.colour]
	}
	if strings.TrimSpace(s.text) == "" && !s.look.reverse {
		return
	}
	opacity := ""
	if s.look.faint {
		opacity = ` opacity="0.55"`
	}
	left, top := margin+float64(s.at)*cellWidth, margin+float64(y)*cellHeight
	if s.look.reverse {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"%s/>`+"\n", left, top, float64(s.w)*cellWidth, cellHeight, colour, opacity)
		colour = p.Background
	}
	if box, ok := block(s.text); ok {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"%s/>`+"\n", left+box.x*cellWidth, top+box.y*cellHeight,
			box.w*cellWidth*float64(s.w), box.h*cellHeight, colour, shade(s.text, opacity))
		return
	}
	weight := ""
	if s.look.bold {
		weight = ` font-weight="bold"`
	}
	if s.look.underline {
		weight += ` text-decoration="underline"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="%s"%s%s textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`+"\n", left, top+baseline, colour, weight, opacity,
		float64(s.w)*cellWidth, html.EscapeString(s.text))
}
