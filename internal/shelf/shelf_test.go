package shelf

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/dirlock"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// makeDump makes a dump of one table of no rows.
func makeDump(t *testing.T, dir, database, system string, at time.Time) {
	t.Helper()
	check(t, os.MkdirAll(dir, 0o700))
	root, err := os.OpenRoot(dir)
	check(t, err)
	defer root.Close()
	m := &format.Manifest{FormatVersion: format.ManifestVersion, Tool: "pghaul test", DumpID: filepath.Base(dir), Started: at.UTC().Format(time.RFC3339Nano)}
	m.Source.Database, m.Source.Server.SystemIdentifier = format.Name(database), system
	h := &format.Header{Major: format.Major, Minor: format.Minor, Meta: format.Meta{DumpID: m.DumpID}}
	f, err := format.Create(root, "data/0001.public.t/0001.pgcopy", h, format.Compression{})
	check(t, err)
	check(t, f.WriteBlock([]byte{0xff, 0xff}))
	stored, err := f.Commit(format.Totals{Length: 2})
	check(t, err)
	none := strings.Repeat("0", 32)
	m.Tables = []format.ManifestTable{{Schema: "public", Name: "t", Kind: "table", Bytes: 2, RowDigest: none, Segments: []format.ManifestSegment{{StoredFile: stored, RawBytes: 2, RowDigest: none}}}}
	check(t, format.WriteManifest(root, m))
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func day(n int) time.Time { return noon.AddDate(0, 0, -n) }

func write(t *testing.T, path, text string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(path), 0o700))
	check(t, os.WriteFile(path, []byte(text), 0o600))
}

