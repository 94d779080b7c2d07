package rowtext

import (
	"math"
	"strconv"
)

// PostgreSQL counts days and microseconds from 2000-01-01, day 2451545 of the Julian calendar.
const (
	epochJulian = 2451545
	perSecond   = int64(1e6)
	perDay      = 86400 * perSecond
)

const intervalInfinity = 170000 // first version in which an interval of extremes is infinite

// dateTime is the codec of a date or time type.
func (d *decoder) dateTime(name string) codec {
	switch name {
	case "date":
		return codec{text: dateText}
	case "timestamp":
		return codec{text: timestampText("")}
	case "timestamptz":
		return codec{text: timestampText("+00")}
	case "time":
		return codec{text: timeText}
	case "timetz":
		return codec{text: timetzText}
	}
	return codec{text: d.intervalText}
}

func dateText(dst, src []byte) ([]byte, error) {
	c := cursor{rest: src}
	days := c.int32()
	switch {
	case c.end() != nil:
		return dst, errValue
	case days == math.MaxInt32:
		return append(dst, "infinity"...), nil
	case days == math.MinInt32:
		return append(dst, "-infinity"...), nil
	}
	dst, bc := appendDate(dst, int64(days))
	return append(dst, bc...), nil
}

// timestampText writes a timestamp, with a zone behind the time.
func timestampText(zone string) func(dst, src []byte) ([]byte, error) {
	return func(dst, src []byte) ([]byte, error) {
		c := cursor{rest: src}
		t := int64(c.uint64())
		switch {
		case c.end() != nil:
			return dst, errValue
		case t == math.MaxInt64:
			return append(dst, "infinity"...), nil
		case t == math.MinInt64:
			return append(dst, "-infinity"...), nil
		}
		days, rest := t/perDay, t%perDay
		if rest < 0 {
			days, rest = days-1, rest+perDay
		}
		dst, bc := appendDate(dst, days)
		dst = appendClock(append(dst, ' '), rest)
		return append(append(dst, zone...), bc...), nil
	}
}

// appendDate writes a day, and returns what must stand at the end if it is before Christ; see j2date in src/backend/utils/adt/datetime.c.
func appendDate(dst []byte, days int64) ([]byte, string) {
	julian := uint64(days+epochJulian) + 32044
	quad := julian / 146097
	extra := (julian-quad*146097)*4 + 3
	julian += 60 + quad*3 + extra/146097
	quad = julian / 1461
	julian -= quad * 1461
	y := julian * 4 / 1461
	if y != 0 {
		julian = (julian + 305) % 365
	} else {
		julian = (julian + 306) % 366
	}
	julian += 123
	y += quad * 4
	year := int64(y) - 4800
	quad = julian * 2141 / 65536
	day := julian - 7834*quad/256
	month := (quad+10)%12 + 1
	bc := ""
	if year <= 0 {
		year, bc = 1-year, " BC"
	}
	dst = appendPadded(dst, uint64(year), 4)
	dst = appendPadded(append(dst, '-'), month, 2)
	return appendPadded(append(dst, '-'), day, 2), bc
}

// appendClock writes a time of day; hours may have more than two digits.
func appendClock(dst []byte, t int64) []byte {
	dst = appendPadded(dst, uint64(t/(3600*perSecond)), 2)
	dst = appendPadded(append(dst, ':'), uint64(t/(60*perSecond)%60), 2)
	dst = appendPadded(append(dst, ':'), uint64(t/perSecond%60), 2)
	fraction := t % perSecond
	if fraction == 0 {
		return dst
	}
	dst = appendPadded(append(dst, '.'), uint64(fraction), 6)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

func timeText(dst, src []byte) ([]byte, error) {
	c := cursor{rest: src}
	t := int64(c.uint64())
	if c.end() != nil || t < 0 || t > perDay {
		return dst, errValue
	}
	return appendClock(dst, t), nil
}

func timetzText(dst, src []byte) ([]byte, error) {
	c := cursor{rest: src}
	t, west := int64(c.uint64()), c.int32()
	if c.end() != nil || t < 0 || t > perDay || west < -86400 || west > 86400 {
		return dst, errValue
	}
	dst = appendClock(dst, t)
	sign := byte('+')
	if west > 0 {
		sign = '-'
	} else {
		west = -west
	}
	dst = appendPadded(append(dst, sign), uint64(west/3600), 2)
	if west%3600 != 0 {
		dst = appendPadded(append(dst, ':'), uint64(west/60%60), 2)
	}
	if west%60 != 0 {
		dst = appendPadded(append(dst, ':'), uint64(west%60), 2)
	}
	return dst, nil
}

// intervalText writes an interval in the style "postgres"; see EncodeInterval in src/backend/utils/adt/datetime.c.
func (d *decoder) intervalText(dst, src []byte) ([]byte, error) {
	c := cursor{rest: src}
	t, days, months := int64(c.uint64()), c.int32(), c.int32()
	switch {
	case c.end() != nil:
		return dst, errValue
	case d.version >= intervalInfinity && t == math.MaxInt64 && days == math.MaxInt32 && months == math.MaxInt32:
		return append(dst, "infinity"...), nil
	case d.version >= intervalInfinity && t == math.MinInt64 && days == math.MinInt32 && months == math.MinInt32:
		return append(dst, "-infinity"...), nil
	}
	start, before := len(dst), false
	part := func(v int32, unit string) {
		if v == 0 {
			return
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if before && v > 0 {
			dst = append(dst, '+')
		}
		dst = append(strconv.AppendInt(dst, int64(v), 10), unit...)
		if v != 1 {
			dst = append(dst, 's')
		}
		before = v < 0
	}
	part(months/12, " year")
	part(months%12, " mon")
	part(days, " day")
	if t == 0 && len(dst) > start {
		return dst, nil
	}
	if len(dst) > start {
		dst = append(dst, ' ')
	}
	switch {
	case t < 0:
		dst = append(dst, '-')
	case before:
		dst = append(dst, '+')
	}
	if t == math.MinInt64 { // its absolute value is no int64
		return append(dst, "2562047788:00:54.775808"...), nil
	}
	return appendClock(dst, max(t, -t)), nil
}
