package show

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Grid is a table of text with aligned columns: a heading, rows, no lines.
type Grid struct {
	Indent string // before each line
	head   []string
	right  []bool
	rows   [][]string
}

// NewGrid returns a grid with these headings; one that begins with ">" is of a column aligned to the right.
func NewGrid(indent string, head ...string) *Grid {
	g := &Grid{Indent: indent}
	for _, h := range head {
		text, right := strings.CutPrefix(h, ">")
		g.head = append(g.head, text)
		g.right = append(g.right, right)
	}
	return g
}

// Row adds a row; the caller escapes what comes from outside.
func (g *Grid) Row(cells ...string) { g.rows = append(g.rows, cells) }

// Len is the number of rows.
func (g *Grid) Len() int { return len(g.rows) }

// String is the grid as lines; without headings (all empty) there is no heading line.
func (g *Grid) String() string {
	width := make([]int, len(g.head))
	lines := append([][]string{g.head}, g.rows...)
	for _, line := range lines {
		for i, cell := range line {
			width[i] = max(width[i], uniseg.StringWidth(cell))
		}
	}
	if strings.Join(g.head, "") == "" {
		lines = g.rows
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(g.Indent+g.line(line, width), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

func (g *Grid) line(cells []string, width []int) string {
	var b strings.Builder
	for i, cell := range cells {
		pad := strings.Repeat(" ", width[i]-uniseg.StringWidth(cell))
		if i > 0 {
			b.WriteString("  ")
		}
		if g.right[i] {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	return b.String()
}

// Width is how many columns of the terminal a text takes.
func Width(s string) int { return uniseg.StringWidth(s) }

// Fit cuts text to a width in columns of the terminal, with "…" where something is missing.
func Fit(s string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	if width <= 0 {
		return ""
	}
	var b strings.Builder
	used := 0
	graphemes := uniseg.NewGraphemes(s)
	for graphemes.Next() {
		if used += graphemes.Width(); used > width-1 {
			break
		}
		b.WriteString(graphemes.Str())
	}
	return b.String() + "…"
}

// Pad fills text with spaces up to a width in columns of the terminal, or cuts it with [Fit].
func Pad(s string, width int) string {
	s = Fit(s, width)
	return s + strings.Repeat(" ", max(width-uniseg.StringWidth(s), 0))
}
