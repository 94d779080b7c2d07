package yardstick

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

func TestMain(m *testing.M) { pgtest.Run(m) }

// tiny makes a run short. The server is one of the test's own: others look at the databases of the shared one.
func tiny(t *testing.T, c *pgcluster.Cluster, user string, tables ...string) Options {
	t.Helper()
	d, err := pg.ParseDSN(c.DSN("postgres"), pg.Flags{User: user})
	if err != nil {
		t.Fatal(err)
	}
	return Options{DSN: d, Scale: 0.0001, Jobs: 2, Rounds: 1, StepTime: time.Millisecond, Dir: t.TempDir(), PgBinDir: c.BinDir(), Tool: "pghaul test", Tables: tables,
		Say: func(line string) { t.Log(line) }}
}

// nothingLeft demands that neither database nor folder is there.
func nothingLeft(t *testing.T, c *pgcluster.Cluster, dir string) {
	t.Helper()
	if left := databases(t, c); left != "" {
		t.Errorf("databases are left: %s", left)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the folder holds %v (%v)", entries, err)
	}
}

func databases(t *testing.T, c *pgcluster.Cluster) string {
	t.Helper()
	return pgtest.SQL(t, c.DSN("postgres"), "SELECT datname FROM pg_database WHERE datname LIKE 'pghaul_bench_%'")
}

// filled demands that every section is there and holds numbers.
func filled(t *testing.T, r *Report, tables int) {
	t.Helper()
	if len(r.Tables) != tables {
		t.Fatalf("%d tables, want %d", len(r.Tables), tables)
	}
	for _, table := range r.Tables {
		if table.Rows <= 0 || table.Columns <= 0 || table.TableBytes <= 0 || table.RowBytes <= 0 || len(table.Scans) != 5 || len(table.Stages) != 5 || table.Total <= 0 {
			t.Errorf("table %+v", table)
		}
		for _, l := range table.Scans {
			if l.Seconds <= 0 || l.TableMBs <= 0 || l.KRows <= 0 || l.MDatums <= 0 || (l.Speedup > 0) == (l.Name == lineCount || l.Name == lineText) {
				t.Errorf("table %s: line %+v", table.Name, l)
			}
		}
		for _, s := range table.Stages {
			if s.Seconds <= 0 {
				t.Errorf("table %s: stage %+v", table.Name, s)
			}
		}
	}
	for _, j := range r.Whole {
		if j.Seconds <= 0 || j.Floor <= 0 || j.MBs <= 0 || j.KRows <= 0 || j.MDatums <= 0 || j.CPU <= 0 {
			t.Errorf("job %+v", j)
		}
		if strings.HasPrefix(j.Name, "pghaul") && j.Data <= 0 || strings.HasPrefix(j.Name, "p") && strings.Contains(j.Name, "dump ") && j.Stored <= 0 || strings.Contains(j.Name, "restore") && j.WAL <= 0 {
			t.Errorf("job %+v", j)
		}
	}
	for i, b := range r.Batches {
		if b.Rows != batchSizes[i] || b.Insert.RowsPerSec <= 0 || b.Copy.RowsPerSec <= 0 || b.Insert.RowsNoWait <= 0 || b.Copy.RowsNoWait <= 0 {
			t.Errorf("batch %+v", b)
		}
	}
	if d, n := r.Disk, r.Network; d.WriteMBs <= 0 || d.ReadMBs <= 0 || d.FsyncMillis <= 0 || d.Bytes < diskBlock || n.RTTMicros <= 0 || n.ReceiveMBs <= 0 || n.SendMBs <= 0 {
		t.Errorf("disk %+v, network %+v", d, n)
	}
	for _, v := range r.Verdicts {
		if !strings.HasPrefix(v.Sentence, word(v.Bound)+"-bound") {
			t.Errorf("verdict %+v", v)
		}
	}
	if len(r.Batches) != 6 || len(r.Verdicts) != 6 || r.Seconds <= 0 || r.Server.Version == "" || r.Server.Settings["wal_level"] == "" {
		t.Errorf("%d batches, verdicts %v, server %+v", len(r.Batches), r.Verdicts, r.Server)
	}
}

func names(jobs []Job) (list []string) {
	for _, j := range jobs {
		list = append(list, j.Name)
	}
	return list
}

