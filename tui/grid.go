package tui

import (
	"strings"

	"github.com/bytehaul/pghaul/internal/report"
)

// leastName is how many columns of the first, cut column of a grid are kept as long as others can be left out.
const leastName = 16

// grid draws a grid in a width: numbers to the right, the first column cut where the room is short, and if that is not enough the columns of
// numbers left out that say least: the last ones.
func (e *Env) grid(g report.Grid, width int) []string {
	const gap = 2
	right := make([]bool, len(g.Head))
	head := make([]string, len(g.Head))
	widths := make([]int, len(g.Head))
	for i, h := range g.Head {
		head[i], right[i] = strings.CutPrefix(h, ">")
		widths[i] = widthOf(head[i])
		for _, row := range g.Rows {
			if i < len(row) {
				widths[i] = max(widths[i], widthOf(row[i]))
			}
		}
	}
	shown := make([]bool, len(head))
	sum := -gap
	for i := range head {
		shown[i] = true
		sum += widths[i] + gap
	}
	for i := len(head) - 1; i > 0 && sum-widths[0]+min(widths[0], leastName) > width; i-- {
		if right[i] {
			shown[i] = false
			sum -= widths[i] + gap
		}
	}
	widths[0] = max(min(widths[0], width-(sum-widths[0])), min(widths[0], leastName))
	line := func(cells []string) string {
		var parts []string
		for i, c := range cells {
			switch {
			case !shown[i]:
			case right[i]:
				parts = append(parts, e.right(c, widths[i]))
			default:
				parts = append(parts, e.left(c, widths[i]))
			}
		}
		return e.cut(strings.TrimRight(strings.Join(parts, spaces(gap)), " "), width)
	}
	lines := []string{e.Styles.Muted.On(line(head))}
	for _, row := range g.Rows {
		lines = append(lines, line(row))
	}
	return lines
}

// hang wraps text behind a sign; its further lines stand below the first one's text.
func (e *Env) hang(sign string, style Style, text string, width int) []string {
	indent := widthOf(sign)
	var lines []string
	for i, l := range wrap(text, max(width-indent, 1)) {
		if i == 0 {
			lines = append(lines, sign+style.On(l))
		} else {
			lines = append(lines, spaces(indent)+style.On(l))
		}
	}
	return lines
}
