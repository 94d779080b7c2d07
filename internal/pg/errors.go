package pg

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bytehaul/pghaul/format"
)

// SQLSTATEs that decisions hang on; see src/backend/utils/errcodes.txt.
const (
	StateLockNotAvailable      = "55P03"
	StateUniqueViolation       = "23505"
	StateUndefinedTable        = "42P01"
	StateUndefinedDatabase     = "3D000"
	StateInvalidSchema         = "3F000"
	StateDuplicateTable        = "42P07"
	StateQueryCanceled         = "57014"
	StateInsufficientPrivilege = "42501"
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
// Our own files' troubles are none of it, although a pipe breaks there too.
func ConnectionLost(err error) bool {
	var file *os.PathError
	var data *format.Error
	if err == nil || errors.As(err, &file) || errors.As(err, &data) {
		return false
	}
	switch state := State(err); {
	case strings.HasPrefix(state, "08"), strings.HasPrefix(state, "57P"):
		return true
	case state != "":
		return false
	}
	var connect *pgconn.ConnectError
	var network *net.OpError
	if errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	return givenUp(err)
}

// givenUp tells whether err ends in what pgconn says of a session that it has given up: it exports no error for that.
func givenUp(err error) bool {
	switch e := err.(type) { //nolint:errorlint // it walks the chain itself
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), givenUp)
	case interface{ Unwrap() error }:
		if next := e.Unwrap(); next != nil {
			return givenUp(next)
		}
	}
	return err.Error() == "conn closed" || err.Error() == "conn busy"
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
	return oneLine(b.String())
}

// oneLine makes a server's text fit for a terminal: it can hold control characters of the data, and bytes of the database's encoding.
func oneLine(s string) string {
	plain := func(r rune) bool { return r >= ' ' && r != utf8.RuneError && !unicode.IsControl(r) }
	var b strings.Builder
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case plain(r):
			b.WriteRune(r)
		case r == '\n', r == '\t':
			b.WriteByte(' ')
		case r == utf8.RuneError && size == 3:
			b.WriteRune(r)
		default:
			for _, c := range []byte(s[i : i+size]) {
				fmt.Fprintf(&b, "\\x%02x", c)
			}
		}
	}
	return b.String()
}

// Wrap says what was tried when err happened; nil stays nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Doing: fmt.Sprintf(format, args...), Err: err}
}
