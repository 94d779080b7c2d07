package flow

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pipeline"
)

// Segment is a part of a table that is open for reading, in a file or on a server. It belongs to one lane, whose owner calls Finish after a clean
// end, and Close in any case.
type Segment struct {
	Source pipeline.Source
	Walker *format.Walker                   // for Parse: knows how many fields a row has
	Finish func(passed format.Totals) error // compares what passed with what the origin says of itself
	Close  func()                           // gives the file or the session back
}

// SegmentName names a segment of a table on a server by what it holds: the quoted table, and the pages of its heap.
func SegmentName(table string, pages *format.CTIDRange) string {
	switch {
	case pages == nil:
		return table
	case pages.To == 0:
		return fmt.Sprintf("%s from page %d", table, pages.From)
	}
	return fmt.Sprintf("%s pages %d to %d", table, pages.From, pages.To-1)
}

var segmentPages = regexp.MustCompile(`(?s)^(.*) (?:from page (\d+)|pages (\d+) to (\d+))$`)

// ParseSegmentName is the reverse of [SegmentName].
func ParseSegmentName(name string) (table string, pages *format.CTIDRange, err error) {
	m := segmentPages.FindStringSubmatch(name)
	if m == nil {
		return name, nil, nil
	}
	pages = &format.CTIDRange{}
	for digits, to := range map[string]*uint32{m[2] + m[3]: &pages.From, m[4]: &pages.To} {
		if digits == "" {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil {
			return "", nil, fmt.Errorf("segment %q: %w", name, err)
		}
		*to = uint32(n)
	}
	if m[4] != "" {
		pages.To++
	}
	return m[1], pages, nil
}
