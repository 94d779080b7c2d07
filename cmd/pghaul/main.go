// Command pghaul dumps PostgreSQL tables into self-describing binary COPY files, verifies them, and restores them with proof.
//
// Each command has a file of its own, which holds its flags, their validation, one call and one report. exit.go is the only place that
// knows exit codes.
package main

import (
	// First, so that it is plain that nothing may ask the terminal anything before it; what counts is its import path.
	_ "github.com/bytehaul/pghaul/internal/termguard"

	"os"
)

//go:generate go run ../../internal/notices . ../../NOTICES.md

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
