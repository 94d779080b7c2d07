package tui

// Glyphs are the signs that are drawn. Each is one column wide.
type Glyphs struct {
	Cursor, Mark           string // the row under the cursor; the bottleneck
	Done, Running, Waiting string // states
	Failed, Cancelled      string
	Warn                   string
	Busy, Server           string // the four times of a stage
	Blocked, Starved       string
	Bar                    []string // an eighth to a whole cell of a progress bar; or a whole one alone
	Rest                   string   // of a progress bar
	Spark                  []string // low to high
	Arrow, Dots            string
	Dot                    string // between parts of a line
	Down                   string // a sort's direction
	Rule, Edge             string // of dialogs and panes
	Corners                [4]string
	On, Off                string // check boxes
}

// NewGlyphs gives Unicode's signs, or those of ASCII.
func NewGlyphs(ascii bool) Glyphs {
	if ascii {
		return Glyphs{Cursor: ">", Mark: ">", Done: "+", Running: ">", Waiting: ".", Failed: "x", Cancelled: "-", Warn: "!",
			Busy: "#", Server: "=", Blocked: "~", Starved: ".", Bar: []string{"#"}, Rest: ".", Spark: []string{" ", ".", "-", "=", "+", "*", "#", "@"},
			Arrow: "->", Dots: "...", Dot: "-", Down: "v", Rule: "-", Edge: "|", Corners: [4]string{"+", "+", "+", "+"}, On: "x", Off: " "}
	}
	return Glyphs{Cursor: "▸", Mark: "▸", Done: "✓", Running: "▸", Waiting: "·", Failed: "✗", Cancelled: "–", Warn: "!",
		Busy: "█", Server: "▓", Blocked: "▒", Starved: "░", Bar: []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"}, Rest: "░",
		Spark: []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
		Arrow: "→", Dots: "…", Dot: "·", Down: "▾", Rule: "─", Edge: "│", Corners: [4]string{"╭", "╮", "╰", "╯"}, On: "●", Off: "○"}
}
