package salvage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/bytehaul/pghaul/format"
)

// write makes the new file of what is kept, and reads it back as any reader would.
func (d *damaged) write(ctx context.Context, c format.Compression) (_ *Result, err error) {
	root, err := os.OpenRoot(filepath.Dir(d.o.Out))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	name := filepath.Base(d.o.Out)
	f, err := format.Create(root, name, d.newHeader(), c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Abort()) }()
	if err := d.writeRows(ctx, f.Writer, c); err != nil {
		return nil, err
	}
	totals := d.totals
	totals.Length += trailerLen
	stored, err := f.Commit(totals)
	if err != nil {
		return nil, err
	}
	if err := readBack(root, name, totals); err != nil {
		return nil, errors.Join(fmt.Errorf("reading back what was written: %w", err), root.Remove(name))
	}
	r := &Result{Path: d.o.Path, Out: d.o.Out, Table: d.header.Meta.Table, Rows: totals.Rows, Bytes: totals.Length, StoredBytes: stored.StoredBytes,
		RowDigest: totals.Digest.String(), Salvaged: &d.note, Complete: d.complete()}
	if d.header.TotalsKnown {
		r.RowsBefore = &d.header.Totals.Rows
	}
	return r, nil
}

// newHeader is that of the new file.
func (d *damaged) newHeader() *format.Header {
	h := &format.Header{Major: format.Major, Minor: format.Minor, Extra: d.header.Extra}
	m := d.header.Meta
	m.Salvaged = &d.note
	h.SetMeta(m)
	return h
}

// writeRows writes what is kept, and the trailer.
func (d *damaged) writeRows(ctx context.Context, w *format.Writer, c format.Compression) error {
	ended, err := d.copyRows(ctx, w, c)
	if err == nil && !ended {
		err = w.WriteBlock(binary.BigEndian.AppendUint16(nil, 1<<16-1))
	}
	return err
}

// copyRows writes the pieces, and says whether the last one brought the trailer.
func (d *damaged) copyRows(ctx context.Context, w *format.Writer, c format.Compression) (ended bool, err error) {
	for _, p := range d.pieces {
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case !d.compressed:
			err = d.copyRun(ctx, w, p)
		case c.Level > 0:
			err = d.copyFrame(w, p)
			ended = p.end
		default:
			var rows []byte
			if rows, _, err = d.frames.Read(d.src, p.at, nil); err == nil {
				err = w.WriteBlock(rows[:p.raw])
			}
		}
		if err != nil {
			return false, err
		}
	}
	return ended, nil
}

// copyFrame writes a frame as it is stored.
func (d *damaged) copyFrame(w *format.Writer, p piece) error {
	stored := make([]byte, p.stored)
	if n, err := d.src.ReadAt(stored, p.at); n < len(stored) {
		return err
	}
	raw := p.raw
	if p.end {
		raw += trailerLen
	}
	return w.WriteStored(stored, int(raw))
}

// blockSize is how many bytes of rows go into a frame, more when a single row is longer.
const blockSize = 1 << 20

// copyRun writes rows that follow each other in blocks of whole rows.
func (d *damaged) copyRun(ctx context.Context, w *format.Writer, p piece) error {
	win := window{src: d.src}
	from, to := p.at, p.at+p.stored
	for off := from; off < to; {
		end, _, v := d.shape.row(&win, off)
		if v != aRow || end > to {
			return fmt.Errorf("%s changed while it was read", format.Printable(d.o.Path))
		}
		if end < to && end-from < blockSize {
			off = end
			continue
		}
		cut := end
		if off > from && end-from > 2*blockSize { // a long row gets a block of its own
			cut = off
		}
		if err := w.WriteBlock(win.at(from, int(cut-from))); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		from, off = cut, cut
	}
	return nil
}

// readBack reads a whole file with all checks.
func readBack(root *os.Root, name string, want format.Totals) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() // it was only read
	r, err := format.NewReader(f)
	if err != nil {
		return err
	}
	for {
		switch _, err := r.Next(); {
		case errors.Is(err, io.EOF):
			if got, known := r.Totals(); !known || got != want {
				return fmt.Errorf("it holds %s, not %s", got, want)
			}
			return nil
		case err != nil:
			return err
		}
	}
}
