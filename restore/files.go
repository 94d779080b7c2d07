package restore

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// openSegment opens a data file and reads its header; the caller closes the file.
func (j *job) openSegment(t *loadTable, i int) (fs.File, *format.Reader, error) {
	path := t.entry.Segments[i].Path
	f, err := j.root.Open(path)
	if err != nil {
		return nil, nil, err
	}
	r, err := format.NewReader(f)
	if err != nil {
		_ = f.Close() // it was only read
		return nil, nil, nameFile(err, path)
	}
	r.SetFile(path)
	if err := j.sameHeader(t, r.Header()); err != nil {
		_ = f.Close() // it was only read
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, r, nil
}

// sameHeader compares a file's own word with the manifest's.
func (j *job) sameHeader(t *loadTable, h *format.Header) error {
	m := &h.Meta
	if m.DumpID != j.m.DumpID {
		return fmt.Errorf("belongs to dump %q, not to %q", m.DumpID, j.m.DumpID)
	}
	if m.Table.Schema != t.entry.Schema || m.Table.Name != t.entry.Name {
		return fmt.Errorf("holds rows of table %q, not of %q", pg.Qualified{Schema: m.Table.Schema, Name: m.Table.Name}.String(), t.name.String())
	}
	columns := storedColumns(m.Columns)
	if len(columns) != len(t.columns) {
		return fmt.Errorf("has %d columns, not %d", len(columns), len(t.columns))
	}
	for i, c := range columns {
		if want := t.columns[i]; c.Name != want.Name || c.Type != want.Type || c.TypeSchema != want.TypeSchema || c.TypeName != want.TypeName {
			return fmt.Errorf("column %d is %q of type %s, not %q of type %s", i+1, string(c.Name), c.Type, string(want.Name), want.Type)
		}
		if want := t.columns[i]; c.Carried != want.Carried || c.Cast != want.Cast || c.Carried == format.CarriedText && !pg.KnownCast(c.Cast) {
			return fmt.Errorf("column %q is carried as %s by %q, which is not what the manifest says or no cast that is known", string(c.Name), c.Carried, c.Cast)
		}
	}
	return nil
}

// checkHeaders reads the header of one file of each table: its types and samples.
func (j *job) checkHeaders(ctx context.Context, f *findings) error {
	if j.o.SchemaOnly {
		return nil
	}
	for _, t := range j.plan.tables {
		if len(t.entry.Segments) == 0 || j.damaged[t.entry.Segments[0].Path] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		file, r, err := j.openSegment(t, 0)
		if err != nil {
			f.bad(t.entry.Segments[0].Path, err.Error(), "", damagedHint)
			continue
		}
		t.types, t.samples = r.Header().Meta.Types, r.Header().Meta.Samples
		_ = file.Close() // it was only read
	}
	return nil
}

const damagedHint = "take the dump again, or the file from another copy of it"

// checkFiles verifies the dump: every byte of every file.
func (j *job) checkFiles(ctx context.Context, f *findings) error {
	j.damaged = map[string]bool{}
	if j.verified != nil { // and shown
		for _, d := range j.verified.Findings {
			j.damaged[d.File] = true
		}
		return nil
	}
	report, err := Verify(ctx, VerifyOptions{Path: j.o.Dir, Jobs: j.o.Jobs})
	if err != nil {
		return err
	}
	for _, d := range report.Findings {
		j.damaged[d.File] = true
		f.bad(d.File, strings.TrimPrefix(d.String(), d.File+": "), "", d.Hint)
	}
	for _, d := range report.Warnings {
		f.warn(d.File, strings.TrimPrefix(d.String(), d.File+": "), "", d.Hint)
	}
	return nil
}
