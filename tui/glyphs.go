package tui

// Glyphs are the signs that are drawn. Each is one column wide, but for Arrow and Dots of ASCII.
type Glyphs struct {
	Mark                   string // the bottleneck, the present phase
	Done, Running, Waiting string // states
	Failed, Cancelled      string
	Warn                   string
	Busy, Server           string // the four times of a stage
	Blocked, Starved       string
	Bar                    []string // an eighth to a whole cell of a progress bar; or a whole one alone
	Rest                   string   // of a progress bar
	Spark                  []string // low to high
	Arrow, Dots, To        string
	Dot                    string // between parts of a line
	Down                   string // a sort's direction
	Rule, Edge             string // of dialogs and panes
	Thick, Half            string // the done part of a rule, and half a cell of it
	Select                 string // before the row under the cursor
	Corners                [4]string
	On, Off                string // check boxes
}

// NewGlyphs gives Unicode's signs, or those of ASCII.
func NewGlyphs(ascii bool) Glyphs {
	if ascii {
		return Glyphs{Mark: ">", Done: "+", Running: ">", Waiting: ".", Failed: "x", Cancelled: "-", Warn: "!",
			Busy: "#", Server: "=", Blocked: "~", Starved: ".", Bar: []string{"#"}, Rest: ".", Spark: []string{" ", ".", "-", "=", "+", "*", "#", "@"},
			Arrow: "->", Dots: "...", To: "-", Dot: "-", Down: "v", Rule: "-", Edge: "|", Thick: "=", Half: "=", Select: "|", Corners: [4]string{"+", "+", "+", "+"}, On: "x", Off: " "}
	}
	return Glyphs{Mark: "▸", Done: "✓", Running: "▸", Waiting: "·", Failed: "✗", Cancelled: "–", Warn: "!",
		Busy: "▇", Server: "▄", Blocked: "▁", Starved: ".", Bar: []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"}, Rest: "·",
		Spark: []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇"},
		Arrow: "→", Dots: "…", To: "–", Dot: "·", Down: "▾", Rule: "─", Edge: "│", Thick: "━", Half: "╸", Select: "▌", Corners: [4]string{"╭", "╮", "╰", "╯"}, On: "●", Off: "○"}
}
