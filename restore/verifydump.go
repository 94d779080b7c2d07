package restore

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/control"
	"github.com/bytehaul/pghaul/internal/pipeline"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/zeebo/xxh3"
)

// dump verifies a whole folder.
func (v *verifier) dump(ctx context.Context) (err error) {
	v.report.What = "dump"
	if v.root, err = os.OpenRoot(v.o.Path); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.root.Close()) }()
	m := v.o.manifest
	if m == nil {
		m, err = format.ReadManifest(v.root)
	}
	switch {
	case errors.Is(err, format.ErrUnfinished):
		v.found(Damage{File: format.ManifestName, Offset: -1, Kind: kindUnfinished, What: "the folder has no manifest, which is written last: the dump did not finish, or this is none", Hint: "take the dump again"})
	case err != nil:
		v.found(*damageOf(format.ManifestName, err))
	}
	present, err := v.list(m)
	if err != nil {
		return err
	}
	if m == nil {
		return v.filesAlone(ctx, present)
	}
	v.report.DumpID, v.report.Tables = m.DumpID, len(m.Tables)
	v.sums(m)
	return v.files(ctx, m)
}

// list returns the data files that are there, and warns of what does not belong to the dump: without a manifest nobody can tell that.
func (v *verifier) list(m *format.Manifest) ([]string, error) {
	known := map[string]bool{format.ManifestName: true, format.ChecksumName: true}
	if m != nil {
		for _, f := range m.Files() {
			known[f.Path] = true
		}
	}
	var data []string
	err := fs.WalkDir(v.root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			v.found(Damage{File: path, Offset: -1, Kind: format.ErrRead.String(), What: err.Error(), Hint: "see to it that the file can be read"})
			return nil
		case m == nil && d.IsDir() && path != "." && path != format.DataDir && !strings.HasPrefix(path, format.DataDir+"/"):
			return fs.SkipDir // any folder may have been named; a dump has no other
		case d.IsDir():
		case strings.HasSuffix(path, format.PartSuffix):
			v.warn(Damage{File: path, Offset: -1, Kind: kindLeftOver, What: "the unfinished file of a dump that was interrupted", Hint: "delete it"})
		case m == nil && format.ValidatePath(path) == nil:
			data = append(data, path)
		case m != nil && !known[path]:
			v.warn(Damage{File: path, Offset: -1, Kind: kindUnexpected, What: "the manifest does not name it", Hint: "move it out of the dump"})
		}
		return nil
	})
	return data, err
}

// sums verifies the checksum file and the schema archive.
func (v *verifier) sums(m *format.Manifest) {
	var e *format.Error
	switch err := format.CheckSums(v.root, m); {
	case errors.Is(err, fs.ErrNotExist):
		v.found(Damage{File: format.ChecksumName, Offset: -1, Kind: kindMissing})
	case errors.As(err, &e):
		v.found(*damageOf(format.ChecksumName, err))
	case err != nil:
		v.found(Damage{File: format.ChecksumName, Offset: -1, Kind: format.ErrRead.String(), What: err.Error()})
	}
	if m.Schema != nil {
		if d := v.schema(m.Schema); d != nil {
			v.found(*d)
		}
	}
}

// schema compares the schema archive with the manifest. What is in it is pg_restore's to read.
func (v *verifier) schema(want *format.StoredFile) *Damage {
	f, size, d := v.open(want.Path)
	if d != nil {
		return d
	}
	defer f.Close() // it was only read
	if size != want.StoredBytes {
		return &Damage{File: want.Path, Offset: min(size, want.StoredBytes), Kind: sizeKind(size, want.StoredBytes), What: fmt.Sprintf("%d bytes, the manifest says %d", size, want.StoredBytes)}
	}
	src := &summedReader{r: f, sum: xxh3.New128()}
	if _, err := io.Copy(io.Discard, src); err != nil {
		return damageOf(want.Path, err)
	}
	sum := src.sum.Sum128().Bytes()
	if got := hex.EncodeToString(sum[:]); got != want.XXH128 {
		return &Damage{File: want.Path, Offset: -1, Kind: format.ErrChecksum.String(), What: fmt.Sprintf("xxh128 is %s, the manifest says %s", got, want.XXH128)}
	}
	return nil
}

func sizeKind(got, want int64) string {
	if got < want {
		return format.ErrTruncated.String()
	}
	return format.ErrTrailing.String()
}

// open opens a file of the dump, if it is a file.
func (v *verifier) open(path string) (*os.File, int64, *Damage) {
	f, info, err := format.OpenRegular(v.root, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, &Damage{File: path, Offset: -1, Kind: kindMissing}
	case err != nil:
		return nil, 0, damageOf(path, err)
	}
	return f, info.Size(), nil
}

// segmentFile is a data file to verify: with what the manifest says of it, or alone.
type segmentFile struct {
	path  string
	size  int64                 // stored; the largest is begun with
	of    *format.ManifestTable // nil: alone
	i     int                   // of its segments
	table *progress.Table
}

// files verifies every data file of the manifest.
func (v *verifier) files(ctx context.Context, m *format.Manifest) error {
	var list []segmentFile
	for i := range m.Tables {
		t := &m.Tables[i]
		table := v.o.Tracker.AddTable(progress.TableInfo{
			Name: fmt.Sprintf("%s.%s", t.Schema, t.Name), Rows: t.Rows, RowsExact: true, Bytes: t.Bytes, BytesExact: true, Segments: len(t.Segments), Columns: len(t.Columns), Describe: described{t},
		})
		for j := range t.Segments {
			s := &t.Segments[j]
			list = append(list, segmentFile{s.Path, s.StoredBytes, t, j, table})
		}
	}
	return v.all(ctx, list)
}

// filesAlone verifies the data files that are there when no manifest can be read: it tells whether something can be saved.
func (v *verifier) filesAlone(ctx context.Context, paths []string) error {
	var list []segmentFile
	for _, p := range paths {
		list = append(list, segmentFile{path: p})
	}
	return v.all(ctx, list)
}

// all verifies files, the largest first, several at a time.
func (v *verifier) all(ctx context.Context, list []segmentFile) error {
	slices.SortStableFunc(list, func(a, b segmentFile) int { return int(max(-1, min(1, b.size-a.size))) })
	var next atomic.Int64
	return v.o.Control.Crew(ctx, v.o.Jobs, len(list), func(ctx context.Context, place *control.Place) error {
		place.Ready()
		pool := newVerifyPool()
		for place.Stay() {
			if err := v.o.Control.Wait(ctx); err != nil {
				return err
			}
			i := int(next.Add(1)) - 1
			if i >= len(list) || ctx.Err() != nil {
				return nil
			}
			if err := v.segment(ctx, list[i], pool); err != nil {
				return err
			}
		}
		return nil
	}, nil)
}

// segment verifies a data file of the dump.
func (v *verifier) segment(ctx context.Context, s segmentFile, pool *pipeline.Pool) error {
	f, _, damage := v.open(s.path)
	if damage != nil {
		v.found(*damage)
		s.table.StartSegment()
		s.table.EndSegment(errors.New(damage.String()))
		return nil
	}
	defer f.Close() // it was only read
	var want *wantedFile
	if s.of != nil {
		want = &wantedFile{v.report.DumpID, s.of, s.i}
	}
	return v.file(ctx, &fileToVerify{name: s.path, src: f, want: want, table: s.table, pool: pool})
}
