package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/bytehaul/pghaul"

// rule says what the code of a package may import beside the standard library. Its
// tests are free.
type rule struct {
	ours   []string // packages of this module, without its path
	others []string // modules of others, or packages of them
}

var (
	pgx   = "github.com/jackc/pgx/v5"
	zstd  = "github.com/klauspost/compress/zstd"
	xxh3  = "github.com/zeebo/xxh3"
	sync  = "golang.org/x/sync"
	sys   = "golang.org/x/sys"
	charm = "github.com/charmbracelet"
)

// engine is what a job may be built of.
var engine = []string{"format", "internal/control", "internal/convert", "internal/flow", "internal/hint", "internal/pg", "internal/pgtools", "internal/pipeline", "internal/progress"}

// rules are the arrows between the packages. Add a rule with a new package; think twice
// before you widen one: it is the review's first question.
var rules = map[string]rule{
	// Pure: no database, no user interface.
	"format": {others: []string{zstd, xxh3}},

	"internal/pipeline": {},
	"internal/control":  {},
	"internal/hint":     {},
	"internal/filter":   {},
	"internal/dirlock":  {},
	"internal/sched":    {others: []string{sys}},
	"internal/progress": {ours: []string{"internal/pipeline"}},
	// The only home of SQL text about catalogs. Of format it takes the words for types and samples.
	"internal/pg":               {ours: []string{"format", "internal/pgtools"}, others: []string{pgx}},
	"internal/pgtools":          {ours: []string{"internal/dirlock"}},
	"internal/pgcluster":        {},
	"internal/netfault":         {}, // for tests
	"internal/pgcluster/pgtest": {ours: []string{"internal/pgcluster"}},
	// Values on their way to another server; no database.
	"internal/convert": {ours: []string{"format"}},
	// Sources, stages and sinks that dump, restore and migrate share.
	"internal/flow": {ours: []string{"format", "internal/convert", "internal/pipeline", "internal/pg"}, others: []string{pgx}},

	"dump":    {ours: append([]string{"internal/dirlock"}, engine...), others: []string{pgx, xxh3, sync}},
	"restore": {ours: append([]string{"internal/dirlock"}, engine...), others: []string{pgx, xxh3, sync}},

	// Writes the licences of others into NOTICES.md.
	"internal/notices": {},

	// Measures from outside, with the built program; the tables are the yardstick's.
	"internal/bench": {ours: []string{"internal/pgcluster", "internal/pgtools", "internal/yardstick"}, others: []string{"github.com/creack/pty"}},
	// Measures a server of the operator's, and runs jobs as a library.
	"internal/yardstick": {ours: append([]string{"dump", "restore", "internal/sched", "internal/show"}, engine...), others: []string{pgx, sync, sys}},

	// Breaks things from outside, with the built program.
	"internal/soak": {ours: []string{"format", "internal/netfault", "internal/pg", "internal/pgcluster"}, others: []string{pgx}},

	// What people read.
	"internal/show":   {ours: []string{"format"}, others: []string{"github.com/rivo/uniseg"}},
	"internal/watch":  {ours: []string{"internal/progress", "internal/show"}, others: []string{"github.com/schollz/progressbar/v3", "golang.org/x/term"}},
	"internal/report": {ours: []string{"internal/progress", "internal/show"}},
	// Defaults of options, from a file.
	"internal/settings": {others: []string{"github.com/pelletier/go-toml/v2"}},
	// An operator's command at the end of a job.
	"internal/notify": {},
	// What can be read of a damaged file.
	"internal/salvage": {ours: []string{"format", "internal/hint"}},
	// Dumps in folders: finding them, keeping some, removing one.
	"internal/shelf": {ours: []string{"format", "internal/dirlock"}},
	// Rows as text, for cat: what the server's output functions would print.
	"internal/rowtext":   {ours: []string{"format"}, others: []string{pgx, "golang.org/x/text"}},
	"internal/termguard": {others: []string{charm + "/lipgloss"}},
	// What the terminal UI asks of servers and disks.
	"internal/workbench": {ours: []string{"dump", "internal/pg", "internal/shelf"}, others: []string{sys}},
	"tui":                {ours: []string{"dump", "restore", "format", "internal/pg", "internal/progress", "internal/report", "internal/shelf", "internal/show", "internal/workbench"}, others: []string{charm}},

	// Pictures of the terminal UI, made of jobs that pretend.
	"internal/screens":      {ours: []string{"tui", "dump", "restore", "format", "internal/pg", "internal/pipeline", "internal/progress", "internal/report", "internal/shelf", "internal/show", "internal/workbench"}, others: []string{charm}},
	"internal/screens/draw": {ours: []string{"internal/screens"}},

	// The sample shop of the demo.
	"internal/demo": {ours: []string{"format", "internal/pg", "internal/pgcluster"}, others: []string{pgx}},

	"cmd/pghaul": {
		ours: slices.Concat(engine, []string{"dump", "restore", "tui"}, []string{
			"internal/demo",
			"internal/dirlock",
			"internal/workbench",
			"internal/filter",
			"internal/notify",
			"internal/pgcluster",
			"internal/report",
			"internal/rowtext",
			"internal/salvage",
			"internal/sched",
			"internal/settings",
			"internal/shelf",
			"internal/show",
			"internal/termguard",
			"internal/watch",
			"internal/yardstick",
		}),
		others: []string{pgx, sync, sys, "golang.org/x/term", "github.com/spf13/cobra", "github.com/spf13/pflag"},
	},
}

// listed is what we read of `go list -json`.
type listed struct {
	ImportPath string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

// packages lists the module's packages that have code of their own.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,GoFiles,Imports,Deps", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, stderr.Bytes())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("go list: %v", err)
		case len(p.GoFiles) > 0:
			all = append(all, p)
		}
	}
}

// within reports whether path is one of the packages or modules, or below one.
func within(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return path == root || strings.HasPrefix(path, root+"/") })
}

// isStandard: only paths of the standard library have no dot in their first part.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func TestArrows(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		r, ok := rules[name]
		if !ok {
			t.Errorf("package %s has no rule: add one to rules in internal/arch_test.go, and to .golangci.yml", name)
			continue
		}
		for _, imp := range p.Imports {
			own, ours := strings.CutPrefix(imp, module+"/")
			switch {
			case isStandard(imp):
			case ours && !slices.Contains(r.ours, own):
				t.Errorf("%s must not import %s", name, own)
			case !ours && !within(imp, r.others):
				t.Errorf("%s must not import %s", name, imp)
			}
		}
	}
}

// The rules above are about direct imports; these hold through others too.
func TestFarArrows(t *testing.T) {
	never := map[string][]string{
		"dump":    {module + "/restore", module + "/tui", module + "/cmd", charm},
		"restore": {module + "/dump", module + "/tui", module + "/cmd", charm},
		"format":  {module, pgx, charm},
	}
	seen := 0
	for _, p := range packages(t) {
		for _, dep := range p.Deps {
			if within(dep, never[strings.TrimPrefix(p.ImportPath, module+"/")]) {
				t.Errorf("%s reaches %s", p.ImportPath, dep)
			}
		}
		seen += len(p.Deps)
	}
	if seen == 0 {
		t.Error("go list gave no dependencies")
	}
}

// Packages that do not depend on each other are initialised in the order of their
// paths: the guard must come before the one that asks the terminal.
func TestGuardComesFirst(t *testing.T) {
	if guard, asks := module+"/internal/termguard", charm+"/bubbletea"; guard >= asks {
		t.Errorf("%s is initialised after %s", guard, asks)
	}
}
