package dump

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/bytehaul/pghaul/format"
)

// leftBehind lists what an unfinished dump has left in a folder, in the order in which it can be removed, and refuses a folder that holds anything else:
// a manifest, a name that no dump gives, a link. dir is for errors alone.
func leftBehind(root *os.Root, dir string) (names []string, err error) {
	var folders []string
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case !ofDump(name, e):
			return withHint(fmt.Errorf("%s: %w: no dump makes %q", dir, ErrNotEmpty, name), "move it out of the folder, or give another folder")
		case e.IsDir():
			folders = append([]string{name}, folders...)
			return nil
		}
		names = append(names, name)
		return nil
	})
	return append(names, folders...), err
}

// ofDump tells the names that an unfinished dump may have left, below its folder. Folders of tables lie in that of data and are flat.
func ofDump(name string, e fs.DirEntry) bool {
	parts := strings.Split(name, "/")
	file, _ := strings.CutSuffix(name, format.PartSuffix)
	switch {
	case e.IsDir():
		return name == format.DataDir || len(parts) == 2 && parts[0] == format.DataDir && numbered(parts[1])
	case !e.Type().IsRegular():
		return false
	case len(parts) == 1:
		return name != format.ManifestName && (file == format.ManifestName || file == format.SchemaName || file == format.ChecksumName)
	}
	return format.IsSegmentPath(file)
}

// numbered tells a name that begins as those of a dump do, with four digits or more and a dot: see [format.SegmentPath].
func numbered(name string) bool {
	number, _, ok := strings.Cut(path.Base(name), ".")
	return ok && len(number) >= 4 && strings.Trim(number, "0123456789") == ""
}

// checkLeftBehind refuses a folder that holds anything but what an unfinished dump leaves.
func checkLeftBehind(dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return folderHint(err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	_, err = leftBehind(root, dir)
	return err
}

// removeLeftBehind removes what an unfinished dump has left in a folder, if that is all that there is. The caller holds the folder's lock: what is listed
// here can't have become somebody else's dump by the time it is removed.
func removeLeftBehind(root *os.Root, dir string) error {
	names, err := leftBehind(root, dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return folderHint(err)
		}
	}
	return nil
}
