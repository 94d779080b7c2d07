package main

import (
	"sync"

	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/restore"
	"github.com/bytehaul/pghaul/tui"
)

// comparisons keeps what a preflight has found of the tables.
type comparisons struct {
	mu   sync.Mutex
	list []restore.Comparison
	at   map[string]int // position by the table's name; nil: not made yet
}

func (c *comparisons) set(list []restore.Comparison) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list, c.at = list, nil
}

// Comparisons implements [tui.ComparisonView].
func (c *comparisons) Comparisons() []restore.Comparison {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list
}

// of finds a table's comparison by the name that observers know.
func (c *comparisons) of(table string) (restore.Comparison, bool) {
	if c == nil {
		return restore.Comparison{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil && c.list != nil {
		c.at = make(map[string]int, len(c.list))
		for i := range c.list {
			c.at[pg.Qualified{Schema: c.list[i].Schema, Name: c.list[i].Name}.String()] = i
		}
	}
	i, found := c.at[table]
	if !found {
		return restore.Comparison{}, false
	}
	return c.list[i], true
}

// details are what the terminal UI shows of one table: the plan's facts, how far each segment is, and what the target makes of the columns.
func (k *task) details(s progress.TableSnapshot) tui.TableDetails {
	facts, parts, _ := k.tracker.Describe(s.ID)
	d := tui.TableDetails{Notes: facts.Notes}
	for _, c := range facts.Columns {
		d.Columns = append(d.Columns, tui.ColumnDetails{Name: c.Name, Type: c.Type, Carried: c.Carried, Sample: c.Sample})
		if c.Why != "" {
			d.Notes = append(d.Notes, c.Name+" is carried as "+c.Carried+": "+c.Why)
		}
	}
	for i, p := range parts {
		where := ""
		if i < len(facts.Parts) {
			where = facts.Parts[i]
		}
		d.Segments = append(d.Segments, tui.SegmentDetails{N: i + 1, State: p.State, Rows: p.Rows, Bytes: p.Bytes, Where: where})
	}
	if c, known := k.compared.of(s.Name); known {
		addComparison(&d, &c)
	}
	return d
}

// addComparison adds what the target has in place of the dump's columns, and the samples.
func addComparison(d *tui.TableDetails, c *restore.Comparison) {
	if c.Into != "" {
		d.Notes = append(d.Notes, "its rows go through "+c.Into)
	}
	samples := map[string]string{}
	for _, s := range c.Samples {
		if _, first := samples[s.Type]; !first {
			samples[s.Type] = s.Source
		}
	}
	for _, x := range c.Columns {
		name := string(x.Name)
		if x.Verdict != restore.Same && (x.Why != "" || x.Target != x.Dump) {
			text := name + " " + string(x.Verdict)
			if x.Dump != "" && x.Target != "" && x.Target != x.Dump {
				text += ": " + x.Dump + " becomes " + x.Target
			}
			if x.Why != "" {
				text += ": " + x.Why
			}
			d.Notes = append(d.Notes, text)
		}
		for i := range d.Columns {
			if d.Columns[i].Name == name && d.Columns[i].Sample == "" {
				d.Columns[i].Sample = samples[d.Columns[i].Type]
			}
		}
	}
}
