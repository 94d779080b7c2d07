package tui_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/screens"
	"github.com/bytehaul/pghaul/tui"
)

// typeIn replaces a line.
func typeIn(s *screens.Scene, line string) {
	s.Press("ctrl+u")
	for _, r := range line {
		s.Press(string(r))
	}
	s.Press("enter")
}

func TestReportIsWrittenToAFile(t *testing.T) {
	j := screens.Restore()
	end := screens.EndOf(j, 2)
	s := screens.Play(tui.Options{Screen: tui.NewReport(end)}, nil, 80, 24)
	path := filepath.Join(t.TempDir(), "report.txt")
	s.Press("w")
	sees(t, s, "pghaul-restore-2026-11-30.txt")
	typeIn(s, path)
	sees(t, s, "written to ")
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(written), end.Report.Text(0)) {
		t.Errorf("wrote %s", written)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}

	// What is there already is not written over without a word.
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Press("w")
	typeIn(s, path)
	sees(t, s, "exists", "write over it")
	s.Press("n", "esc")
	if b, err := os.ReadFile(path); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
	s.Press("w")
	typeIn(s, path)
	s.Press("y")
	if b, err := os.ReadFile(path); err != nil || string(b) != string(written) {
		t.Errorf("%q, %v", b, err)
	}
	s.Press("w")
	typeIn(s, filepath.Join(path, "below"))
	sees(t, s, "✗ open ", "report.txt/below", "directory")
}

func TestReportScrolls(t *testing.T) {
	s := screens.Play(tui.Options{Screen: tui.NewReport(screens.EndOf(screens.Restore(), 3))}, nil, 80, 24)
	sees(t, s, "more lines")
	s.Press("G")
	sees(t, s, "phases", "post-data")
	seesNot(t, s, "more line")
	s.Press("g", "down")
	if strings.HasPrefix(s.Text(), "restore") {
		t.Error("the first line is still there")
	}
}
