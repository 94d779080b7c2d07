package main

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/pg"
)

// describe is an error's text; a server's bare error gets its SQLSTATE, DETAIL and CONTEXT.
func describe(err error) string {
	if server, ok := err.(*pgconn.PgError); ok { //nolint:errorlint // only the bare error lacks them
		return pg.Describe(server)
	}
	return err.Error()
}

// hintFor says what to do about an error, where there is anything to say.
func hintFor(err error) string {
	var (
		damage *format.Error
	)
	switch {
	case errors.Is(err, pg.ErrPasswordInDSN):
		return pg.PasswordHint
	case hint.Of(err) != "":
		return hint.Of(err)
	case errors.Is(err, format.ErrUnfinished):
		return "a dump without manifest.json did not finish; take it again"
	case errors.As(err, &damage) && damage.Kind == format.ErrVersion:
		return "a later pghaul wrote this file; use that version or a later one"
	case errors.As(err, &damage) && damage.Kind != format.ErrRead:
		return "the file is damaged or not one of pghaul's; take the dump again or fetch the file again; \"pghaul salvage\" saves what can be read"
	case errors.Is(err, syscall.ENOSPC):
		return "make room on the disk, or write to another folder (-f)"
	case errors.Is(err, fs.ErrPermission):
		return "check the owner and the mode of the file or folder"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "check the path; a dump is the folder that \"pghaul dump -f\" wrote"
	}
	return ""
}
