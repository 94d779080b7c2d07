// Package salvage reads what can be read of a damaged data file and writes it as a valid one.
//
// A compressed file is read frame by frame: each has a checksum, and what is in a damaged one is lost. The next frame is where the seek table says,
// or is searched for. A plain file is read row by row: where the lengths of a row lead nowhere, the next row is searched for by the only thing that
// rows have in common, their field count and lengths that lead from one to the next. Values in a plain file have no checksum of their own; only the
// digest over all of them, where nothing is lost, can prove them.
//
// It reads the file twice: to learn what is lost, which the header of the new file says, and to write it.
package salvage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/hint"
)

// Options of [Run].
type Options struct {
	Path       string // the damaged file
	Out        string // the file to write, which must not exist; "": see [OutName]
	HeaderFrom string // a file of the same table whose header is whole, for one whose META can't be read; "": none
	Tool       string // who salvages
}

// Result says what was read and what is lost.
type Result struct {
	Path        string           `json:"path"`
	Out         string           `json:"out"`
	Table       format.Table     `json:"table"`
	Rows        int64            `json:"rows"`
	Bytes       int64            `json:"bytes"`        // of rows and trailer, uncompressed
	StoredBytes int64            `json:"stored_bytes"` // of the file written
	RowDigest   string           `json:"row_digest"`
	RowsBefore  *int64           `json:"rows_before"` // that the damaged file says it held; null: it does not
	Salvaged    *format.Salvaged `json:"salvaged"`
	Complete    bool             `json:"complete"` // nothing is lost, as far as the file can tell
}

// Run salvages a file. Damage is no error but a part of the result; an [*format.Error] says why nothing could be read, and then nothing was written.
// A context that ends leaves no file behind.
func Run(ctx context.Context, o Options) (*Result, error) {
	o.Out = cmp.Or(o.Out, OutName(o.Path))
	c, err := compressionOf(o.Out)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(o.Out); err == nil {
		return nil, hint.With(fmt.Errorf("%s exists already", format.Printable(o.Out)), "give another file with -o")
	}
	f, err := os.Open(o.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, hint.With(fmt.Errorf("%s is not a regular file", format.Printable(o.Path)), "a dump's folder is salvaged file by file; \"pghaul verify\" names the damaged ones")
	}
	d := newDamaged(f, info.Size(), o)
	if err := d.scan(ctx); err != nil {
		return nil, inFile(err, o.Path)
	}
	return d.write(ctx, c)
}

// OutName is where a file is salvaged to by default: shop.pgcopy.zst to shop.salvaged.pgcopy.zst, beside it.
func OutName(path string) string {
	path = strings.TrimSuffix(path, format.PartSuffix)
	for _, ext := range []string{format.ExtZstd, format.ExtPlain} {
		if base, ok := strings.CutSuffix(path, ext); ok {
			return base + ".salvaged" + ext
		}
	}
	return path + ".salvaged" + format.ExtPlain
}

func compressionOf(out string) (format.Compression, error) {
	switch {
	case strings.HasSuffix(out, format.ExtZstd):
		return format.Compression{Level: 1}, nil
	case strings.HasSuffix(out, format.ExtPlain):
		return format.Compression{}, nil
	}
	return format.Compression{}, hint.With(fmt.Errorf("%s: a data file ends in %s or %s", format.Printable(out), format.ExtPlain, format.ExtZstd), "give such a name with -o")
}

func inFile(err error, path string) error {
	var e *format.Error
	if errors.As(err, &e) && e.File == "" {
		e.File = path
	}
	return err
}

// damaged is a file being salvaged.
type damaged struct {
	o    Options
	src  *sectors
	size int64

	header     *format.Header
	compressed bool
	start      int64 // where rows are looked for first; the header ends there, or somewhere behind
	certain    bool  // start is where the header ends
	shape      shape
	note       format.Salvaged

	pieces  []piece
	totals  format.Totals // of the rows in pieces, without a trailer
	trailer bool          // seen, or vouched for by the totals
	unsure  bool          // whether rows stood before the first that was found
	gaps    int           // lost ranges so far, for the numbers of rows
	frames  format.FrameReader
}

