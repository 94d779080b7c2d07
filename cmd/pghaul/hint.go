package main

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// describe is an error's text; a server's bare error gets its SQLSTATE, DETAIL and CONTEXT.
func describe(err error) string {
	if server, ok := err.(*pgconn.PgError); ok { //nolint:errorlint // only the bare error lacks them
		return pg.Describe(server)
	}
	// With sslmode=prefer pgconn tries each address twice, and says so twice.
	lines := strings.Split(err.Error(), "\n\t")
	return strings.Join(slices.Compact(lines), "\n\t")
}

// hintFor says what to do about an error, where there is anything to say.
func hintFor(err error) string {
	var (
		own     *hinted
		usage   *usageError
		connect *pgconn.ConnectError
		damage  *format.Error
		hints   interface{ Hint() string }
	)
	switch {
	case errors.As(err, &own):
		return own.tip
	case errors.As(err, &usage):
		return usage.tip
	case errors.Is(err, pg.ErrPasswordInDSN):
		return pg.PasswordHint
	case errors.As(err, &hints):
		return hints.Hint()
	case errors.As(err, &connect):
		return connectHint(err)
	case errors.Is(err, format.ErrUnfinished):
		return "a dump without manifest.json did not finish; take it again"
	case errors.As(err, &damage) && damage.Kind == format.ErrVersion:
		return "a later pghaul wrote this file; use that version or a later one"
	case errors.As(err, &damage) && damage.Kind != format.ErrRead:
		return "the file is damaged or not one of pghaul's; take the dump again or fetch the file again"
	case errors.Is(err, syscall.ENOSPC):
		return "make room on the disk, or write to another folder (-f)"
	case errors.Is(err, fs.ErrPermission):
		return "check the owner and the mode of the file or folder"
	}
	return ""
}

// connectHint tells the reasons for a connection that did not come about apart.
func connectHint(err error) string {
	switch state := pg.State(err); {
	case state == "28P01" && os.Getenv("PGPASSWORD") == "":
		return "the password is missing or wrong: " + pg.PasswordHint
	case strings.HasPrefix(state, "28"):
		return "check the user (-U), the password and the server's pg_hba.conf"
	case state == pg.StateUndefinedDatabase:
		return "check the database's name (-d); psql -l lists the databases"
	case state != "":
		return ""
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return "is the server running there, and does it accept connections? Host and port are set by -h and -p"
	}
	return "check host (-h), port (-p) and sslmode; the same connection string must work with psql"
}
