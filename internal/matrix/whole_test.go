package matrix_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/restore"
)

// tools gives the folder of a major's own pg_dump and pg_restore.
func tools(t *testing.T, major int) string {
	t.Helper()
	switch what := os.Getenv("PGHAUL_MATRIX"); what {
	case "all":
	case "":
		t.Skip("*** PGHAUL_MATRIX is not set: no whole database goes across majors ***")
	default:
		t.Skipf("*** PGHAUL_MATRIX is %s: no whole database goes across majors ***", what)
	}
	dir := os.Getenv("PGHAUL_TOOLS_DIR")
	if dir == "" {
		out, err := exec.Command("../../scripts/fetch-postgres-tools.sh", "--where").Output()
		if err != nil {
			t.Fatalf("scripts/fetch-postgres-tools.sh --where: %v", err)
		}
		dir = strings.TrimSpace(string(out))
	}
	bin := filepath.Join(dir, strconv.Itoa(major), "bin")
	if _, err := os.Stat(filepath.Join(bin, "pg_dump")); err != nil {
		t.Skipf("*** NOT TESTED: whole databases to PostgreSQL %d: %v; scripts/fetch-postgres-tools.sh %d fetches its programs ***", major, err, major)
	}
	return bin
}

// fidelityRoles are the roles that restore/testdata/fidelity.sql names.
const fidelityRoles = `CREATE ROLE fid_owner; CREATE ROLE fid_app; CREATE ROLE fid_reader`

// wholes are the clusters for whole databases, by major: what is in them stays until their end, as a database with a subscription cannot be dropped.
var wholes struct {
	sync.Mutex
	byMajor map[int]*pgcluster.Cluster
}

// wholeServer gives the cluster for whole databases of a major, started at the first call.
func wholeServer(t *testing.T, major int) *pgcluster.Cluster {
	t.Helper()
	wholes.Lock()
	defer wholes.Unlock()
	if c := wholes.byMajor[major]; c != nil {
		return c
	}
	o := pgcluster.Options{Settings: map[string]string{"wal_level": "logical", "shared_buffers": "32MB"}}
	if major != local {
		o.BinDir = filepath.Join(folder(t), strconv.Itoa(major), "bin")
	}
	c, err := pgcluster.Start(context.Background(), o)
	if err != nil {
		t.Fatalf("PostgreSQL %d: %v\nscripts/fetch-postgres.sh %d fetches it", actual(major), err, major)
	}
	pgtest.SQL(t, c.DSN("postgres"), fidelityRoles)
	if wholes.byMajor == nil {
		wholes.byMajor = map[int]*pgcluster.Cluster{}
	}
	wholes.byMajor[major] = c
	return c
}

// carrier brings a whole database into one that it makes, with the programs of a folder.
type carrier func(t *testing.T, source, target, bin string) *restore.Summary

var carriers = []struct {
	name  string
	carry carrier
}{{"restore", carryByDump}, {"migrate", carryLive}}

func carryByDump(t *testing.T, source, target, bin string) *restore.Summary {
	t.Helper()
	dir, _ := takeDump(t, source, func(o *dump.Options) { o.DataOnly, o.PgBinDir = false, bin })
	o := options(t, dir, target)
	o.DataOnly, o.Create, o.PgBinDir = false, true, bin
	sum, err := restore.Run(t.Context(), o)
	if err != nil {
		t.Fatalf("restore: %v%s", err, findings(err))
	}
	return sum
}

func carryLive(t *testing.T, source, target, bin string) *restore.Summary {
	t.Helper()
	from := liveSource(t, source, bin)
	o := options(t, "", target)
	o.DataOnly, o.Create, o.PgBinDir = false, true, bin
	sum, err := migrate(t, from, o)
	if err != nil {
		t.Fatalf("migrate: %v%s", err, findings(err))
	}
	return sum
}

func liveSource(t *testing.T, dsn, bin string) dump.Options {
	t.Helper()
	return dump.Options{DSN: parse(t, dsn), Jobs: 2, Tool: "pghaul test", SegmentSize: 64 << 10, Compression: format.Compression{Level: 1}, PgBinDir: bin,
		Tracker: progress.New("migrate", "read", "parse", "convert", "insert")}
}

