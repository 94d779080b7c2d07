package hint_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/bytehaul/pghaul/internal/hint"
)

func TestHint(t *testing.T) {
	err := hint.With(fmt.Errorf("open it: %w", fs.ErrPermission), "ask for the key")
	outer := fmt.Errorf("dump: %w", err)
	if outer.Error() != "dump: open it: permission denied" || !errors.Is(outer, fs.ErrPermission) {
		t.Errorf("error %q", outer)
	}
	if got := hint.Of(outer); got != "ask for the key" {
		t.Errorf("hint %q", got)
	}
	if got := hint.Of(hint.With(outer, "knock")); got != "knock" {
		t.Errorf("the outermost hint is %q", got)
	}
	for _, none := range []error{nil, fs.ErrClosed} {
		if got := hint.Of(none); got != "" {
			t.Errorf("hint of %v: %q", none, got)
		}
	}
}
