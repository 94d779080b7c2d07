package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// Versions of the file format. A minor version adds what earlier readers can skip; a major version does not.
const (
	Major = 1 // the first: HAUL, META, DGST, stor
	Minor = 0
)

// Limits, checked before anything is allocated.
const (
	MaxHeader       = 64 << 20  // bytes before the first row
	MaxColumns      = 1664      // as PostgreSQL's MaxTupleAttributeNumber
	MaxField        = 1<<30 - 1 // bytes; PostgreSQL's MaxAllocSize
	MaxRow          = 1 << 30   // bytes; the server builds a row in one buffer of MaxAllocSize
	MaxFrameContent = 64 << 20  // bytes; more only for a single row
)

// Signature is the start of every binary COPY stream; see BinarySignature in src/backend/commands/copyto.c.
const Signature = "PGCOPY\n\377\r\n\x00"

// Layout of the COPY header; see CopyOutStart and ReceiveCopyBinaryHeader in src/backend/commands/copyto.c and copyfromparse.c.
const (
	fixedHeader = len(Signature) + 4 + 4 // with flags and the length of the extension area
	chunkFrame  = 4 + 4 + 4              // tag, length, checksum
)

// Tags of chunks.
const (
	tagHaul   = "HAUL"
	tagMeta   = "META"
	tagDigest = "DGST"
	tagStored = "stor"
)

const (
	haulLen   = 8
	digestLen = 64
	storedLen = 24
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header is everything in a file before its first row.
type Header struct {
	Major, Minor uint16
	Meta         Meta
	Totals       Totals
	TotalsKnown  bool       // false in the header of a stream: DGST is all ones
	Stored       *StoredSum // nil where there is no stor chunk
	Extra        []Chunk    // chunks that this version does not know, in order

	meta  []byte // META as read or as encoded
	known *Metas // of other files; nil: none
}

// Chunk is one chunk of a header.
type Chunk struct {
	Tag     [4]byte
	Payload []byte
}

// SetMeta replaces Meta.
func (h *Header) SetMeta(m Meta) { h.Meta, h.meta = m, nil }

// Validate reports what makes the header impossible to write.
func (h *Header) Validate() error {
	switch {
	case h.Major != Major:
		return fmt.Errorf("header version %d.%d: this package writes %d.%d", h.Major, h.Minor, Major, Minor)
	case len(h.Meta.Columns) > MaxColumns:
		return fmt.Errorf("%d columns, more than %d", len(h.Meta.Columns), MaxColumns)
	case h.Totals.Rows < 0 || h.Totals.Length < 0:
		return fmt.Errorf("negative totals: %s", h.Totals)
	case h.Stored != nil && !h.TotalsKnown:
		return errors.New("a header without totals can't have a stored sum")
	case h.Stored != nil && h.Stored.Length < 0:
		return fmt.Errorf("negative stored length %d", h.Stored.Length)
	}
	for _, c := range h.Extra {
		if err := checkTag(string(c.Tag[:])); err != nil {
			return err
		}
	}
	return nil
}

// checkTag accepts the tag of a chunk that this version does not know and may pass over.
func checkTag(tag string) error {
	for _, b := range []byte(tag) {
		if (b|0x20) < 'a' || (b|0x20) > 'z' {
			return fmt.Errorf("chunk tag %q is not four ASCII letters", tag)
		}
	}
	switch {
	case tag == tagStored:
		return fmt.Errorf("chunk %q is doubled or out of order", tag)
	case tag[0] < 'a':
		return fmt.Errorf("unknown chunk %q, which must not be skipped", tag)
	}
	return nil
}

// AppendBinary implements [encoding.BinaryAppender]: bytes [0, 19+L) of the file. A header that was read gives back the bytes it was read from;
// changes to Meta show only after [Header.SetMeta].
func (h *Header) AppendBinary(p []byte) ([]byte, error) {
	if err := h.Validate(); err != nil {
		return p, err
	}
	if h.meta == nil {
		meta, err := encodeMeta(&h.Meta)
		if err != nil {
			return p, err
		}
		h.meta = meta
	}
	start := len(p)
	p = append(p, Signature...)
	p = append(p, 0, 0, 0, 0, 0, 0, 0, 0)
	p = appendChunk(p, tagHaul, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(h.Major)<<16|uint32(h.Minor)), 0))
	p = appendChunk(p, tagMeta, h.meta)
	if h.TotalsKnown {
		p = appendChunk(p, tagDigest, appendDigest(nil, h.Totals))
	} else {
		p = appendChunk(p, tagDigest, unknownDigest)
	}
	if h.Stored != nil {
		p = appendChunk(p, tagStored, appendStored(nil, *h.Stored))
	}
	for _, c := range h.Extra {
		p = appendChunk(p, string(c.Tag[:]), c.Payload)
	}
	if n := len(p) - start; n > MaxHeader {
		return p[:start], fmt.Errorf("header of %d bytes, more than %d", n, MaxHeader)
	}
	binary.BigEndian.PutUint32(p[start+fixedHeader-4:], uint32(len(p)-start-fixedHeader))
	return p, nil
}

// appendChunk appends one chunk with its checksum.
func appendChunk(p []byte, tag string, payload []byte) []byte {
	start := len(p)
	p = append(p, tag...)
	p = binary.BigEndian.AppendUint32(p, uint32(len(payload)))
	p = append(p, payload...)
	return binary.BigEndian.AppendUint32(p, crc32.Checksum(p[start:], castagnoli))
}

