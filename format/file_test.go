package format

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func openRoot(t testing.TB) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return root
}

func TestFileCommit(t *testing.T) {
	root := openRoot(t)
	rows := append(appendRow(nil, strings.Repeat("x", 40<<20)), trailer...) // large enough for the early write-back
	totals := walkAll(t, 1, rows)
	for _, c := range []Compression{{}, {1}} {
		name := "data/0001.a.b/0001" + c.Ext()
		f, err := Create(root, name, sampleHeader("c"), c)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.WriteBlock(rows); err != nil {
			t.Fatal(err)
		}
		part, err := root.ReadFile(name + PartSuffix)
		if err != nil || !allZero(part[:100]) {
			t.Errorf("%v: the header must not be there before the rows are complete", err)
		}
		s, err := f.Commit(totals)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Abort(); err != nil {
			t.Error(err)
		}
		if _, err := f.Commit(totals); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if err := f.WriteBlock(rows); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		p, err := root.ReadFile(name)
		if err != nil || int64(len(p)) != s.StoredBytes || s.Path != name {
			t.Errorf("%v, %v, %d bytes", err, s, len(p))
		}
		if _, err := readAll(p); err != nil {
			t.Error(err)
		}
		if c.Level > 0 && len(p) > 100<<10 {
			t.Errorf("%d bytes", len(p))
		}
		out, err := exec.Command("xxh128sum", filepath.Join(root.Name(), name)).Output()
		if err != nil || !strings.HasPrefix(string(out), s.XXH128) {
			t.Errorf("%v: %s, not %s", err, out, s.XXH128)
		}
		if _, err := Create(root, name, sampleHeader("c"), c); !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
	}
}

func TestFileAbort(t *testing.T) {
	root := openRoot(t)
	f, err := Create(root, "x.pgcopy", sampleHeader("c"), Compression{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(root, "x.pgcopy", sampleHeader("c"), Compression{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second writer of the same file: %v", err)
	}
	if err := f.WriteBlock(trailer); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Commit(Totals{Length: 3}); err == nil || !strings.Contains(err.Error(), "x.pgcopy") {
		t.Error(err)
	}
	if err := errors.Join(f.Abort(), f.Abort()); err != nil {
		t.Error(err)
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil || len(entries) != 0 {
		t.Error(entries, err)
	}
	bad := sampleHeader("c")
	bad.Extra = []Chunk{{Tag: [4]byte([]byte("META"))}}
	if _, err := Create(root, "x.pgcopy", bad, Compression{}); err == nil || !strings.Contains(err.Error(), "x.pgcopy") {
		t.Error(err)
	}
	if entries, err := fs.ReadDir(root.FS(), "."); err != nil || len(entries) != 0 {
		t.Error(entries, err)
	}
}

func TestFullDiskKeepsItsErrno(t *testing.T) {
	root := openRoot(t)
	f, err := Create(root, "x.pgcopy", sampleHeader("c"), Compression{})
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	f.w = full
	rows := append(appendRow(nil, "a"), trailer...)
	if err := f.WriteBlock(rows); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	_, err = f.Commit(walkAll(t, 1, rows))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "x.pgcopy") {
		t.Error(err)
	}
	if err := f.Abort(); err != nil {
		t.Error(err)
	}
}

// forgetful is a file whose first bytes do not read back.
type forgetful struct{ memFile }

func (f *forgetful) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.memFile.ReadAt(p, at)
	p[n/2] ^= 1
	return n, err
}

func TestHeaderIsReadBack(t *testing.T) {
	w, err := NewWriter(new(forgetful), sampleHeader("c"), Compression{1})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteBlock(trailer); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(Totals{Length: 2}); err == nil || !strings.Contains(err.Error(), "reads back") {
		t.Error(err)
	}
}

func TestWriterRefusesNonsense(t *testing.T) {
	rows := append(appendRow(nil, "a"), trailer...)
	for name, write := range map[string]func(w *Writer) error{
		"raw length":  func(w *Writer) error { return w.WriteStored(rows, 0) },
		"huge frame":  func(w *Writer) error { return w.WriteStored(make([]byte, 5000), len(rows)) },
		"huge raw":    func(w *Writer) error { return w.WriteStored(rows, 1<<31-1) },
		"totals":      func(w *Writer) error { return errors.Join(w.WriteBlock(rows), w.Close(Totals{})) },
		"after close": func(w *Writer) error { return errors.Join(w.Close(Totals{}), w.WriteBlock(rows)) },
	} {
		w, err := NewStreamWriter(new(bytes.Buffer), sampleHeader("c"), Compression{1})
		if err != nil {
			t.Fatal(err)
		}
		err = write(w)
		if err == nil || w.WriteBlock(rows) == nil || w.Close(Totals{}) == nil {
			t.Errorf("%s: %v, and it must stick", name, err)
		}
	}
	w, err := NewStreamWriter(new(bytes.Buffer), sampleHeader("c"), Compression{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteStored(rows, len(rows)-1); err == nil {
		t.Error("lengths that differ in a plain file")
	}
}
