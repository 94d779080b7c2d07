package pgtools

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTOC(t *testing.T) {
	const listing = `;
; Archive created at 2026-11-30 20:34:12 UTC
;     dbname: src
;
6; 2615 16388 SCHEMA - shop postgres
219; 1255 16411 FUNCTION public f(integer, text) postgres
3374; 0 0 COMMENT public TABLE orders alice
3366; 2613 16421 BLOB - 16421 postgres
3363; 0 16402 TABLE DATA public odd name; x postgres
3367; 0 0 BLOBS - BLOBS 
3215; 2606 16401 CONSTRAINT public orders orders_pkey alice
;	depends on: 215
3361; 6106 16420 PUBLICATION TABLE public p orders postgres
3364; 0 16412 MATERIALIZED VIEW DATA public mv postgres
`
	got, err := ParseTOC(strings.NewReader(listing))
	if err != nil {
		t.Fatal(err)
	}
	want := []TOCEntry{
		{DumpID: 6, CatalogOID: 2615, OID: 16388, Desc: "SCHEMA", Name: "shop", Owner: "postgres"},
		{DumpID: 219, CatalogOID: 1255, OID: 16411, Desc: "FUNCTION", Schema: "public", Name: "f(integer, text)", Owner: "postgres"},
		{DumpID: 3374, Desc: "COMMENT", Schema: "public", Name: "TABLE orders", Owner: "alice"},
		{DumpID: 3366, CatalogOID: 2613, OID: 16421, Desc: "BLOB", Name: "16421", Owner: "postgres"},
		{DumpID: 3363, OID: 16402, Desc: "TABLE DATA", Schema: "public", Name: "odd name; x", Owner: "postgres"},
		{DumpID: 3367, Desc: "BLOBS", Name: "BLOBS"},
		{DumpID: 3215, CatalogOID: 2606, OID: 16401, Desc: "CONSTRAINT", Schema: "public", Name: "orders orders_pkey", Owner: "alice"},
		{DumpID: 3361, CatalogOID: 6106, OID: 16420, Desc: "PUBLICATION TABLE", Schema: "public", Name: "p orders", Owner: "postgres"},
		{DumpID: 3364, OID: 16412, Desc: "MATERIALIZED VIEW DATA", Schema: "public", Name: "mv", Owner: "postgres"},
	}
	i := 0
	for line := range strings.Lines(listing) {
		if !strings.HasPrefix(line, ";") {
			want[i].Line = strings.TrimSuffix(line, "\n")
			i++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseTOCRefuses(t *testing.T) {
	for _, s := range []string{"hello", "1; 2 SCHEMA - x y", strings.Repeat("x", maxTOCLine+1)} {
		if got, err := ParseTOC(strings.NewReader(s)); err == nil {
			t.Errorf("%.40q: got %v", s, got)
		}
	}
}

// Property: an accepted entry's line starts with its numbers and kind and ends with its name and owner.
func FuzzParseTOC(f *testing.F) {
	f.Add("3215; 2606 16401 CONSTRAINT public orders orders_pkey alice")
	f.Add("3367; 0 0 BLOBS - BLOBS ")
	f.Add("; comment\n1; 0 0 ENCODING - ENCODING ")
	f.Fuzz(func(t *testing.T, s string) {
		entries, err := ParseTOC(strings.NewReader(s))
		if err != nil {
			return
		}
		for _, e := range entries {
			if !strings.Contains(e.Line, " "+e.Desc) {
				t.Errorf("%q lacks its kind %q", e.Line, e.Desc)
			}
			if e.Owner != "" && !strings.HasSuffix(e.Line, " "+e.Owner) {
				t.Errorf("%q does not end with %q", e.Line, e.Owner)
			}
			if !strings.Contains(e.Line, e.Name) {
				t.Errorf("%q lacks %q", e.Line, e.Name)
			}
		}
	})
}
