package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Frames of zstd; see zstd_compression_format.md and contrib/seekable_format/zstd_seekable_compression_format.md in facebook/zstd. Little-endian.
const (
	magicFrame     = 0xFD2FB528
	magicSummary   = 0x184D2A5D // skippable: DGST and stor of a stream, "D" for digest
	magicSeekTable = 0x184D2A5E // skippable: as the seekable format demands
	magicSeekable  = 0x8F92EAB1 // last bytes of a seek table
)

const (
	headerDescriptor = 0xA0      // single segment, content size in 4 bytes, no checksum, no dictionary
	headerFrameHead  = 4 + 1 + 4 // magic, descriptor, content size
	blockHead        = 3
	maxBlock         = 128 << 10 // larger ones are refused by decoders
	maxWindow        = 8 << 20   // every decoder supports this much
	skippableHead    = 4 + 4     // magic, length
	seekFooter       = 4 + 1 + 4 // number of frames, descriptor, magic
	seekEntry        = 4 + 4     // stored and raw length
	maxFrames        = 0x8000000 // limit of the seekable format
	summaryLen       = chunkFrame + digestLen + chunkFrame + storedLen
)

// maxFrameRaw is the most a frame may hold: one row, and the trailer behind it.
const maxFrameRaw = MaxRow + trailerLen

// maxFrameStored bounds the stored length of a frame by the length of its content. Encoders store what they can't compress, at 3 bytes for a block.
func maxFrameStored(raw int) int { return raw + raw>>7 + 1024 }

// headerFrameLen returns the length of the frame that holds a header of n bytes.
func headerFrameLen(n int) int { return headerFrameHead + n + blockHead*((n+maxBlock-1)/maxBlock) }

// appendHeaderFrame appends the only form that a header's frame may have. Nothing in it depends on the header's bytes but these themselves, so it can be written last, in place.
func appendHeaderFrame(p, header []byte) []byte {
	p = binary.LittleEndian.AppendUint32(p, magicFrame)
	p = append(p, headerDescriptor)
	p = binary.LittleEndian.AppendUint32(p, uint32(len(header)))
	for len(header) > 0 {
		n := min(len(header), maxBlock)
		p = append(appendBlockHead(p, n, n == len(header)), header[:n]...)
		header = header[n:]
	}
	return p
}

// appendBlockHead appends the head of a raw (stored) block.
func appendBlockHead(p []byte, n int, last bool) []byte {
	v := uint32(n) << 3
	if last {
		v |= 1
	}
	return append(p, byte(v), byte(v>>8), byte(v>>16))
}

// readHeaderFrame reads a header's frame and returns the header. r stands behind the frame's magic number.
func readHeaderFrame(r io.Reader) ([]byte, error) {
	at := int64(4)
	fail := func(kind Kind, form string, args ...any) error { return headerError(at, kind, form, args...) }
	head, err := appendFrom(r, nil, headerFrameHead-4)
	if err != nil {
		return nil, readError(err, at+int64(len(head)), "the header's frame")
	}
	n := binary.LittleEndian.Uint32(head[1:])
	switch {
	case head[0] != headerDescriptor:
		return nil, fail(ErrSignature, "the first zstd frame does not hold a header (descriptor %#02x)", head[0])
	case n < uint32(fixedHeader):
		return nil, fail(ErrSignature, "the first zstd frame is too short for a header (%d bytes)", n)
	case n > MaxHeader:
		return nil, fail(ErrLimit, "a header of %d bytes, more than %d", n, MaxHeader)
	}
	at = headerFrameHead
	var header []byte
	for len(header) < int(n) {
		want := min(int(n)-len(header), maxBlock)
		var block [blockHead]byte
		if _, err := io.ReadFull(r, block[:]); err != nil {
			return nil, readError(err, at, "the header's frame")
		}
		if !bytes.Equal(block[:], appendBlockHead(nil, want, len(header)+want == int(n))) {
			return nil, fail(ErrFrame, "the header's frame is not stored in blocks of %d bytes", maxBlock)
		}
		got := len(header)
		if header, err = appendFrom(r, header, want); err != nil {
			return nil, readError(err, at+blockHead+int64(len(header)-got), "the header's frame")
		}
		at += blockHead + int64(want)
		if got == 0 {
			if err := checkFixed(header); err != nil {
				return nil, decodedError(err)
			}
		}
	}
	return header, nil
}

// readError makes an error of a read that should not have ended.
func readError(err error, at int64, what string) error {
	if isEOF(err) {
		return headerError(at, ErrTruncated, "%s is cut off", what)
	}
	return &Error{Offset: at, Kind: ErrRead, Err: err}
}

// decodedError marks the offset of err as one in the decompressed bytes.
func decodedError(err error) error {
	var e *Error
	if errors.As(err, &e) {
		e.Decoded = true
	}
	return err
}

// frameHead is the head of a frame of rows.
type frameHead struct {
	content int // bytes
	single  bool
}

