package restore

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/control"
	"github.com/bytehaul/pghaul/internal/pipeline"
	"github.com/bytehaul/pghaul/internal/progress"
)

// VerifyOptions of [Verify].
type VerifyOptions struct {
	Path    string            // a dump's folder, a data file, or "-" for Stdin
	Stdin   io.Reader         // a data file as a stream; only with Path "-"
	Jobs    int               // files read at the same time; 0: number of CPUs, at most 8
	Tracker *progress.Tracker // with the stages read, parse, check; or nil
	Control *control.Control  // pauses the check and changes Jobs while it runs; nil: nobody does

	manifest *format.Manifest // of the dump at Path, when it has been read
}

// VerifyReport says what was found. Numbers are of the data files that were read whole and found undamaged.
type VerifyReport struct {
	Path        string   `json:"path"`
	What        string   `json:"what"` // dump, file, stream
	DumpID      string   `json:"dump_id,omitempty"`
	Tables      int      `json:"tables"`
	Files       int      `json:"files"`
	Rows        int64    `json:"rows"`
	Bytes       int64    `json:"bytes"`        // of rows and trailers, uncompressed
	StoredBytes int64    `json:"stored_bytes"` // of the files
	Findings    []Damage `json:"findings"`     // in the order of the files' names; empty: whole and undamaged
	Warnings    []Damage `json:"warnings"`     // what an operator should know and nothing is wrong with
}

// OK says whether nothing is missing or damaged.
func (r *VerifyReport) OK() bool { return len(r.Findings) == 0 }

// Damage is one thing that is wrong, the first in its file: what comes behind it can't be told from its consequences.
type Damage struct {
	File    string `json:"file"`              // relative to the dump, with slashes
	Offset  int64  `json:"offset"`            // in bytes from the start of the file; -1: no place in particular
	Decoded bool   `json:"decoded,omitempty"` // Offset counts the bytes that zstd -dc prints
	Row     int64  `json:"row,omitempty"`     // from 1
	Column  int    `json:"column,omitempty"`  // from 1
	Kind    string `json:"kind"`              // truncated, checksum mismatch, missing, … (see [format.Kind])
	What    string `json:"what"`
	Hint    string `json:"hint"` // what to do about it
}

// String returns the damage as one line: FILE: KIND at offset N, row R, column C: what.
func (d Damage) String() string {
	s := format.Printable(d.File) + ": " + d.Kind
	sep := " at "
	part := func(form string, n int64) {
		s += sep + fmt.Sprintf(form, n)
		sep = ", "
	}
	if d.Offset >= 0 && d.Decoded {
		part("offset %d of the decompressed bytes", d.Offset)
	} else if d.Offset >= 0 {
		part("offset %d", d.Offset)
	}
	if d.Row > 0 {
		part("row %d", d.Row)
	}
	if d.Column > 0 {
		part("column %d", int64(d.Column))
	}
	if d.What != "" {
		s += ": " + d.What
	}
	return s
}

// Kinds of damage that a data file alone can't have; the others are those of package format.
const (
	kindUnfinished = "unfinished"
	kindMissing    = "missing"
	kindMismatch   = "not as the manifest says"
	kindUnexpected = "unexpected file"
	kindLeftOver   = "left over"
	kindNoTotals   = "no totals"
	kindSalvaged   = "salvaged"
)

// Verify checks, without a server, that a dump, a file or a stream is whole and undamaged. Every byte of every file is read once, and every row is looked at.
// Damage is no error but a finding, and the next file is read all the same. The error is for what could not be looked at: nothing is at Path, ctx has ended.
// It returns when every goroutine that it made is gone, but for one that waits for bytes of Stdin when ctx ends.
func Verify(ctx context.Context, o VerifyOptions) (_ *VerifyReport, err error) {
	defer func() { o.Tracker.Finish(err) }()
	defer o.Control.Follow(o.Tracker.SetPaused)()
	o.Tracker.StartPhase("verify", 1, 1)
	return verify(ctx, o)
}

