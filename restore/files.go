package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pg"
)

// folder is a dump as an [Origin].
type folder struct {
	path     string
	root     *os.Root
	manifest *format.Manifest
	metas    format.Metas
}

// openFolder reads the manifest of a dump. The caller closes it.
func openFolder(path string) (*folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	m, err := format.ReadManifest(root)
	if errors.Is(err, format.ErrUnfinished) {
		err = fmt.Errorf("%s: %w", format.Printable(path), err)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &folder{path: path, root: root, manifest: m}, nil
}

func (d *folder) close() {
	_ = d.root.Close() // it was only read
}

// Manifest implements [Origin].
func (d *folder) Manifest() *format.Manifest { return d.manifest }

// Archive implements [Origin].
func (d *folder) Archive(context.Context) (string, error) {
	return filepath.Join(d.path, format.SchemaName), nil
}

// Alive implements [Origin].
func (d *folder) Alive(context.Context) error { return nil }

// Gone implements [Origin].
func (d *folder) Gone() <-chan struct{} { return nil }

// Release implements [Origin].
func (d *folder) Release() {}

// Snapshot implements [Origin].
func (d *folder) Snapshot() string { return "" }

// Meta implements [Origin], out of the first file of a table.
func (d *folder) Meta(_ context.Context, t *format.ManifestTable) (*format.Meta, error) {
	file, r, err := d.open(t, 0)
	if err != nil {
		return nil, err
	}
	_ = file.Close() // it was only read
	return &r.Header().Meta, nil
}

// Segment implements [Origin].
func (d *folder) Segment(_ context.Context, t *format.ManifestTable, i int) (*flow.Segment, error) {
	file, r, err := d.open(t, i)
	if err != nil {
		return nil, err
	}
	return &flow.Segment{Source: &flow.FileSource{Reader: r}, Walker: r.Walker(), Finish: r.Finish, Close: func() { _ = file.Close() }}, nil // it was only read
}

// open opens a data file and reads its header; the caller closes the file.
func (d *folder) open(t *format.ManifestTable, i int) (fs.File, *format.Reader, error) {
	path := t.Segments[i].Path
	f, _, err := format.OpenRegular(d.root, path)
	if err != nil {
		return nil, nil, err
	}
	r, err := d.metas.NewReader(f)
	if err != nil {
		_ = f.Close() // it was only read
		return nil, nil, nameFile(err, path)
	}
	r.SetFile(path)
	if err := d.sameHeader(t, r.Header()); err != nil {
		_ = f.Close() // it was only read
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, r, nil
}

// sameHeader compares a file's own word with the manifest's.
func (d *folder) sameHeader(t *format.ManifestTable, h *format.Header) error {
	m := &h.Meta
	if m.DumpID != d.manifest.DumpID {
		return fmt.Errorf("belongs to dump %q, not to %q", m.DumpID, d.manifest.DumpID)
	}
	if m.Table.Schema != t.Schema || m.Table.Name != t.Name {
		return fmt.Errorf("holds rows of table %q, not of %q", pg.Qualified{Schema: m.Table.Schema, Name: m.Table.Name}.String(), pg.Qualified{Schema: t.Schema, Name: t.Name}.String())
	}
	columns, wanted := storedColumns(m.Columns), storedColumns(t.Columns)
	if len(columns) != len(wanted) {
		return fmt.Errorf("has %d columns, not %d", len(columns), len(wanted))
	}
	for i, c := range columns {
		if want := wanted[i]; c.Name != want.Name || c.Type != want.Type || c.TypeSchema != want.TypeSchema || c.TypeName != want.TypeName {
			return fmt.Errorf("column %d is %q of type %s, not %q of type %s", i+1, string(c.Name), c.Type, string(want.Name), want.Type)
		}
		if want := wanted[i]; c.Carried != want.Carried || c.Cast != want.Cast || c.Carried == format.CarriedText && !pg.KnownCast(c.Cast) {
			return fmt.Errorf("column %q is carried as %s by %q, which is not what the manifest says or no cast that is known", string(c.Name), c.Carried, c.Cast)
		}
	}
	return nil
}

// checkHeaders asks the origin for the types and samples of each table.
func (j *job) checkHeaders(ctx context.Context, f *findings) error {
	if !j.o.parts.rows {
		return nil
	}
	shared := knownTypes{}
	for _, t := range j.plan.tables {
		if len(t.entry.Segments) == 0 || j.damaged[t.entry.Segments[0].Path] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		meta, err := j.origin.Meta(ctx, t.entry)
		if err != nil {
			f.bad(t.entry.Segments[0].Path, err.Error(), "", damagedHint)
			continue
		}
		t.known = shared.of(meta, j.plan.mapped)
		for i := range meta.Types {
			j.checkName(f, "type", meta.Types[i].Schema, meta.Types[i].Name)
		}
	}
	return nil
}

const (
	damagedHint = againHint + "; \"pghaul salvage\" saves what can be read"
	againHint   = "take the dump again, or the file from another copy of it" // where there is nothing to salvage
)

// checkFiles verifies the dump: every byte of every file.
func (j *job) checkFiles(ctx context.Context, f *findings) error {
	j.damaged = map[string]bool{}
	if j.single() != nil {
		return j.checkSingleFile(ctx, f)
	}
	if j.folder == nil {
		return nil
	}
	if j.verified != nil { // and shown
		for _, d := range j.verified.Findings {
			j.damaged[d.File] = true
		}
		return nil
	}
	report, err := Verify(ctx, VerifyOptions{Path: j.o.Dir, Jobs: j.o.Jobs, manifest: j.folder.manifest})
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
