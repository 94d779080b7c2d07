package show

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns an encoded document with everything escaped, by JSON's own \u, that [Text] would escape: encoding/json leaves DEL, the control characters
// above it and those that change the direction of text as they are, and a document may be read on a terminal. Its meaning stays the same. doc is not changed.
func JSON(doc []byte) []byte {
	if bytes.IndexFunc(doc, unshowable) < 0 {
		return doc
	}
	out := make([]byte, 0, len(doc)+len(doc)/8)
	for len(doc) > 0 {
		r, n := utf8.DecodeRune(doc)
		switch high, low := utf16.EncodeRune(r); {
		case !unshowable(r):
			out = append(out, doc[:n]...)
		case high != unicode.ReplacementChar:
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		doc = doc[n:]
	}
	return out
}

// unshowable tells what a document does not need and a terminal may take amiss. Line ends stand between values only.
func unshowable(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }
