package restore_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// TestMigrateDatasets: databases that people know arrive the same, to pg_dump's eyes.
func TestMigrateDatasets(t *testing.T) {
	for _, name := range pgtest.Datasets {
		t.Run(name, func(t *testing.T) {
			source, target := pgtest.DB(t, pgtest.Dataset(t, name)), pgtest.DB(t)
			sum := migrating(t, source, target).must(t)
			whole(t, sum)
			if sum.Rows < 3000 {
				t.Errorf("%d rows", sum.Rows)
			}
			if !slices.Equal(stockDump(t, source, "--schema-only"), stockDump(t, target, "--schema-only")) {
				t.Error("the definitions differ")
			}
			rows := func(dsn string) []string {
				lines := stockDump(t, dsn, "--data-only", "--inserts")
				slices.Sort(lines)
				return lines
			}
			if want, got := rows(source), rows(target); len(want) < 3000 || !slices.Equal(want, got) {
				t.Errorf("the rows differ: %d lines, %d on the target", len(want), len(got))
			}
			sameData(t, source, target, len(sum.Manifest.Tables))
		})
	}
}

// sameData compares the rows of both sides once more.
func sameData(t *testing.T, source, target string, most int) {
	t.Helper()
	d := compared(t, source, target)
	if !d.OK() || len(d.Tables) == 0 || len(d.Tables) > most {
		t.Errorf("%+v", d)
	}
}

// compared compares the rows of two databases.
func compared(t *testing.T, source, target string) *restore.DataDiff {
	t.Helper()
	m := migrating(t, source, target)
	m.from.DataOnly = true
	live, err := dump.Open(t.Context(), m.from)
	if err != nil {
		t.Fatal(err)
	}
	m.to.Origin = live
	d, err := restore.DiffData(t.Context(), m.to)
	if e := live.Close(); err != nil || e != nil {
		t.Fatal(err, e)
	}
	return d
}

func TestMigrateShapes(t *testing.T) {
	source, target := pgtest.DB(t, shapes), pgtest.DB(t)
	sum := migrating(t, source, target).must(t)
	whole(t, sum)
	if sum.Rows != 250_000 {
		t.Errorf("%d rows", sum.Rows)
	}
	for _, table := range []string{"test_one_int", "test_many_ints", "annonces", "archive_data", "citydata"} {
		same(t, source, target, `SELECT count(*), sum(hashtextextended(x::text, 0)) FROM `+table+` x`)
	}
	sameData(t, source, target, 5)
}

// TestMigrateMemory: what a migrate holds does not grow with the tables, and with a row only by a few times its size.
func TestMigrateMemory(t *testing.T) {
	source := pgtest.DB(t, `CREATE TABLE big AS SELECT g AS id, repeat(md5(g::text), 30) AS v FROM generate_series(1, 100000) g`)
	target := pgtest.DB(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	sum := migrating(t, source, target).must(t)
	runtime.ReadMemStats(&after)
	whole(t, sum)
	const most = 60 << 20 // of which the pools of two lanes, the buffers of four sessions and the proof's
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > most || sum.Bytes < 90<<20 {
		t.Errorf("%d MiB allocated for %d MiB of rows", allocated>>20, sum.Bytes>>20)
	}
}
