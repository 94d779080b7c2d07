package dirlock

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestMain is also the program that TestSweep kills: it makes a folder, says where, and waits.
func TestMain(m *testing.M) {
	kind := os.Getenv("DIRLOCK_TEMP")
	if kind == "" {
		os.Exit(m.Run())
	}
	temp, err := NewTemp(kind)
	if err == nil {
		err = os.WriteFile(filepath.Join(temp.Path(), "pgpass"), []byte("secret"), 0o600)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(temp.Path())
	_, _ = fmt.Scanln(new(string)) // until it is killed
	runtime.KeepAlive(temp)
}

// holder starts a program that has a folder of a kind.
func holder(t *testing.T, kind string) (path string, kill func()) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "DIRLOCK_TEMP="+kind)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanln(out, &path); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	kill = func() {
		once.Do(func() {
			_ = c.Process.Kill()
			_ = c.Wait()
			_ = in.Close()
		})
	}
	t.Cleanup(kill)
	return path, kill
}

// Only what a killed program of ours has left is removed.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	living, _ := holder(t, "migrate")
	mine, err := NewTemp("pass")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, kind := range kinds {
		path, kill := holder(t, kind)
		kill()
		left = append(left, path)
	}
	elsewhere := t.TempDir()
	keep := []string{"pghaul-pass-1x", "pghaul-pass-", "pghaul-demo-1", "pghaul-migrate-12", "pghaul-pass-13", "pghaul-pass-14", "pghaul-pass-15"}
	for i, name := range keep {
		path := filepath.Join(dir, name)
		switch {
		case i < 3: // called otherwise
			err = os.Mkdir(path, 0o700)
		case i == 3: // a file
			err = os.WriteFile(path, nil, 0o600)
		case i == 4: // a link
			err = os.Symlink(elsewhere, path)
		case i == 5: // others may enter
			if err = os.Mkdir(path, 0o700); err == nil {
				err = os.Chmod(path, 0o755)
			}
		case os.Geteuid() == 0: // another user's
			if err = os.Mkdir(path, 0o700); err == nil {
				err = os.Chown(path, 65534, 65534)
			}
		default:
			err = os.WriteFile(path, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	removed, err := Sweep()
	slices.Sort(left)
	slices.Sort(removed)
	if err != nil || !slices.Equal(removed, left) {
		t.Errorf("removed %v, %v; want %v", removed, err, left)
	}
	for _, path := range append([]string{living, mine.Path(), elsewhere}, keep...) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if err := mine.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(mine.Path()); !os.IsNotExist(err) {
		t.Errorf("it is there still: %v", err)
	}
}

// Folders that are being made while others sweep stay.
func TestSweepBesideNewTemp(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	stop, swept := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			if _, err := Sweep(); err != nil {
				swept <- err
				return
			}
			select {
			case <-stop:
				swept <- nil
				return
			default:
			}
		}
	}()
	for range 300 {
		temp, err := NewTemp("list")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(temp.Path(), "x"), []byte("x"), 0o600); err != nil {
			t.Error(err)
		}
		if err := temp.Close(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	if err := <-swept; err != nil {
		t.Error(err)
	}
}

// A folder that cannot be made is told with its place.
func TestNewTempWithoutAPlace(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "gone"))
	if _, err := NewTemp("pass"); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("error %v", err)
	}
	if _, err := Sweep(); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("error %v", err)
	}
}
