package format

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/zeebo/xxh3"
)

// Salvaged is what META says in a file that was made of a damaged one: of which, and what of it is lost. See internal/salvage.
type Salvaged struct {
	Tool       string   `json:"tool"`
	From       string   `json:"from"`                  // name of the damaged file, without its folder
	FromBytes  int64    `json:"from_bytes"`            // its stored length
	Header     string   `json:"header"`                // where META comes from: own, found (other chunks of the header are damaged), other
	HeaderFrom string   `json:"header_from,omitempty"` // name of the other file
	Proven     bool     `json:"proven"`                // rows, length and digest are those that the damaged file itself gives
	Checked    bool     `json:"checked"`               // every row stood in a frame with a right checksum, or Proven: no value can have changed
	Lost       []Lost   `json:"lost"`                  // in the order of the file
	LostMore   int      `json:"lost_more,omitempty"`   // places beyond those in Lost
	Notes      []string `json:"notes"`                 // what else is wrong, in words
}

// Lost is a range of a damaged file whose rows could not be read.
type Lost struct {
	Offset   int64  `json:"offset"`              // in the damaged file, stored
	Bytes    int64  `json:"bytes"`               // 0: the file ends there and should not
	FirstRow int64  `json:"first_row,omitempty"` // number of the first lost row, from 1; absent: not known, behind another lost range
	Rows     *int64 `json:"rows,omitempty"`      // absent: not known
	Why      string `json:"why"`
	Resumed  string `json:"resumed,omitempty"` // how the next row was found; absent: none was
}

// FindHeader reads what is undamaged of a header: p is the start of a plain file, or of a compressed one behind [Unframe]. It needs META; totals are
// known where their chunk is undamaged too. It returns where the header ends, as far as its chunks tell; ok is false where META can't be read.
func FindHeader(p []byte) (h *Header, end int, ok bool) {
	for from := 0; from < min(len(p), findMetaWithin); {
		i := bytes.Index(p[from:min(len(p), findMetaWithin)], []byte(tagMeta))
		if i < 0 {
			break
		}
		s := chunkScanner{p: p, at: from + i}
		from += i + 1
		c, err := s.next()
		if err != nil {
			continue
		}
		h := &Header{Major: Major, Minor: Minor}
		if decodeMeta(c.Payload, &h.Meta, nil) != nil {
			continue
		}
		h.takeRest(&s)
		return h, s.at, true
	}
	return nil, 0, false
}

// findMetaWithin bounds the search for META, which stands at offset 39 unless bytes were put in or are missing before it.
const findMetaWithin = 4 << 10

// takeRest reads the chunks of fixed length behind META, and passes over them where they are damaged.
func (h *Header) takeRest(s *chunkScanner) {
	for _, want := range []struct {
		tag  string
		size int
	}{{tagDigest, digestLen}, {tagStored, storedLen}} {
		at := s.at
		c, err := s.next()
		switch {
		case err == nil && string(c.Tag[:]) == want.tag && want.tag == tagDigest:
			h.Totals, h.TotalsKnown, _ = parseDigest(c.Payload) // not known is no error here
		case err == nil && string(c.Tag[:]) == want.tag:
		case len(s.p) >= at+chunkFrame+want.size && (want.tag == tagDigest || string(s.p[at:at+4]) == want.tag):
			s.at = at + chunkFrame + want.size
		default:
			s.at = at
		}
	}
}

// Unframe returns the header's bytes in p, the start of a compressed file, by the place alone that they have in an undamaged one.
func Unframe(p []byte) []byte {
	var header []byte
	for p = p[min(len(p), headerFrameHead):]; len(p) > blockHead; {
		n := min(len(p), blockHead+maxBlock)
		header = append(header, p[blockHead:n]...)
		p = p[n:]
	}
	return header
}

// FrameReader reads single frames of rows wherever they stand in a file. The zero value is ready. It is not safe for concurrent use.
type FrameReader struct{ r Reader }

