package restore

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pipeline"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/zeebo/xxh3"
)

// fileToVerify is one data file.
type fileToVerify struct {
	name  string
	src   io.Reader
	want  *wantedFile     // nil: no manifest speaks of it
	table *progress.Table // nil: not known yet
	part  *progress.Part  // of table, once it was started
	pool  *pipeline.Pool
}

// wantedFile is what the manifest says of a file.
type wantedFile struct {
	dumpID  string
	table   *format.ManifestTable
	segment int // index
}

// start says that the file is under way.
func (f *fileToVerify) start() {
	i := 0
	if f.want != nil {
		i = f.want.segment
	}
	f.part = f.table.Part(i)
	f.part.Start()
}

// file verifies one file. It records damage; the error is for a context that has ended.
func (v *verifier) file(ctx context.Context, f *fileToVerify) error {
	stored, totals, damage := v.readFile(ctx, f)
	if ctx.Err() != nil {
		f.part.End(ctx.Err())
		return context.Cause(ctx)
	}
	if damage != nil {
		v.found(*damage)
		f.part.End(errors.New(damage.String()))
		return nil
	}
	f.part.End(nil)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Files++
	v.report.Rows += totals.Rows
	v.report.Bytes += totals.Length
	v.report.StoredBytes += stored
	return nil
}

// readFile reads a file to its end or to the first damage.
func (v *verifier) readFile(ctx context.Context, f *fileToVerify) (stored int64, totals format.Totals, damage *Damage) {
	src := &summedReader{r: f.src, sum: xxh3.New128()}
	r, err := v.metas.NewReader(src)
	if err != nil {
		f.start()
		return 0, totals, damageOf(f.name, err)
	}
	if f.table == nil {
		info := progress.TableInfo{Name: f.name, Rows: -1, Bytes: -1, Segments: 1, Columns: len(r.Header().Meta.Columns)}
		if t, known := r.Totals(); known {
			info.Rows, info.Bytes, info.RowsExact, info.BytesExact = t.Rows, t.Length, true, true
		}
		f.table = v.o.Tracker.AddTable(info)
	}
	f.start()
	if what := f.want.header(r.Header()); what != "" {
		return 0, totals, &Damage{File: f.name, Offset: -1, Kind: kindMismatch, What: what}
	}
	parse := &wholeRows{Parse: flow.Parse{Walker: r.Walker(), Count: f.part}, reader: r}
	source := &patientSource{FileSource: flow.FileSource{Reader: r}}
	lane := pipeline.Lane{Source: source, Stages: []pipeline.Stage{parse}, Sink: flow.Discard{}, Pool: f.pool, Hold: v.o.Control.Wait, Meters: v.meters()}
	if err := cmp.Or(pipeline.Run(ctx, lane), source.late); err != nil {
		return 0, totals, damageOf(f.name, err)
	}
	totals = parse.Walker.Totals()
	if err := r.Finish(totals); err != nil {
		return 0, totals, damageOf(f.name, err)
	}
	if d := f.compare(totals, src); d != nil {
		return 0, totals, d
	}
	v.remarks(f.name, r)
	if v.report.What != "dump" {
		v.mu.Lock()
		v.report.DumpID, v.report.Tables = r.Header().Meta.DumpID, 1
		v.mu.Unlock()
	}
	return src.n, totals, nil
}

// remarks warns of what an operator should know of a file that is whole.
func (v *verifier) remarks(name string, r *format.Reader) {
	if _, known := r.Totals(); !known {
		v.warn(Damage{File: name, Offset: -1, Kind: kindNoTotals, What: "a plain stream does not say what it should hold: only its framing was checked, not its values"})
	}
	if s := r.Header().Meta.Salvaged; s != nil && !s.Proven {
		v.warn(Damage{File: name, Offset: -1, Kind: kindSalvaged, What: "made of " + format.Printable(s.From) + ", which was damaged: rows may be missing",
			Hint: "\"pghaul inspect --json\" lists what is lost"})
	}
}

// meters returns those of the three places of a lane: a tracker may know of a convert stage too.
func (v *verifier) meters() []*pipeline.Meter {
	m := v.o.Tracker.Meters()
	if len(m) < 3 {
		return nil
	}
	return []*pipeline.Meter{m[0], m[1], m[len(m)-1]}
}

