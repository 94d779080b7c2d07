package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"
)

// readFrame returns the content of the next frame of rows, or io.EOF after the seek table.
func (r *Reader) readFrame(dst []byte) ([]byte, error) {
	for {
		r.at = r.off
		magic, err := r.br.Peek(4)
		if err != nil && !isEOF(err) {
			return dst, &Error{Offset: r.at, Kind: ErrRead, Err: err}
		}
		if len(magic) < 4 {
			return dst, r.fail(r.at+int64(len(magic)), ErrTruncated, "the file ends without a seek table")
		}
		switch m := binary.LittleEndian.Uint32(magic); {
		case m == magicFrame && r.summary == nil:
			return r.readRows(dst)
		case m == magicSummary && r.summary == nil && !r.h.TotalsKnown:
			if err := r.readSummary(); err != nil {
				return dst, err
			}
		case m == magicSeekTable && !r.h.TotalsKnown && r.summary == nil:
			return dst, r.fail(r.at, ErrFrame, "the stream has no totals at its end")
		case m == magicSeekTable:
			if err := r.readSeekTable(); err != nil {
				return dst, err
			}
			return dst, io.EOF
		default:
			return dst, r.fail(r.at, ErrFrame, "magic number %#08x is not one of a frame that may stand here", m)
		}
	}
}

// more appends n stored bytes to r.frame.
func (r *Reader) more(n int) error {
	var err error
	r.frame, err = appendFrom(r.br, r.frame, n)
	if err != nil {
		return readError(err, r.at+int64(len(r.frame)), "a frame")
	}
	return nil
}

// readRows reads one frame of rows whole, then decodes it: only after its blocks were seen, which bound what it can hold.
func (r *Reader) readRows(dst []byte) ([]byte, error) {
	r.frame = r.frame[:0]
	if r.frames == maxFrames {
		return dst, r.fail(r.at, ErrLimit, "more than %d frames", maxFrames)
	}
	h, err := r.readFrameHead()
	if err != nil {
		return dst, err
	}
	bound := 0
	for last := false; !last; {
		at := len(r.frame)
		if err := r.more(blockHead); err != nil {
			return dst, err
		}
		stored, decoded, isLast, err := parseBlockHead(r.frame[at:])
		if err != nil {
			return dst, r.fail(r.at+int64(at), ErrFrame, "%w", err)
		}
		if len(r.frame)+stored > maxFrameStored(h.content) {
			return dst, r.fail(r.at, ErrFrame, "a frame of more than %d bytes for %d bytes of rows", maxFrameStored(h.content), h.content)
		}
		if err := r.more(stored); err != nil {
			return dst, err
		}
		bound += decoded
		last = isLast
	}
	if err := r.more(4); err != nil { // checksum
		return dst, err
	}
	if bound < h.content {
		return dst, r.fail(r.at, ErrFrame, "the frame says it holds %d bytes, its blocks hold %d at most", h.content, bound)
	}
	dst, err = r.decode(dst, h)
	if err != nil {
		kind := ErrFrame
		if errors.Is(err, zstd.ErrCRCMismatch) {
			kind = ErrChecksum
		}
		return dst[:0], r.fail(r.at, kind, "%w", err)
	}
	r.take(r.frame)
	r.addEntry(len(r.frame), h.content)
	return dst, nil
}

func (r *Reader) readFrameHead() (frameHead, error) {
	if err := r.more(5); err != nil {
		return frameHead{}, err
	}
	d := r.frame[4]
	err := checkDescriptor(d)
	if err != nil {
		return frameHead{}, r.fail(r.at+4, ErrFrame, "%w", err)
	}
	if err := r.more(frameHeadLen(d) - 1); err != nil {
		return frameHead{}, err
	}
	h, err := parseFrameHead(r.frame[4:])
	if err != nil {
		return h, r.fail(r.at, ErrLimit, "%w", err)
	}
	return h, nil
}

// decoderSlack is what the decoder likes to have behind the content.
const decoderSlack = 32

