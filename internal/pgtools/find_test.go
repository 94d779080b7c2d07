package pgtools

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeBin makes a folder with programs that answer --version; a script given for a
// program replaces the answer.
func fakeBin(t *testing.T, dir, version string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pg_dump", "pg_restore"} {
		script := "#!/bin/sh\necho '" + name + " (PostgreSQL) " + version + "'\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestChoose(t *testing.T) {
	root := t.TempDir()
	dirs := []string{
		fakeBin(t, root+"/18/bin", "18beta1"),
		fakeBin(t, root+"/9.6/bin", "9.6.24"),
		fakeBin(t, root+"/14/bin", "14.23 (Debian 14.23-1.pgdg)"),
		fakeBin(t, root+"/16/bin", "16.1"),
	}
	for _, tt := range []struct{ minMajor, want int }{{14, 14}, {15, 16}, {16, 16}, {17, 18}, {0, 18}, {9, 9}} {
		got, err := choose(&FindError{MinMajor: tt.minMajor}, dirs)
		if err != nil {
			t.Fatal(err)
		}
		if got.Major != tt.want {
			t.Errorf("for %d: %d, want %d", tt.minMajor, got.Major, tt.want)
		}
	}
	_, err := choose(&FindError{MinMajor: 19}, dirs)
	if !errors.Is(err, ErrNotFound) {
		t.Fatalf("for 19: %v", err)
	}
	for _, part := range []string{"version 19 or later", "18beta1 in " + root + "/18/bin", "16.1"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
	var fe *FindError
	if !errors.As(err, &fe) || !strings.Contains(fe.Hint(), "postgresql-client-19") {
		t.Errorf("hint of %v", err)
	}
}

func TestFindExplicit(t *testing.T) {
	dir := fakeBin(t, t.TempDir(), "16.1")
	got, err := Find(dir, 12)
	if err != nil {
		t.Fatal(err)
	}
	if got.PgDump != dir+"/pg_dump" || got.PgRestore != dir+"/pg_restore" || got.Version != "16.1" {
		t.Errorf("got %+v", got)
	}
	if _, err := Find(dir, 17); !errors.Is(err, ErrNotFound) {
		t.Errorf("too old: %v", err)
	}
	if _, err := Find(t.TempDir(), 17); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "pg_dump") {
		t.Errorf("empty folder: %v", err)
	}
	if err := os.WriteFile(dir+"/pg_restore", []byte("#!/bin/sh\necho nonsense\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(dir, 12); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("broken program: %v", err)
	}
}

func TestSearchDirs(t *testing.T) {
	root := t.TempDir()
	own := fakeBin(t, root+"/own", "16.1")
	real := fakeBin(t, root+"/usr/lib/15/bin", "15.1")
	wrapped, linked := root+"/wrapped", root+"/linked"
	for _, dir := range []string{wrapped, linked} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(root+"/pg_wrapper", []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(root+"/pg_wrapper", wrapped+"/pg_dump"), os.Symlink(real+"/pg_dump", linked+"/pg_dump")); err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{"relative", wrapped, root + "/absent", ""}, string(filepath.ListSeparator))
	got, err := searchDirs(own, path, []string{root + "/usr/lib/*/bin", linked})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(got, " ") != own+" "+real {
		t.Errorf("got %q", got)
	}
}
