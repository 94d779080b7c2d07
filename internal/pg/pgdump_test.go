package pg_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// waitLimit is how long a busy machine may take for what comes at once on an idle one.
const waitLimit = 60 * time.Second

// pgDump gives schema and name of the relations that pg_dump -t dumps; none when the pattern matches nothing.
func pgDump(t *testing.T, dsn, pattern string) []string {
	t.Helper()
	bin := pgtest.Cluster(t).BinDir()
	cmd := exec.Command(filepath.Join(bin, "pg_dump"), "-Fc", "--schema-only", "-t", pattern, dsn)
	restore := exec.Command(filepath.Join(bin, "pg_restore"), "-l")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	archive, err := cmd.Output()
	if err != nil {
		if strings.Contains(stderr.String(), "no matching tables were found") {
			return nil
		}
		t.Fatalf("pg_dump -t %s: %v: %s", pattern, err, stderr.String())
	}
	restore.Stdin = strings.NewReader(string(archive))
	list, err := restore.Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(list)) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 4) // 215; 1259 16385 TABLE public orders postgres
		if len(fields) < 4 || !strings.HasSuffix(fields[0], ";") || fields[1] != "1259" {
			continue
		}
		rest := fields[3]
		for _, kind := range []string{"TABLE ATTACH ", "MATERIALIZED VIEW ", "TABLE ", "VIEW ", "SEQUENCE "} {
			if name, ok := strings.CutPrefix(rest, kind); ok {
				if kind != "TABLE ATTACH " && !strings.HasPrefix(name, "pg_catalog ") && !strings.HasPrefix(name, "information_schema ") {
					found = append(found, strings.TrimSuffix(name, " postgres"))
				}
				break
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
