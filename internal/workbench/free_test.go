package workbench

import (
	"path/filepath"
	"testing"
)

func TestFreeSpaceOfAFolderToBe(t *testing.T) {
	dir := t.TempDir()
	here, ok := Free(dir)
	if !ok || here <= 0 {
		t.Fatalf("%d, %v", here, ok)
	}
	if n, ok := Free(filepath.Join(dir, "not", "yet", "there")); !ok || n <= 0 {
		t.Errorf("%d, %v", n, ok)
	}
}