// verify is Verify as a phase of a job.
func verify(ctx context.Context, o VerifyOptions) (*VerifyReport, error) {
	if o.Jobs <= 0 {
		o.Jobs = min(runtime.NumCPU(), 8)
	}
	v := &verifier{
		o:      o,
		report: &VerifyReport{Path: o.Path, Findings: []Damage{}, Warnings: []Damage{}},
	}
	o.Tracker.SetSource(o.Path)
	if err := v.run(ctx); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	byName := func(a, b Damage) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Offset, b.Offset)) }
	slices.SortStableFunc(v.report.Findings, byName)
	slices.SortStableFunc(v.report.Warnings, byName)
	return v.report, nil
}

// verifyBlocks is the memory budget of a file being read, in blocks: one in each of three places, two in each of two queues.
const verifyBlocks = 7

func newVerifyPool() *pipeline.Pool { return pipeline.NewPool(verifyBlocks, pipeline.BlockSize) }

// verifier is one run of Verify.
type verifier struct {
	o     VerifyOptions
	root  *os.Root // of a dump
	metas format.Metas

	mu     sync.Mutex
	report *VerifyReport
}

func (v *verifier) run(ctx context.Context) error {
	if v.o.Path == "-" {
		return v.stream(ctx, "standard input", v.o.Stdin)
	}
	info, err := os.Stat(v.o.Path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return v.dump(ctx)
	}
	f, err := os.Open(v.o.Path)
	if err != nil {
		return err
	}
	defer f.Close() // it was only read
	if !info.Mode().IsRegular() {
		return v.stream(ctx, v.o.Path, f)
	}
	v.report.What = "file"
	return v.alone(ctx, v.o.Path, f)
}

// stream verifies what can't be waited for without end: a pipe.
func (v *verifier) stream(ctx context.Context, name string, r io.Reader) error {
	if r == nil {
		return fmt.Errorf("%s: nothing to read", name)
	}
	v.report.What = "stream"
	return v.alone(ctx, name, &abandonable{ctx: ctx, r: r})
}

// alone verifies a file that no manifest speaks of.
func (v *verifier) alone(ctx context.Context, name string, r io.Reader) error {
	return v.file(ctx, &fileToVerify{name: name, src: r, pool: newVerifyPool()})
}

// found records damage.
func (v *verifier) found(d Damage) {
	switch {
	case d.Hint != "":
	case d.Kind == kindMissing, d.File == format.ManifestName, d.File == format.SchemaName, d.File == format.ChecksumName:
		d.Hint = againHint
	default:
		d.Hint = damagedHint
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Findings = append(v.report.Findings, d)
}

// warn records what is no damage.
func (v *verifier) warn(d Damage) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Warnings = append(v.report.Warnings, d)
}

// abandonable lets go of a reader that blocks when ctx ends. The read itself goes on until there are bytes, in a goroutine of its own,
// to which the buffer belongs meanwhile.
type abandonable struct {
	ctx   context.Context
	r     io.Reader
	asked chan []byte
	came  chan taken
	buf   []byte
	rest  []byte
	err   error
}

// taken is what a read gave.
type taken struct {
	n   int
	err error
}

const abandonableBuffer = 256 << 10

// Read implements [io.Reader].
func (a *abandonable) Read(p []byte) (int, error) {
	if a.asked == nil {
		a.asked, a.came, a.buf = make(chan []byte, 1), make(chan taken, 1), make([]byte, abandonableBuffer)
		go a.pump()
	}
	for len(a.rest) == 0 {
		if a.err != nil {
			return 0, a.err
		}
		a.asked <- a.buf
		select {
		case t := <-a.came:
			a.rest, a.err = a.buf[:t.n], t.err
		case <-a.ctx.Done():
			a.err = context.Cause(a.ctx)
		}
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// pump reads when asked, up to an error.
func (a *abandonable) pump() {
	for {
		select {
		case buf := <-a.asked:
			n, err := a.r.Read(buf)
			a.came <- taken{n, err}
			if err != nil {
				return
			}
		case <-a.ctx.Done():
			return
		}
	}
}
