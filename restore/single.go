package restore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pg"
)

// File is a single data file, or a stream of one, as the origin of a restore: one table that is there already, its rows in one transaction, no journal. A
// stream is read once, and checked while it goes in; what is wrong with it takes its rows back.
type File struct {
	name     string    // for people
	path     string    // of a regular file, which is verified before; "": a stream
	rest     io.Reader // of a stream: all of it, until it is read
	header   *format.Header
	manifest *format.Manifest
	closer   io.Closer
	unsure   bool // a stream that does not say what it should have held
}

// OpenFile reads the header of a data file, or of a stream: "-" is stdin. The caller closes it, after the restore. Errors are *format.Error, or of the
// file system.
func OpenFile(ctx context.Context, path string, stdin io.Reader) (*File, error) {
	f := &File{name: path, path: path}
	in := stdin
	if path == "-" {
		f.name, f.path = "standard input", ""
	} else {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		in, f.closer = file, file
		if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
			f.path = ""
		}
	}
	var taken bytes.Buffer
	if f.path == "" {
		in = &abandonable{ctx: ctx, r: in}
		f.rest = io.MultiReader(&taken, in)
		in = io.TeeReader(in, &taken)
	}
	r, err := format.NewReader(in)
	if err != nil {
		return nil, errors.Join(nameFile(err, f.name), f.Close())
	}
	f.header = r.Header()
	if err := f.describe(r); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.name, err), f.Close())
	}
	return f, nil
}

// describe makes a manifest of what the header says.
func (f *File) describe(r *format.Reader) error {
	m := &f.header.Meta
	for _, c := range m.Columns {
		if c.Carried == format.CarriedText && !pg.KnownCast(c.Cast) {
			return fmt.Errorf("column %q is carried as text by %q, which is no cast that is known", string(c.Name), c.Cast)
		}
	}
	segment := format.ManifestSegment{StoredFile: format.StoredFile{Path: filepath.Base(f.name)}, Rows: -1}
	table := format.ManifestTable{Schema: m.Table.Schema, Name: m.Table.Name, Kind: m.Table.Kind, Where: m.Where, Columns: m.Columns, Rows: -1}
	if t, known := r.Totals(); known {
		segment.Rows, segment.RawBytes, segment.RowDigest = t.Rows, t.Length, t.Digest.String()
		table.Rows, table.Bytes, table.RowDigest = t.Rows, t.Length, t.Digest.String()
	}
	table.Segments = []format.ManifestSegment{segment}
	f.manifest = &format.Manifest{FormatVersion: format.ManifestVersion, Tool: m.Tool, DumpID: m.DumpID, Tables: []format.ManifestTable{table},
		Source: format.Source{Server: m.Server, Database: m.Database, Snapshot: m.Snapshot}}
	return nil
}

// Close closes the file.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Manifest implements [Origin].
func (f *File) Manifest() *format.Manifest { return f.manifest }

// Meta implements [Origin].
func (f *File) Meta(context.Context, *format.ManifestTable) (*format.Meta, error) {
	return &f.header.Meta, nil
}

// Segment implements [Origin]. Of a stream there is one.
func (f *File) Segment(_ context.Context, _ *format.ManifestTable, _ int) (*flow.Segment, error) {
	in, closeIn := f.rest, func() {}
	switch {
	case f.path != "":
		file, err := os.Open(f.path)
		if err != nil {
			return nil, err
		}
		in, closeIn = file, func() { _ = file.Close() } // it was only read
	case in == nil:
		return nil, fmt.Errorf("%s has been read already", f.name)
	}
	f.rest = nil
	r, err := format.NewReader(in)
	if err != nil {
		closeIn()
		return nil, nameFile(err, f.name)
	}
	r.SetFile(f.name)
	finish := func(passed format.Totals) error {
		err := r.Finish(passed)
		_, known := r.Totals()
		f.unsure = !known
		return err
	}
	return &flow.Segment{Source: &flow.FileSource{Reader: r}, Walker: r.Walker(), Finish: finish, Close: closeIn}, nil
}

