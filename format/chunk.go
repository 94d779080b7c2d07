package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

func headerError(at int64, kind Kind, form string, args ...any) error {
	return &Error{Offset: at, Kind: kind, Err: fmt.Errorf(form, args...)}
}

// checkFixed checks the part of a header before the chunks, which may be cut off.
func checkFixed(p []byte) error {
	if !strings.HasPrefix(string(p[:min(len(p), len(Signature))]), Signature[:min(len(p), len(Signature))]) {
		if allZero(p[:min(len(p), fixedHeader)]) {
			return headerError(0, ErrSignature, "zeros where the header goes: an unfinished file")
		}
		return headerError(0, ErrSignature, "not a COPY file")
	}
	if len(p) < fixedHeader {
		return headerError(int64(len(p)), ErrTruncated, "the header ends after %d bytes", len(p))
	}
	if flags := binary.BigEndian.Uint32(p[len(Signature):]); flags != 0 {
		return headerError(int64(len(Signature)), ErrHeader, "flags are %#08x, not zero", flags)
	}
	switch n := binary.BigEndian.Uint32(p[fixedHeader-4:]); {
	case n > MaxHeader-uint32(fixedHeader):
		return headerError(int64(fixedHeader)-4, ErrLimit, "a header of %d bytes, more than %d", int64(n)+int64(fixedHeader), MaxHeader)
	case n == 0:
		return headerError(int64(fixedHeader)-4, ErrSignature, "a COPY file that says nothing about itself")
	}
	return nil
}

func allZero(p []byte) bool {
	for _, b := range p {
		if b != 0 {
			return false
		}
	}
	return len(p) > 0
}

// chunkScanner takes chunks off a buffer that must hold nothing else.
type chunkScanner struct {
	p      []byte
	at     int
	digest bool // a DGST chunk was seen
}

// next returns the next chunk, whose payload is part of the buffer, after checking its checksum.
func (s *chunkScanner) next() (Chunk, error) {
	rest := s.p[s.at:]
	if len(rest) < chunkFrame {
		return Chunk{}, headerError(int64(s.at), ErrHeader, "%d bytes are left, too few for a chunk", len(rest))
	}
	c := Chunk{Tag: [4]byte(rest)}
	n := int64(binary.BigEndian.Uint32(rest[4:]))
	if n > int64(len(rest)-chunkFrame) {
		return Chunk{}, headerError(int64(s.at), ErrHeader, "chunk %q of %d bytes does not fit in the header", c.Tag, n)
	}
	end := 8 + int(n)
	c.Payload = rest[8:end]
	if crc32.Checksum(rest[:end], castagnoli) != binary.BigEndian.Uint32(rest[end:]) {
		return Chunk{}, headerError(int64(s.at), ErrChecksum, "chunk %q", c.Tag)
	}
	s.at += end + 4
	s.digest = s.digest || string(c.Tag[:]) == tagDigest
	return c, nil
}

// readHeaderBytes reads [0, 19+L) of a plain file that starts at offset at of what the caller reads.
func readHeaderBytes(r io.Reader, at int64) ([]byte, error) {
	p, err := appendFrom(r, nil, fixedHeader)
	if err != nil && !isEOF(err) {
		return nil, &Error{Offset: at + int64(len(p)), Kind: ErrRead, Err: err}
	}
	if len(p) == 0 {
		return nil, headerError(at, ErrTruncated, "an empty file")
	}
	if err := checkFixed(p); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(p[fixedHeader-4:]))
	p, err = appendFrom(r, p, n)
	switch {
	case isEOF(err):
		return nil, headerError(at+int64(len(p)), ErrTruncated, "the header ends after %d of %d bytes", len(p), n+fixedHeader)
	case err != nil:
		return nil, &Error{Offset: at + int64(len(p)), Kind: ErrRead, Err: err}
	}
	return p, nil
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// readStep is how much appendFrom allocates ahead of the bytes that came, at first.
const readStep = 64 << 10

// appendFrom appends n bytes of r to p. The buffer at most doubles with what was really read, so that a length from the input costs nothing by itself.
// At the end of r it returns what came and io.ErrUnexpectedEOF.
func appendFrom(r io.Reader, p []byte, n int) ([]byte, error) {
	for n > 0 {
		if cap(p) == len(p) {
			grown := make([]byte, len(p), len(p)+max(min(n, readStep), len(p)))
			copy(grown, p)
			p = grown
		}
		step := min(n, cap(p)-len(p))
		got, err := io.ReadFull(r, p[len(p):len(p)+step])
		p = p[:len(p)+got]
		n -= got
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}
