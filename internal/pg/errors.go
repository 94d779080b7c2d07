package pg

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs that decisions hang on; see src/backend/utils/errcodes.txt.
const (
	StateLockNotAvailable  = "55P03"
	StateUniqueViolation   = "23505"
	StateUndefinedTable    = "42P01"
	StateUndefinedDatabase = "3D000"
	StateInvalidSchema     = "3F000"
	StateDuplicateTable    = "42P07"
	StateQueryCanceled     = "57014"
)

// State gives the SQLSTATE of a server's error, or "".
func State(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// ConnectionLost tells whether err means that the session is gone: the backend was ended, the server went down, or the network did.
func ConnectionLost(err error) bool {
	if err == nil {
		return false
	}
	switch state := State(err); {
	case strings.HasPrefix(state, "08"), strings.HasPrefix(state, "57P"):
		return true
	case state != "":
		return false
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return true
	}
	text := err.Error()
	for _, s := range []string{"unexpected EOF", "connection reset", "broken pipe", "conn closed", "conn busy", "closed network connection", "i/o timeout"} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// Error is a server's error with all that the server said of it, in one line.
type Error struct {
	Doing string // what was tried, with names quoted
	Err   error
}

func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	var server *pgconn.PgError
	if !errors.As(e.Err, &server) {
		return e.Doing + ": " + e.Err.Error()
	}
	return e.Doing + ": " + Describe(server)
}

// Describe writes a server's error with its SQLSTATE, DETAIL and CONTEXT in one line.
func Describe(e *pgconn.PgError) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (SQLSTATE %s)", e.Severity, e.Message, e.Code)
	if e.Detail != "" {
		fmt.Fprintf(&b, "; DETAIL: %s", e.Detail)
	}
	if e.Where != "" {
		fmt.Fprintf(&b, "; CONTEXT: %s", e.Where)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, "; HINT: %s", e.Hint)
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// Wrap says what was tried when err happened; nil stays nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Doing: fmt.Sprintf(format, args...), Err: err}
}
