package workbench

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bytehaul/pghaul/internal/shelf"
)

// maxDumps bounds the dumps that are shown of a folder.
const maxDumps = 200

// Dumps are those below a folder, the last one first.
func Dumps(dir string) ([]shelf.Dump, error) {
	list, _, err := shelf.List(dir)
	if err != nil {
		return nil, err
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list[:min(len(list), maxDumps)], nil
}

// DumpName is a free name for a dump's folder: DATABASE-DATE, with a number behind it when that is taken.
func DumpName(dir, database string, day time.Time) string {
	base := safeName(database) + "-" + day.Format("2006-01-02")
	name := base
	for n := 2; n < 1000; n++ {
		entries, err := os.ReadDir(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
			break
		}
		name = base + "-" + strconv.Itoa(n)
	}
	return filepath.Join(dir, name)
}

// safeName keeps letters, digits and a few signs.
func safeName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
	if s == "" {
		return "dump"
	}
	return s[:min(len(s), 100)]
}
