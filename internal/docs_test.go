package internal_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sources is the text of all code that is no test, of the packages that speak to users.
func sources(t *testing.T) []byte {
	t.Helper()
	var all bytes.Buffer
	for _, dir := range []string{"../cmd", "../dump", "../restore", "../format", "../internal"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.Bytes()
}

// The messages that docs/troubleshooting.md explains are those of the program.
func TestTroubleshootingMessages(t *testing.T) {
	page, err := os.ReadFile("../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	code := sources(t)
	found := regexp.MustCompile("(?m)^### `(.*)`$").FindAllSubmatch(page, -1)
	if len(found) < 10 {
		t.Fatalf("%d messages on the page", len(found))
	}
	for _, m := range found {
		if !bytes.Contains(code, m[1]) {
			t.Errorf("no code says %q", m[1])
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)

// anchor is the name that hosts of Markdown give to a heading.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			found[anchor(strings.TrimSpace(name))] = true
		}
	}
	return found
}

// Links between the documents lead somewhere.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range append(pages, more...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(page) == "NOTICES.md" {
			continue // of others
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			to, part := m[1], strings.TrimPrefix(m[2], "#")
			if strings.Contains(to, "://") {
				continue
			}
			seen++
			target := text
			if to != "" {
				path := filepath.Join(filepath.Dir(page), to)
				info, err := os.Stat(path)
				if err != nil {
					t.Errorf("%s: the link to %s leads nowhere", page, to)
					continue
				}
				if info.IsDir() {
					continue
				}
				if target, err = os.ReadFile(path); err != nil {
					t.Fatal(err)
				}
			}
			if part != "" && !anchors(string(target))[part] {
				t.Errorf("%s: %s has no heading %q", page, to, part)
			}
		}
	}
	if seen == 0 {
		t.Error("no links were found")
	}
}
