package tui

// runPlan says which parts of the run screen there is room for, and where the lower pane is.
type runPlan struct {
	width, height int
	rail          int // columns of the rail of phases on the left, with its gap; 0: none
	main          int // columns beside it
	railLine      bool
	bar           bool
	rate          bool // a line of its own for the rates: narrow screens
	gap1          bool
	legend        bool // of the lanes' glyphs
	lanes         int  // lines: all of them, or 1 for the bottleneck alone
	waits         int  // lines
	verdict       int  // lines
	gap2          bool
	head          bool // of the table list
	area          int  // lines of the lower pane
	areaAt        int  // its first line
	gap3          bool
}

// Widths from which a part has room.
const (
	wideRail  = 100
	wideFull  = 60 // the rates stand in the phase's line, sparklines appear
	railWidth = 16
)

// plan drops the least important parts until the lower pane has the lines that it needs.
func (r *run) plan(width, height int) runPlan {
	p := runPlan{width: max(width, 0), height: max(height, 0), bar: true, gap1: true, legend: true, gap2: true, gap3: true, head: true, lanes: max(len(r.s.Stages), 1),
		waits: max(min(len(r.waitLines()), 2), 1), verdict: 1}
	if r.checking() && r.pane == paneTables && !r.waits { // nothing flows yet
		p.lanes, p.waits, p.gap1, p.legend = 0, 0, false, false
		if r.notice() == "" {
			p.verdict = 0
		}
	}
	p.main = p.width
	switch phases := len(r.phases); {
	case phases > 1 && p.width >= wideRail && p.height >= phases+5:
		p.rail = railWidth + 2
		p.main -= p.rail
	case phases > 1:
		p.railLine = true
	}
	p.rate = p.main < wideFull
	p.legend = p.legend && p.main >= wideFull && r.rate.Verdict.Sentence != "" // before the sentence it stands in its place
	if p.main >= wideFull && r.said > 1 && p.lanes > 0 {
		p.verdict = 2
	}
	const few, comfort = 3, 5
	want, gap2 := comfort, comfort
	switch {
	case r.pane == paneDetails:
		want, gap2 = 15, few
	case r.pane == paneLog || r.waits:
		want = 8
	}
	for _, drop := range []struct {
		least int
		part  func()
	}{
		{comfort + 6, func() { p.legend = false }},
		{want, func() { p.gap3 = false }},
		{want, func() { p.gap1 = false }},
		{want, func() { p.waits = 0 }},
		{gap2, func() { p.gap2 = false }},
		{want, func() { p.verdict = min(p.verdict, 1) }},
		{few, func() { p.railLine = false }},
		{want, func() { p.lanes = min(p.lanes, 1) }},
		{few, func() { p.verdict = 0 }},
		{few, func() { p.bar = false }},
		{few, func() { p.head = false }},
		{few, func() { p.rate = false }},
	} {
		p.settle()
		if p.area >= drop.least {
			continue
		}
		drop.part()
	}
	p.settle()
	return p
}

// settle works out where the lower pane is and how many lines it has.
func (p *runPlan) settle() {
	above := 2 + p.lanes + p.waits + p.verdict
	for _, one := range []bool{p.railLine, p.bar, p.rate, p.gap1, p.legend, p.gap2, p.head} {
		if one {
			above++
		}
	}
	p.areaAt = above
	p.area = p.height - above
	if p.gap3 {
		p.area--
	}
	p.area = max(p.area, 0)
}
