package format

import (
	"errors"
	"fmt"
	"os"
	"path"
	"sync"
)

// batchFiles is how many small files are made durable together. Each is open until then.
const batchFiles = 256

// Batch makes small files durable many at a time: a hundred thousand tables are as many files, and the syncs of each would take longer than all else. A file
// that stays small is written whole under its .part name, rows first, the header last; when so many have come together all of them are brought to disk, and
// only then get their names. So what bears a name is complete and on disk here too. Larger files do not wait for others: see [File.Commit].
//
// Its methods may be called from any goroutine. Without a Flush at the end files are left under their .part names.
type Batch struct {
	root *os.Root

	mu      sync.Mutex
	waiting []waitingFile
}

// waitingFile is complete, and not on disk yet.
type waitingFile struct {
	name string
	f    *os.File
}

// NewBatch returns a batch of files below root, which is kept.
func NewBatch(root *os.Root) *Batch { return &Batch{root: root} }

// Create is the function Create for a file of the batch. That the file can't be made may show only when it has grown or ends.
func (b *Batch) Create(name string, h *Header, c Compression) (*File, error) {
	p := &part{root: b.root, name: name + PartSuffix, keep: true}
	return newFile(&File{root: b.root, name: name, part: p, batch: b}, h, c)
}

// add takes a complete file over.
func (b *Batch) add(name string, f *os.File) error {
	b.mu.Lock()
	b.waiting = append(b.waiting, waitingFile{name, f})
	var full []waitingFile
	if len(b.waiting) >= batchFiles {
		full, b.waiting = b.waiting, nil
	}
	b.mu.Unlock()
	return b.settle(full)
}

// Flush brings all files that were committed to disk and gives them their names.
func (b *Batch) Flush() error {
	b.mu.Lock()
	rest := b.waiting
	b.waiting = nil
	b.mu.Unlock()
	return b.settle(rest)
}

// Abort closes the files that wait. They keep their .part names: removing them is the caller's, as it is with those that have their own.
func (b *Batch) Abort() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := closeFiles(b.waiting)
	b.waiting = nil
	return err
}

// settle makes files durable, names them, and makes their names durable.
func (b *Batch) settle(files []waitingFile) error {
	if len(files) == 0 {
		return nil
	}
	err := syncFiles(files)
	if err = errors.Join(err, closeFiles(files)); err != nil {
		return err
	}
	for _, w := range files {
		if err := b.root.Rename(w.name+PartSuffix, w.name); err != nil {
			return fmt.Errorf("%s: %w", Printable(w.name), err)
		}
	}
	return b.syncDirs(files)
}

// syncFiles brings the files to disk: together where the system can, else one by one.
func syncFiles(files []waitingFile) error {
	if len(files) >= syncTogether && canSyncAll() {
		if done, err := syncAll(files[0].f); done || err != nil {
			return err
		}
	}
	for _, w := range files {
		if err := w.f.Sync(); err != nil {
			return fmt.Errorf("%s: %w", Printable(w.name), err)
		}
	}
	return nil
}

// syncTogether is how many files are worth a sync of all that the file system has to write, which may be other programs' too.
const syncTogether = 16

// syncDirs makes the names of the files durable.
func (b *Batch) syncDirs(files []waitingFile) error {
	dirs := map[string]bool{}
	for _, w := range files {
		dirs[path.Dir(w.name)] = true
	}
	if len(dirs) >= syncTogether && canSyncAll() {
		d, err := b.root.Open(".")
		if err != nil {
			return err
		}
		done, err := syncAll(d)
		if err = errors.Join(err, d.Close()); done || err != nil {
			return err
		}
	}
	for dir := range dirs {
		if err := syncDir(b.root, dir); err != nil {
			return err
		}
	}
	return nil
}

func closeFiles(files []waitingFile) error {
	var errs []error
	for _, w := range files {
		errs = append(errs, w.f.Close())
	}
	return errors.Join(errs...)
}
