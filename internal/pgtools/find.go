package pgtools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tools are pg_dump and pg_restore of one version.
type Tools struct {
	PgDump, PgRestore string // paths
	Major             int    // 15
	Version           string // as the program says it: 15.18 (Debian 15.18-1)

	// Line, when set, gets every line that a program writes to stderr, without its
	// line end, from one goroutine at a time for each program.
	Line func(line string)

	// Thread, when set, is called on the thread that a program is started from, just before, and undo after
	// its end: what a program inherits from its thread is decided there.
	Thread func() (undo func())

	grace time.Duration // 0: defaultGrace; tests shorten it
}

// ErrNotFound is matched by Find's error when no programs of a fitting version exist.
var ErrNotFound = errors.New("no fitting pg_dump and pg_restore")

// FindError says what Find needed and what it saw instead.
type FindError struct {
	Dir      string   // the folder that was asked for, if any
	MinMajor int      // 0: any
	Found    []*Tools // complete, but too old
	Broken   []error  // why a folder's programs do not count
}

func (e *FindError) Error() string {
	var b strings.Builder
	b.WriteString(ErrNotFound.Error())
	if e.MinMajor > 0 {
		fmt.Fprintf(&b, " of version %d or later", e.MinMajor)
	}
	if e.Dir != "" {
		fmt.Fprintf(&b, " in %q", e.Dir)
	}
	for i, t := range e.Found {
		b.WriteString([]string{", only ", ", "}[min(i, 1)])
		fmt.Fprintf(&b, "%s in %s", t.Version, filepath.Dir(t.PgDump))
	}
	for _, err := range e.Broken {
		b.WriteString("; " + err.Error())
	}
	return b.String()
}

// Hint says what the user can do.
func (e *FindError) Hint() string {
	name := "PostgreSQL's client programs"
	if e.MinMajor > 0 {
		name += fmt.Sprintf(" of version %d or later (Debian, Ubuntu: postgresql-client-%d)", e.MinMajor, e.MinMajor)
	}
	return "install " + name + ", or name their folder with --pg-bindir"
}

// Is matches ErrNotFound.
func (e *FindError) Is(target error) bool { return target == ErrNotFound }

// usualDirs are the places where packages put the programs, one folder a major.
var usualDirs = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/opt/homebrew/opt/libpq/bin",
	"/usr/local/opt/postgresql@*/bin",
	"/usr/local/opt/libpq/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
	"/usr/local/pgsql/bin",
}

// Find returns the programs of the folder binDir, or, when that is empty, of PATH
// and of the places where packages put them: the smallest major that is not below
// minMajor, since pg_dump refuses servers newer than itself and a newer pg_dump may
// write what the older target cannot read. With minMajor 0 it is the newest. The
// error is a *FindError when none fits.
func Find(binDir string, minMajor int) (*Tools, error) {
	if binDir != "" {
		return choose(&FindError{Dir: binDir, MinMajor: minMajor}, []string{binDir})
	}
	dirs, err := searchDirs(os.Getenv("PGHAUL_PG_BINDIR"), os.Getenv("PATH"), usualDirs)
	if err != nil {
		return nil, err
	}
	return choose(&FindError{MinMajor: minMajor}, dirs)
}

// searchDirs lists the folders that hold a pg_dump, each once, the user's first.
func searchDirs(own, path string, patterns []string) ([]string, error) {
	candidates := append([]string{own}, filepath.SplitList(path)...)
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		candidates = append(candidates, found...)
	}
	var dirs, seen []string
	for _, dir := range candidates {
		program := filepath.Join(dir, "pg_dump")
		if !filepath.IsAbs(dir) || !isProgram(program) || isWrapper(program) {
			continue
		}
		real, err := filepath.EvalSymlinks(program)
		if err != nil || slices.Contains(seen, real) {
			continue
		}
		seen = append(seen, real)
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// isWrapper reports whether the program is Debian's pg_wrapper, a script that picks
// a version by its own rules, which are not ours.
func isWrapper(program string) bool {
	real, err := filepath.EvalSymlinks(program)
	return err == nil && filepath.Base(real) == "pg_wrapper"
}

func isProgram(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}

// choose picks the best of the folders, or completes and returns the error.
func choose(e *FindError, dirs []string) (*Tools, error) {
	var best *Tools
	for _, dir := range dirs {
		t, err := inspect(dir)
		switch {
		case err != nil:
			e.Broken = append(e.Broken, err)
		case t.Major < e.MinMajor:
			e.Found = append(e.Found, t)
		case best == nil, e.MinMajor > 0 && t.Major < best.Major, e.MinMajor == 0 && t.Major > best.Major:
			best = t
		}
	}
	if best == nil {
		return nil, e
	}
	return best, nil
}

// inspect asks the programs of a folder for their version.
func inspect(dir string) (*Tools, error) {
	t := &Tools{PgDump: filepath.Join(dir, "pg_dump"), PgRestore: filepath.Join(dir, "pg_restore")}
	var err error
	if t.Version, t.Major, err = programVersion(t.PgDump); err != nil {
		return nil, err
	}
	_, major, err := programVersion(t.PgRestore)
	if err != nil {
		return nil, err
	}
	if major != t.Major {
		return nil, fmt.Errorf("%s: pg_dump %d beside pg_restore %d", dir, t.Major, major)
	}
	return t, nil
}

// The number is followed by a packager's note in parentheses, or by "devel", "rc1".
var versionLine = regexp.MustCompile(`^pg_(?:dump|restore) \(PostgreSQL\) (([0-9]+)(?:\.|devel|beta|rc|\b).*)$`)

func programVersion(path string) (version string, major int, err error) {
	// A program that does not answer must not hang us.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = childEnv(os.Environ(), nil)
	out, err := cmd.Output()
	if err != nil {
		return "", 0, fmt.Errorf("%s --version: %w", path, err)
	}
	m := versionLine.FindStringSubmatch(strings.TrimSpace(string(out)))
	if m == nil {
		return "", 0, fmt.Errorf("%s --version: not understood: %q", path, tailBytes(string(out), 200))
	}
	if major, err = strconv.Atoi(m[2]); err != nil {
		return "", 0, fmt.Errorf("%s --version: %w", path, err)
	}
	return m[1], major, nil
}

// tailBytes is the last n bytes of s.
func tailBytes(s string, n int) string { return s[max(0, len(s)-n):] }
