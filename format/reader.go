package format

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"
)

// readBuffer is the length in bytes of the buffer below a Reader; blocks larger than that bypass it.
const readBuffer = 64 << 10

// Reader reads one file or stream, plain or compressed. Errors are [*Error] and stick. It is not safe for concurrent use.
type Reader struct {
	br         *bufio.Reader
	file       string
	h          *Header
	hlen       int64 // decompressed
	compressed bool
	off        int64 // stored bytes taken
	body       int64 // of these, behind the header
	raw        int64 // bytes of rows and trailer given out
	sum        *xxh3.Hasher128
	err        error

	// In compressed files.
	dec     *zstd.Decoder
	frame   []byte
	table   *xxh3.Hasher128 // of the entries that the seek table must have
	entry   [seekEntry]byte
	frames  int
	summary *Totals
	at      int64 // of the frame being read

	rows rowReader
}

// NewReader finds out whether r is compressed and reads the header. It buffers, and wants to read r to its end. If r has a Name, as an [os.File], errors bear it.
func NewReader(r io.Reader) (*Reader, error) { return newReader(r, nil) }

func newReader(r io.Reader, known *Metas) (*Reader, error) {
	z := &Reader{h: &Header{known: known}, br: bufio.NewReaderSize(r, readBuffer), sum: xxh3.New128()}
	if named, ok := r.(interface{ Name() string }); ok {
		z.file = named.Name()
	}
	if err := z.start(); err != nil {
		return nil, withFile(err, z.file)
	}
	return z, nil
}

// start reads the header.
func (r *Reader) start() error {
	magic, err := r.br.Peek(4)
	if err != nil && !isEOF(err) {
		return &Error{Kind: ErrRead, Err: err}
	}
	r.compressed = len(magic) == 4 && binary.LittleEndian.Uint32(magic) == magicFrame
	p, err := r.readHeader()
	if err != nil {
		return err
	}
	if err := r.h.UnmarshalBinary(p); err != nil {
		if r.compressed {
			err = decodedError(err)
		}
		return err
	}
	r.h.known = nil
	r.hlen = int64(len(p))
	if r.compressed {
		r.off = int64(headerFrameLen(len(p)))
		r.table = xxh3.New128()
		r.addEntry(int(r.off), len(p))
	} else {
		r.off = r.hlen
	}
	return nil
}

func (r *Reader) readHeader() ([]byte, error) {
	if !r.compressed {
		return readHeaderBytes(r.br, 0)
	}
	if _, err := r.br.Discard(4); err != nil {
		return nil, &Error{Kind: ErrRead, Err: err}
	}
	return readHeaderFrame(r.br)
}

// addEntry takes note of a frame that the seek table must name.
func (r *Reader) addEntry(stored, raw int) {
	_, _ = r.table.Write(appendSeekEntry(r.entry[:0], stored, raw)) // never fails
	r.frames++
}

// SetFile names the file in errors from now on.
func (r *Reader) SetFile(name string) { r.file = name }

// Header returns the header.
func (r *Reader) Header() *Header { return r.h }

// HeaderLen returns the length in bytes of the decompressed header: the offset of the first row.
func (r *Reader) HeaderLen() int64 { return r.hlen }

// Compressed says whether the file is zstd.
func (r *Reader) Compressed() bool { return r.compressed }

// Stored returns how many bytes of the file, as stored, have been taken so far.
func (r *Reader) Stored() int64 { return r.off }

// Walker returns a new walker over the file's rows whose errors carry offsets in the file.
func (r *Reader) Walker() *Walker {
	w := NewWalker(r.h.Meta.FieldCount())
	w.base, w.decoded = r.hlen, r.compressed
	return w
}

// Totals returns what the file says about its rows: in the header, or at the end of a compressed stream; false where that is unknown (yet).
func (r *Reader) Totals() (Totals, bool) {
	switch {
	case r.h.TotalsKnown:
		return r.h.Totals, true
	case r.summary != nil:
		return *r.summary, true
	}
	return Totals{}, false
}

// ReadBlock reads the next bytes of rows into dst[:0] and returns them. From a plain file these are up to cap(dst) bytes, cut anywhere (cap(dst) must not be 0);
// from a compressed one they are one frame's content, in a larger slice where dst does not suffice: whole rows in what we write, which a [Walker] confirms.
// It returns io.EOF at the end, after all checks of the container, with dst[:0]; rows are only checked by a walker.
func (r *Reader) ReadBlock(dst []byte) ([]byte, error) {
	dst = dst[:0]
	if r.err != nil {
		return dst, r.err
	}
	var err error
	if r.compressed {
		dst, err = r.readFrame(dst)
	} else {
		dst, err = r.readPlain(dst)
	}
	r.raw += int64(len(dst))
	if err != nil {
		r.err = withFile(err, r.file)
	}
	return dst, r.err
}

// take counts stored bytes behind the header.
func (r *Reader) take(p []byte) {
	_, _ = r.sum.Write(p) // never fails
	r.off += int64(len(p))
	r.body += int64(len(p))
}

// fail makes an error at a stored offset.
func (r *Reader) fail(at int64, kind Kind, form string, args ...any) error {
	return &Error{Offset: at, Kind: kind, Err: fmt.Errorf(form, args...)}
}

// readPlain reads rows of a plain file.
func (r *Reader) readPlain(dst []byte) ([]byte, error) {
	if cap(dst) == 0 {
		return dst, errors.New("no room to read rows into")
	}
	n, err := io.ReadFull(r.br, dst[:cap(dst)])
	dst = dst[:n]
	r.take(dst)
	switch {
	case err != nil && !isEOF(err):
		return dst[:0], &Error{Offset: r.off, Kind: ErrRead, Err: err}
	case r.h.Stored != nil && r.body > r.h.Stored.Length:
		return dst[:0], r.fail(r.off-r.body+r.h.Stored.Length, ErrTrailing, "bytes after the end of the file as written")
	case n == 0:
		if err := r.checkStored(r.h.Stored, r.body); err != nil {
			return dst, err
		}
		return dst, io.EOF
	}
	return dst, nil
}

// checkStored compares the sum over all stored bytes, n of them, with the one that the file holds.
func (r *Reader) checkStored(s *StoredSum, n int64) error {
	switch {
	case s == nil:
		return nil
	case n < s.Length:
		return r.fail(r.off, ErrTruncated, "%d of %d bytes behind the header", n, s.Length)
	case n > s.Length:
		return r.fail(r.off-n+s.Length, ErrTrailing, "%d bytes behind the header, not %d", n, s.Length)
	case r.sum.Sum128().Bytes() != s.XXH128:
		return r.fail(-1, ErrChecksum, "the stored bytes are not the ones that were written")
	}
	return nil
}

// Finish compares the totals of a walk with those of the file; call it after ReadBlock returned io.EOF. Unknown totals (of a plain stream) are not compared.
func (r *Reader) Finish(t Totals) error {
	if r.err == nil {
		return errors.New("the file has not been read to its end")
	}
	if !errors.Is(r.err, io.EOF) {
		return r.err
	}
	want, known := r.Totals()
	if known && want != t {
		return &Error{File: r.file, Offset: -1, Kind: ErrTotals, Err: fmt.Errorf("the file says %s; it holds %s", want, t)}
	}
	return nil
}
