package restore

import (
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// TestTablesReadInPartsStayLocked: for as long as the snapshot is held, also while no reader is at work.
func TestTablesReadInPartsStayLocked(t *testing.T) {
	target := pgtest.DB(t, `CREATE TABLE "odd ""name" (id int); CREATE TABLE whole (id int)`)
	dsn, err := pg.ParseDSN(target, pg.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	group := func(name format.Name) *proofGroup {
		return &proofGroup{target: &pg.Target{Schema: "public", Name: name}}
	}
	parts := group(`odd "name`)
	readings := []reading{{group: parts, pages: &format.CTIDRange{From: 5}}, {group: group("whole")}, {group: parts, pages: &format.CTIDRange{To: 5}}}
	j := &job{o: Options{DSN: dsn}, m: &format.Manifest{}}
	j.m.Source.Server.Encoding = "UTF8"
	_, release, err := j.holdSnapshot(t.Context(), readings)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	locks := `SELECT string_agg(relation::regclass || ' ' || mode, ', ') FROM pg_locks WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND relation >= 16384`
	if got := pgtest.SQL(t, target, locks); got != `"odd ""name" AccessShareLock` {
		t.Errorf("locks %q", got)
	}
}
