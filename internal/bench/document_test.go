package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

func TestMain(m *testing.M) { pgtest.Run(m) }

func TestDocumentReplacesTheLastRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "benchmarks.md")
	if err := os.WriteFile(file, []byte("# Before\n<!-- make bench -->\nan older run\n<!-- end of make bench -->\nbehind\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := &bench{pghaul: "no-such-program", cluster: pgtest.Cluster(t), began: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
	b.said.WriteString("\nwhat it printed\n")
	if err := b.document(file, "bench"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(got)
	for _, want := range []string{"# Before\n<!-- make bench -->\n`go run ./internal/bench ", "`, 1 December 2026, on ", " cores, ", "postgres (PostgreSQL) ", "no-such-program (which does not tell its version: ",
		"\n\n```\nwhat it printed\n```\n<!-- end of make bench -->\nbehind\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "older") {
		t.Errorf("the last run is still there:\n%s", text)
	}
	if err := b.document(file, "growth"); err == nil || !strings.Contains(err.Error(), "<!-- make growth -->") {
		t.Errorf("a text without a place: %v", err)
	}
}

// TestDocumentsHavePlaces: a run that takes an hour finds where it is to be written.
func TestDocumentsHavePlaces(t *testing.T) {
	for target, file := range map[string]string{"bench": "benchmarks.md", "growth": "benchmarks.md", "scale": "reliability.md"} {
		if _, _, err := place(filepath.Join("..", "..", "docs", file), target); err != nil {
			t.Error(err)
		}
	}
}