// Read reads the frame of rows that starts at offset at of src into dst, or a larger slice, and returns its content and its stored length in bytes.
// Errors are [*Error]: where there is no such frame, or not all of it, or its checksum is wrong. What the rows are is the caller's to check.
func (f *FrameReader) Read(src io.ReaderAt, at int64, dst []byte) (rows []byte, stored int, err error) {
	r := &f.r
	if r.br == nil {
		r.br, r.sum, r.table = bufio.NewReaderSize(nil, readBuffer), xxh3.New128(), xxh3.New128()
	}
	r.br.Reset(io.NewSectionReader(src, at, math.MaxInt64-at))
	r.off, r.at, r.frames = at, at, 0
	magic, err := r.br.Peek(4)
	switch {
	case err != nil && !isEOF(err):
		return dst[:0], 0, &Error{Offset: at, Kind: ErrRead, Err: err}
	case len(magic) < 4:
		return dst[:0], 0, r.fail(at+int64(len(magic)), ErrTruncated, "a frame is cut off")
	case binary.LittleEndian.Uint32(magic) != magicFrame:
		return dst[:0], 0, r.fail(at, ErrFrame, "magic number %#08x is not that of a frame of rows", magic)
	}
	rows, err = r.readRows(dst[:0])
	return rows, int(r.off - at), err
}

// Totals reads the totals that stand at offset at, behind the rows of a compressed stream, and returns their stored length.
func (f *FrameReader) Totals(src io.ReaderAt, at int64) (t Totals, stored int, err error) {
	var p [skippableHead + summaryLen]byte
	if _, err := src.ReadAt(p[:], at); err != nil {
		return t, 0, readError(err, at, "the totals at the end")
	}
	if binary.LittleEndian.Uint32(p[:]) != magicSummary || binary.LittleEndian.Uint32(p[4:]) != summaryLen {
		return t, 0, headerError(at, ErrFrame, "no totals at the end")
	}
	t, _, err = parseSummary(p[skippableHead:])
	return t, len(p), err
}

// FrameMagic is how every zstd frame begins.
const FrameMagic = "\x28\xb5\x2f\xfd"

// SeekEntry is one frame in a seek table: its stored length and that of its content, in bytes.
type SeekEntry struct{ Stored, Raw uint32 }

// ReadSeekTable reads the seek table at the end of a compressed file of size bytes, and returns where it starts. The first entry is of the header's frame.
func ReadSeekTable(src io.ReaderAt, size int64) (entries []SeekEntry, at int64, err error) {
	bad := func(why string) ([]SeekEntry, int64, error) {
		return nil, 0, &Error{Offset: -1, Kind: ErrSeekTable, Err: errors.New(why)}
	}
	var foot [seekFooter]byte
	if size < seekFooter {
		return bad("the file is too short for one")
	}
	if _, err := src.ReadAt(foot[:], size-seekFooter); err != nil {
		return nil, 0, &Error{Offset: size - seekFooter, Kind: ErrRead, Err: err}
	}
	n := int64(binary.LittleEndian.Uint32(foot[:]))
	at = size - skippableHead - n*seekEntry - seekFooter
	switch {
	case binary.LittleEndian.Uint32(foot[5:]) != magicSeekable || foot[4] != 0:
		return bad("the file does not end with one")
	case n > maxFrames || at < 0:
		return bad(fmt.Sprintf("%d frames do not fit into the file", n))
	}
	p := make([]byte, size-seekFooter-at)
	if _, err := src.ReadAt(p, at); err != nil {
		return nil, 0, &Error{Offset: at, Kind: ErrRead, Err: err}
	}
	if !bytes.Equal(p[:skippableHead], appendSeekHead(nil, int(n))) {
		return bad("its head is damaged")
	}
	for p = p[skippableHead:]; len(p) > 0; p = p[seekEntry:] {
		entries = append(entries, SeekEntry{binary.LittleEndian.Uint32(p), binary.LittleEndian.Uint32(p[4:])})
	}
	return entries, at, nil
}