func names(dumps []Dump) (out []string) {
	for _, d := range dumps {
		out = append(out, filepath.Base(d.Path)+" "+string(d.State))
	}
	return out
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	outside := t.TempDir()
	makeDump(t, filepath.Join(outside, "elsewhere"), "shop", "1", day(0))
	makeDump(t, filepath.Join(dir, "b"), "shop", "1", day(2))
	makeDump(t, filepath.Join(dir, "deep", "er", "a"), "shop", "1", day(3))
	makeDump(t, filepath.Join(dir, "gone"), "shop", "1", day(1))
	check(t, os.Remove(filepath.Join(dir, "gone", "data/0001.public.t/0001.pgcopy")))
	makeDump(t, filepath.Join(dir, "broken"), "shop", "1", day(1))
	write(t, filepath.Join(dir, "broken", "manifest.json"), "{")
	write(t, filepath.Join(dir, "unfinished", "data", "0001.public.t", "0001.pgcopy.zst.part"), "rows")
	write(t, filepath.Join(dir, "notes", "data", "notes.txt"), "none of ours")
	write(t, filepath.Join(dir, "app", "manifest.json"), `{"name": "an app"}`)
	check(t, os.Symlink(filepath.Join(outside, "elsewhere"), filepath.Join(dir, "link")))
	check(t, os.Symlink(outside, filepath.Join(dir, "notes", "link")))
	old := day(9)
	for _, n := range []string{"unfinished", "broken"} {
		check(t, filepath.WalkDir(filepath.Join(dir, n), func(p string, _ fs.DirEntry, err error) error { return errors.Join(err, os.Chtimes(p, old, old)) }))
	}
	dumps, unreadable, err := List(dir)
	check(t, err)
	want := []string{"broken damaged", "unfinished unfinished", "a complete", "b complete", "gone damaged"}
	if diff := cmp.Diff(want, names(dumps)); diff != "" || len(unreadable) > 0 {
		t.Errorf("%s%v", diff, unreadable)
	}
	b := dumps[3]
	if b.Database != "shop" || b.Tables != 1 || !b.TimeKnown || !b.Time.Equal(day(2)) || b.StoredBytes < 100 {
		t.Errorf("%+v", b)
	}
	if !strings.Contains(dumps[4].Why, "0001.pgcopy is missing") {
		t.Error(dumps[4].Why)
	}
	if alone, _, err := List(filepath.Join(dir, "b")); err != nil || len(alone) != 1 || !alone[0].IsNamed() {
		t.Errorf("%v, %v", alone, err)
	}
	if _, _, err := List(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// kept lists the paths that a policy keeps of complete dumps of these times.
func kept(p Policy, now time.Time, dumps ...Dump) (out []string) {
	for _, g := range p.Decide(dumps, now) {
		for _, d := range g.Dumps {
			if d.Keep {
				out = append(out, d.Path+": "+strings.Join(d.Reasons, ", "))
			}
		}
	}
	return out
}

func dumpAt(path string, at time.Time) Dump {
	return Dump{Path: path, State: Complete, Database: "shop", SystemIdentifier: "1", Time: at, TimeKnown: true}
}

func TestPolicy(t *testing.T) {
	var daily []Dump
	for n := range 70 {
		daily = append(daily, dumpAt(day(n).Format("0102"), day(n)), dumpAt(day(n).Format("0102")+"early", day(n).Add(-6*time.Hour)))
	}
	lost := func(d Dump, s State) Dump { d.State = s; return d }
	other := dumpAt("other", day(60))
	other.Database = "blog"
	moved := dumpAt("moved", day(60))
	moved.SystemIdentifier = "2"
	unknown := dumpAt("unknown", day(90))
	unknown.TimeKnown = false
	for name, c := range map[string]struct {
		p     Policy
		dumps []Dump
		want  []string
	}{
		"last":    {Policy{Last: 3}, daily, []string{"1130: last", "1130early: last", "1129: last"}},
		"daily":   {Policy{Daily: 2}, daily, []string{"1130: daily 2026-11-30", "1129: daily 2026-11-29"}},
		"weekly":  {Policy{Weekly: 3}, daily, []string{"1130: weekly 2026-W49", "1129: weekly 2026-W48", "1122: weekly 2026-W47"}},
		"monthly": {Policy{Monthly: 3}, daily, []string{"1130: monthly 2026-11", "1031: monthly 2026-10", "0930: monthly 2026-09"}},
		"several": {Policy{Last: 1, Daily: 1, Monthly: 2}, daily, []string{"1130: last, daily 2026-11-30, monthly 2026-11", "1031: monthly 2026-10"}},
		"days without a dump do not count": {Policy{Daily: 2}, []Dump{dumpAt("a", day(40)), dumpAt("b", day(80)), dumpAt("c", day(90))},
			[]string{"a: daily 2026-10-21", "b: daily 2026-09-11"}},
		"the last good one is behind damaged ones": {Policy{Last: 1}, []Dump{lost(dumpAt("a", day(1)), Damaged), lost(dumpAt("b", day(2)), Damaged), dumpAt("c", day(3)), dumpAt("d", day(4))},
			[]string{"a: damaged: look at it yourself ()", "b: damaged: look at it yourself ()", "c: last"}},
		"another database":  {Policy{Last: 1}, []Dump{other, dumpAt("a", day(1)), dumpAt("b", day(2))}, []string{"other: last", "a: last"}},
		"another server":    {Policy{Last: 1}, []Dump{moved, dumpAt("a", day(1)), dumpAt("b", day(2))}, []string{"a: last", "moved: last"}},
		"a clock was wrong": {Policy{Last: 1}, []Dump{dumpAt("future", noon.AddDate(1, 0, 0)), dumpAt("a", day(1)), dumpAt("b", day(2))}, []string{"future: its time is in the future: a clock was wrong", "a: last"}},
		"a clock is ahead":  {Policy{Last: 1}, []Dump{dumpAt("a", noon.Add(time.Minute)), dumpAt("b", day(2))}, []string{"a: last"}},
		"no time":           {Policy{Last: 1}, []Dump{unknown, dumpAt("a", day(1))}, []string{"a: last", "unknown: its manifest does not say when it was made"}},
		"none is asked for": {Policy{}, []Dump{dumpAt("a", day(1)), dumpAt("b", day(2))}, []string{"a: the last good one"}},
		"unfinished":        {Policy{Last: 1}, []Dump{dumpAt("a", day(3)), lost(dumpAt("b", day(2)), Unfinished)}, []string{"b: unfinished: --unfinished removes it", "a: last"}},
		"unfinished are removed, after a day": {Policy{Last: 1, Unfinished: true}, []Dump{dumpAt("a", day(3)), lost(dumpAt("b", day(2)), Unfinished), lost(dumpAt("c", noon.Add(-23*time.Hour)), Unfinished)},
			[]string{"c: unfinished, and changed within a day: it may be in the making", "a: last"}},
	} {
		if diff := cmp.Diff(c.want, kept(c.p, noon, c.dumps...)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A dump of a part takes no place of one of the whole, nor of another part.
func TestPolicyJudgesPartsByThemselves(t *testing.T) {
	part := func(path string, at time.Time, choice string) Dump {
		d := dumpAt(path, at)
		d.Choice = choice
		return d
	}
	dumps := []Dump{dumpAt("whole", day(9)), dumpAt("earlier", day(10)), part("orders", day(0), "--table=orders"), part("orders before", day(1), "--table=orders"), part("definitions", day(2), "--schema-only=true")}
	want := []string{"whole: last", "definitions: last", "orders: last"}
	if diff := cmp.Diff(want, kept(Policy{Last: 1}, noon, dumps...)); diff != "" {
		t.Error(diff)
	}
}

func TestChoiceOf(t *testing.T) {
	m := &format.Manifest{Options: map[string]string{"jobs": "4", "compress": "zstd:1", "segment-size": "1", "snapshot": "x"}, Tables: []format.ManifestTable{{Schema: "s", Name: "b"}}}
	if got := choiceOf(m); got != "" {
		t.Errorf("the whole: %q", got)
	}
	m.Options["exclude-table"], m.Options["large-objects"] = "log*", "false"
	m.Tables = append(m.Tables, format.ManifestTable{Schema: "s", Name: "c", Where: "x > 1"}, format.ManifestTable{Schema: "s", Name: "a", Where: "y"})
	if got := choiceOf(m); got != "--exclude-table=log* --large-objects=false --where=s.a:y --where=s.c:x > 1" {
		t.Errorf("%q", got)
	}
}

// A day is that of the time zone.
func TestPolicyOfATimeZone(t *testing.T) {
	late, early := time.Date(2026, 11, 29, 23, 30, 0, 0, time.UTC), time.Date(2026, 11, 29, 1, 0, 0, 0, time.UTC)
	dumps := []Dump{dumpAt("late", late), dumpAt("early", early)}
	if got := kept(Policy{Daily: 2}, noon, dumps...); len(got) != 1 {
		t.Error(got)
	}
	if got := kept(Policy{Daily: 2, Location: time.FixedZone("east", 3600)}, noon, dumps...); len(got) != 2 {
		t.Error(got)
	}
}

func tree(t *testing.T, dir string) (out []string) {
	t.Helper()
	check(t, filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, p); err == nil && rel != "." {
			out = append(out, rel)
		}
		return err
	}))
	return out
}

// only returns the single dump below a folder.
func only(t *testing.T, dir string) *Dump {
	t.Helper()
	dumps, _, err := List(dir)
	check(t, err)
	if len(dumps) != 1 {
		t.Fatal(names(dumps))
	}
	return &dumps[0]
}

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	makeDump(t, filepath.Join(dir, "a"), "shop", "1", day(1))
	write(t, filepath.Join(dir, "beside.txt"), "x")
	left, err := only(t, dir).Remove()
	if got := tree(t, dir); err != nil || len(left) > 0 || !slices.Equal(got, []string{"beside.txt"}) {
		t.Errorf("%v, %v, %v", left, err, got)
	}
}

// What is not the dump's stays: other files, and what links lead to.
func TestRemoveLeavesForeignFiles(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "precious"), "x")
	a := filepath.Join(dir, "a")
	makeDump(t, a, "shop", "1", day(1))
	write(t, filepath.Join(a, "notes.txt"), "x")
	write(t, filepath.Join(a, "data/0001.public.t/mine.csv"), "x")
	check(t, os.Symlink(outside, filepath.Join(a, "data", "link")))
	left, err := only(t, dir).Remove()
	want := []string{"data/0001.public.t/mine.csv", "data/link", "notes.txt"}
	if diff := cmp.Diff(want, left); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if got := tree(t, a); !slices.Equal(got, []string{"data", "data/0001.public.t", "data/0001.public.t/mine.csv", "data/link", "notes.txt"}) {
		t.Error(got)
	}
	if got, err := os.ReadFile(filepath.Join(outside, "precious")); err != nil || !bytes.Equal(got, []byte("x")) {
		t.Error(err)
	}
}

