package dump

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bytehaul/pghaul/internal/hint"
)

// Error lists the problems, the first ones by name.
func (e *Refused) Error() string {
	const shown = 5
	var b strings.Builder
	fmt.Fprintf(&b, "dump refused: %d problem(s)", len(e.Problems))
	for i, p := range e.Problems {
		if i == shown {
			b.WriteString("; …")
			break
		}
		fmt.Fprintf(&b, "; %q: %s", p.Object, p.Why)
	}
	return b.String()
}

// ErrNotEmpty refuses a target folder with something in it.
var ErrNotEmpty = errors.New("folder is not empty")

func withHint(err error, text string) error { return hint.With(err, text) }
