package show

import (
	"encoding/json"
	"testing"
)

func TestJSON(t *testing.T) {
	for _, s := range []string{"plain", "naïve 日本 😀", "del \x7f", "c1 \u009b31m", "bidi \u202e\u2066", "line \u2028", "tag \U000e0041", "esc \x1b[31m\a\n", "\ufeff"} {
		doc, err := json.MarshalIndent(map[string]string{"k": s}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		shown := JSON(doc)
		for _, r := range string(shown) {
			if unshowable(r) {
				t.Errorf("%q: %q is still in %q", s, r, shown)
			}
		}
		var back map[string]string
		if err := json.Unmarshal(shown, &back); err != nil || back["k"] != s {
			t.Errorf("%q became %q (%v)", s, back["k"], err)
		}
	}
}
