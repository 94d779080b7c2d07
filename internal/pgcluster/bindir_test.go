package pgcluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeServer makes a folder with the server's programs, but for those left out.
func fakeServer(t *testing.T, dir string, without ...string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range serverPrograms {
		if strings.Contains(strings.Join(without, " "), name) {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFindBinDir(t *testing.T) {
	root := t.TempDir()
	fakeServer(t, root+"/lib/9.6/bin")
	newest := fakeServer(t, root+"/lib/16/bin")
	fakeServer(t, root+"/lib/17/bin", "initdb")
	inPath := fakeServer(t, root+"/path")
	clientOnly := fakeServer(t, root+"/client", "initdb", "postgres")
	linked := root + "/links"
	if err := os.Mkdir(linked, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range serverPrograms {
		if err := os.Symlink(filepath.Join(inPath, name), filepath.Join(linked, name)); err != nil {
			t.Fatal(err)
		}
	}
	pattern := root + "/lib/*/bin"
	for _, tt := range []struct{ path, want string }{
		{"", newest},
		{clientOnly, newest},
		{clientOnly + string(filepath.ListSeparator) + inPath, inPath},
		{linked, inPath},
	} {
		got, err := findBinDir(tt.path, []string{pattern})
		if err != nil {
			t.Fatal(err)
		}
		if got != tt.want {
			t.Errorf("PATH %q: %q, want %q", tt.path, got, tt.want)
		}
	}
	if got, err := findBinDir(clientOnly, []string{root + "/absent/*"}); !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "apt-get install postgresql") {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestMajorInPath(t *testing.T) {
	for dir, want := range map[string]int{
		"/usr/lib/postgresql/15/bin": 15, "/usr/pgsql-16/bin": 16, "/usr/lib/postgresql/9.6/bin": 9,
		"/opt/homebrew/opt/postgresql@17/bin": 17, "/usr/local/pgsql/bin": 0, "/99999999999999999999/bin": 0,
	} {
		if got := majorInPath(dir); got != want {
			t.Errorf("%s: %d, want %d", dir, got, want)
		}
	}
}

func TestParsePidFile(t *testing.T) {
	const whole = "123\n/tmp/x/data\n1700000000\n5432\n/tmp/x\n\n  4711   98309\nready   \n"
	for _, tt := range []struct {
		file string
		want pidFile
	}{
		{whole, pidFile{123, 98309, "ready"}},
		{"", pidFile{0, -1, ""}},
		{"123\n/tmp/x/data\n17000", pidFile{123, -1, ""}},
		{"x\n\n\n\n\n\na b\nstarting\n", pidFile{0, -1, "starting"}},
	} {
		if got := parsePidFile(tt.file); got != tt.want {
			t.Errorf("%q: %+v, want %+v", tt.file, got, tt.want)
		}
	}
}
