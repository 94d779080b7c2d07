package format

import (
	"errors"
	"io"
)

// Versions of the file format. A minor version adds what earlier readers can skip; a major version does not.
const (
	Major = 1
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

// Header is everything in a file before its first row.
type Header struct {
	Major, Minor uint16
	Meta         Meta
	Totals       Totals
	TotalsKnown  bool       // false in the header of a stream: DGST is all ones
	Stored       *StoredSum // nil where there is no stor chunk
	Extra        []Chunk    // chunks that this version does not know, in order

	meta []byte // META as read
}

// Chunk is one chunk of a header.
type Chunk struct {
	Tag     [4]byte
	Payload []byte
}

// Validate reports what makes the header impossible to write.
func (h *Header) Validate() error { return errors.New("not written yet") }

// AppendBinary implements [encoding.BinaryAppender]: bytes [0, 19+L) of the file. A header that was read gives back the bytes it was read from;
// Meta as it is now replaces them after [Header.SetMeta].
func (h *Header) AppendBinary(p []byte) ([]byte, error) { return p, h.Validate() }

// SetMeta replaces Meta.
func (h *Header) SetMeta(m Meta) { h.Meta, h.meta = m, nil }

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]; p must hold exactly one header.
func (h *Header) UnmarshalBinary(p []byte) error { return errors.New("not written yet") }

// ReadHeader reads the header of a plain file from r, and not a byte more.
func ReadHeader(r io.Reader) (*Header, error) { return nil, errors.New("not written yet") }