// header compares what a file says about itself with the manifest; empty is equal.
func (w *wantedFile) header(h *format.Header) string {
	if w == nil {
		return ""
	}
	m, t, s := &h.Meta, w.table, &w.table.Segments[w.segment]
	differ := func(what string, file, manifest any) string {
		return fmt.Sprintf("%s in the file: %v, in the manifest: %v", what, file, manifest)
	}
	ref := format.SegmentRef{I: w.segment + 1, N: len(t.Segments)}
	want, err := s.Totals()
	switch {
	case m.DumpID != w.dumpID:
		return differ("dump_id", quoted(m.DumpID), quoted(w.dumpID))
	case m.Table.Schema != t.Schema || m.Table.Name != t.Name || m.Table.Kind != t.Kind:
		return differ("table", quoted(m.Table.Schema, m.Table.Name, format.Name(m.Table.Kind)), quoted(t.Schema, t.Name, format.Name(t.Kind)))
	case !slices.Equal(m.Columns, t.Columns):
		return differ("columns", len(m.Columns), len(t.Columns)) + "; they are not the same"
	case m.Where != t.Where:
		return differ("where", quoted(m.Where), quoted(t.Where))
	case m.Segment.I != ref.I || m.Segment.N != ref.N:
		return differ("segment", fmt.Sprintf("%d of %d", m.Segment.I, m.Segment.N), fmt.Sprintf("%d of %d", ref.I, ref.N))
	case pages(m.Segment.CTIDRange) != pages(s.CTIDRange):
		return differ("pages", pages(m.Segment.CTIDRange), pages(s.CTIDRange))
	case err != nil:
		return err.Error()
	case h.TotalsKnown && h.Totals != want:
		return differ("totals", h.Totals, want)
	case !h.TotalsKnown:
		return "the file was written as a stream"
	}
	return ""
}

func quoted[T ~string](s ...T) string {
	var b []byte
	for i, x := range s {
		if i > 0 {
			b = append(b, ' ')
		}
		b = fmt.Appendf(b, "%q", string(x))
	}
	return string(b)
}

func pages(r *format.CTIDRange) format.CTIDRange {
	if r == nil {
		return format.CTIDRange{}
	}
	return *r
}

// compare holds what was read against the manifest.
func (f *fileToVerify) compare(totals format.Totals, src *summedReader) *Damage {
	if f.want == nil {
		return nil
	}
	s := &f.want.table.Segments[f.want.segment]
	sum := src.sum.Sum128().Bytes()
	got := hex.EncodeToString(sum[:])
	want, err := s.Totals()
	d := &Damage{File: f.name, Offset: -1, Kind: kindMismatch}
	switch {
	case err != nil || totals != want:
		d.What = fmt.Sprintf("the file holds %s, the manifest says %s", totals, want)
	case src.n != s.StoredBytes:
		d.What = fmt.Sprintf("%d bytes, the manifest says %d", src.n, s.StoredBytes)
	case got != s.XXH128:
		d.What = fmt.Sprintf("xxh128 is %s, the manifest says %s", got, s.XXH128)
	default:
		return nil
	}
	return d
}

// damageOf makes a finding of an error of reading.
func damageOf(name string, err error) *Damage {
	var e *format.Error
	if !errors.As(err, &e) {
		return &Damage{File: name, Offset: -1, Kind: format.ErrRead.String(), What: err.Error(), Hint: "see to it that the file can be read"}
	}
	d := &Damage{File: name, Offset: e.Offset, Decoded: e.Decoded, Row: e.Row, Column: e.Column, Kind: e.Kind.String()}
	if e.Err != nil {
		d.What = e.Err.Error()
	}
	switch e.Kind {
	case format.ErrVersion:
		d.Hint = "use a newer pghaul"
	case format.ErrRead:
		d.Hint = "see to it that the file can be read"
	}
	return d
}

// patientSource keeps back what the container check at the end of a plain file finds, until all rows have been looked at: they tell the place.
type patientSource struct {
	flow.FileSource
	late error
}

// Run implements [pipeline.Source].
func (s *patientSource) Run(ctx context.Context, out *pipeline.Out) error {
	err := s.FileSource.Run(ctx, out)
	if !s.Reader.Compressed() && (errors.Is(err, format.ErrChecksum) || errors.Is(err, format.ErrTruncated)) {
		s.late = err
		return nil
	}
	return err
}

// wholeRows is the parse stage of a file, whose frames must end where rows end.
type wholeRows struct {
	flow.Parse
	reader *format.Reader
}

// Process implements [pipeline.Stage].
func (w *wholeRows) Process(b *pipeline.Block, out *pipeline.Out) error {
	err := w.Parse.Process(b, out)
	if err == nil && w.reader.Compressed() && w.Walker.Need() > 0 {
		t := w.Walker.Totals()
		return &format.Error{Offset: w.reader.HeaderLen() + t.Length, Decoded: true, Row: t.Rows + 1, Kind: format.ErrFrame, Err: errors.New("a frame ends within a row")}
	}
	return err
}

// summedReader sums up the bytes that pass.
type summedReader struct {
	r   io.Reader
	sum *xxh3.Hasher128
	n   int64
}

// Read implements [io.Reader].
func (s *summedReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	_, _ = s.sum.Write(p[:n]) // never fails
	s.n += int64(n)
	return n, err
}
