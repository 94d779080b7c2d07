package format

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// commitOne writes a file of one row into a batch.
func commitOne(t *testing.T, b *Batch, name, value string, c Compression) StoredFile {
	t.Helper()
	rows := append(appendRow(nil, value), trailer...)
	f, err := b.Create(name, sampleHeader("c"), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WriteBlock(rows); err != nil {
		t.Fatal(err)
	}
	s, err := f.Commit(walkAll(t, 1, rows))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Abort(); err != nil {
		t.Error(err)
	}
	return s
}

// TestBatchNames: a small file is whole as soon as it is committed, and bears its name when the batch is on disk; a large one at once.
func TestBatchNames(t *testing.T) {
	for _, c := range []Compression{{}, {1}} {
		root := openRoot(t)
		b := NewBatch(root)
		exists := func(name string) bool {
			_, err := root.Stat(name)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			return err == nil
		}
		large := commitOne(t, b, "data/large/1"+c.Ext(), randomText(smallFile+1), c)
		if !exists(large.Path) {
			t.Errorf("%v: a file of %d bytes waits for others", c, large.StoredBytes)
		}
		const n = batchFiles + 5
		var small []StoredFile
		for i := range n {
			small = append(small, commitOne(t, b, fmt.Sprintf("data/%d/1%s", i, c.Ext()), fmt.Sprint(i), c))
			if named := i >= batchFiles-1; exists(small[0].Path) != named {
				t.Fatalf("%v: after %d files the first bears its name: %t", c, i+1, !named)
			}
		}
		last := small[n-1].Path
		if exists(last) || !exists(last+PartSuffix) {
			t.Errorf("%v: the last file has its name before it is on disk", c)
		}
		p, err := root.ReadFile(last + PartSuffix)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(p); err != nil {
			t.Errorf("%v: a committed file is not whole: %v", c, err)
		}
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
		for i, s := range append(small, large) {
			p, err := root.ReadFile(s.Path)
			if err != nil || int64(len(p)) != s.StoredBytes || hexSum(p) != s.XXH128 {
				t.Fatalf("%v: file %d: %v, %d bytes, want %+v", c, i, err, len(p), s)
			}
		}
	}
}

// TestBatchEqualsCreate: a file is the same, byte for byte, whether it comes together with others or not.
func TestBatchEqualsCreate(t *testing.T) {
	for _, c := range []Compression{{}, {1}} {
		root := openRoot(t)
		b := NewBatch(root)
		rows := append(appendRow(nil, "x"), trailer...)
		f, err := Create(root, "alone", sampleHeader("c"), c)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.WriteBlock(rows); err != nil {
			t.Fatal(err)
		}
		alone, err := f.Commit(walkAll(t, 1, rows))
		if err != nil {
			t.Fatal(err)
		}
		if s := commitOne(t, b, "together", "x", c); s.XXH128 != alone.XXH128 || s.StoredBytes != alone.StoredBytes {
			t.Errorf("%v: %+v, alone %+v", c, s, alone)
		}
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBatchAbort: what is given up leaves nothing, or its .part files for the owner of the folder.
func TestBatchAbort(t *testing.T) {
	root := openRoot(t)
	b := NewBatch(root)
	for _, value := range []string{"small", randomText(smallFile + 1)} {
		f, err := b.Create("x.pgcopy", sampleHeader("c"), Compression{})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.WriteBlock(appendRow(nil, value)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Abort(), f.Abort()); err != nil {
			t.Error(err)
		}
		if entries, err := fs.ReadDir(root.FS(), "."); err != nil || len(entries) != 0 {
			t.Error(entries, err)
		}
	}
	commitOne(t, b, "y.pgcopy", "y", Compression{})
	if err := errors.Join(b.Abort(), b.Abort(), b.Flush()); err != nil {
		t.Error(err)
	}
	if entries, err := fs.ReadDir(root.FS(), "."); err != nil || len(entries) != 1 || !strings.HasSuffix(entries[0].Name(), PartSuffix) {
		t.Error(entries, err)
	}
}

// TestBatchRefuses: a name that is taken by an unfinished file, and a folder that takes none.
func TestBatchRefuses(t *testing.T) {
	root := openRoot(t)
	if err := root.WriteFile("x.pgcopy"+PartSuffix, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := NewBatch(root).Create("x.pgcopy", sampleHeader("c"), Compression{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WriteBlock(trailer); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Commit(Totals{Length: 2}); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "x.pgcopy") {
		t.Error(err)
	}
	if err := f.Abort(); err != nil {
		t.Error(err)
	}
	if _, err := root.Stat("x.pgcopy" + PartSuffix); err != nil {
		t.Errorf("somebody else's file is gone: %v", err)
	}
}

// TestSyncAll: the way of the system and the way file by file both do.
func TestSyncAll(t *testing.T) {
	root := openRoot(t)
	var files []waitingFile
	for i := range syncTogether {
		f, err := root.OpenFile(fmt.Sprint(i), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, waitingFile{fmt.Sprint(i), f})
	}
	if err := errors.Join(syncFiles(files), syncFiles(files[:1])); err != nil {
		t.Error(err)
	}
	if err := closeFiles(files); err != nil {
		t.Fatal(err)
	}
	if err := syncFiles(files[:1]); err == nil || !strings.Contains(err.Error(), "0") {
		t.Errorf("a closed file: %v", err)
	}
	if err := syncFiles(files); err == nil {
		t.Error("closed files were said to be on disk")
	}
}

// randomText does not compress.
func randomText(n int) string {
	rng := rand.New(rand.NewPCG(3, 4))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return string(p)
}
