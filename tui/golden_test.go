package tui_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/bytehaul/pghaul/internal/screens"
	"github.com/bytehaul/pghaul/tui"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a frame with testdata/name.golden.
func golden(t *testing.T, name, frame string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	frame += "\n"
	if *update {
		if err := os.WriteFile(file, []byte(frame), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), frame); diff != "" {
		t.Errorf("%s (-update writes it anew):\n%s", file, diff)
	}
}

// fits demands that a frame is not wider or longer than the screen, and has no escape sequences but of looks.
func fits(t *testing.T, what, frame string, width, height int) {
	t.Helper()
	if width <= 0 || height <= 0 {
		if frame != "" {
			t.Fatalf("%s: %q on a screen of %d × %d", what, frame, width, height)
		}
		return
	}
	lines := strings.Split(frame, "\n")
	if len(lines) > height {
		t.Fatalf("%s: %d lines on a screen of %d × %d", what, len(lines), width, height)
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w > width {
			t.Fatalf("%s: line %d has %d columns on a screen of %d × %d: %q", what, i, w, width, height, l)
		}
		if at := strings.IndexFunc(sgr.ReplaceAllString(l, ""), func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }); at >= 0 {
			t.Fatalf("%s: line %d has a control character: %q", what, i, l)
		}
	}
}

// Every picture of the documentation, without colours.
func TestShots(t *testing.T) {
	for _, s := range screens.Shots() {
		name := fmt.Sprintf("%s-%dx%d", s.Name, s.Width, s.Height)
		t.Run(name, func(t *testing.T) {
			frame := s.Play(s.Width, s.Height).Program.View()
			fits(t, name, frame, s.Width, s.Height)
			golden(t, name, strings.TrimRight(ansi.Strip(frame), "\n"))
		})
	}
}

// One frame of each theme with its looks: ESC is written as ␛.
func TestLooks(t *testing.T) {
	for _, theme := range tui.Themes() {
		s := restoring(tui.Options{Theme: theme}, 80, 24)
		s.Wait(72 * time.Second)
		golden(t, "looks-"+string(theme), strings.ReplaceAll(s.Program.View(), "\x1b", "␛"))
	}
}

// restoring is the run screen of a restore.
func restoring(o tui.Options, width, height int) *screens.Scene {
	j := screens.Restore()
	o.Screen = tui.NewRun(screens.RunOf(j, screens.RestorePhases))
	return screens.Play(o, j, width, height)
}

// Without colours there are none, in no theme; ASCII is ASCII.
func TestNoColour(t *testing.T) {
	for _, theme := range tui.Themes() {
		s := restoring(tui.Options{Theme: theme, NoColor: true, ASCII: true}, 100, 30)
		s.Wait(30 * time.Second)
		for _, keys := range [][]string{nil, {"?"}, {"x", "c"}, {"n", "l"}} {
			s.Press(keys...)
			frame := s.Program.View()
			for _, m := range sgr.FindAllString(frame, -1) {
				if coloured.MatchString(m) {
					t.Errorf("%s: %q", theme, m)
				}
			}
			if at := strings.IndexFunc(s.Text(), func(r rune) bool { return r > '~' }); at >= 0 {
				t.Errorf("%s after %q: not ASCII: %q", theme, keys, s.Text()[at:min(at+10, len(s.Text()))])
			}
		}
	}
}
