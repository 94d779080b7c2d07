package pgcluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// ErrNoServer says that no PostgreSQL server binaries were found on this machine.
var ErrNoServer = errors.New("no PostgreSQL server binaries (initdb, pg_ctl, postgres) found; install them " +
	"(Debian, Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server; macOS: brew install postgresql@17) " +
	"or set PGHAUL_PG_BINDIR to the folder that holds them")

// serverPrograms must all be in a folder for it to count as a server's.
var serverPrograms = []string{"initdb", "pg_ctl", "postgres"}

// usualBinDirs are the places where packages put the server's programs, which
// distributions keep out of PATH so that several majors can stand side by side.
var usualBinDirs = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
	"/usr/local/pgsql/bin",
}

// FindBinDir returns the folder of PostgreSQL's server programs: the one that
// PGHAUL_PG_BINDIR or PG_BINDIR names, else the one in PATH, else the newest major
// in the places where packages put them. The error matches ErrNoServer.
func FindBinDir() (string, error) {
	for _, name := range []string{"PGHAUL_PG_BINDIR", "PG_BINDIR"} {
		dir := os.Getenv(name)
		if dir == "" {
			continue
		}
		// A folder named by the user is the answer or an error: running another
		// server than the one asked for would only confuse.
		if missing := missingPrograms(dir); len(missing) > 0 {
			return "", fmt.Errorf("%s=%q lacks %q: %w", name, dir, missing, ErrNoServer)
		}
		return dir, nil
	}
	return findBinDir(os.Getenv("PATH"), usualBinDirs)
}

// findBinDir searches the folders of the PATH-like list, then the patterns.
func findBinDir(path string, patterns []string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && len(missingPrograms(dir)) == 0 {
			return realBinDir(dir), nil
		}
	}
	var found []string
	for _, pattern := range patterns {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			return "", fmt.Errorf("pattern %q: %w", pattern, err)
		}
		for _, dir := range dirs {
			if len(missingPrograms(dir)) == 0 {
				found = append(found, dir)
			}
		}
	}
	if len(found) == 0 {
		return "", ErrNoServer
	}
	// Stable, so that the order of the patterns decides among equals.
	slices.SortStableFunc(found, func(a, b string) int { return majorInPath(b) - majorInPath(a) })
	return found[0], nil
}

// realBinDir follows the link of a program to the folder where it lives, beside psql
// and the others that the links may lack.
func realBinDir(dir string) string {
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil || len(missingPrograms(filepath.Dir(real))) > 0 {
		return dir
	}
	return filepath.Dir(real)
}

// missingPrograms lists the server programs that dir does not hold.
func missingPrograms(dir string) []string {
	var missing []string
	for _, name := range serverPrograms {
		// LookPath on a path with a slash checks that file only, and that it can be run.
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			missing = append(missing, name)
		}
	}
	return missing
}

var pathMajor = regexp.MustCompile(`(?:^|/)(?:pgsql-|postgresql@)?([0-9]+)(?:\.[0-9]+)?/bin$`)

// majorInPath reads the major version out of a package's folder name; 0 if there is none.
func majorInPath(dir string) int {
	m := pathMajor.FindStringSubmatch(filepath.ToSlash(dir))
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return n
}
