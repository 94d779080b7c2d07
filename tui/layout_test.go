package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

func TestWidthOf(t *testing.T) {
	for _, s := range []string{"", "abc", "\x1b[1;36mabc\x1b[m d", "━━╸──▇▄▁.▏▎█▸▾", "größe", "注文", "e\u0301x", "▸\ufe0f", "a\u0301\x1b[2m▇\u0301", "\x1b[", "\x1b[12", "\x1b[2Jx", "\x1b]52;c;x\a", "👩‍👩‍👧‍👦", "…→✓", "─\u200d─"} {
		if got, want := widthOf(s), ansi.StringWidth(s); got != want {
			t.Errorf("widthOf(%q) = %d, want %d", s, got, want)
		}
	}
}

func FuzzWidthOf(f *testing.F) {
	f.Add("a\x1b[1m━\u0301")
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := widthOf(s), ansi.StringWidth(s); got != want {
			t.Errorf("widthOf(%q) = %d, want %d", s, got, want)
		}
	})
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  []string
	}{
		{"the same command with --resume goes on", 24, []string{"the same command with", "--resume goes on"}},
		{"abcdefghij kl", 4, []string{"abcd", "efgh", "ij", "kl"}},
		{"", 10, []string{""}},
		{"x", 0, nil},
		{"注文", 1, []string{""}},
		{"注文明 x", 4, []string{"注文", "明 x"}},
	} {
		if diff := cmp.Diff(c.want, wrap(c.in, c.width)); diff != "" {
			t.Errorf("%q in %d: %s", c.in, c.width, diff)
		}
	}
}

func TestStageBar(t *testing.T) {
	e := &Env{Glyphs: NewGlyphs(true)}
	for _, c := range []struct {
		s    shares
		want string
	}{
		{shares{0.5, 0.25, 0.125, 0.125}, "##########=====~~~.."},
		{shares{busy: 1}, "####################"},
		{shares{}, "                    "},
		{shares{server: 0.97, starved: 0.03}, "===================."},
		{shares{busy: 7, server: 7}, "####################"},
	} {
		if got := e.stageBar(c.s, 20); got != c.want {
			t.Errorf("%+v: %q, want %q", c.s, got, c.want)
		}
	}
}

func TestBars(t *testing.T) {
	e := &Env{Glyphs: NewGlyphs(false)}
	for part, want := range map[float64]string{0: "····", 0.5: "██··", 0.53125: "██▏·", 0.99: "███▉", 1: "████", 2: "████", -1: "····"} {
		if got := e.bar(part, 4); got != want {
			t.Errorf("%v: %q, want %q", part, got, want)
		}
	}
	if got := e.thinBar(0.375, 4); got != "━╸──" {
		t.Errorf("%q", got)
	}
}

// As time passes, the columns of a sparkline move as a whole and only the last one changes.
func TestSparkDoesNotShimmer(t *testing.T) {
	e := &Env{Glyphs: NewGlyphs(false)}
	s := &series{}
	for i := range 200 {
		before := e.spark(s, 100, 20, "")
		s.add(float64(i * 7919 % 100))
		after := e.spark(s, 100, 20, "")
		if widthOf(after) != 20 {
			t.Fatalf("%q", after)
		}
		was, is := []rune(before), []rune(after)
		if i%3 != 0 {
			was, is = was[:19], is[:19]
		} else {
			was, is = was[1:20], is[:19]
		}
		if string(was) != string(is) {
			t.Fatalf("second %d: %q, then %q", i, before, after)
		}
	}
	if top := s.highest(); top <= 0 || strings.Count(e.spark(&series{}, 0, 20, ""), " ") != 20 {
		t.Errorf("top %v", top)
	}
}

func TestListWindow(t *testing.T) {
	var l List
	l.SetPage(5, 100)
	l.Cursor = 7
	if from, to := l.Window(5, 100); from != 3 || to != 8 {
		t.Errorf("%d to %d", from, to)
	}
	l.SetPage(5, 100)
	l.Cursor = 4
	if from, to := l.Window(5, 100); from != 3 || to != 8 {
		t.Errorf("%d to %d: it moves without need", from, to)
	}
	l.Cursor = 99
	if from, to := l.Window(5, 100); from != 95 || to != 100 {
		t.Errorf("%d to %d", from, to)
	}
	l.SetPage(5, 3)
	if from, to := l.Window(5, 3); from != 0 || to != 3 || l.Cursor != 2 {
		t.Errorf("%d to %d at %d", from, to, l.Cursor)
	}
	if from, to := l.Window(0, 0); from != 0 || to != 0 {
		t.Errorf("%d to %d", from, to)
	}
}
