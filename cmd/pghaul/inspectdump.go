package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/show"
)

// dumpFacts is what inspect says about a dump.
type dumpFacts struct {
	Dir      string           `json:"dump"`
	Totals   dumpTotals       `json:"totals"`
	Manifest *format.Manifest `json:"manifest"`
}

type dumpTotals struct {
	Tables      int   `json:"tables"`
	Segments    int   `json:"segments"`
	Rows        int64 `json:"rows"`
	Bytes       int64 `json:"bytes"`        // rows and trailers, uncompressed
	StoredBytes int64 `json:"stored_bytes"` // of the data files and the schema
}

func factsOf(dir string, m *format.Manifest) *dumpFacts {
	d := &dumpFacts{Dir: dir, Manifest: m}
	d.Totals.Tables = len(m.Tables)
	if m.Schema != nil {
		d.Totals.StoredBytes = m.Schema.StoredBytes
	}
	for i := range m.Tables {
		t := &m.Tables[i]
		d.Totals.Segments += len(t.Segments)
		d.Totals.Rows += t.Rows
		d.Totals.Bytes += t.Bytes
		d.Totals.StoredBytes += storedBytes(t)
	}
	return d
}

func storedBytes(t *format.ManifestTable) (n int64) {
	for _, s := range t.Segments {
		n += s.StoredBytes
	}
	return n
}

func (d *dumpFacts) text() string {
	m := d.Manifest
	var b strings.Builder
	fmt.Fprintf(&b, "dump of database %s in %s\n\n", show.Text(string(m.Source.Database)), show.Text(d.Dir))
	g := show.NewGrid("  ", "", "")
	sourceRows(g, m.Source.Server, m.Source.Database, m.Source.Snapshot)
	g.Row("taken", moment(m.Started)+" to "+moment(m.Finished))
	g.Row("made by", show.Text(m.Tool)+", dump "+show.Text(m.DumpID)+", format "+strconv.Itoa(m.FormatVersion))
	g.Row("holds", fmt.Sprintf("%s, %s, %s of rows in %s, %s stored", show.Plural(int64(d.Totals.Tables), "table", "tables"), show.Plural(d.Totals.Rows, "row", "rows"),
		show.Size(d.Totals.Bytes), show.Plural(int64(d.Totals.Segments), "file", "files"), show.Size(d.Totals.StoredBytes)))
	if m.Schema == nil {
		g.Row("schema", "none: rows alone")
	} else {
		g.Row("schema", show.Text(m.Schema.Path)+", "+show.Size(m.Schema.StoredBytes)+" (a pg_dump archive: code that runs as whoever restores it)")
	}
	if m.LargeObjects > 0 {
		g.Row("large objects", show.Count(m.LargeObjects))
	}
	if options := optionsText(m.Options); options != "" {
		g.Row("options", options)
	}
	b.WriteString(g.String())
	d.tables(&b)
	d.others(&b)
	return b.String()
}

// moment writes a time to the second; one that is none, as it is.
func moment(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return show.Text(s)
	}
	return t.UTC().Format(time.RFC3339)
}

func optionsText(options map[string]string) string {
	var parts []string
	for name, value := range options {
		parts = append(parts, show.Text(name)+"="+show.Line(value))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

func (d *dumpFacts) tables(b *strings.Builder) {
	if len(d.Manifest.Tables) == 0 {
		return
	}
	b.WriteString("\nTables\n")
	g := show.NewGrid("  ", "table", ">rows", ">bytes", ">stored", ">files", "digest", "")
	for i := range d.Manifest.Tables {
		t := &d.Manifest.Tables[i]
		g.Row(show.Table(t.Schema, t.Name), show.Count(t.Rows), show.Size(t.Bytes), show.Size(storedBytes(t)), strconv.Itoa(len(t.Segments)), show.Text(t.RowDigest), tableNotes(t))
	}
	b.WriteString(g.String())
	for i := range d.Manifest.Tables {
		t := &d.Manifest.Tables[i]
		b.WriteString("\n" + show.Table(t.Schema, t.Name) + "\n" + columnsText("  ", t.Columns))
	}
}

func tableNotes(t *format.ManifestTable) string {
	var notes []string
	if t.Kind != "" && t.Kind != "table" {
		notes = append(notes, show.Text(t.Kind))
	}
	if t.Root != nil {
		notes = append(notes, "of "+show.Table(t.Root.Schema, t.Root.Name))
	}
	if t.Unlogged {
		notes = append(notes, "unlogged")
	}
	if t.ExtensionConfig {
		notes = append(notes, "extension configuration")
	}
	if t.Where != "" {
		notes = append(notes, "where "+show.Line(t.Where))
	}
	return strings.Join(notes, ", ")
}

// others lists what a dump holds beside rows, and what it does not hold.
func (d *dumpFacts) others(b *strings.Builder) {
	m := d.Manifest
	if len(m.Sequences) > 0 {
		b.WriteString("\nSequences\n")
		g := show.NewGrid("  ", "sequence", ">last value", "")
		for _, s := range m.Sequences {
			called := ""
			if !s.IsCalled {
				called = "not called yet"
			}
			g.Row(show.Table(s.Schema, s.Name), show.Count(s.LastValue), called)
		}
		b.WriteString(g.String())
	}
	if len(m.MatViews) > 0 {
		b.WriteString("\nMaterialized views\n")
		for _, v := range m.MatViews {
			state := "refreshed on restore"
			if !v.Populated {
				state = "not populated"
			}
			fmt.Fprintf(b, "  %s, %s\n", show.Table(v.Schema, v.Name), state)
		}
	}
	var extensions, roles []string
	for _, e := range m.Extensions {
		extensions = append(extensions, show.Text(string(e.Name))+" "+show.Text(e.Version))
	}
	for _, r := range m.Roles {
		roles = append(roles, show.Text(string(r)))
	}
	section(b, "Extensions", extensions)
	section(b, "Roles that the dump refers to", roles)
	var left []string
	for _, l := range m.LeftOut {
		name := show.Text(string(l.Name))
		if l.Schema != "" {
			name = show.Table(l.Schema, l.Name)
		}
		left = append(left, strings.TrimSpace(show.Text(l.Kind)+" "+name)+": "+show.Line(l.Why))
	}
	section(b, "Left out", left)
	var warnings []string
	for _, w := range m.Warnings {
		warnings = append(warnings, show.Line(w))
	}
	section(b, "Warnings", warnings)
}

func section(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString("\n" + title + "\n")
	for _, l := range lines {
		b.WriteString("  " + l + "\n")
	}
}
