package dump

import (
	"errors"
	"fmt"
	"strings"
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

// Failure is an error with what to do about it.
type Failure struct {
	Err    error
	Advice string
}

func (e *Failure) Error() string { return e.Err.Error() }

func (e *Failure) Unwrap() error { return e.Err }

// Hint says what to do.
func (e *Failure) Hint() string { return e.Advice }

func withHint(err error, hint string) error { return &Failure{Err: err, Advice: hint} }