// unknownDigest is the DGST of a header that was written before the rows.
var unknownDigest = bytes.Repeat([]byte{0xff}, digestLen)

func appendDigest(p []byte, t Totals) []byte {
	p = binary.BigEndian.AppendUint64(p, uint64(t.Rows))
	p = binary.BigEndian.AppendUint64(p, uint64(t.Length))
	p = t.Digest.appendBinary(p)
	return append(p, make([]byte, 32)...)
}

func appendStored(p []byte, s StoredSum) []byte {
	p = binary.BigEndian.AppendUint64(p, uint64(s.Length))
	return append(p, s.XXH128[:]...)
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]; p must hold exactly one header. It keeps copies only.
func (h *Header) UnmarshalBinary(p []byte) error {
	if err := checkFixed(p); err != nil {
		return err
	}
	if want := int64(fixedHeader) + int64(binary.BigEndian.Uint32(p[fixedHeader-4:])); want != int64(len(p)) {
		return headerError(int64(fixedHeader)-4, ErrHeader, "header of %d bytes, but %d are there", want, len(p))
	}
	*h = Header{known: h.known}
	s := chunkScanner{p: p, at: fixedHeader}
	for i := 0; s.at < len(p); i++ {
		at := int64(s.at)
		c, err := s.next()
		if err != nil {
			return err
		}
		if err := h.takeChunk(i, at, string(c.Tag[:]), c.Payload); err != nil {
			return err
		}
		if i >= 3 && string(c.Tag[:]) != tagStored {
			h.Extra = append(h.Extra, Chunk{Tag: c.Tag, Payload: bytes.Clone(c.Payload)})
		}
	}
	if h.meta == nil || !s.digest {
		return headerError(int64(len(p)), ErrHeader, "chunks %s, %s and %s must come first, in this order", tagHaul, tagMeta, tagDigest)
	}
	return nil
}

// takeChunk reads the payload of the i-th chunk, which starts at offset at.
func (h *Header) takeChunk(i int, at int64, tag string, payload []byte) error {
	order := [...]string{tagHaul, tagMeta, tagDigest}
	if i < len(order) && tag != order[i] {
		return headerError(at, ErrHeader, "chunk %d is %q, not %s", i+1, tag, order[i])
	}
	var err error
	switch {
	case i == 0:
		err = h.takeHaul(payload)
	case i == 1:
		h.meta = bytes.Clone(payload)
		err = decodeMeta(payload, &h.Meta, h.known)
	case i == 2:
		h.Totals, h.TotalsKnown, err = parseDigest(payload)
	case i == 3 && tag == tagStored && h.TotalsKnown:
		h.Stored, err = parseStored(payload)
	default:
		err = checkTag(tag)
	}
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		e.Offset = at
		return e
	}
	return &Error{Offset: at, Kind: ErrHeader, Err: fmt.Errorf("chunk %q: %w", tag, err)}
}

func (h *Header) takeHaul(p []byte) error {
	if len(p) != haulLen {
		return fmt.Errorf("%d bytes, not %d", len(p), haulLen)
	}
	h.Major, h.Minor = binary.BigEndian.Uint16(p), binary.BigEndian.Uint16(p[2:])
	if h.Major != Major {
		return &Error{Kind: ErrVersion, Err: fmt.Errorf("format version %d.%d, this program reads %d.x", h.Major, h.Minor, Major)}
	}
	if binary.BigEndian.Uint32(p[4:]) != 0 {
		return errors.New("reserved bytes are not zero")
	}
	return nil
}

func parseDigest(p []byte) (t Totals, known bool, err error) {
	if len(p) != digestLen {
		return t, false, fmt.Errorf("%d bytes, not %d", len(p), digestLen)
	}
	if bytes.Equal(p, unknownDigest) {
		return t, false, nil
	}
	rows, length := binary.BigEndian.Uint64(p), binary.BigEndian.Uint64(p[8:])
	if rows > math.MaxInt64 || length > math.MaxInt64 {
		return t, false, errors.New("rows or length beyond 2^63-1")
	}
	for _, b := range p[32:] {
		if b != 0 {
			return t, false, errors.New("reserved bytes are not zero")
		}
	}
	t = Totals{Rows: int64(rows), Length: int64(length), Digest: RowDigest{Lo: binary.BigEndian.Uint64(p[16:]), Hi: binary.BigEndian.Uint64(p[24:])}}
	return t, true, nil
}

func parseStored(p []byte) (*StoredSum, error) {
	if len(p) != storedLen {
		return nil, fmt.Errorf("%d bytes, not %d", len(p), storedLen)
	}
	n := binary.BigEndian.Uint64(p)
	if n > math.MaxInt64 {
		return nil, errors.New("length beyond 2^63-1")
	}
	return &StoredSum{Length: int64(n), XXH128: [16]byte(p[8:])}, nil
}

// ReadHeader reads the header of a plain file from r, and not a byte more. What it allocates follows what it could read, not what the file claims.
func ReadHeader(r io.Reader) (*Header, error) {
	p, err := readHeaderBytes(r, 0)
	if err != nil {
		return nil, err
	}
	h := new(Header)
	if err := h.UnmarshalBinary(p); err != nil {
		return nil, err
	}
	return h, nil
}