// frameHeadLen returns the length of a frame's head behind the magic number: descriptor, window, content size.
func frameHeadLen(descriptor byte) int {
	n := 1 + [...]int{0, 2, 4, 8}[descriptor>>6]
	if descriptor&(1<<5) == 0 {
		return n + 1 // window
	}
	return max(n, 2)
}

// checkDescriptor refuses frames that we do not write: the content size and a checksum must be there, a dictionary must not.
func checkDescriptor(d byte) error {
	switch {
	case d&(1<<4|1<<3) != 0:
		return errors.New("a reserved bit is set")
	case d&3 != 0:
		return errors.New("the frame needs a dictionary")
	case d&(1<<2) == 0:
		return errors.New("the frame has no checksum")
	case d>>6 == 0 && d&(1<<5) == 0:
		return errors.New("the frame does not say how much it holds")
	}
	return nil
}

// parseFrameHead reads the head of a frame behind the magic number; p has frameHeadLen(p[0]) bytes.
func parseFrameHead(p []byte) (frameHead, error) {
	h := frameHead{single: p[0]&(1<<5) != 0}
	rest := p[1:]
	window := uint64(0)
	if !h.single {
		window = uint64(8+rest[0]&7) << (7 + rest[0]>>3)
		rest = rest[1:]
	}
	var content uint64
	switch len(rest) {
	case 1:
		content = uint64(rest[0])
	case 2:
		content = uint64(binary.LittleEndian.Uint16(rest)) + 256
	case 4:
		content = uint64(binary.LittleEndian.Uint32(rest))
	default:
		content = binary.LittleEndian.Uint64(rest)
	}
	switch {
	case content < trailerLen:
		return h, fmt.Errorf("a frame of %d bytes holds no row", content)
	case content > maxFrameRaw:
		return h, fmt.Errorf("a frame of %d bytes, more than %d", content, maxFrameRaw)
	case window > maxWindow:
		return h, fmt.Errorf("a window of %d bytes, more than %d", window, maxWindow)
	case h.single && content > MaxFrameContent:
		return h, fmt.Errorf("a frame of %d bytes in a single segment, more than %d", content, MaxFrameContent)
	}
	h.content = int(content)
	return h, nil
}

// parseBlockHead returns how many bytes a block is stored in, the most it can decode to, and whether it is the last.
func parseBlockHead(p []byte) (stored, decoded int, last bool, err error) {
	v := uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16
	size := int(v >> 3)
	if size > maxBlock {
		return 0, 0, false, fmt.Errorf("a block of %d bytes, more than %d", size, maxBlock)
	}
	switch v >> 1 & 3 {
	case 0: // raw
		return size, size, v&1 != 0, nil
	case 1: // one byte repeated
		return 1, size, v&1 != 0, nil
	case 2:
		return size, maxBlock, v&1 != 0, nil
	default:
		return 0, 0, false, errors.New("a block of a reserved kind")
	}
}

// appendSeekEntry appends one entry of the seek table.
func appendSeekEntry(p []byte, stored, raw int) []byte {
	p = binary.LittleEndian.AppendUint32(p, uint32(stored))
	return binary.LittleEndian.AppendUint32(p, uint32(raw))
}

// appendSeekHead and appendSeekFooter append what stands around n entries of the seek table.
func appendSeekHead(p []byte, n int) []byte {
	p = binary.LittleEndian.AppendUint32(p, magicSeekTable)
	return binary.LittleEndian.AppendUint32(p, uint32(n*seekEntry+seekFooter))
}

func appendSeekFooter(p []byte, n int) []byte {
	p = binary.LittleEndian.AppendUint32(p, uint32(n))
	p = append(p, 0) // no checksums: the table must not depend on the header, which is written after it
	return binary.LittleEndian.AppendUint32(p, magicSeekable)
}

// appendSummary appends the frame that ends a stream's rows.
func appendSummary(p []byte, t Totals, s StoredSum) []byte {
	p = binary.LittleEndian.AppendUint32(p, magicSummary)
	p = binary.LittleEndian.AppendUint32(p, summaryLen)
	p = appendChunk(p, tagDigest, appendDigest(nil, t))
	return appendChunk(p, tagStored, appendStored(nil, s))
}

// parseSummary reads the payload of the frame that ends a stream's rows.
func parseSummary(p []byte) (t Totals, sum *StoredSum, err error) {
	s := chunkScanner{p: p}
	digest, err := s.next()
	if err != nil {
		return t, nil, err
	}
	stored, err := s.next()
	if err != nil {
		return t, nil, err
	}
	if string(digest.Tag[:]) != tagDigest || string(stored.Tag[:]) != tagStored || s.at != len(p) {
		return t, nil, headerError(0, ErrFrame, "the frame at the end of a stream must hold %s and %s", tagDigest, tagStored)
	}
	t, known, err := parseDigest(digest.Payload)
	if err == nil && !known {
		err = errors.New("the totals are unknown at the end too")
	}
	if err == nil {
		sum, err = parseStored(stored.Payload)
	}
	if err != nil {
		return t, nil, headerError(0, ErrFrame, "%w", err)
	}
	return t, sum, nil
}
