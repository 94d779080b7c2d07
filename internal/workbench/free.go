package workbench

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// Free is the space in bytes that is left where a folder is or would be made; ok is false when that cannot be known.
func Free(dir string) (n int64, ok bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return 0, false
	}
	for {
		n, err := freeBytes(dir)
		if err == nil {
			return n, true
		}
		parent := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || parent == dir {
			return 0, false
		}
		dir = parent
	}
}