// decode decompresses r.frame, a frame of at most [MaxFrameContent] at once, a larger one piece by piece into a buffer that grows with what is really there.
func (r *Reader) decode(dst []byte, h frameHead) ([]byte, error) {
	if r.dec == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(MaxFrameContent), zstd.WithDecoderMaxMemory(maxFrameRaw))
		if err != nil {
			return dst, err
		}
		r.dec = d
	}
	if h.content <= MaxFrameContent {
		if cap(dst) < h.content {
			dst = make([]byte, 0, h.content+decoderSlack)
		}
		dst, err := r.dec.DecodeAll(r.frame, dst)
		if err == nil && len(dst) != h.content {
			err = zstd.ErrFrameSizeMismatch
		}
		return dst, err
	}
	if err := r.dec.Reset(bytes.NewReader(r.frame)); err != nil {
		return dst, err
	}
	if cap(dst) < MaxFrameContent {
		dst = make([]byte, 0, MaxFrameContent)
	}
	for len(dst) < h.content {
		if len(dst) == MaxFrameContent && !longRow(dst, r.fields(dst)) {
			return dst, fmt.Errorf("a frame of %d bytes, more than %d, is not a single row", h.content, MaxFrameContent)
		}
		if len(dst) == cap(dst) {
			grown := make([]byte, len(dst), min(h.content, 4*len(dst)))
			copy(grown, dst)
			dst = grown
		}
		n, err := io.ReadFull(r.dec, dst[len(dst):min(cap(dst), h.content)])
		dst = dst[:len(dst)+n]
		if err != nil {
			return dst, err
		}
	}
	var one [1]byte
	if n, err := r.dec.Read(one[:]); n != 0 || !errors.Is(err, io.EOF) {
		return dst, errors.Join(zstd.ErrFrameSizeMismatch, err)
	}
	return dst, nil
}

// fields is how many fields a row has; without a header, what the row itself says.
func (r *Reader) fields(row []byte) int {
	if r.h == nil {
		return int(binary.BigEndian.Uint16(row))
	}
	return r.h.Meta.FieldCount()
}

// longRow tells whether the row of so many fields that p begins with goes on behind p.
func longRow(p []byte, fields int) bool {
	if int(binary.BigEndian.Uint16(p)) != fields {
		return false
	}
	at := 2
	for range fields {
		if len(p)-at < 4 {
			return true
		}
		n := int32(binary.BigEndian.Uint32(p[at:]))
		if at += 4 + int(max(n, 0)); at > len(p) {
			return true
		}
	}
	return false
}

// readSummary reads the frame behind the rows of a stream.
func (r *Reader) readSummary() error {
	r.frame = r.frame[:0]
	if err := r.more(skippableHead); err != nil {
		return err
	}
	if n := binary.LittleEndian.Uint32(r.frame[4:]); n != summaryLen {
		return r.fail(r.at, ErrFrame, "the totals at the end take %d bytes, not %d", n, summaryLen)
	}
	if err := r.more(summaryLen); err != nil {
		return err
	}
	t, sum, err := parseSummary(r.frame[skippableHead:])
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Offset = r.at
		}
		return err
	}
	if err := r.checkStored(sum, r.body); err != nil {
		return err
	}
	r.summary = &t
	r.off += int64(len(r.frame))
	return nil
}

// readSeekTable reads the last frame, which must be the one we would write, and the end of the file.
func (r *Reader) readSeekTable() error {
	want := appendSeekHead(nil, r.frames)
	if err := r.expect(want); err != nil {
		return err
	}
	got := xxh3.New128()
	for left := r.frames * seekEntry; left > 0; {
		n := min(left, readBuffer)
		r.frame = r.frame[:0]
		if err := r.more(n); err != nil {
			return err
		}
		_, _ = got.Write(r.frame) // never fails
		r.take(r.frame)
		r.at = r.off
		left -= n
	}
	if got.Sum128() != r.table.Sum128() {
		return r.fail(r.at, ErrSeekTable, "its entries are not the lengths of the frames")
	}
	if err := r.expect(appendSeekFooter(nil, r.frames)); err != nil {
		return err
	}
	switch _, err := r.br.Peek(1); {
	case err == nil:
		return r.fail(r.off, ErrTrailing, "bytes after the seek table")
	case !isEOF(err):
		return &Error{Offset: r.off, Kind: ErrRead, Err: err}
	}
	return r.checkStored(r.h.Stored, r.body)
}

// expect reads bytes that are known beforehand.
func (r *Reader) expect(want []byte) error {
	r.frame = r.frame[:0]
	if err := r.more(len(want)); err != nil {
		return err
	}
	if !bytes.Equal(r.frame, want) {
		return r.fail(r.at, ErrSeekTable, "it does not name the %d frames of the file", r.frames)
	}
	r.take(r.frame)
	r.at = r.off
	return nil
}