// likePgcopydb puts a program into PATH that takes pgcopydb's arguments and does a part of its work, unless there is a true one.
func likePgcopydb(t *testing.T, c *pgcluster.Cluster) {
	t.Helper()
	if besideOrInPath(filepath.Join(c.BinDir(), "pg_dump"), "pgcopydb") != "" {
		return
	}
	dir := t.TempDir()
	script := `#!/bin/sh -e
[ "$1 $2 $3 $4 $5 $6" = "copy table-data --table-jobs 2 --fail-fast --dir" ] && [ "$8" = --source ] && [ "${10}" = --target ]
! [ -e "$7" ] && mkdir "$7"
"` + c.BinDir() + `/pg_dump" -Fc --data-only -d "$9" | "` + c.BinDir() + `/pg_restore" -d "${11}"
`
	if err := os.WriteFile(filepath.Join(dir, "pgcopydb"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestEverySection(t *testing.T) {
	c := pgtest.Own(t, pgcluster.Options{})
	likePgcopydb(t, c)
	o := tiny(t, c, "")
	o.Peers = true
	var said []string
	o.Say = func(line string) { said = append(said, line) }
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatalf("%v, after %q", err, said)
	}
	nothingLeft(t, c, o.Dir)
	filled(t, r, 5)
	for _, want := range []string{jobDumpFloor, jobDumpNone, jobDumpZstd, jobRestoreFloor, jobRestoreNone, jobRestoreZstd, jobMigrate, "pgcopydb copy table-data", "pg_dump -Fd -Z0", "pg_dump -Fd -Z1", `psql \copy (binary)`, "pg_restore of -Z0", "pg_restore of -Z1"} {
		if !slices.Contains(names(r.Whole), want) {
			t.Errorf("no job %q", want)
		}
	}
	if r.Discards != "/dev/null" {
		t.Errorf("a superuser's COPY goes to %s", r.Discards)
	}
	will := slices.IndexFunc(said, func(line string) bool { return strings.HasPrefix(line, "will write up to") })
	making := slices.IndexFunc(said, func(line string) bool { return strings.HasPrefix(line, "making") })
	if will < 0 || making < will {
		t.Errorf("it is not said first what will be written: %q", said)
	}
	for _, part := range []string{"Time (s)  Speedup  Table MB/s  KRows/s  MDatums/s  Name", "Restore by stage", "All tables, 2 jobs", "Rows per second by rows per commit", "Disk of", "Connection (unix socket)", "Verdict"} {
		if !strings.Contains(r.Text(), part) {
			t.Errorf("the text has no %q", part)
		}
	}
}

// The names are an interface.
func TestDocument(t *testing.T) {
	text, err := json.Marshal(known())
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	keys := func(of any) (list []string) {
		for k := range of.(map[string]any) {
			list = append(list, k)
		}
		slices.Sort(list)
		return list
	}
	first := func(of any) any { return of.([]any)[0] }
	table := first(doc["tables"])
	for _, c := range []struct {
		of   any
		want string
	}{
		{doc, "batches client discards disk jobs jobs_measured network notes rounds scale seconds server started tables tool verdicts"},
		{table, "columns name row_bytes rows scans stages stages_total_s table_bytes"},
		{first(table.(map[string]any)["scans"]), "krows_per_s mdatums_per_s name s table_mb_per_s"},
		{first(table.(map[string]any)["stages"]), "delta_s name s us_per_datum us_per_row"},
		{first(doc["batches"]), "copy insert rows_per_commit"},
		{first(doc["batches"]).(map[string]any)["copy"], "commit_wait_ms commit_wait_share rows_per_s rows_per_s_without_commit_wait"},
		{doc["disk"], "bytes dir direct fsync_ms read_mb_per_s write_mb_per_s"},
		{doc["network"], "receive_mb_per_s round_trip_us send_mb_per_s unix_socket"},
		{first(doc["verdicts"]), "bound job sentence"},
		{first(doc["jobs_measured"]), "client_cpu_s krows_per_s mdatums_per_s name peer rows_mb_per_s s times_floor"},
	} {
		if got := strings.Join(keys(c.of), " "); got != c.want {
			t.Errorf("keys %s, want %s", got, c.want)
		}
	}
}

func TestRoleWithoutFileRights(t *testing.T) {
	c := pgtest.Own(t, pgcluster.Options{})
	pgtest.SQL(t, c.DSN("postgres"), "CREATE ROLE clerk LOGIN CREATEDB")
	o := tiny(t, c, "clerk", "citydata", "annonces")
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, c, o.Dir)
	filled(t, r, 2)
	if r.Discards != "STDOUT" || !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "pg_write_server_files") }) {
		t.Errorf("it goes to %s; notes %q", r.Discards, r.Notes)
	}
	pgtest.SQL(t, c.DSN("postgres"), "GRANT pg_write_server_files TO clerk")
	if r, err = Run(context.Background(), tiny(t, c, "clerk", "citydata")); err != nil || r.Discards != "/dev/null" {
		t.Errorf("with the right it goes to %v (%v)", r, err)
	}
}

// at calls do once, when a line with this text is said.
func at(o *Options, text string, do func()) {
	say, done := o.Say, false
	o.Say = func(line string) {
		say(line)
		if !done && strings.Contains(line, text) {
			done = true
			do()
		}
	}
}

