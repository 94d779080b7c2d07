// Package show writes names, sizes, counts, rates and times for people, so that they look the same in every command.
//
// Sizes are IEC (1 MiB is 2^20 bytes); rates that are called MB/s are decimal (10^6 bytes), as PostgreSQL's benchmarks have them.
package show

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bytehaul/pghaul/format"
)

// Text returns s with everything escaped that a terminal could take for a command or that would break a line: control characters, invalid
// UTF-8, invisible and direction-changing characters. Text without such is returned as it is.
func Text(s string) string {
	if printable(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\\':
			b.WriteString(`\\`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		}
		i += n
	}
	return b.String()
}

func printable(s string) bool {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		}
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// Line returns s as one line: line ends become "; " or a space, the rest is escaped as [Text] does. It is for messages of other programs.
func Line(s string) string {
	s = strings.TrimSpace(s)
	if strings.ContainsAny(s, "\r\n\t") {
		s = strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\r\n", " ", "\n", " ", "\t", " ").Replace(s)
	}
	return Text(s)
}

// Table returns schema.name, escaped as [Text] does.
func Table(schema, name format.Name) string { return Text(string(schema) + "." + string(name)) }

var iecUnits = [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// Size writes a number of bytes: 512 B, 2.1 MiB, 118 MiB.
func Size(bytes int64) string {
	v, unit := math.Abs(float64(bytes)), 0
	for v >= 999.5 && unit < len(iecUnits)-1 {
		v /= 1024
		unit++
	}
	if bytes < 0 {
		v = -v
	}
	return threeDigits(v, unit == 0) + " " + iecUnits[unit]
}

// Rate writes bytes a second: 214 MB/s.
func Rate(bytesPerSecond float64) string {
	return threeDigits(bytesPerSecond/1e6, false) + " MB/s"
}

// Short writes a large number with few digits: 950, 18.2 k, 1.92 M.
func Short(n float64) string {
	for _, u := range []struct {
		at   float64
		name string
	}{{1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if n >= u.at*0.9995 {
			return significant(n/u.at) + u.name
		}
	}
	return strconv.FormatFloat(n, 'f', 0, 64)
}

// threeDigits writes 9.4 with one place and 94 or 940 with none.
func threeDigits(v float64, whole bool) string {
	if whole || math.Abs(v) >= 9.95 || v == 0 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// significant writes three digits: 1.92, 18.2, 214.
func significant(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// Count writes a number with a comma between thousands.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Plural writes a count with its noun: 1 table, 12 tables.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Clock writes a time as minutes and seconds, or hours: 01:12, 2:03:04.
func Clock(d time.Duration) string {
	s := int64(max(d, 0).Round(time.Second) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// Seconds writes a time in seconds, with milliseconds below 10 seconds.
func Seconds(d time.Duration) string {
	s := d.Seconds()
	switch {
	case s < 10:
		return strconv.FormatFloat(s, 'f', 3, 64)
	case s < 1000:
		return strconv.FormatFloat(s, 'f', 1, 64)
	}
	return strconv.FormatFloat(s, 'f', 0, 64)
}

// Fixed writes a number for a column of a report: two places below 10, one below 100, else none.
func Fixed(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case math.Abs(v) < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case math.Abs(v) < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}
