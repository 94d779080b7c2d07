// Package matrix_test moves data between servers of different majors, every pair that differs in kind, and whole databases to newer majors.
//
// PGHAUL_MATRIX says what must be there: "all" the majors of pairs, "ends" the oldest and the newest beside the local one.
// scripts/fetch-postgres.sh fetches them, and scripts/fetch-postgres-tools.sh the programs that whole databases need, which go with "all". Unset, as in a
// plain `go test`, nothing runs: `make test` sets it.
package matrix_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/restore"
)

// The oldest and the newest major that pghaul knows.
const oldest, newest = 10, 18

// local stands in a pair for the major that is installed on this machine.
const local = 0

// pair is a source and a target.
type pair struct{ from, to int }

func (p pair) String() string { return fmt.Sprintf("%d to %d", actual(p.from), actual(p.to)) }

// pairs by what PGHAUL_MATRIX says: each crosses another border. Types without send functions end at 13 and 14, exact OIDs and finite numerics
// below 14, multiranges begin with 14, interval's infinity with 17.
var pairs = map[string][]pair{
	"ends": {{oldest, local}, {local, oldest}, {newest, local}, {local, newest}, {oldest, newest}},
	"all": {{oldest, local}, {local, oldest}, {newest, local}, {local, newest}, {oldest, newest}, {newest, oldest}, {10, 10}, {11, 14}, {12, 11}, {13, newest}, {newest, 14},
		{local, 13}, {13, local}, {13, 12}, {17, 16}, {16, 17}, {14, 13}},
}

// servers are the clusters of this test binary, by major.
var servers struct {
	sync.Mutex
	byMajor map[int]*pgcluster.Cluster
}

func TestMain(m *testing.M) {
	if os.Getenv("PGHAUL_MATRIX") == "" {
		fmt.Fprintln(os.Stderr, "*** PGHAUL_MATRIX is not set: NOTHING is tested across majors. `make test-matrix` does it. ***")
	}
	code := pgtest.Code(m)
	for _, clusters := range []map[int]*pgcluster.Cluster{servers.byMajor, wholes.byMajor} {
		for major, c := range clusters {
			if err := c.Stop(); err != nil {
				fmt.Fprintf(os.Stderr, "stop PostgreSQL %d: %v\n", major, err)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// wanted gives the pairs to test.
func wanted(t *testing.T) []pair {
	t.Helper()
	what := os.Getenv("PGHAUL_MATRIX")
	if what == "" {
		t.Skip("*** PGHAUL_MATRIX is not set: nothing is tested across majors ***")
	}
	list, ok := pairs[what]
	if !ok {
		t.Fatalf("PGHAUL_MATRIX=%q: neither ends nor all", what)
	}
	return list
}

// localMajor is the major of the installed server.
var localMajor = sync.OnceValues(func() (int, error) {
	bin, err := pgcluster.FindBinDir()
	if err != nil {
		return 0, err
	}
	out, err := exec.Command(filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`\(PostgreSQL\) (\d+)`).FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("postgres --version says %q", out)
	}
	return strconv.Atoi(string(m[1]))
})

func actual(major int) int {
	if major != local {
		return major
	}
	n, err := localMajor()
	if err != nil {
		return local
	}
	return n
}

// server gives the cluster of a major, started at the first call.
func server(t *testing.T, major int) *pgcluster.Cluster {
	t.Helper()
	installed, err := localMajor()
	if err != nil {
		t.Fatal(err)
	}
	if major == local || major == installed {
		return pgtest.Cluster(t)
	}
	servers.Lock()
	defer servers.Unlock()
	if c := servers.byMajor[major]; c != nil {
		return c
	}
	c, err := pgcluster.Start(context.Background(), pgcluster.Options{BinDir: filepath.Join(folder(t), strconv.Itoa(major), "bin"), Settings: map[string]string{"shared_buffers": "32MB"}})
	if err != nil {
		t.Fatalf("PostgreSQL %d: %v\nscripts/fetch-postgres.sh %d fetches it", major, err, major)
	}
	if servers.byMajor == nil {
		servers.byMajor = map[int]*pgcluster.Cluster{}
	}
	servers.byMajor[major] = c
	return c
}

// folder is where scripts/fetch-postgres.sh puts the servers.
func folder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("PGHAUL_MATRIX_DIR")
	if dir == "" {
		out, err := exec.Command("../../scripts/fetch-postgres.sh", "--where").Output()
		if err != nil {
			t.Fatalf("scripts/fetch-postgres.sh --where: %v", err)
		}
		dir = strings.TrimSpace(string(out))
	}
	return dir
}

// database makes a database on the server of a major.
func database(t *testing.T, major int, setupSQL ...string) string {
	t.Helper()
	return pgtest.DBIn(t, server(t, major), setupSQL...)
}

func parse(t *testing.T, dsn string) *pg.DSN {
	t.Helper()
	d, err := pg.ParseDSN(dsn, pg.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// takeDump dumps the rows of a database into a fresh folder.
func takeDump(t *testing.T, dsn string, change ...func(*dump.Options)) (dir string, sum *dump.Summary) {
	t.Helper()
	o := dump.Options{DSN: parse(t, dsn), Dir: filepath.Join(t.TempDir(), "dump"), Jobs: 2, Tool: "pghaul test", Compression: format.Compression{Level: 1}, SegmentSize: 64 << 10, DataOnly: true}
	for _, f := range change {
		f(&o)
	}
	sum, err := dump.Run(t.Context(), o)
	if err != nil {
		t.Fatalf("dump: %v", err)
	}
	return o.Dir, sum
}

func options(t *testing.T, dir, dsn string) restore.Options {
	t.Helper()
	return restore.Options{Dir: dir, DSN: parse(t, dsn), Jobs: 2, Tool: "pghaul test", DataOnly: true, Tracker: progress.New("restore", "read", "parse", "convert", "insert")}
}

// same runs a query on both databases and demands equal answers, which are not empty.
func same(t *testing.T, source, target, query string) {
	t.Helper()
	want, got := pgtest.SQL(t, source, query), pgtest.SQL(t, target, query)
	if want != got || want == "" {
		t.Errorf("%s\nsource: %s\ntarget: %s", query, want, got)
	}
}