// arrived demands that all is proven and equal: the definitions to the eyes of one pg_dump, what is in them, and the digests of both live sides. stock is
// what pg_restore made of the source.
func arrived(t *testing.T, sum *restore.Summary, source, target, stock, bin string) {
	t.Helper()
	for _, g := range sum.Gaps {
		t.Errorf("gap: %+v", g)
	}
	if len(sum.Unproven) > 0 || sum.Proven != len(sum.Manifest.Tables) || sum.Proven == 0 {
		t.Errorf("proven %d of %d tables; not proven: %v", sum.Proven, len(sum.Manifest.Tables), sum.Unproven)
	}
	got := definitions(t, bin, target)
	if d := cmp.Diff(unqualified(definitions(t, bin, source)), unqualified(got)); d != "" {
		t.Errorf("pg_dump -s of source and target differ:\n%s", d)
	}
	if d := cmp.Diff(definitions(t, bin, stock), got); d != "" {
		t.Errorf("pg_dump -s of what pg_restore makes and of the target differ:\n%s", d)
	}
	of, on := pgtest.Contents(t, source), pgtest.Contents(t, target)
	if d := cmp.Diff(of, on); d != "" || len(of) < 10 {
		t.Errorf("%d lines of contents, source and target differ:\n%s", len(of), d)
	}
	from := liveSource(t, source, bin)
	from.DataOnly = true
	live, err := dump.Open(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, "", target)
	o.Origin, o.PgBinDir = live, bin
	d, err := restore.DiffData(t.Context(), o)
	if err := errors.Join(err, live.Close()); err != nil {
		t.Fatal(err)
	}
	if !d.OK() || len(d.Tables) == 0 {
		t.Errorf("the rows of the live sides: %+v", d)
	}
}

// databaseNames are the names that differ between a source and its targets.
var databaseNames = regexp.MustCompile(`\bwhole_\w+\b`)

// unordered is a table whose columns pg_dump's own definition gives in another order: an attached child has them in its own, one made with
// INHERITS in its parent's.
var unordered = regexp.MustCompile(`(?s)CREATE TABLE main\.late_child \(\n(.*?)\n    CONSTRAINT`)

// definitions gives what a pg_dump -s says of a database, line by line, without what must differ between servers of different majors.
func definitions(t *testing.T, bin, dsn string) []string {
	t.Helper()
	text := strings.Join(pgtest.Stock(t, bin, dsn, "-s", "-C"), "")
	text = databaseNames.ReplaceAllString(text, "DATABASE")
	if columns := unordered.FindStringSubmatchIndex(text); columns != nil {
		lines := strings.Split(text[columns[2]:columns[3]], "\n")
		slices.Sort(lines)
		text = text[:columns[2]] + strings.Join(lines, "\n") + text[columns[3]:]
	}
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.HasPrefix(line, "-- Dumped from database version ") })
}

// unqualified takes the names of tables and schemas before columns out of the queries of views: from 16 on a server writes none where there is one
// table alone.
func unqualified(lines []string) []string {
	lines, view := slices.Clone(lines), false
	for i, line := range lines {
		if view {
			lines[i] = qualifier.ReplaceAllString(line, "$1")
		}
		view = (view || viewBegins.MatchString(line)) && !strings.HasSuffix(line, ";")
	}
	return lines
}

var (
	viewBegins = regexp.MustCompile(`^CREATE (MATERIALIZED )?VIEW `)
	qualifier  = regexp.MustCompile(`\b\w+\.(\w)`)
)

// stockTarget lets pg_dump and pg_restore bring a database over. On the same server it is the source itself: pg_restore makes it under no other name.
func stockTarget(t *testing.T, source, name string, from, to *pgcluster.Cluster, bin string) string {
	t.Helper()
	if from == to {
		return source
	}
	archive := filepath.Join(t.TempDir(), "archive")
	for _, args := range [][]string{{"pg_dump", "-Fc", "-f", archive, "-d", source}, {"pg_restore", "--create", "-d", to.DSN("postgres"), archive}} {
		if out, err := exec.Command(filepath.Join(bin, args[0]), args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", args[0], err, out)
		}
	}
	return to.DSN(name)
}

// carryAll makes a source database of a script and brings it over in each way.
func carryAll(t *testing.T, name, script string, from, to *pgcluster.Cluster, bin string, provider ...string) {
	t.Helper()
	source := from.DSN("whole_" + name + "_source")
	if databases := pgtest.SQL(t, from.DSN("postgres"), `SELECT count(*) FROM pg_database WHERE datname = 'whole_`+name+`_source'`); databases == "0" {
		pgtest.SQL(t, from.DSN("postgres"), `CREATE DATABASE whole_`+name+`_source TEMPLATE template0 `+strings.Join(provider, " "))
		pgtest.SQL(t, source, script)
	}
	stock := stockTarget(t, source, "whole_"+name+"_source", from, to, bin)
	for _, way := range carriers {
		t.Run(way.name, func(t *testing.T) {
			target := to.DSN("whole_" + name + "_" + way.name)
			arrived(t, way.carry(t, source, target, bin), source, target, stock, bin)
		})
	}
}

// fidelity is the script of a database with something of everything.
func fidelity(t *testing.T) string {
	t.Helper()
	sql, err := os.ReadFile("../../restore/testdata/fidelity.sql")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(sql), "COMPRESSION lz4", "COMPRESSION pglz") // the fetched servers are built without lz4
}

