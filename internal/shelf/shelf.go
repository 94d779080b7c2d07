// Package shelf looks after dumps in folders: it finds them, tells which of them a retention policy keeps, and removes one.
//
// It believes a folder to be a dump for its manifest alone. Nothing below a symbolic link is looked at, and nothing outside the folder that was named is touched.
package shelf

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bytehaul/pghaul/format"
)

// State of a dump.
type State string

// The states, as far as they can be told without reading the data: the manifest, and which files there are, of which length.
const (
	Complete   State = "complete"
	Unfinished State = "unfinished" // there is no manifest
	Damaged    State = "damaged"    // the manifest can't be read, or files of it are missing or of another length
)

// Dump is one dump that was found.
type Dump struct {
	Path             string      `json:"path"`
	State            State       `json:"state"`
	Why              string      `json:"why,omitempty"` // of the states but Complete
	DumpID           string      `json:"dump_id,omitempty"`
	Database         format.Name `json:"database,omitempty"`
	SystemIdentifier string      `json:"system_identifier,omitempty"`
	ServerVersion    int         `json:"server_version_num,omitempty"`
	Time             time.Time   `json:"time"` // when it was begun; of an unfinished one, and where the manifest does not say, when a file in it changed last
	TimeKnown        bool        `json:"time_known"`
	StoredBytes      int64       `json:"stored_bytes"` // of its files, as the manifest has them; of an unfinished one, on disk
	Tables           int         `json:"tables"`
	Rows             int64       `json:"rows"`
	Warnings         int         `json:"warnings"`
	Choice           string      `json:"choice,omitempty"` // the options that made it a dump of a part; "": of the whole database

	base string // the folder that was named
	rel  string // of the dump in it, with slashes
}

// IsNamed tells whether the dump is the very folder that was named, and not below it.
func (d *Dump) IsNamed() bool { return d.rel == "." }

// Unreadable is a folder that could not be looked into.
type Unreadable struct {
	Path string
	Err  error
}

// List finds the dumps below dir, dir itself included, in the order of their times. Folders inside a dump are not looked at.
func List(dir string) (dumps []Dump, unreadable []Unreadable, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close() // it was only read
	err = fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			unreadable = append(unreadable, Unreadable{filepath.Join(dir, filepath.FromSlash(p)), err})
			return nil
		case !e.IsDir():
			return nil
		}
		sub, err := root.OpenRoot(p)
		if err != nil {
			unreadable = append(unreadable, Unreadable{filepath.Join(dir, filepath.FromSlash(p)), err})
			return fs.SkipDir
		}
		defer sub.Close() // it was only read
		d, ok := look(sub)
		if !ok {
			return nil
		}
		d.Path, d.base, d.rel = filepath.Join(dir, filepath.FromSlash(p)), dir, p
		dumps = append(dumps, d)
		return fs.SkipDir
	})
	Sort(dumps)
	return dumps, unreadable, err
}

// Sort orders dumps by their times, the earliest first.
func Sort(dumps []Dump) {
	slices.SortFunc(dumps, func(a, b Dump) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Path, b.Path)) })
}

// look tells whether a folder is a dump, and what is in it.
func look(root *os.Root) (Dump, bool) {
	m, err := format.ReadManifest(root)
	switch {
	case err == nil:
		d := describe(root, m)
		if why := missing(root, m); why != "" {
			d.State, d.Why = Damaged, why
		}
		return d, true
	case !traces(root):
		return Dump{}, false // nothing, or somebody else's manifest
	}
	d := Dump{State: Unfinished, Why: "no manifest.json: it did not finish, was cancelled, or is being made"}
	if !errors.Is(err, format.ErrUnfinished) {
		d.State, d.Why = Damaged, err.Error()
	}
	d.StoredBytes, d.Time = onDisk(root)
	return d, true
}

func describe(root *os.Root, m *format.Manifest) Dump {
	d := Dump{State: Complete, DumpID: m.DumpID, Database: m.Source.Database, SystemIdentifier: m.Source.Server.SystemIdentifier, ServerVersion: m.Source.Server.VersionNum,
		Tables: len(m.Tables), Warnings: len(m.Warnings), Choice: choiceOf(m)}
	for i := range m.Tables {
		d.Rows += m.Tables[i].Rows
	}
	for _, f := range m.Files() {
		d.StoredBytes += f.StoredBytes
	}
	if t, err := time.Parse(time.RFC3339Nano, m.Started); err == nil {
		d.Time, d.TimeKnown = t.UTC(), true
	} else {
		_, d.Time = onDisk(root)
	}
	return d
}

// missing names the first file of the manifest that is not there as it should be.
func missing(root *os.Root, m *format.Manifest) string {
	for _, f := range m.Files() {
		info, err := root.Lstat(filepath.FromSlash(f.Path))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return format.Printable(f.Path) + " is missing"
		case err != nil:
			return err.Error()
		case !info.Mode().IsRegular():
			return format.Printable(f.Path) + " is not a regular file"
		case info.Size() != f.StoredBytes:
			return format.Printable(f.Path) + " is not as long as the manifest says"
		}
	}
	return ""
}

// traces tells whether a folder without a readable manifest looks like a dump all the same: unfinished files, or data files where a dump has them.
func traces(root *os.Root) bool {
	for _, name := range []string{format.ManifestName + format.PartSuffix, format.SchemaName, format.SchemaName + format.PartSuffix, format.ChecksumName} {
		if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	if info, err := root.Lstat(format.DataDir); err != nil || !info.IsDir() {
		return false
	}
	found := false
	_ = fs.WalkDir(root.FS(), format.DataDir, func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || e.IsDir() && strings.Count(p, "/") > 1:
			return fs.SkipDir
		case !e.IsDir() && ours(p):
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// ours tells whether a path in a dump is one that pghaul makes.
func ours(p string) bool {
	p = strings.TrimSuffix(p, format.PartSuffix)
	switch p {
	case format.ManifestName, format.SchemaName, format.ChecksumName:
		return true
	}
	return format.IsSegmentPath(p)
}

// onDisk sums up the regular files of a folder, and says when one of them, or the folder, changed last.
func onDisk(root *os.Root) (bytes int64, last time.Time) {
	_ = fs.WalkDir(root.FS(), ".", func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // what can't be read has no size that could be told
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		if info.Mode().IsRegular() {
			bytes += info.Size()
		}
		if info.ModTime().After(last) {
			last = info.ModTime().UTC()
		}
		return nil
	})
	return bytes, last
}
