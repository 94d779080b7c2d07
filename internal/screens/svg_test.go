package screens

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// decode reads an SVG file's texts and counts its rectangles.
func decode(t *testing.T, svg []byte) (text string, rects int) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return text, rects
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		switch x := token.(type) {
		case xml.StartElement:
			if x.Name.Local == "rect" {
				rects++
			}
		case xml.CharData:
			text += string(x)
		}
	}
}

func TestSVG(t *testing.T) {
	frame := "\x1b[1;36ma<b\x1b[m & \x1b[2mfaint\x1b[m\n\x1b[36m████\x1b[m▏▇▇ \x1b[7m \x1b[m\n注文 ok"
	for _, p := range Palettes() {
		svg := SVG(frame, 20, 3, p)
		text, rects := decode(t, svg)
		for _, want := range []string{"a<b", " & ", "faint", "注", " ok"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %q", p.Name, want, text)
			}
		}
		// The background, four cells as one, an eighth, two of seven eighths as one, the cursor.
		if rects != 5 {
			t.Errorf("%s: %d rectangles in %s", p.Name, rects, svg)
		}
		if !strings.Contains(string(svg), p.Colours[6]) || !strings.Contains(string(svg), `font-weight="bold"`) {
			t.Errorf("%s: no looks in %s", p.Name, svg)
		}
	}
}

// Every picture is drawn on the grid: nothing lies outside of the file.
func TestShotsAreWellFormed(t *testing.T) {
	for _, s := range Shots() {
		text, _ := decode(t, SVG(s.Play(s.Width, s.Height).Program.View(), s.Width, s.Height, Palettes()[0]))
		if len(text) < 100 {
			t.Errorf("%s: %q", s.Name, text)
		}
	}
}
