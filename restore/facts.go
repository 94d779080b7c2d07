package restore

import (
	"fmt"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/progress"
)

// described tells an observer what the manifest says of a table: columns and segments, which do not change. What the target makes of the columns is
// Options.Compared's.
type described struct{ entry *format.ManifestTable }

// Facts implements [progress.Describer].
func (d described) Facts() progress.Facts {
	var f progress.Facts
	for _, c := range d.entry.Columns {
		if c.Generated != "" { // not in the rows
			continue
		}
		col := progress.ColumnFacts{Name: string(c.Name), Type: c.Type, Carried: string(c.Carried)}
		switch {
		case c.OIDs:
			col.Carried = "OIDs rewritten"
		case c.Cast != "":
			col.Carried += " by " + c.Cast
		}
		f.Columns = append(f.Columns, col)
	}
	for i := range d.entry.Segments {
		s := &d.entry.Segments[i]
		where := s.Path
		if where == "" && s.CTIDRange != nil {
			where = fmt.Sprintf("pages from %d", s.CTIDRange.From)
		}
		f.Parts = append(f.Parts, where)
	}
	if d.entry.Where != "" {
		f.Notes = append(f.Notes, "only rows where "+d.entry.Where)
	}
	return f
}