// piece is a part of the file that is kept: whole rows of a plain file, or one frame.
type piece struct {
	at, stored int64
	raw        int64 // bytes of rows, without a trailer
	end        bool  // a frame that ends with the trailer
}

func newDamaged(f io.ReaderAt, size int64, o Options) *damaged {
	src := &sectors{r: f, size: size}
	return &damaged{o: o, src: src, size: size, note: format.Salvaged{Tool: o.Tool, From: filepath.Base(o.Path), FromBytes: size, Lost: []format.Lost{}, Notes: []string{}}}
}

// scan finds what is to be kept.
func (d *damaged) scan(ctx context.Context) error {
	if err := d.findHeader(); err != nil {
		return err
	}
	d.shape = shapeOf(&d.header.Meta)
	var err error
	if d.compressed {
		err = d.scanFrames(ctx)
	} else {
		err = d.scanRows(ctx)
	}
	if err != nil {
		return err
	}
	d.conclude()
	if d.totals.Rows == 0 && !d.complete() {
		return d.nothing()
	}
	return nil
}

// nothing is the error of a file of which no row could be read.
func (d *damaged) nothing() error {
	e := &format.Error{File: d.o.Path, Offset: -1, Kind: format.ErrTruncated, Err: errors.New("no row can be read")}
	if len(d.note.Lost) > 0 {
		e.Offset, e.Err = d.note.Lost[0].Offset, fmt.Errorf("no row can be read: %s", d.note.Lost[0].Why)
	}
	what := "nothing is left to save in this file: fetch it again from where it was copied, or take another dump"
	if d.note.Header == headerOther {
		what = fmt.Sprintf("is %s really a file of the same table? Its rows have %d fields", format.Printable(d.o.HeaderFrom), len(d.shape))
	}
	return hint.With(e, what)
}

// maxLost bounds the lost ranges that a header lists.
const maxLost = 10000

// lose takes note of a lost range. One that adjoins the one before makes it longer.
func (d *damaged) lose(l format.Lost) {
	if n := len(d.note.Lost); n > 0 && d.note.LostMore == 0 {
		if last := &d.note.Lost[n-1]; last.Bytes > 0 && last.Offset+last.Bytes == l.Offset {
			last.Bytes += l.Bytes
			last.Resumed = l.Resumed
			return
		}
	}
	if d.gaps == 0 {
		l.FirstRow = d.totals.Rows + 1
	}
	d.gaps++
	if len(d.note.Lost) == maxLost {
		d.note.LostMore++
		return
	}
	d.note.Lost = append(d.note.Lost, l)
}

func (d *damaged) say(form string, args ...any) {
	d.note.Notes = append(d.note.Notes, fmt.Sprintf(form, args...))
}

// conclude compares what was found with what the file says about itself.
func (d *damaged) conclude() {
	for _, r := range d.src.bad {
		d.say("bytes %d to %d can't be read from the disk", r.from, r.to-1)
	}
	whole := d.totals
	whole.Length += trailerLen
	known := d.header.TotalsKnown
	lost := d.header.Totals.Rows - d.totals.Rows
	switch {
	case known && whole == d.header.Totals:
		if len(d.note.Lost) > 0 {
			d.say("what can't be read held no row: rows and digest are those of the whole file")
		}
		d.note.Lost, d.note.LostMore, d.note.Proven, d.note.Checked = []format.Lost{}, 0, true, true
	case known && lost < 0:
		d.say("more rows were found than the file held (%d): some of them are none of its rows", d.header.Totals.Rows)
	case known && d.gaps == 0:
		d.say("its rows have other values than those that were written: their digest differs, and which they are can't be told")
	case known && d.gaps == 1 && lost >= 0:
		d.note.Lost[0].Rows = &lost
	case !known && !d.compressed:
		d.say("the file does not say what its values add up to: whether they are those that were written can't be told")
	}
	if d.compressed && !d.note.Proven {
		d.note.Checked = !known || lost >= 0 && d.gaps > 0
	}
}

// complete tells whether nothing is lost, as far as can be told.
func (d *damaged) complete() bool {
	return d.note.Proven || len(d.note.Lost) == 0 && !d.unsure && !d.header.TotalsKnown
}