// Archive implements [Origin]: there is none.
func (f *File) Archive(context.Context) (string, error) {
	return "", fmt.Errorf("%s holds rows alone", f.name)
}

// Alive implements [Origin].
func (f *File) Alive(context.Context) error { return nil }

// Gone implements [Origin].
func (f *File) Gone() <-chan struct{} { return nil }

// Release implements [Origin].
func (f *File) Release() {}

// Snapshot implements [Origin].
func (f *File) Snapshot() string { return "" }

// verify looks at every byte of the file. Of a stream nothing is left after that.
func (f *File) verify(ctx context.Context, o VerifyOptions) (*VerifyReport, error) {
	o.Path = f.path
	if f.path == "" {
		o.Path, o.Stdin = "-", f.rest
		f.rest = nil
	}
	return verify(ctx, o)
}

// checkSingle sets what follows from a single file.
func (o *Options) checkSingle() error {
	f, ok := o.Origin.(*File)
	if !ok {
		return nil
	}
	switch {
	case o.Resume:
		return withHint(fmt.Errorf("%s goes in within one transaction: there is nothing to resume", f.name), "leave out --resume")
	case o.Create || o.Clean || o.SchemaOnly || len(o.Sections) > 0:
		return withHint(fmt.Errorf("%s holds rows alone, and no definitions", f.name), "make the table first")
	}
	o.DataOnly, o.NoJournal = true, true
	return nil
}

// single is the origin when it is a single file.
func (j *job) single() *File {
	f, _ := j.origin.(*File)
	return f
}

// checkSingleFile verifies the file, and says what of a table it is.
func (j *job) checkSingleFile(ctx context.Context, f *findings) error {
	s := j.single()
	if ref := s.header.Meta.Segment; ref.N > 1 {
		f.warn(s.name, fmt.Sprintf("segment %d of %d of table %s: the others hold the rest of its rows", ref.I, ref.N, j.plan.tables[0].name), "", "")
	}
	if s.path == "" || j.verified != nil {
		return nil
	}
	report, err := s.verify(ctx, VerifyOptions{Jobs: 1})
	if err != nil {
		return err
	}
	for _, d := range report.Findings {
		f.bad(d.File, strings.TrimPrefix(d.String(), d.File+": "), "", d.Hint)
	}
	return nil
}

// noteSingle says what a stream leaves open.
func (j *job) noteSingle() {
	if s := j.single(); s != nil && s.unsure {
		j.warn("%s does not say how many rows it should hold, nor their digest: that its rows came whole is known by its end mark alone", s.name)
	}
}

// plainType is the text of a builtin type as format_type prints it: its words, a modifier, brackets of an array. Anything else that a file says is a type is not shown as SQL to be copied.
var plainType = regexp.MustCompile(`^(?:(?:[a-z0-9_]+|bit varying|character varying|double precision|interval(?: [a-z]+(?: to [a-z]+)?)?)(?:\([0-9]+(?:,-?[0-9]+)?\))?` +
	`|(?:timestamp|time)(?:\([0-6]\))? with(?:out)? time zone)(?:\[\])*$`)

// typeSQL names a column's type: as the source printed it when that is a plain one, else by its schema and name, quoted.
func typeSQL(c format.Column) string {
	if c.TypeSchema == "pg_catalog" && plainType.MatchString(c.Type) {
		return c.Type
	}
	if element, ok := strings.CutPrefix(string(c.TypeName), "_"); ok && strings.HasSuffix(c.Type, "[]") {
		return pg.QuoteName(c.TypeSchema, format.Name(element)) + "[]" // as CREATE TYPE names the type of its arrays
	}
	return pg.QuoteName(c.TypeSchema, c.TypeName)
}

// createTable is the statement that makes the table of a file, as far as its header tells.
func createTable(into pg.Qualified, columns []format.Column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = pg.QuoteIdent(c.Name) + " " + typeSQL(c)
		if c.NotNull {
			list[i] += " NOT NULL"
		}
	}
	return "CREATE TABLE " + into.SQL() + " (" + strings.Join(list, ", ") + ")"
}
