// Package hint adds to an error what to do about it. The error says what went wrong; the hint is a line of its own below it.
package hint

import "errors"

// hinted is an error with a hint.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// Hint says what to do.
func (h *hinted) Hint() string { return h.hint }

// With adds a hint to err. Its text and what it wraps stay as they are.
func With(err error, hint string) error { return &hinted{err, hint} }

// Of gives the outermost hint of err, or "". An error has one when it has a method Hint.
func Of(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