// sorted is the script of a database whose order of rows tells what its locale is.
const sorted = `CREATE TABLE words (w text); INSERT INTO words VALUES ('a'), ('B'), ('ä'), ('z'), ('10'), ('9'), ('ß'); CREATE INDEX ON words (w); CREATE MATERIALIZED VIEW ordered AS SELECT string_agg(w, ' ' ORDER BY w), max(upper(w)) FROM words;
CREATE TABLE by_word (w text, n int GENERATED ALWAYS AS IDENTITY) PARTITION BY RANGE (w); CREATE TABLE by_word_1 PARTITION OF by_word FOR VALUES FROM (MINVALUE) TO ('b'); CREATE TABLE by_word_2 PARTITION OF by_word DEFAULT; INSERT INTO by_word (w) SELECT w FROM words;
CREATE TABLE counted (n int PRIMARY KEY, w text UNIQUE); INSERT INTO counted SELECT n, w || n FROM by_word; CREATE SEQUENCE counts; CREATE INDEX by_upper ON counted (upper(w));`

// TestWhole: whole databases from the installed server to newer majors, with the newer major's own pg_dump and pg_restore.
func TestWhole(t *testing.T) {
	for _, p := range []pair{{local, 17}, {local, 18}, {17, 18}} {
		t.Run(p.String(), func(t *testing.T) {
			if p.to < actual(p.from) {
				t.Skipf("*** the installed server is newer than %d ***", p.to)
			}
			bin := tools(t, p.to)
			from, to := wholeServer(t, p.from), wholeServer(t, p.to)
			t.Run("fidelity", func(t *testing.T) {
				carryAll(t, fmt.Sprintf("fidelity_%d", actual(p.from)), fidelity(t), from, to, bin)
			})
			if p.from != local {
				return
			}
			t.Run("icu", func(t *testing.T) {
				provider := `LOCALE_PROVIDER icu ICU_LOCALE 'de-u-kn-true'`
				if actual(p.from) < 15 { // whose databases have the C library's locales alone
					provider = `LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'`
				}
				carryAll(t, "icu", sorted, from, to, bin, provider)
			})
			for _, name := range pgtest.Datasets {
				t.Run(name, func(t *testing.T) { carryAll(t, name, pgtest.Dataset(t, name), from, to, bin) })
			}
		})
	}
}

// TestNewest: databases with what the newest majors brought, within the newest.
func TestNewest(t *testing.T) {
	bin := tools(t, newest)
	cluster := wholeServer(t, newest)
	for name, provider := range map[string]string{
		"libc":    ``,
		"builtin": `LOCALE_PROVIDER builtin BUILTIN_LOCALE 'PG_UNICODE_FAST'`,
	} {
		t.Run(name, func(t *testing.T) {
			carryAll(t, "newest_"+name, `\i testdata/newest.sql`, cluster, cluster, bin, provider)
		})
	}
	for name, provider := range map[string]string{
		"plain": `LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C'`,
		"rules": `LOCALE_PROVIDER icu ICU_LOCALE 'de' ICU_RULES '&a < z'`,
	} {
		t.Run(name, func(t *testing.T) { carryAll(t, "sorted_"+name, sorted, cluster, cluster, bin, provider) })
	}
}

// TestKeyThatCannotBeWhole: where a key WITHOUT OVERLAPS of a partitioned table cannot be made for all partitions at once, because another key points to a
// partition's, nothing is lost of what is there, and the gap is named.
func TestKeyThatCannotBeWhole(t *testing.T) {
	bin := tools(t, newest)
	cluster := wholeServer(t, newest)
	source, target := cluster.DSN("whole_keys_source"), cluster.DSN("whole_keys_target")
	pgtest.SQL(t, cluster.DSN("postgres"), `CREATE DATABASE whole_keys_source TEMPLATE template0`)
	pgtest.SQL(t, source, `CREATE EXTENSION btree_gist; CREATE TABLE stays (id int, during int4range, PRIMARY KEY (id, during WITHOUT OVERLAPS)) PARTITION BY LIST (id); CREATE TABLE stays_1 PARTITION OF stays FOR VALUES IN (1);
CREATE TABLE of_part (id int, during int4range, CONSTRAINT to_part FOREIGN KEY (id, PERIOD during) REFERENCES stays_1); INSERT INTO stays VALUES (1, '[1,9)'), (1, '[9,12)'); INSERT INTO of_part VALUES (1, '[2,5)')`)
	sum := carryByDump(t, source, target, bin)
	if len(sum.Gaps) != 1 || sum.Gaps[0].Kind != "INDEX ATTACH" || sum.Gaps[0].Name != "public.stays_1_pkey" || sum.Gaps[0].SQLState != "42P17" || sum.Proven != 2 {
		t.Errorf("gaps %+v, %d tables proven", sum.Gaps, sum.Proven)
	}
	same(t, source, target, `SELECT * FROM stays ORDER BY during`)
	same(t, source, target, `SELECT conname, conrelid::regclass, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN ('stays'::regclass, 'stays_1'::regclass, 'of_part'::regclass) ORDER BY 1, 2`)
}
