package format

import (
	"errors"
	"os"
)

// File is a data file in the making, under its name with [PartSuffix].
type File struct {
	*Writer
}

// Create makes the file name.part below root (and its folder, if missing). The file must not exist, with or without the suffix.
func Create(root *os.Root, name string, h *Header, c Compression) (*File, error) {
	return nil, errors.New("not written yet")
}

// Commit ends the file and gives it its name: whatever bears it is complete and on disk. On an error the .part file stays until Abort.
func (f *File) Commit(t Totals) (StoredFile, error) {
	return StoredFile{}, errors.New("not written yet")
}

// Abort closes and removes the .part file. After Commit it does nothing, so it can be deferred.
func (f *File) Abort() error { return nil }
