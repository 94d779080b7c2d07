package format

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Kind says what is wrong with a file. A Kind is itself an error, so that errors.Is(err, format.ErrTruncated) matches an [*Error] of that kind.
type Kind uint8

// What can be wrong with a file or a stream.
const (
	ErrRead        Kind = iota + 1 // the file could not be read; the cause is wrapped
	ErrSignature                   // not a COPY file, or not one of ours
	ErrVersion                     // written by a later major version
	ErrHeader                      // chunks that are missing, out of order or not well formed
	ErrLimit                       // a length beyond the limits of the format
	ErrTruncated                   // the file ends before its end
	ErrTrailing                    // bytes after the end
	ErrChecksum                    // bytes are not the ones that were written
	ErrFrame                       // a zstd frame that is damaged or not of the form we write
	ErrSeekTable                   // the seek table does not describe the frames
	ErrFieldCount                  // a row has another number of fields than the file has columns
	ErrFieldLength                 // a field's length is negative or beyond the limit
	ErrTotals                      // rows, length or digest differ from what the file or the manifest says
	ErrManifest                    // manifest.json is not well formed, contradicts itself, or is of a later version
	ErrIrregular                   // a folder, a pipe, a device, or a link that leads out of the dump, in the place of a file
)

var kindNames = [...]string{
	ErrRead:        "read error",
	ErrSignature:   "bad signature",
	ErrVersion:     "unknown version",
	ErrHeader:      "bad header",
	ErrLimit:       "limit exceeded",
	ErrTruncated:   "truncated",
	ErrTrailing:    "trailing bytes",
	ErrChecksum:    "checksum mismatch",
	ErrFrame:       "bad frame",
	ErrSeekTable:   "bad seek table",
	ErrFieldCount:  "bad field count",
	ErrFieldLength: "bad field length",
	ErrTotals:      "totals mismatch",
	ErrManifest:    "bad manifest",
	ErrIrregular:   "not a regular file",
}

// String returns the kind's name for people: "truncated", "checksum mismatch".
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return "kind " + strconv.Itoa(int(k))
	}
	return kindNames[k]
}

// Error implements error.
func (k Kind) Error() string { return k.String() }

// MarshalText implements [encoding.TextMarshaler] with the name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Error is damage, and where it is. All readers of this package return it for bad input.
type Error struct {
	File    string // "" when the reader does not know
	Offset  int64  // in bytes from the start of the file; -1 when there is no place
	Decoded bool   // Offset counts the bytes that zstd -dc prints, not the stored ones
	Row     int64  // from 1; 0 when the damage is not in a row
	Column  int    // from 1; 0 when the damage is not in a field
	Kind    Kind
	Err     error // what exactly
}

// Error implements error: FILE: KIND at offset N, row R, column C: what.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(Printable(e.File))
		b.WriteString(": ")
	}
	b.WriteString(e.Kind.String())
	sep := " at "
	if e.Offset >= 0 {
		fmt.Fprintf(&b, "%soffset %d", sep, e.Offset)
		sep = ", "
		if e.Decoded {
			b.WriteString(" of the decompressed bytes")
		}
	}
	if e.Row > 0 {
		fmt.Fprintf(&b, "%srow %d", sep, e.Row)
		sep = ", "
	}
	if e.Column > 0 {
		fmt.Fprintf(&b, "%scolumn %d", sep, e.Column)
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches the kind.
func (e *Error) Is(target error) bool {
	k, ok := target.(Kind)
	return ok && k == e.Kind
}

// withFile names the file in err where it is an [*Error] without one.
func withFile(err error, file string) error {
	var e *Error
	if errors.As(err, &e) && e.File == "" {
		e.File = file
	}
	return err
}

// Printable returns a name as it is, or quoted where it holds anything that a terminal could take amiss.
func Printable(s string) string {
	for _, r := range s {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return strconv.Quote(s)
		}
	}
	return s
}
