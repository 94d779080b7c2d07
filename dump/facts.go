package dump

import (
	"fmt"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/progress"
)

// described tells an observer what the plan knows of a table. The samples are taken before the table is made known.
type described struct {
	plan *plan
	of   *table
}

// Facts implements [progress.Describer].
func (d described) Facts() progress.Facts {
	t := d.of
	var f progress.Facts
	for _, c := range t.columns {
		f.Columns = append(f.Columns, columnFacts(c, d.plan.samples[c.OID]))
	}
	for i := range f.Columns {
		name := t.rel.String() + "." + f.Columns[i].Name
		for j := range d.plan.carried {
			if d.plan.carried[j].Column == name {
				f.Columns[i].Why = d.plan.carried[j].Why
			}
		}
	}
	for _, s := range t.segments {
		where := s.path
		if s.pages != nil {
			where = fmt.Sprintf("pages from %d", s.pages.From)
			if s.pages.To > 0 {
				where = fmt.Sprintf("pages %d to %d", s.pages.From, s.pages.To-1)
			}
		}
		f.Parts = append(f.Parts, where)
	}
	if t.entry.Where != "" {
		f.Notes = append(f.Notes, "only rows where "+t.entry.Where)
	}
	return f
}

func columnFacts(c format.Column, s format.Samples) progress.ColumnFacts {
	f := progress.ColumnFacts{Name: string(c.Name), Type: c.Type, Carried: string(c.Carried)}
	switch {
	case c.OIDs:
		f.Carried = "OIDs rewritten"
	case c.Cast != "":
		f.Carried += " by " + c.Cast
	}
	if len(s.Values) > 0 {
		f.Sample = s.Values[0].Text
	}
	return f
}
