package restore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// unlogged has tables that a crash empties, with triggers, foreign keys in a circle and to itself, and sequences that a crash resets.
const unlogged = `CREATE TABLE logged (id int PRIMARY KEY); INSERT INTO logged SELECT g FROM generate_series(1, 100) g;
CREATE UNLOGGED TABLE a (id serial PRIMARY KEY, parent int REFERENCES a, b int, v text); CREATE UNLOGGED TABLE b (id int PRIMARY KEY, a int REFERENCES a DEFERRABLE);
CREATE UNLOGGED TABLE empty (id int GENERATED ALWAYS AS IDENTITY);
INSERT INTO a (parent, v) SELECT nullif(g - 1, 0), repeat('v', 50) FROM generate_series(1, 20000) g; INSERT INTO b SELECT g, g FROM generate_series(1, 100) g; UPDATE a SET b = 1 WHERE id < 50;
ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b; SELECT setval('empty_id_seq', 4711);
CREATE FUNCTION twist() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := -NEW.id; RETURN NEW; END';
CREATE TRIGGER twist BEFORE INSERT ON a FOR EACH ROW EXECUTE FUNCTION twist(); CREATE TRIGGER twist BEFORE INSERT ON logged FOR EACH ROW EXECUTE FUNCTION twist();`

// TestCrashBehindPostData: rows of unlogged tables, and the state of their sequences, are brought again, past the triggers and foreign keys that are there by then.
func TestCrashBehindPostData(t *testing.T) {
	cluster := pgtest.Own(t, pgcluster.Options{})
	source := pgtest.DB(t, unlogged)
	dir := takeDump(t, source, inSegments)
	for _, phase := range []string{restore.PhaseSequences, restore.PhasePostData, restore.PhaseMatViews} {
		t.Run(phase, func(t *testing.T) {
			target := pgtest.DBIn(t, cluster)
			o := options(t, dir, target)
			o.StopAfter = phase
			mustRestore(t, o)
			if err := cluster.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := cluster.Restart(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got := pgtest.SQL(t, target, `SELECT count(*) FROM a`); got != "0" {
				t.Fatalf("%s rows after a crash", got)
			}
			o = options(t, dir, target)
			o.Resume = true
			sum := mustRestore(t, o)
			if sum.Proven != 4 || len(sum.Gaps) > 0 {
				t.Errorf("%d tables proven, gaps %+v", sum.Proven, sum.Gaps)
			}
			for _, table := range []string{"a", "b", "logged", "empty"} {
				same(t, source, target, `SELECT count(*), md5(string_agg(x::text, ',' ORDER BY id)) FROM `+table+` x`)
			}
			same(t, source, target, `SELECT last_value, is_called FROM a_id_seq UNION ALL SELECT last_value, is_called FROM empty_id_seq`)
			same(t, source, target, `SELECT string_agg(pg_get_triggerdef(oid) || tgenabled::text, ',' ORDER BY tgrelid::regclass::text) FROM pg_trigger WHERE NOT tgisinternal`)
			same(t, source, target, `SELECT count(*) FROM pg_constraint WHERE contype IN ('f', 'p') AND convalidated`)
			untouched(t, target)
		})
	}
}

// TestMigrateCrashBehindTheData: what unlogged tables held is gone with the snapshot when the target crashes behind the last row. The refusal says how all is
// had nevertheless, and that is so: rows, indexes, keys and triggers.
func TestMigrateCrashBehindTheData(t *testing.T) {
	cluster := pgtest.Own(t, pgcluster.Options{})
	source := pgtest.DB(t, unlogged)
	for _, phase := range []string{restore.PhaseData, restore.PhasePostData} {
		t.Run(phase, func(t *testing.T) {
			target := pgtest.DBIn(t, cluster)
			m := migrating(t, source, target)
			m.to.StopAfter = phase
			m.must(t)
			if err := errors.Join(cluster.Kill(), cluster.Restart(context.Background())); err != nil {
				t.Fatal(err)
			}
			m = migrating(t, source, target)
			m.to.Resume = true
			_, err := m.run(t.Context())
			var refused *restore.Refused
			if !errors.As(err, &refused) || !strings.Contains(fmt.Sprint(refused.Findings), "--exclude-table-data") {
				t.Fatalf("error %v", err)
			}
			emptied := []string{"a", "b", "empty"}
			m = migrating(t, source, target)
			m.to.Resume, m.from.ExcludeTableData = true, emptied
			whole(t, m.must(t))
			m = migrating(t, source, target)
			m.from.DataOnly, m.to.DataOnly, m.to.NoJournal, m.to.DisableTriggers, m.from.Tables, m.to.Tables = true, true, true, true, emptied, emptied
			m.must(t)
			for _, table := range append(emptied, "logged") {
				same(t, source, target, `SELECT count(*), md5(string_agg(x::text, ',' ORDER BY id)) FROM `+table+` x`)
			}
			same(t, source, target, `SELECT last_value, is_called FROM a_id_seq UNION ALL SELECT last_value, is_called FROM empty_id_seq`)
			same(t, source, target, `SELECT string_agg(pg_get_triggerdef(oid) || tgenabled::text, ',' ORDER BY tgrelid::regclass::text) FROM pg_trigger WHERE NOT tgisinternal`)
			same(t, source, target, `SELECT string_agg(pg_get_constraintdef(oid) || convalidated, ',' ORDER BY conrelid::regclass::text, conname) FROM pg_constraint WHERE contype IN ('f', 'p')`)
		})
	}
}