func TestCancelLeavesNothing(t *testing.T) {
	c := pgtest.Own(t, pgcluster.Options{})
	for _, text := range []string{"will write", "making table", "by stage: receive", "all tables, 2 jobs: pghaul dump", "pg_dump -Fd", "rows a commit", "disk of"} {
		t.Run(text, func(t *testing.T) {
			o := tiny(t, c, "", "citydata")
			o.Peers = true
			ctx, cancel := context.WithCancel(context.Background())
			reached := false
			at(&o, text, func() { reached = true; cancel() })
			_, err := Run(ctx, o)
			if !reached {
				t.Fatalf("it never said %q", text)
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			nothingLeft(t, c, o.Dir)
		})
	}
}

func TestErrorLeavesNothing(t *testing.T) {
	c := pgtest.Own(t, pgcluster.Options{})
	for text, sql := range map[string]string{
		"citydata: count(*)":              "DROP TABLE public.citydata",
		"by stage: receive":               "DROP TABLE public.pghaul_bench_load; CREATE VIEW public.pghaul_bench_load AS SELECT 1 AS city",
		"all tables, 2 jobs: pghaul dump": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'pghaul_bench_%' AND pid <> pg_backend_pid()",
		"rows a commit":                   "DROP TABLE public.pghaul_bench_batch",
	} {
		t.Run(text, func(t *testing.T) {
			o := tiny(t, c, "", "citydata")
			var database string
			o.Named = func(names []string, _ string) { database = names[0] }
			at(&o, text, func() { pgtest.SQL(t, c.DSN(database), sql) })
			if _, err := Run(context.Background(), o); err == nil || pg.State(err) == "" && !pg.ConnectionLost(err) {
				t.Errorf("error %v", err)
			}
			nothingLeft(t, c, o.Dir)
		})
	}
}

func TestLeftBehindIsSaid(t *testing.T) {
	c := pgtest.Own(t, pgcluster.Options{})
	pgtest.SQL(t, c.DSN("postgres"), "CREATE ROLE clerk LOGIN CREATEDB")
	o := tiny(t, c, "clerk", "citydata")
	var database string
	o.Named = func(names []string, _ string) { database = names[0] }
	at(&o, "making table", func() { pgtest.SQL(t, c.DSN("postgres"), `ALTER DATABASE "`+database+`" OWNER TO postgres`) })
	_, err := Run(context.Background(), o)
	var left *LeftBehind
	if !errors.As(err, &left) || !strings.Contains(left.Error(), database) || !strings.Contains(hint.Of(left), "DROP DATABASE") {
		t.Errorf("error %v", err)
	}
	if got := databases(t, c); got != database {
		t.Errorf("databases %q, want %q alone", got, database)
	}
}

func TestKeep(t *testing.T) {
	c := pgtest.Own(t, pgcluster.Options{})
	o := tiny(t, c, "", "citydata")
	o.Keep = true
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	kept := strings.Fields(databases(t, c))
	if len(kept) != 2 || len(r.Kept) != 3 || !strings.Contains(r.Text(), "kept: database \""+kept[0]) {
		t.Errorf("databases %q, report %q", kept, r.Kept)
	}
	if rows := pgtest.SQL(t, c.DSN(kept[0]), "SELECT count(*) FROM citydata"); rows != "1000" {
		t.Errorf("%s rows", rows)
	}
	if dumps, err := filepath.Glob(filepath.Join(o.Dir, folderPrefix+"*", "none", "manifest.json")); err != nil || len(dumps) != 1 {
		t.Errorf("dumps %v (%v)", dumps, err)
	}
}

func TestRefusals(t *testing.T) {
	c := pgtest.Own(t, pgcluster.Options{})
	pgtest.SQL(t, c.DSN("postgres"), "CREATE ROLE guest LOGIN")
	refused := func(o Options, want, tip string) {
		t.Helper()
		o.Named = func([]string, string) { t.Error("it went on to names") }
		_, err := Run(context.Background(), o)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(hint.Of(err), tip) {
			t.Errorf("error %v (hint %q), want %q (hint %q)", err, hint.Of(err), want, tip)
		}
		nothingLeft(t, c, o.Dir)
	}
	refused(tiny(t, c, "guest"), "may not create databases", "CREATEDB")
	refused(tiny(t, c, "", "cities"), `no table "cities"`, "--tables")
	noScale := tiny(t, c, "")
	noScale.Scale = 0
	refused(noScale, "scale 0", "")
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.DataDir(), "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(context.Background()); err != nil {
		t.Fatal(err)
	}
	refused(tiny(t, c, ""), "is a standby", "primary")
}

func TestNoSpace(t *testing.T) {
	b := &bench{o: Options{Scale: MaxScale, Rounds: 3, Jobs: 1}, report: &Report{}}
	if err := b.choose(); err != nil {
		t.Fatal(err)
	}
	n := b.needs()
	if n.files < 3e12 || n.tables < 2e12 || n.wal < n.tables {
		t.Errorf("a thousand times 24 million rows need %+v", n)
	}
	err := noSpace("/backup", 1<<30, n.files, "--dir")
	if !strings.Contains(err.Error(), "/backup has 1.0 GiB free") || !strings.Contains(hint.Of(err), "--scale") {
		t.Errorf("%v (hint %q)", err, hint.Of(err))
	}
	if free, ok := freeBytes(t.TempDir()); !ok || free <= 0 {
		t.Errorf("free bytes of a folder: %d, %v", free, ok)
	}
	if _, ok := freeBytes(filepath.Join(t.TempDir(), "nowhere")); ok {
		t.Error("a folder that is not there has free bytes")
	}
}
