// Command notices writes NOTICES.md: the licences of the modules that the program is built of, for all
// systems that releases are made for. `go generate ./...` runs it.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// systems are those that releases are built for: see .goreleaser.yaml.
var systems = []string{"linux", "darwin", "freebsd"}

// licenceFiles are the names under which modules keep their licence, and what else must go with a copy.
var licenceFiles = []string{"LICENSE", "LICENSE.md", "LICENSE.txt", "LICENSE-MIT", "LICENCE", "COPYING", "COPYING.md", "MIT-LICENSE", "NOTICE", "NOTICE.txt"}

// module is what we read of a module in `go list -json`.
type module struct {
	Path, Version, Dir string
	Main               bool
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: notices PACKAGE FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run(program, file string) error {
	modules, err := modulesOf(program)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("# Licences of what pghaul is built of\n\nWritten by `go generate ./...`. pghaul itself: Apache License 2.0, see LICENSE.\n")
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	modules = append([]module{{Path: "the Go standard library and runtime", Dir: strings.TrimSpace(string(goroot))}}, modules...)
	for _, m := range modules {
		if err := appendLicences(&b, m); err != nil {
			return err
		}
	}
	return os.WriteFile(file, b.Bytes(), 0o644) //nolint:gosec // for everybody to read
}

// modulesOf lists the modules of others in a program, by path.
func modulesOf(program string) ([]module, error) {
	all := map[string]module{}
	for _, system := range systems {
		cmd := exec.Command("go", "list", "-deps", "-json=Module", program)
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", system, err)
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct{ Module *module }
			err := d.Decode(&p)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("go list for %s: %w", system, err)
			}
			if p.Module != nil && !p.Module.Main {
				all[p.Module.Path] = *p.Module
			}
		}
	}
	list := make([]module, 0, len(all))
	for _, m := range all {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// appendLicences writes a module's licence files. A module without one is an error: we may not give it away.
func appendLicences(b *bytes.Buffer, m module) error {
	found := false
	for _, name := range licenceFiles {
		text, err := os.ReadFile(filepath.Join(m.Dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !found {
			fmt.Fprintf(b, "\n## %s %s\n", m.Path, m.Version)
		}
		found = true
		fmt.Fprintf(b, "\n%s\n", indented(text))
	}
	if !found {
		return fmt.Errorf("module %s has no licence file that we know of in %s", m.Path, m.Dir)
	}
	return nil
}

// indented makes a text a block of Markdown that nothing in it can end.
func indented(text []byte) string {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")), "\n")
	for i, line := range lines {
		if line = strings.TrimRight(line, " \t\f"); line != "" {
			line = "    " + line
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}
