package show

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"public.orders":     "public.orders",
		"größe":             "größe",
		`a\b`:               `a\b`,
		"\x1b]52;c;aaaa\a":  `\x1b]52;c;aaaa\a`,
		"a\nb\\":            `a\nb\\`,
		"\u009b31m":         `\u009b31m`,
		"latin1 \xe9":       `latin1 \xe9`,
		"abc\u202edef":      `abc\u202edef`,
		"\ufffd is allowed": "\ufffd is allowed",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	got := Line("connect to `x`:\n\t::1:5432: refused\n\t127.0.0.1: refused\n")
	if want := "connect to `x`: ::1:5432: refused; 127.0.0.1: refused"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		Size(0): "0 B", Size(999): "999 B", Size(1000): "1.0 KiB", Size(2_202_009): "2.1 MiB", Size(123_731_968): "118 MiB", Size(1023 << 20): "1.0 GiB", Size(1 << 62): "4.0 EiB",
		Rate(214e6): "214 MB/s", Rate(1.25e6): "1.2 MB/s", Short(950): "950", Short(18_220): "18.2 k", Short(1_921_000): "1.92 M", Short(999_900): "1.00 M",
		Count(1_204_331): "1,204,331", Count(-1000): "-1,000", Count(7): "7", Plural(1, "table", "tables"): "1 table", Plural(1200, "table", "tables"): "1,200 tables",
		Clock(72 * time.Second): "01:12", Clock(7384 * time.Second): "2:03:04", Clock(-time.Second): "00:00",
		Seconds(4 * time.Millisecond): "0.004", Seconds(12340 * time.Millisecond): "12.3", Fixed(0.123): "0.12", Fixed(12.34): "12.3", Fixed(1234.5): "1234",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestGrid(t *testing.T) {
	g := NewGrid("  ", "name", ">rows")
	g.Row("日本", "1")
	g.Row("orders", "1,200")
	want := "  name     rows\n  日本        1\n  orders  1,200\n"
	if diff := cmp.Diff(want, g.String()); diff != "" {
		t.Error(diff)
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{{"orders", 6, "orders"}, {"orders", 5, "orde…"}, {"日本語", 4, "日…"}, {"x", 0, ""}} {
		if got := Fit(c.in, c.width); got != c.want {
			t.Errorf("Fit(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
	if got := Pad("ab", 4); got != "ab  " {
		t.Errorf("Pad: %q", got)
	}
}
