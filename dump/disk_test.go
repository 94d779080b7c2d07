package dump_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// randomTable compresses badly.
const randomTable = `CREATE TABLE big AS SELECT g, sha512(g::text::bytea) || sha512((-g)::text::bytea) AS v FROM generate_series(1, 40000) g; CREATE TABLE small AS SELECT 1 AS x;`

// limitVariables make this test binary, as a child, take a dump under a limit of a file's size.
const limitDSN, limitDir = "PGHAUL_TEST_LIMIT_DSN", "PGHAUL_TEST_LIMIT_DIR"

// TestFileLimit: a file that may not grow. The dump runs in a child process, because the limit holds for a whole one.
func TestFileLimit(t *testing.T) {
	if dsn := os.Getenv(limitDSN); dsn != "" {
		underLimit(t, dsn, os.Getenv(limitDir))
		return
	}
	dsn := pgtest.DB(t, randomTable)
	dir := filepath.Join(t.TempDir(), "dump")
	cmd := exec.Command(os.Args[0], "-test.run=^TestFileLimit$", "-test.v")
	cmd.Env = append(os.Environ(), limitDSN+"="+dsn, limitDir+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestFileLimit") {
		t.Fatalf("the child: %v\n%s", err, out)
	}
}

func underLimit(t *testing.T, dsn, dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	const most = 1 << 20
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: most, Max: most}); err != nil {
		t.Fatal(err)
	}
	o := options(t, dsn)
	o.Dir = dir
	err := fails(context.Background(), t, o, "table public.big, segment 1")
	hinted(t, err, "--segment-size")
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "0001.pgcopy.zst") {
		t.Errorf("%v: want EFBIG and the file's name", err)
	}
	o.SegmentSize = 500 << 10 // as the hint says
	if sum := run(t, o); sum.Rows != 40001 {
		t.Errorf("%d rows", sum.Rows)
	}
	manifest(t, dir)
}

// mounted gives a small file system of its own, and false where the tests may not mount one: TestFileLimit and TestNotWritable stand for it there.
func mounted(t *testing.T, dir, how string) bool {
	t.Helper()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, how)
	if errors.Is(err, os.ErrPermission) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return true
}

// TestDiskFull: whichever file meets the end of the disk, it is named, and all is gone afterwards.
func TestDiskFull(t *testing.T) {
	noLeak(t)
	dsn := pgtest.DB(t, randomTable, `DO $$ BEGIN FOR i IN 1..400 LOOP EXECUTE format('CREATE VIEW v%s AS SELECT 1 AS %s', i, quote_ident('c' || md5(i::text))); END LOOP; END $$; SELECT lo_from_bytea(0, (SELECT string_agg(sha512(g::text::bytea), '') FROM generate_series(1, 40000) g))`)
	disk := t.TempDir()
	if !mounted(t, disk, "size=2m") {
		TestFileLimit(t)
		return
	}
	for what, set := range map[string]func(*dump.Options){
		"rows": func(o *dump.Options) { no := false; o.LargeObjects = &no }, "plain rows": func(o *dump.Options) { no := false; o.LargeObjects, o.Compression.Level = &no, 0 },
		"large objects": func(o *dump.Options) { o.ExcludeTableData = []string{"big"} },
	} {
		o := options(t, dsn)
		o.Dir = filepath.Join(disk, "dump")
		set(&o)
		err := fails(context.Background(), t, o, "o space left on device")
		hinted(t, err, "no space is left")
		rows, archive := strings.Contains(err.Error(), ", segment 1: "), strings.Contains(err.Error(), "schema.pgdump: ")
		if !rows && !archive { // rows and definitions race for the last page
			t.Errorf("%s: %v does not name the file", what, err)
		}
		if entries, err := os.ReadDir(disk); err != nil || len(entries) != 0 {
			t.Errorf("%s: left %v, %v", what, entries, err)
		}
	}
	// The last file of all.
	fill := filepath.Join(disk, "fill")
	o := options(t, dsn)
	o.Dir, o.SchemaOnly = filepath.Join(disk, "dump"), true
	run(t, o)
	archive, err := os.Stat(filepath.Join(o.Dir, "schema.pgdump"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(o.Dir); err != nil {
		t.Fatal(err)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(disk, &fs); err != nil {
		t.Fatal(err)
	}
	page := fs.Bsize
	keep := (archive.Size()+page-1)/page*page + page // and one page for the manifest: the checksums find none
	if err := os.WriteFile(fill, make([]byte, int64(fs.Bavail)*page-keep), 0o600); err != nil {
		t.Fatal(err)
	}
	hinted(t, fails(context.Background(), t, o, "XXH128SUMS"), "no space is left")
	if entries, err := os.ReadDir(disk); err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v", entries, err)
	}
}

// TestNotWritable: a folder that takes no files is noticed, with what to do.
func TestNotWritable(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE t (a int)`)
	dir := t.TempDir()
	if !mounted(t, dir, "ro") {
		if err := os.Chmod(dir, 0o500); err != nil { // it counts for all but root
			t.Fatal(err)
		}
	}
	o := options(t, dsn)
	o.Dir = filepath.Join(dir, "dump")
	hinted(t, fails(context.Background(), t, o, o.Dir), "may write to")
	o.Dir = dir
	_, err := dump.Run(context.Background(), o)
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("an empty folder that takes nothing: %v", err)
	}
	hinted(t, err, "may write to")
	o.Dir, o.File, o.Tables = "", filepath.Join(dir, "t.pgcopy"), []string{"t"}
	o.Compression.Level = 0
	if _, err = dump.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "t.pgcopy") {
		t.Errorf("a file: %v", err)
	}
}