// A folder of data that is a link out of the dump: the dump is damaged for us, and nothing is followed.
func TestRemoveFollowsNoLink(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	a := filepath.Join(dir, "a")
	makeDump(t, a, "shop", "1", day(1))
	d := only(t, dir)
	check(t, os.Rename(filepath.Join(a, "data"), filepath.Join(outside, "data")))
	check(t, os.Symlink(filepath.Join(outside, "data"), filepath.Join(a, "data")))
	if got := only(t, dir); got.State != Damaged {
		t.Errorf("%+v", got)
	}
	if _, err := d.Remove(); err == nil {
		t.Error("no error")
	}
	if got := tree(t, outside); !slices.Contains(got, "data/0001.public.t/0001.pgcopy") {
		t.Error(got)
	}
}

// Between the look and the removal a dump may have become another one, or a link.
func TestRemoveLooksAgain(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	a := filepath.Join(dir, "a")
	makeDump(t, a, "shop", "1", day(1))
	d := only(t, dir)
	check(t, os.Rename(a, filepath.Join(outside, "a")))
	makeDump(t, filepath.Join(dir, "other"), "shop", "1", day(0))
	check(t, os.Rename(filepath.Join(dir, "other"), a))
	if _, err := d.Remove(); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
	check(t, os.RemoveAll(a))
	check(t, os.Symlink(filepath.Join(outside, "a"), a))
	if _, err := d.Remove(); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
	if got := tree(t, outside); len(got) < 5 {
		t.Error(got)
	}
}

