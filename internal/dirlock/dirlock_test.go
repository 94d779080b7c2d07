package dirlock

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

func TestTake(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	first, err := Take(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Take(root); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Take(root)
	if err != nil {
		t.Fatalf("behind the first: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(root.Name()); err != nil {
		t.Fatal(err)
	}
	if _, err := Take(root); err != nil && (errors.Is(err, ErrLocked) || !errors.Is(err, fs.ErrNotExist)) {
		t.Errorf("a folder that is gone: %v", err)
	}
}
