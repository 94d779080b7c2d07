package restore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// TestArchiveOfLaterPgDump: a pg_restore that is too old for the archive is no damage, and the hint says what to install.
func TestArchiveOfLaterPgDump(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, `CREATE TABLE a AS SELECT 1 AS n`))
	installed, err := pgcluster.FindBinDir()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, program := range []string{"pg_dump", "pg_restore"} {
		script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = --version ] && exec %s --version\necho '%s: error: unsupported version (1.99) in file header' >&2\nexit 1\n", filepath.Join(installed, program), program)
		if err := os.WriteFile(filepath.Join(bin, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	o := options(t, dir, pgtest.DB(t))
	o.PgBinDir = bin
	refused := refusal(t, o, "preflight A", "schema.pgdump", "unsupported version (1.99)")
	for _, f := range refused.Findings {
		if !strings.Contains(f.Hint, "a later pg_dump wrote the archive") || !strings.Contains(f.Hint, "--pg-bindir") || strings.Contains(f.Hint, "salvage") {
			t.Errorf("hint %q", f.Hint)
		}
	}
	if len(refused.Findings) != 1 {
		t.Errorf("findings %+v", refused.Findings)
	}
}
