package pg

import (
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// ConnectError is a connection that did not come about. It wraps the driver's error.
type ConnectError struct {
	Target string // host:port/database, without a password
	User   string
	Err    error
}

func (e *ConnectError) Unwrap() error { return e.Err }

// Error says where to and as whom, and why not: a reason once, though the driver tried several addresses or ways.
func (e *ConnectError) Error() string {
	return "connect to " + e.Target + " as " + e.User + ": " + e.reason()
}

func (e *ConnectError) reason() string {
	_, text, found := strings.Cut(e.Err.Error(), "`:")
	if !found {
		return oneLine(e.Err.Error())
	}
	var reasons []string
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "hostname resolving error: ")
		if line != "" && !slices.Contains(reasons, line) {
			reasons = append(reasons, line)
		}
	}
	var server *pgconn.PgError
	var network *net.OpError
	switch {
	case len(reasons) != 1: // several hosts, or several ways to one
	case errors.As(e.Err, &server):
		return Describe(server)
	case errors.As(e.Err, &network):
		return network.Error()
	}
	return oneLine(strings.Join(reasons, "; "))
}

// Hint tells the reasons apart.
func (e *ConnectError) Hint() string {
	switch state := State(e.Err); {
	case state == "28P01" && os.Getenv("PGPASSWORD") == "":
		return "the password is missing or wrong: " + PasswordHint
	case strings.HasPrefix(state, "28"):
		return "check the user (-U), the password and the server's pg_hba.conf"
	case state == StateUndefinedDatabase:
		return "check the database's name (-d); psql -l lists the databases"
	case state == "53300":
		return "all connections are taken: a lower -j needs fewer, or wait until others end"
	case strings.HasPrefix(state, "57P"):
		return "the server starts or stops just now: try again when pg_isready says that it accepts connections"
	case state != "":
		return "the same connection string must work with psql"
	case errors.Is(e.Err, syscall.ECONNREFUSED), errors.Is(e.Err, syscall.ENOENT):
		return "is the server running there, and does it accept connections? Host and port are set by -h and -p"
	}
	return "check host (-h), port (-p) and sslmode; the same connection string must work with psql"
}
