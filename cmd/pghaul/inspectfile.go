package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/show"
)

// fileFacts is what inspect says about one file.
type fileFacts struct {
	Name   string `json:"file"`
	Format struct {
		Major uint16 `json:"major"`
		Minor uint16 `json:"minor"`
	} `json:"format"`
	Zstd        bool        `json:"zstd"`
	StoredBytes int64       `json:"stored_bytes,omitempty"` // absent: not a regular file
	HeaderBytes int64       `json:"header_bytes"`           // decompressed
	Frames      int64       `json:"frames,omitempty"`       // of rows, as the seek table says
	Totals      *totals     `json:"totals"`                 // null: the header of a stream does not know them
	Meta        format.Meta `json:"meta"`
}

type totals struct {
	Rows      int64  `json:"rows"`
	Bytes     int64  `json:"bytes"` // rows and trailers, uncompressed
	RowDigest string `json:"row_digest"`
}

// The seek table of zstd's seekable format ends with uint32 frames, a byte of flags and this magic number, little-endian.
const (
	seekFooter = 9
	seekMagic  = 0x8F92EAB1
)

// framesOf reads the number of frames with rows off the end of a compressed file; 0 where there is no seek table.
func framesOf(r io.ReaderAt, size int64) (int64, error) {
	var end [seekFooter]byte
	if size < seekFooter {
		return 0, nil
	}
	if _, err := r.ReadAt(end[:], size-seekFooter); err != nil {
		return 0, err
	}
	if binary.LittleEndian.Uint32(end[5:]) != seekMagic {
		return 0, nil
	}
	return max(int64(binary.LittleEndian.Uint32(end[:]))-1, 0), nil // the first frame is the header's
}

func (f *fileFacts) text() string {
	m := &f.Meta
	var b strings.Builder
	b.WriteString(show.Table(m.Table.Schema, m.Table.Name) + segmentText(m.Segment) + "\n\n")
	g := show.NewGrid("  ", "", "")
	g.Row("file", show.Text(f.Name))
	g.Row("container", f.container())
	g.Row("format", fmt.Sprintf("%d.%d", f.Format.Major, f.Format.Minor))
	if f.Totals == nil {
		g.Row("rows", "unknown: written as a stream (\"pghaul verify\" counts them)")
	} else {
		g.Row("rows", show.Count(f.Totals.Rows))
		g.Row("digest", f.Totals.RowDigest)
	}
	g.Row("kind", show.Text(m.Table.Kind))
	if m.Where != "" {
		g.Row("where", show.Line(m.Where))
	}
	sourceRows(g, m.Server, m.Database, m.Snapshot)
	g.Row("made by", show.Text(m.Tool)+", dump "+show.Text(m.DumpID))
	if s := m.Salvaged; s != nil {
		g.Row("salvaged", salvagedText(s))
	}
	b.WriteString(g.String())
	b.WriteString("\nColumns\n" + columnsText("  ", m.Columns))
	if tree := typesText(m); tree != "" {
		b.WriteString("\nTypes\n" + tree)
	}
	if len(m.Samples) > 0 {
		b.WriteString("\nSamples\n" + samplesText(m.Samples))
	}
	return b.String()
}

func (f *fileFacts) container() string {
	raw := int64(0)
	if f.Totals != nil {
		raw = f.HeaderBytes + f.Totals.Bytes
	}
	switch {
	case !f.Zstd && f.StoredBytes == 0:
		return "plain"
	case !f.Zstd:
		return "plain, " + show.Size(f.StoredBytes)
	case f.StoredBytes == 0:
		return "zstd"
	}
	s := "zstd, " + show.Size(f.StoredBytes)
	if raw > 0 {
		s += fmt.Sprintf(" of %s (%.0f %%)", show.Size(raw), 100*float64(f.StoredBytes)/float64(raw))
	}
	if f.Frames > 0 {
		s += ", " + show.Plural(f.Frames, "frame", "frames")
	}
	return s
}

func segmentText(s format.SegmentRef) string {
	if s.N <= 1 {
		return ""
	}
	return fmt.Sprintf(", segment %d of %d%s", s.I, s.N, pagesText(s.CTIDRange))
}

func pagesText(r *format.CTIDRange) string {
	switch {
	case r == nil:
		return ""
	case r.To == 0:
		return fmt.Sprintf(" (pages from %d)", r.From)
	}
	return fmt.Sprintf(" (pages %d to %d)", r.From, r.To-1)
}

// sourceRows says where rows came from.
func sourceRows(g *show.Grid, s format.Server, db format.Name, at format.Snapshot) {
	g.Row("server", fmt.Sprintf("PostgreSQL %s, encoding %s, collate %s, ctype %s (%s)", show.Text(s.Version), show.Text(s.Encoding), show.Text(s.Collate),
		show.Text(s.CType), show.Text(s.Provider)))
	g.Row("database", show.Text(string(db)))
	g.Row("snapshot", strings.TrimSuffix(moment(at.Time)+", LSN about "+show.Text(at.LSN), ", LSN about "))
}

func columnsText(indent string, columns []format.Column) string {
	g := show.NewGrid(indent, ">#", "column", "type", "", "carried")
	for i, c := range columns {
		var notes []string
		if c.NotNull {
			notes = append(notes, "not null")
		}
		if c.Identity != "" {
			notes = append(notes, "identity "+show.Text(c.Identity))
		}
		if c.Generated != "" {
			notes = append(notes, "generated "+show.Text(c.Generated))
		}
		if name := strings.TrimPrefix(string(c.Collation), "pg_catalog."); name != "" && name != "default" {
			notes = append(notes, "collation "+show.Text(name))
		}
		carried := show.Text(string(c.Carried))
		switch {
		case c.OIDs:
			carried += ", OIDs rewritten"
		case c.Cast != "" && c.Cast != string(format.CarriedText):
			carried += ", by " + show.Text(c.Cast)
		}
		g.Row(strconv.Itoa(i+1), show.Text(string(c.Name)), show.Text(c.Type), strings.Join(notes, ", "), carried)
	}
	return g.String()
}

const (
	sampleWidth = 36
	sampleBytes = 12
)

func samplesText(all []format.Samples) string {
	g := show.NewGrid("  ", "type", "literal", "bytes", "text")
	for _, s := range all {
		name := typeName(s.Schema, s.Name)
		if len(s.Values) == 0 {
			g.Row(name, "none: "+show.Line(s.Note))
		}
		for _, v := range s.Values {
			bytes := hex.EncodeToString(v.Bytes[:min(len(v.Bytes), sampleBytes)])
			if len(v.Bytes) > sampleBytes {
				bytes += "…"
			}
			g.Row(name, show.Fit(show.Text(v.Literal), sampleWidth), bytes, show.Fit(show.Text(v.Text), sampleWidth))
			name = ""
		}
	}
	return g.String()
}
