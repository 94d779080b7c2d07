package dump_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// abandoned makes of a folder what a dump that was killed leaves there.
func abandoned(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "data", "0001.public.a"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"schema.pgdump.part", "schema.pgdump", "XXH128SUMS", "manifest.json.part", "data/0001.public.a/0001.pgcopy.zst", "data/0001.public.a/0002.pgcopy.zst.part", "data/0001.public.a/0003.pgcopy"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOverwriteUnfinished: what an unfinished dump leaves makes room for another one when that is asked for, and nothing else ever does.
func TestOverwriteUnfinished(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE a AS SELECT generate_series(1, 10) AS x`)
	write := func(name string) func(dir string) error {
		return func(dir string) error {
			path := filepath.Join(dir, filepath.FromSlash(name))
			return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600))
		}
	}
	for name, c := range map[string]struct {
		change func(dir string) error
		refuse bool
	}{
		"as it was left":             {func(string) error { return nil }, false},
		"a folder that is not there": {os.RemoveAll, false},
		"nothing but data": {func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.MkdirAll(filepath.Join(dir, "data"), 0o700))
		}, false},
		"a finished dump":           {write("manifest.json"), true},
		"a stranger":                {write("notes.txt"), true},
		"a stranger below data":     {write("data/notes.txt"), true},
		"a stranger beside rows":    {write("data/0001.public.a/notes.txt"), true},
		"another folder":            {write("more/0001.pgcopy"), true},
		"a folder without a number": {write("data/public.a/0001.pgcopy"), true},
		"folders too deep":          {write("data/0001.public.a/0001.x/0001.pgcopy"), true},
		"a salvaged file":           {write("data/0001.public.a/0002.salvaged.pgcopy.zst"), true},
		"a file without a number":   {write("data/0001.public.a/rows.pgcopy"), true},
		"a link": {func(dir string) error {
			return os.Symlink("/etc/passwd", filepath.Join(dir, "data", "0001.public.a", "0009.pgcopy"))
		}, true},
		"a link for a folder": {func(dir string) error { return os.Symlink("/etc", filepath.Join(dir, "data", "0002.public.b")) }, true},
	} {
		o := options(t, dsn)
		abandoned(t, o.Dir)
		if err := c.change(o.Dir); err != nil {
			t.Fatal(name, err)
		}
		if _, err := os.Lstat(o.Dir); err == nil && !c.refuse { // without being asked
			if _, err := dump.Run(context.Background(), o); !errors.Is(err, dump.ErrNotEmpty) {
				t.Errorf("%s: %v", name, err)
			} else {
				hinted(t, err, "--overwrite-unfinished")
			}
		}
		before := listing(t, o.Dir)
		o.OverwriteUnfinished = true
		sum, err := dump.Run(context.Background(), o)
		switch {
		case !c.refuse && err != nil:
			t.Errorf("%s: %v", name, err)
		case !c.refuse:
			if manifest(t, o.Dir); sum.Rows != 10 {
				t.Errorf("%s: %d rows", name, sum.Rows)
			}
		case !errors.Is(err, dump.ErrNotEmpty):
			t.Errorf("%s: %v, want %v", name, err, dump.ErrNotEmpty)
		default:
			hinted(t, err, "")
			if after := listing(t, o.Dir); after != before {
				t.Errorf("%s: the folder holds %s, and held %s", name, after, before)
			}
		}
	}
}

// TestOverwriteUnderWay: a dump that is being written is no unfinished one.
func TestOverwriteUnderWay(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE a AS SELECT generate_series(1, 10) AS x; CREATE MATERIALIZED VIEW mv AS SELECT 1 AS x`)
	holder, watcher := connect(t, dsn), connect(t, dsn)
	exec1(t, holder, "BEGIN; REFRESH MATERIALIZED VIEW public.mv") // pg_dump waits for it
	o := options(t, dsn)
	done := start(context.Background(), o)
	await(t, watcher, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pg_dump' AND wait_event_type = 'Lock')")
	second := options(t, dsn)
	second.Dir, second.OverwriteUnfinished = o.Dir, true
	if _, err := dump.Run(context.Background(), second); !errors.Is(err, dump.ErrNotEmpty) {
		t.Errorf("a second dump into the same folder: %v", err)
	} else {
		hinted(t, err, "another dump is being written there")
	}
	exec1(t, holder, "COMMIT")
	if r := wait(t, done); r.err != nil {
		t.Error(r.err)
	}
	manifest(t, o.Dir)
}

// listing shows all that is below a folder.
func listing(t *testing.T, dir string) (list string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		list += path + "\n"
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return list
}