func TestRemoveUnfinished(t *testing.T) {
	dir := t.TempDir()
	part := filepath.Join(dir, "a", "data", "0001.public.t", "0001.pgcopy.zst.part")
	write(t, part, "rows")
	write(t, filepath.Join(dir, "a", "schema.pgdump"), "x")
	if _, err := only(t, dir).Remove(); !errors.Is(err, ErrChanged) {
		t.Errorf("fresh: %v", err)
	}
	old := time.Now().Add(-2 * UnfinishedAge)
	check(t, filepath.WalkDir(filepath.Join(dir, "a"), func(p string, _ fs.DirEntry, err error) error { return errors.Join(err, os.Chtimes(p, old, old)) }))
	d := only(t, dir)
	check(t, os.Chtimes(part, time.Now(), time.Now()))
	if _, err := d.Remove(); !errors.Is(err, ErrChanged) {
		t.Errorf("written to again: %v", err)
	}
	check(t, os.Chtimes(part, old, old))
	root, err := os.OpenRoot(filepath.Join(dir, "a"))
	check(t, err)
	defer root.Close()
	writer, err := dirlock.Take(root)
	check(t, err)
	if _, err := d.Remove(); !errors.Is(err, dirlock.ErrLocked) {
		t.Errorf("paused, and not dead: %v", err)
	}
	check(t, writer.Close())
	left, err := d.Remove()
	if got := tree(t, dir); err != nil || len(left) > 0 || len(got) > 0 {
		t.Errorf("%v, %v, %v", left, err, got)
	}
}
