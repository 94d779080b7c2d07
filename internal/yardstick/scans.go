package yardstick

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/progress"
)

// dumpFiles is a dump in the folder.
type dumpFiles struct {
	dir      string
	manifest *format.Manifest
	stored   int64
	sentence string // of its stages: what held it back
}

// Names of the lines of a table.
const (
	lineCount  = "count(*)"
	lineText   = "server: COPY text"
	lineBinary = "server: COPY binary"
	lineNone   = "pghaul dump -Z none"
	lineZstd   = "pghaul dump -Z zstd:1"
)

// scans measures per table, on one connection: the bare scan, what the server's own COPY takes, and a dump.
func (b *bench) scans(ctx context.Context) error {
	for _, s := range b.subjects {
		count := &measure{name: lineCount, run: func(ctx context.Context) (float64, error) {
			return timed(func() error { return b.conn.Exec(ctx, "SELECT count(*) FROM "+s.SQL()) })
		}}
		text := &measure{name: lineText, run: func(ctx context.Context) (float64, error) {
			return timed(func() error { return b.serverCopy(ctx, b.conn, &s.Table, "text") })
		}}
		binary := &measure{name: lineBinary, run: func(ctx context.Context) (float64, error) {
			return timed(func() error { return b.serverCopy(ctx, b.conn, &s.Table, "binary") })
		}}
		none := &measure{name: lineNone, run: func(ctx context.Context) (float64, error) {
			var data float64
			var err error
			data, s.dumped, err = b.dumpOf(ctx, []*subject{s}, format.Compression{}, 1, s.Name)
			return data, err
		}}
		zstd := &measure{name: lineZstd, run: func(ctx context.Context) (float64, error) {
			data, files, err := b.dumpOf(ctx, []*subject{s}, format.Compression{Level: 1}, 1, s.Name+".zstd")
			return data, errors.Join(err, os.RemoveAll(files.dir))
		}}
		all := []*measure{count, text, binary, none, zstd}
		if err := b.rounds(ctx, s.Name, all); err != nil {
			return err
		}
		s.report.RowBytes = rawBytes(s.dumped.manifest)
		for _, m := range all {
			reference := text.median()
			if m == count || m == text {
				reference = 0
			}
			s.report.Scans = append(s.report.Scans, s.report.line(m.name, m.median(), reference))
		}
		b.sums.scan += count.median()
		b.sums.rowBytes += s.report.RowBytes
	}
	return nil
}

// rawBytes is what the rows of a dump take, uncompressed.
func rawBytes(m *format.Manifest) (n int64) {
	for _, t := range m.Tables {
		n += t.Bytes
	}
	return n
}

// serverCopy lets the server put a table out and nobody keep it.
func (b *bench) serverCopy(ctx context.Context, c *pg.Conn, t *Table, as string) error {
	if b.report.Discards == "/dev/null" {
		return c.Exec(ctx, "COPY "+t.SQL()+" TO '/dev/null' (FORMAT "+as+")")
	}
	return c.CopyOut(ctx, io.Discard, "COPY "+t.SQL()+" TO STDOUT (FORMAT "+as+")")
}

// dumpOf dumps tables into a folder below the benchmark's, whose files of an earlier round are removed before the clock starts. The time is of the data phase.
func (b *bench) dumpOf(ctx context.Context, subjects []*subject, c format.Compression, jobs int, name string) (data float64, files dumpFiles, err error) {
	files.dir = filepath.Join(b.scratch.dir, name)
	if err := os.RemoveAll(files.dir); err != nil {
		return 0, files, err
	}
	t := progress.New("dump", "read", "parse", "convert", "write")
	o := b.dumpOptions(subjects, jobs)
	o.Dir, o.Compression, o.Tracker = files.dir, c, t
	sum, err := dump.Run(ctx, o)
	t.Finish(err)
	if err != nil {
		return 0, files, err
	}
	files.manifest, files.stored = sum.Manifest, sum.Stored
	r := t.Report()
	files.sentence = r.Verdict.Sentence
	return phaseSeconds(r, dump.PhaseData), files, nil
}

// dumpOptions are for the rows of some tables.
func (b *bench) dumpOptions(subjects []*subject, jobs int) dump.Options {
	o := dump.Options{DSN: b.scratch.tables, Jobs: jobs, SegmentSize: segmentSize, DataOnly: true, PgBinDir: b.o.PgBinDir, Tool: b.o.Tool}
	for _, s := range subjects {
		o.Tables = append(o.Tables, "public."+s.Name)
	}
	return o
}

// segmentSize is the default of pghaul dump.
const segmentSize = 256 << 20

// phaseSeconds is how long a phase of a job took.
func phaseSeconds(r progress.Report, name string) float64 {
	for _, p := range r.Phases {
		if p.Name == name {
			return p.Elapsed.Seconds()
		}
	}
	return 0
}
