package shelf

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bytehaul/pghaul/format"
)

// Policy says how many dumps of a database are kept: the last ones, and the last one of each of so many days, weeks (from Monday) and months that have any.
type Policy struct {
	Last, Daily, Weekly, Monthly int
	Unfinished                   bool           // remove unfinished ones too, in which nothing has changed for [UnfinishedAge]
	Location                     *time.Location // whose days, weeks and months are meant
}

// Empty tells whether the policy keeps nothing by itself.
func (p *Policy) Empty() bool { return p.Last+p.Daily+p.Weekly+p.Monthly == 0 }

// UnfinishedAge is how long nothing must have changed in an unfinished dump before it may be removed: it could be in the making.
const UnfinishedAge = 24 * time.Hour

// clockSlack is how far in the future a dump's time may be: clocks differ.
const clockSlack = 10 * time.Minute

// Decision is what becomes of a dump, and why.
type Decision struct {
	Dump
	Keep    bool     `json:"keep"`
	Reasons []string `json:"reasons"`
}

// Group is the dumps of one database, or of the same part of it, the latest first.
type Group struct {
	Database         format.Name `json:"database"`
	SystemIdentifier string      `json:"system_identifier"`
	Choice           string      `json:"choice,omitempty"` // see [Dump]
	Dumps            []Decision  `json:"dumps"`
}

func (g *Group) key() string {
	return strings.Join([]string{string(g.Database), g.SystemIdentifier, g.Choice}, "\x00")
}

// Decide says which dumps a policy keeps at a time. The last complete dump of a database is always kept, and so is every dump about which it can't be sure:
// damaged ones, such with a time in the future, and unfinished ones unless the policy says otherwise. Dumps of a part of a database take no place of one of
// the whole, nor of another part: each choice is judged by itself.
func (p *Policy) Decide(dumps []Dump, now time.Time) []Group {
	sorted := slices.Clone(dumps)
	Sort(sorted)
	slices.Reverse(sorted)
	var groups []Group
	at := map[string]int{}
	for _, d := range sorted {
		g := Group{Database: d.Database, SystemIdentifier: d.SystemIdentifier, Choice: d.Choice}
		i, known := at[g.key()]
		if !known {
			i = len(groups)
			at[g.key()], groups = i, append(groups, g)
		}
		groups[i].Dumps = append(groups[i].Dumps, Decision{Dump: d})
	}
	slices.SortFunc(groups, func(a, b Group) int { return strings.Compare(a.key(), b.key()) })
	for i := range groups {
		p.decide(groups[i].Dumps, now)
	}
	return groups
}

// rule is one of a policy's numbers.
type rule struct {
	left   int
	name   string
	period func(time.Time) string // dumps with the same are of one period
	seen   string
}

func (p *Policy) rules() []rule {
	loc := p.Location
	if loc == nil {
		loc = time.UTC
	}
	return []rule{
		{left: p.Last, name: "last"},
		{left: p.Daily, name: "daily", period: func(t time.Time) string { return t.In(loc).Format("2006-01-02") }},
		{left: p.Weekly, name: "weekly", period: func(t time.Time) string {
			y, w := t.In(loc).ISOWeek()
			return fmt.Sprintf("%d-W%02d", y, w)
		}},
		{left: p.Monthly, name: "monthly", period: func(t time.Time) string { return t.In(loc).Format("2006-01") }},
	}
}

// decide judges the dumps of one database, the latest first.
func (p *Policy) decide(list []Decision, now time.Time) {
	rules := p.rules()
	first := true
	for i := range list {
		d := &list[i]
		switch {
		case d.State == Unfinished:
			p.unfinished(d, now)
		case d.State == Damaged:
			d.keep("damaged: look at it yourself (" + d.Why + ")")
		case !d.TimeKnown:
			d.keep("its manifest does not say when it was made")
		case d.Time.After(now.Add(clockSlack)):
			d.keep("its time is in the future: a clock was wrong")
		default:
			for j := range rules {
				rules[j].apply(d)
			}
			if first && !d.Keep {
				d.keep("the last good one")
			}
			first = false
			if !d.Keep {
				d.Reasons = []string{"no rule keeps it"}
			}
		}
	}
}

func (d *Decision) keep(why string) {
	d.Keep = true
	d.Reasons = append(d.Reasons, why)
}

func (r *rule) apply(d *Decision) {
	if r.left == 0 {
		return
	}
	why := r.name
	if r.period != nil {
		now := r.period(d.Time)
		if now == r.seen {
			return
		}
		r.seen = now
		why += " " + now
	}
	r.left--
	d.keep(why)
}

func (p *Policy) unfinished(d *Decision, now time.Time) {
	switch {
	case !p.Unfinished:
		d.keep("unfinished: --unfinished removes it")
	case now.Sub(d.Time) < UnfinishedAge:
		d.keep("unfinished, and changed within a day: it may be in the making")
	default:
		d.Reasons = []string{"unfinished, and unchanged for a day"}
	}
}
