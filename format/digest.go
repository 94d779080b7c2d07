package format

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/zeebo/xxh3"
)

// RowDigest stands for a set of rows in any order: the sums, mod 2^64, of the low and of the high halves of XXH3-128 of each row's bytes.
// A row's bytes are its int16 field count and its fields with their lengths; the trailer is no row. Any changed, lost or doubled row changes it.
type RowDigest struct {
	Lo, Hi uint64
}

// DigestRow returns the digest of one row.
func DigestRow(row []byte) RowDigest {
	h := xxh3.Hash128(row)
	return RowDigest{Lo: h.Lo, Hi: h.Hi}
}

// Add returns the digest of the rows of both.
func (d RowDigest) Add(e RowDigest) RowDigest {
	return RowDigest{Lo: d.Lo + e.Lo, Hi: d.Hi + e.Hi}
}

// String returns 32 hex digits, the low lane first, in the order of the 16 bytes in a DGST chunk.
func (d RowDigest) String() string {
	return hex.EncodeToString(d.appendBinary(make([]byte, 0, 16)))
}

func (d RowDigest) appendBinary(p []byte) []byte {
	p = binary.BigEndian.AppendUint64(p, d.Lo)
	return binary.BigEndian.AppendUint64(p, d.Hi)
}

// ParseRowDigest reads what [RowDigest.String] prints; upper-case digits are refused, so that one digest has one spelling.
func ParseRowDigest(s string) (RowDigest, error) {
	b, err := parseHex128(s)
	if err != nil {
		return RowDigest{}, fmt.Errorf("row digest: %w", err)
	}
	return RowDigest{Lo: binary.BigEndian.Uint64(b[:8]), Hi: binary.BigEndian.Uint64(b[8:])}, nil
}

// parseHex128 reads 32 lower-case hex digits.
func parseHex128(s string) (b [16]byte, err error) {
	if len(s) != 32 {
		return b, fmt.Errorf("want 32 hex digits, got %d characters", len(s))
	}
	if _, err := hex.Decode(b[:], []byte(s)); err != nil {
		return b, fmt.Errorf("%q: %w", s, err)
	}
	if hex.EncodeToString(b[:]) != s {
		return b, fmt.Errorf("%q: hex digits must be lower-case", s)
	}
	return b, nil
}

// Totals sum up rows: their number, the length in bytes of the rows and the trailer (2 bytes for each file), uncompressed, and their digest.
type Totals struct {
	Rows   int64
	Length int64
	Digest RowDigest
}

// Add returns the totals of both, for sums over the segments of a table.
func (t Totals) Add(u Totals) Totals {
	return Totals{Rows: t.Rows + u.Rows, Length: t.Length + u.Length, Digest: t.Digest.Add(u.Digest)}
}

// String returns the totals for people.
func (t Totals) String() string {
	return fmt.Sprintf("%d rows, %d bytes, digest %s", t.Rows, t.Length, t.Digest)
}

// StoredSum is the payload of a stor chunk: the length in bytes and the XXH3-128 of the stored bytes that follow the header.
type StoredSum struct {
	Length int64
	XXH128 [16]byte // big-endian, as xxh128sum prints it
}
