package restore

import (
	"fmt"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/flow"
)

// TestRemaining: what is done and what is left of a table are all of its pages, each once, whatever grew or was cut otherwise in between.
func TestRemaining(t *testing.T) {
	segments := func(bounds ...uint32) (list []format.ManifestSegment) {
		for i := 0; i+1 < len(bounds); i += 2 {
			pages := &format.CTIDRange{From: bounds[i], To: bounds[i+1]}
			list = append(list, format.ManifestSegment{StoredFile: format.StoredFile{Path: flow.SegmentName(`"t"`, pages), StoredBytes: 1000}, CTIDRange: pages})
		}
		return list
	}
	all := []format.ManifestSegment{{StoredFile: format.StoredFile{Path: `"t"`, StoredBytes: 1000}}}
	for _, c := range []struct {
		name          string
		planned, done []format.ManifestSegment
		want          string
	}{
		{"nothing done", segments(0, 10, 10, 0), nil, `"t" pages 0 to 9, "t" from page 10`},
		{"the same cuts", segments(0, 10, 10, 20, 20, 0), segments(10, 20), `"t" pages 0 to 9, "t" from page 20`},
		{"grown", segments(0, 12, 12, 24, 24, 0), segments(0, 10, 20, 30), `"t" pages 10 to 11, "t" pages 12 to 19, "t" from page 30`},
		{"the open end is done", segments(0, 30, 30, 60, 60, 0), segments(20, 0), `"t" pages 0 to 19`},
		{"all at once", segments(0, 10, 10, 0), all, ``},
		{"planned at once", all, segments(0, 10), `"t" from page 10`},
		{"in the middle", segments(0, 0), segments(3, 5, 7, 9), `"t" pages 0 to 2, "t" pages 5 to 6, "t" from page 9`},
		{"complete", segments(0, 10, 10, 0), segments(0, 5, 5, 10, 10, 0), ``},
	} {
		got := ""
		for _, s := range remaining(`"t"`, c.planned, c.done) {
			if got != "" {
				got += ", "
			}
			got += s.Path
			if s.Path != flow.SegmentName(`"t"`, s.CTIDRange) || counted(&s) || s.StoredBytes > 1000 {
				t.Errorf("%s: %+v", c.name, s)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestSegmentNames(t *testing.T) {
	for _, table := range []string{`"public"."a"`, `"s"."x pages 1 to 2"`, "\"s\".\"new\nline\""} {
		for _, pages := range []*format.CTIDRange{nil, {From: 0, To: 1}, {From: 7, To: 4294967295}, {From: 5}} {
			name := flow.SegmentName(table, pages)
			back, got, err := flow.ParseSegmentName(name)
			if err != nil || back != table || fmt.Sprint(got) != fmt.Sprint(pages) {
				t.Errorf("%q: table %q, pages %v, error %v", name, back, got, err)
			}
		}
	}
	if _, _, err := flow.ParseSegmentName(`"a" from page 99999999999`); err == nil {
		t.Error("a page beyond all heaps was taken")
	}
}
