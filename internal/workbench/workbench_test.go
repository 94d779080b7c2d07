package workbench_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/internal/workbench"
)

func TestMain(m *testing.M) { pgtest.Run(m) }

func parse(t *testing.T, dsn string) *pg.DSN {
	t.Helper()
	d, err := pg.ParseDSN(dsn, pg.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestStateRemembersAndForgets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "pghaul", "state.json")
	s, err := workbench.LoadState(path)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, dsn := range []string{"host=a", "host=b", "host=a"} {
		if err := s.Remember(dsn, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, secret := range []string{"postgres://u:hunter2@h/d", "host=h password=hunter2"} {
		if err := s.Remember(secret, at); err == nil {
			t.Errorf("%q is remembered", secret)
		}
	}
	for i := range 60 {
		if err := s.Note(workbench.Job{Kind: "dump", OK: true, Bytes: int64(100+i) << 20, Millis: 1000, Ended: at}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	data, _ := os.ReadFile(path)
	if strings.Contains(string(data), "hunter2") {
		t.Error("a password is in the file")
	}
	again, err := workbench.LoadState(path)
	if err != nil || len(again.Connections()) != 2 || again.Connections()[0].DSN != "host=a" || len(again.Jobs()) != 50 {
		t.Errorf("%v %v, %d jobs", err, again.Connections(), len(again.Jobs()))
	}
	if e := again.Estimate("dump", 318<<20); e.Took != 2*time.Second || !strings.Contains(e.Basis, "as on") || e.When.Format("2006-01-02") != "2026-11-30" {
		t.Errorf("%+v", e)
	}
	if e := again.Estimate("restore", 1); e.Took != 0 || !strings.HasPrefix(e.Basis, "unknown") {
		t.Errorf("%+v", e)
	}
	for _, broken := range []string{"{", strings.Repeat(" ", 2<<20)} {
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := workbench.LoadState(path); err == nil || len(s.Jobs()) != 0 {
			t.Errorf("%v, %d jobs of a broken file", err, len(s.Jobs()))
		}
	}
}

func TestPlaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "services")
	if err := os.WriteFile(file, []byte("[prod]\nhost=db1\nport=5433\npassword=hunter2\n# x\n[it's]\ndbname=shop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGSERVICEFILE", file)
	t.Setenv("PGSYSCONFDIR", t.TempDir())
	t.Setenv("PGHOST", "there")
	s, err := workbench.LoadState("")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Remember("host=recent", time.Now()); err != nil {
		t.Fatal(err)
	}
	got := s.Places()
	want := []workbench.Place{{Kind: workbench.FromService, Name: "prod", Detail: "host=db1 port=5433", DSN: "service=prod"}, {Kind: workbench.FromService, Name: "it's", Detail: "dbname=shop", DSN: `service='it\'s'`}}
	if len(got) != 4 || got[1] != want[0] || got[2] != want[1] || got[3].DSN != "host=recent" || !strings.Contains(got[0].Detail, "PGHOST=there") {
		t.Errorf("%+v", got)
	}
}

func TestAskAServer(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE a AS SELECT g FROM generate_series(1, 1000) g; CREATE TABLE odd (p pg_node_tree, m money); CREATE MATERIALIZED VIEW mv AS SELECT 1; ANALYZE`)
	s, err := workbench.Ask(context.Background(), parse(t, dsn))
	if err != nil {
		t.Fatal(err)
	}
	if s.May() != "superuser" || s.Version == "" || len(s.Databases) == 0 || s.Databases[0].Bytes <= 0 {
		t.Errorf("%+v", s)
	}
	tables, err := workbench.Tables(context.Background(), parse(t, dsn))
	if err != nil || len(tables) != 3 {
		t.Fatalf("%v, %+v", err, tables)
	}
	if a := tables[0]; a.Name != "a" || a.Rows != 1000 || a.Bytes == 0 || a.Why != "" || !a.HasRows {
		t.Errorf("%+v", a)
	}
	if mv := tables[1]; mv.Kind != "materialized view" || mv.HasRows {
		t.Errorf("%+v", mv)
	}
	if odd := tables[2]; !strings.Contains(odd.Why, `column "p"`) || odd.Hint == "" || len(odd.Notes) != 1 {
		t.Errorf("%+v", odd)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := workbench.Ask(ctx, parse(t, dsn)); err == nil {
		t.Error("a cancelled question is answered")
	}
}

func TestDumpName(t *testing.T) {
	dir := t.TempDir()
	day := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	first := workbench.DumpName(dir, "my/shop", day)
	if first != filepath.Join(dir, "my_shop-2026-11-30") {
		t.Errorf("%s", first)
	}
	if err := os.MkdirAll(filepath.Join(first, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if again := workbench.DumpName(dir, "my/shop", day); again != first+"-2" {
		t.Errorf("%s", again)
	}
	if list, err := workbench.Dumps(dir); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
}
