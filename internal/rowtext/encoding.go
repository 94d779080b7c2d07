package rowtext

import (
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// encodings are PostgreSQL's names of server encodings (see pg_enc2name_tbl in src/common/encnames.c). EUC_TW, EUC_JIS_2004, JOHAB and
// MULE_INTERNAL have no converter.
var encodings = map[string]encoding.Encoding{
	"LATIN1": charmap.ISO8859_1, "LATIN2": charmap.ISO8859_2, "LATIN3": charmap.ISO8859_3, "LATIN4": charmap.ISO8859_4, "LATIN5": charmap.ISO8859_9,
	"LATIN6": charmap.ISO8859_10, "LATIN7": charmap.ISO8859_13, "LATIN8": charmap.ISO8859_14, "LATIN9": charmap.ISO8859_15, "LATIN10": charmap.ISO8859_16,
	"ISO_8859_5": charmap.ISO8859_5, "ISO_8859_6": charmap.ISO8859_6, "ISO_8859_7": charmap.ISO8859_7, "ISO_8859_8": charmap.ISO8859_8,
	"WIN866": charmap.CodePage866, "WIN874": charmap.Windows874, "WIN1250": charmap.Windows1250, "WIN1251": charmap.Windows1251, "WIN1252": charmap.Windows1252,
	"WIN1253": charmap.Windows1253, "WIN1254": charmap.Windows1254, "WIN1255": charmap.Windows1255, "WIN1256": charmap.Windows1256, "WIN1257": charmap.Windows1257,
	"WIN1258": charmap.Windows1258, "KOI8R": charmap.KOI8R, "KOI8U": charmap.KOI8U,
	"EUC_JP": japanese.EUCJP, "EUC_KR": korean.EUCKR, "EUC_CN": simplifiedchinese.GBK,
}

// converter gives the function that appends text in an encoding as UTF-8; nil for an encoding that is not known.
func converter(name string) func(dst, src []byte) []byte {
	if name == "UTF8" || name == "SQL_ASCII" {
		return appendValid
	}
	e := encodings[name]
	if e == nil {
		return nil
	}
	d := e.NewDecoder()
	return func(dst, src []byte) []byte {
		if ascii(src) {
			return append(dst, src...)
		}
		text, err := d.Bytes(src)
		if err != nil {
			return appendEscaped(dst, src)
		}
		return appendValid(dst, text)
	}
}

func ascii(p []byte) bool {
	for _, b := range p {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// appendValid appends UTF-8 with each byte that is not valid written as \xNN.
func appendValid(dst, src []byte) []byte {
	if utf8.Valid(src) {
		return append(dst, src...)
	}
	for len(src) > 0 {
		r, n := utf8.DecodeRune(src)
		if r == utf8.RuneError && n == 1 {
			dst = fmt.Appendf(dst, `\x%02x`, src[0])
		} else {
			dst = append(dst, src[:n]...)
		}
		src = src[n:]
	}
	return dst
}

// appendEscaped appends ASCII, and every other byte as \xNN.
func appendEscaped(dst, src []byte) []byte {
	for _, b := range src {
		if b < utf8.RuneSelf {
			dst = append(dst, b)
		} else {
			dst = fmt.Appendf(dst, `\x%02x`, b)
		}
	}
	return dst
}

// appendString appends UTF-8 as a JSON string. What a terminal could take for a command is escaped too.
func appendString(dst, text []byte) []byte {
	dst = append(dst, '"')
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r < utf8.RuneSelf && r >= ' ' && r != 0x7f, unicode.IsPrint(r):
			dst = append(dst, text[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
		default: // control characters, and those that change the direction of text
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
		text = text[n:]
	}
	return append(dst, '"')
}
