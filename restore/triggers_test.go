package restore_test

import (
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// circular is a schema whose tables refer to each other, and whose triggers refuse every row.
const circular = `
CREATE TABLE team (id int PRIMARY KEY, boss int);
CREATE TABLE person (id int, part text, team int NOT NULL REFERENCES team, friend int, fpart text, PRIMARY KEY (id, part), FOREIGN KEY (friend, fpart) REFERENCES person MATCH FULL);
ALTER TABLE team ADD CONSTRAINT "the ""boss""" FOREIGN KEY (boss) REFERENCES team;
CREATE TABLE ev (id int PRIMARY KEY, team bigint REFERENCES team) PARTITION BY RANGE (id);
CREATE TABLE ev_1 PARTITION OF ev FOR VALUES FROM (0) TO (1000); CREATE TABLE ev_2 PARTITION OF ev FOR VALUES FROM (1000) TO (5000);
CREATE TABLE about (ev int REFERENCES ev);
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a trigger fired'; END $$;`

const circularRows = `
INSERT INTO team SELECT g, NULLIF(g % 3, 0) FROM generate_series(1, 10) g;
INSERT INTO person SELECT g, 'p', 1 + g % 10, CASE WHEN g < 4000 THEN g + 1 END, CASE WHEN g < 4000 THEN 'p' END FROM generate_series(1, 4000) g;
INSERT INTO ev SELECT g, 1 + g % 10 FROM generate_series(1, 2000) g; INSERT INTO about SELECT g FROM generate_series(1, 2000, 3) g;`

const refusing = `CREATE TRIGGER no BEFORE INSERT ON person FOR EACH ROW EXECUTE FUNCTION refuse(); CREATE TRIGGER no BEFORE TRUNCATE ON team EXECUTE FUNCTION refuse();`

// TestDisableTriggers: rows go past triggers and keys into tables that exist, and the keys are looked at afterwards.
func TestDisableTriggers(t *testing.T) {
	source := pgtest.DB(t, circular, circularRows)
	dir := takeDump(t, source, func(o *dump.Options) { o.SegmentSize, o.Compression.Level = 64<<10, 0 })
	target := pgtest.DB(t, circular, `INSERT INTO team VALUES (77)`, refusing)
	o := options(t, dir, target)
	o.DataOnly, o.OnExisting = true, restore.Truncate
	refusal(t, o, "preflight A", "trigger no would fire", "public.person:")
	o.DisableTriggers = true
	sum := mustRestore(t, o)
	wantGaps(t, sum)
	if sum.Proven != len(sum.Manifest.Tables) {
		t.Errorf("%d proven", sum.Proven)
	}
	for _, table := range []string{"team", "person", "ev", "about"} {
		same(t, source, target, `SELECT count(*), md5(string_agg(x::text, ',' ORDER BY x::text)) FROM `+table+` x`)
	}
	same(t, source, target, `SELECT conname, convalidated FROM pg_constraint WHERE contype = 'f' ORDER BY 1, conrelid::regclass::text`)
	untouched(t, target)
}

// TestDisabledKeysAreChecked: keys that do not hold with the rows of a part of the dump are named, until they do.
func TestDisabledKeysAreChecked(t *testing.T) {
	source := pgtest.DB(t, circular, circularRows)
	dir := takeDump(t, source)
	target := pgtest.DB(t, circular, refusing)
	o := options(t, dir, target)
	o.DataOnly, o.DisableTriggers, o.Tables = true, true, []string{"person", "ev", "about"}
	missing := []string{"FK CONSTRAINT public.ev ev_team_fkey 23503", "FK CONSTRAINT public.person person_team_fkey 23503"}
	sum := mustRestore(t, o)
	wantGaps(t, sum, missing...)
	if sum.Proven != 4 {
		t.Errorf("%d proven", sum.Proven)
	}
	o.Resume = true
	wantGaps(t, mustRestore(t, o), missing...)
	pgtest.SQL(t, target, `INSERT INTO team SELECT generate_series(1, 10)`)
	wantGaps(t, mustRestore(t, o))
	untouched(t, target)
}

// TestDisableTriggersAsAnOwner: an owner may not go past foreign keys, and is told before anything is written what may be done.
func TestDisableTriggersAsAnOwner(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, `CREATE TABLE a (id int); INSERT INTO a VALUES (1)`))
	target := pgtest.DB(t, `CREATE ROLE trg_owner LOGIN; CREATE TABLE a (id int); ALTER TABLE a OWNER TO trg_owner`)
	t.Cleanup(func() { pgtest.SQL(t, target, `DROP OWNED BY trg_owner CASCADE; DROP ROLE trg_owner`) })
	o := options(t, dir, target)
	o.DSN.Config.User, o.DSN.Given["user"] = "trg_owner", "trg_owner"
	o.DataOnly, o.DisableTriggers, o.NoJournal = true, true, true
	grant := `GRANT SET ON PARAMETER session_replication_role TO "trg_owner"`
	if pgtest.Version(t) < 150000 { // which has no such grant: the hint does not name it, and a superuser loads
		refusal(t, o, "preflight A", "session_replication_role", "42501", "restore as a superuser; or, as the tables' owner, DISABLE TRIGGER USER")
		grant = `ALTER ROLE trg_owner SUPERUSER`
	} else {
		refusal(t, o, "preflight A", "session_replication_role", "42501", grant, "DISABLE TRIGGER USER")
	}
	untouched(t, target, "a")
	pgtest.SQL(t, target, grant)
	wantGaps(t, mustRestore(t, o))
	o.DataOnly = false
	if _, err := restore.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--disable-triggers") {
		t.Errorf("error %v", err)
	}
}
