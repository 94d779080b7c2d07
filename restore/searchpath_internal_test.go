package restore

import "testing"

func TestQuoteSearchPath(t *testing.T) {
	for list, want := range map[string]string{
		`zzz`:                     `"zzz"`,
		` Public , "Odd, ""s""" `: `"public", "Odd, ""s"""`,
		`"$user",ünder_1$`:        `"$user", "ünder_1$"`,
		`a"b"`:                    "", `a b`: "", `a,`: "", ``: "", `""`: "", `"open`: "", `a; DROP TABLE x`: "", `'a'`: "", `1a`: "", `a.b`: "", "\"a\x00\"": "",
	} {
		got, err := quoteSearchPath(list)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %s, %v, want %s", list, got, err, want)
		}
		if CheckSearchPath(list) == nil != (want != "") {
			t.Errorf("%s: checked otherwise", list)
		}
	}
}
