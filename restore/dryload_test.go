package restore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/restore"
)

// beyond lets a column say less than its values hold, as only a changed catalog does.
func beyond(table, column string, typmod int) string {
	return fmt.Sprintf(`UPDATE pg_attribute SET atttypmod = %d WHERE attrelid = '%s'::regclass AND attname = '%s';`, typmod, table, column)
}

func TestDryLoad(t *testing.T) {
	source := pgtest.DB(t, varied, `DROP TRIGGER tr ON shop.orders; CREATE TABLE shop.texts (r regclass, c money[], id int, q tsquery); INSERT INTO shop.texts SELECT 'shop.orders', '{1.5}', g, 'a & b' FROM generate_series(1, 3000) g`)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := takeDump(t, source, inSegments)
	target := pgtest.DB(t)
	o := options(t, dir, target)
	o.SchemaOnly = true
	mustRestore(t, o)
	pgtest.SQL(t, target, `CREATE TABLE seen (what text); CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES (TG_OP); RETURN NULL; END $$;
CREATE TRIGGER seen_tr AFTER INSERT ON shop.customers FOR EACH STATEMENT EXECUTE FUNCTION seen(); ALTER TABLE shop.orders ADD COLUMN extra serial, ADD CHECK (price < 0);`)
	before := fingerprint(t, target)
	c := checkOptions(t, dir, target, dry)
	r := check(t, c)
	speaks(t, r, restore.SeverityError, "seen_tr") // which a restore would fire
	var rows int64
	segments := 0
	for _, table := range takenTables(t, dir) {
		rows += table.Rows
		segments += len(table.Segments)
	}
	if d := r.DryLoad; d == nil || d.Rows != rows || d.Segments != segments || d.Tables != len(takenTables(t, dir)) || len(d.Skipped) > 0 || !slices.Contains(d.NotChecked, "triggers") {
		t.Errorf("dry load %+v, want %d rows in %d segments", d, rows, segments)
	}
	snapshot := c.Tracker.Snapshot()
	if snapshot.Rows != rows || snapshot.Tables.Failed > 0 || !snapshot.Finished {
		t.Errorf("tracker: %d rows, %d failed", snapshot.Rows, snapshot.Tables.Failed)
	}
	for _, st := range snapshot.Stages {
		if st.Name == "check" && st.Server == 0 || st.Name == "parse" && st.Rows != rows {
			t.Errorf("stage %s: %+v", st.Name, st.MeterSnapshot)
		}
	}
	if after := fingerprint(t, target); after != before {
		t.Errorf("before: %s\nafter: %s", before, after)
	}
	for _, query := range []string{`SELECT count(*) FROM seen`, `SELECT count(*) FROM shop.orders`, `SELECT count(*) FROM pg_class WHERE relnamespace = pg_my_temp_schema() OR relname ~ '^pghaul'`} {
		if got := pgtest.SQL(t, target, query); got != "0" {
			t.Errorf("%s: %s", query, got)
		}
	}
	sessionsEnd(t, target)
}

func TestDryLoadRefuses(t *testing.T) {
	admin := pgtest.Cluster(t).DSN("postgres")
	pgtest.SQL(t, admin, `CREATE ROLE dry_role`)
	source := pgtest.DB(t, `CREATE TABLE long (id int, v varchar); INSERT INTO long SELECT g, repeat('x', CASE g WHEN 700 THEN 9 ELSE 3 END) FROM generate_series(1, 1000) g;`+beyond("long", "v", 7)+`
CREATE TABLE inf (id int, n numeric); INSERT INTO inf VALUES (1, 1.5), (2, 'Infinity');`+beyond("inf", "n", (5<<16|2)+4)+`
CREATE DOMAIN pos AS int CHECK (VALUE > -100); CREATE TABLE dom (id int, p pos); INSERT INTO dom SELECT g, CASE g WHEN 40 THEN -5 ELSE 5 END FROM generate_series(1, 50) g;
CREATE TABLE roles (id int, "owner" regrole, v varchar, t regtype); INSERT INTO roles SELECT g, CASE g WHEN 1234 THEN 'dry_role' ELSE 'postgres' END::regrole, 'ok', 'int' FROM generate_series(1, 2000) g;
CREATE TABLE staged_long (id int, r regtype, v varchar); INSERT INTO staged_long SELECT g, 'text', repeat('x', g) FROM generate_series(1, 10) g;`+beyond("staged_long", "v", 9)+`
CREATE TABLE cast_me (id int, v int8); INSERT INTO cast_me SELECT g, CASE g WHEN 77 THEN 3000000000 ELSE g END FROM generate_series(1, 100) g;
CREATE TABLE fine (id int); INSERT INTO fine SELECT generate_series(1, 100); CREATE TABLE unfit (id int); INSERT INTO unfit VALUES (1);`)
	dir := takeDump(t, source)
	pgtest.SQL(t, source, `DROP TABLE roles`)
	pgtest.SQL(t, admin, `DROP ROLE dry_role`)
	target := pgtest.DB(t, `CREATE TABLE long (id int, v varchar(3)); CREATE TABLE inf (id int, n numeric(5,2)); CREATE DOMAIN pos AS int CHECK (VALUE > 0); CREATE TABLE dom (id int, p pos);
CREATE TABLE roles (t regtype, id int, "owner" regrole, v varchar); CREATE TABLE staged_long (id int, r regtype, v varchar(5)); CREATE TABLE cast_me (id int, v int4); CREATE TABLE fine (id int8); CREATE TABLE unfit (id date)`)
	before := fingerprint(t, target)
	r := check(t, checkOptions(t, dir, target, dry, func(o *restore.CheckOptions) { o.AllowCast = true }))
	speaks(t, r, restore.SeverityError, `public.long, segment 1, row 700, column "v": in data/`, "value too long for type character varying(3)", "22001",
		`public.inf, segment 1, row 2, column "n"`, "22003", `public.dom, segment 1, row 40, column "p"`, "23514",
		`public.roles, segment 1, row 1234, column "owner"`, `role "dry_role" does not exist`, `public.staged_long, segment 1, row 6, column "v"`,
		`public.cast_me, segment 1, row 77, column "v"`, "integer out of range", "public.unfit.id")
	if d := r.DryLoad; d == nil || d.Tables != 1 || d.Rows != 100 || !slices.Equal(d.Skipped, []string{"public.unfit"}) {
		t.Errorf("dry load %+v", d)
	}
	if after := fingerprint(t, target); after != before {
		t.Errorf("before: %s\nafter: %s", before, after)
	}
}

func TestDryLoadNeedsTables(t *testing.T) {
	dir := takeDump(t, pgtest.DB(t, threeTables))
	target := pgtest.DB(t)
	speaks(t, check(t, checkOptions(t, dir, target, dry)), restore.SeverityError, "none of the dump's tables", "--rehearse")
	pgtest.SQL(t, target, strings.Split(threeTables, "INSERT")[0]+`; CREATE TABLE b (id int, n numeric(5,2)); CREATE TABLE c (id int); CREATE ROLE dry_poor LOGIN; GRANT INSERT ON a, b, c TO dry_poor;
DO $$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$`)
	t.Cleanup(func() { pgtest.SQL(t, target, `DROP OWNED BY dry_poor; DROP ROLE dry_poor`) })
	o := checkOptions(t, dir, target, dry, func(o *restore.CheckOptions) { o.NoJournal = true })
	o.DSN.Config.User = "dry_poor"
	speaks(t, check(t, o), restore.SeverityError, "may not make temporary tables", "GRANT TEMPORARY")
	pgtest.SQL(t, target, `DO $$ BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO PUBLIC', current_database()); END $$`)
	o = checkOptions(t, dir, target, dry, func(o *restore.CheckOptions) { o.NoJournal = true })
	o.DSN.Config.User = "dry_poor" // who may not SELECT
	if r := check(t, o); !r.OK() || r.DryLoad.Rows != 103 {
		t.Errorf("%+v, dry load %+v", r.Findings, r.DryLoad)
	}
}

func TestDryLoadCancelled(t *testing.T) {
	pgtest.Cluster(t) // which has a goroutine of its own
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := takeDump(t, pgtest.DB(t, `CREATE TABLE a (id int, p int); INSERT INTO a SELECT g, g FROM generate_series(1, 2000) g`))
	target := pgtest.DB(t, `CREATE FUNCTION slow(int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(3600); RETURN true; END $$; CREATE DOMAIN dom AS int CHECK (slow(VALUE)); CREATE TABLE a (id int, p dom)`)
	ctx, cancel := context.WithCancel(context.Background())
	o := checkOptions(t, dir, target, dry, func(o *restore.CheckOptions) { o.AllowCast = true })
	watcher := session(t, target)
	go func() {
		defer cancel()
		ask(t, watcher, 1, `SELECT count(*) FROM pg_stat_activity WHERE `+ours+` AND wait_event = 'PgSleep'`)
	}()
	if _, err := restore.Check(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	ask(t, watcher, 0, `SELECT count(*) FROM pg_stat_activity WHERE `+ours+` AND application_name LIKE 'pghaul%' AND pid <> pg_backend_pid()`)
}

func TestRehearse(t *testing.T) {
	pgtest.Cluster(t) // which has a goroutine of its own
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	source := pgtest.DB(t, varied)
	dir := takeDump(t, source)
	target := pgtest.DB(t)
	before := fingerprint(t, target)
	o := checkOptions(t, dir, target, rehearse, dry)
	r := check(t, o)
	speaks(t, r, restore.SeverityError)
	if !r.Rehearsed || r.As != "restore" || r.DryLoad == nil || r.DryLoad.Rows != r.Files.Rows || len(r.DryLoad.Skipped) > 0 {
		t.Errorf("%+v, dry load %+v", r, r.DryLoad)
	}
	if after := fingerprint(t, target); after != before {
		t.Errorf("before: %s\nafter: %s", before, after)
	}
	t.Run("gaps and values", func(t *testing.T) {
		admin := pgtest.Cluster(t).DSN("postgres")
		pgtest.SQL(t, admin, `CREATE ROLE rehearsed_role`)
		source := pgtest.DB(t, `CREATE TABLE a (id int); ALTER TABLE a OWNER TO rehearsed_role; CREATE TABLE r (id int, r regrole); INSERT INTO r VALUES (1, 'postgres'), (2, 'rehearsed_role');`)
		dir := takeDump(t, source)
		pgtest.SQL(t, source, `DROP TABLE r; DROP OWNED BY rehearsed_role; DROP ROLE rehearsed_role`)
		r := check(t, checkOptions(t, dir, target, rehearse, dry))
		speaks(t, r, restore.SeverityError, "TABLE public.a", "42704", `public.r, segment 1, row 2, column "r"`)
		speaks(t, r, restore.SeverityWarning, "role rehearsed_role")
		if after := fingerprint(t, target); after != before {
			t.Errorf("before: %s\nafter: %s", before, after)
		}
	})
	t.Run("locale", func(t *testing.T) {
		dir := takeDump(t, source)
		editManifest(t, dir, noSuchLocale)
		speaks(t, check(t, checkOptions(t, dir, target, rehearse)), restore.SeverityError, "xx_XX.UTF-8", "install the locale")
	})
	t.Run("no privilege", func(t *testing.T) {
		pgtest.SQL(t, target, `CREATE ROLE cannot_create LOGIN`)
		t.Cleanup(func() { pgtest.SQL(t, target, `DROP ROLE cannot_create`) })
		o := checkOptions(t, dir, target, rehearse)
		o.DSN.Config.User = "cannot_create"
		speaks(t, check(t, o), restore.SeverityError, "may not create databases")
	})
}

// However a rehearsal ends, its database goes.
func TestRehearsalCancelled(t *testing.T) {
	pgtest.Cluster(t) // which has a goroutine of its own
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for name, c := range map[string]struct{ source, waits string }{
		"in pre-data": {`CREATE FUNCTION slow() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN IF current_database() ~ '^pghaul' THEN PERFORM pg_sleep(3600); END IF; RETURN 1; END $$;
CREATE TABLE a (k int, v text) PARTITION BY RANGE (k); CREATE TABLE a_1 PARTITION OF a FOR VALUES FROM (public.slow()) TO (2); CREATE DOMAIN d AS int DEFAULT public.slow() CHECK (VALUE > 0); CREATE TABLE b (d d); INSERT INTO b VALUES (1);
CREATE VIEW w AS SELECT public.slow() AS x;`, ""},
		"in the dry load": {`CREATE FUNCTION slow(int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN IF current_database() ~ '^pghaul' THEN PERFORM pg_sleep(3600); END IF; RETURN true; END $$; CREATE DOMAIN d AS int CHECK (public.slow(VALUE)); CREATE TABLE b (d d);
INSERT INTO b VALUES (1);`, "PgSleep"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := takeDump(t, pgtest.DB(t, c.source))
			target := pgtest.DB(t)
			ctx, cancel := context.WithCancel(context.Background())
			watcher := session(t, target)
			go func() {
				defer cancel()
				query := `SELECT count(*) FROM pg_database WHERE datname ~ '^pghaul_rehearsal_'`
				if c.waits != "" {
					query = `SELECT count(*) FROM pg_stat_activity WHERE datname ~ '^pghaul_rehearsal_' AND wait_event = '` + c.waits + `'`
				}
				ask(t, watcher, 1, query)
			}()
			o := checkOptions(t, dir, target, rehearse, dry)
			o.Tracker = progress.New("verify", "read", "parse", "convert", "check")
			if _, err := restore.Check(ctx, o); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if got := pgtest.SQL(t, target, `SELECT count(*) FROM pg_database WHERE datname ~ '^pghaul'`); got != "0" {
				t.Errorf("%s scratch databases are left", got)
			}
		})
	}
}
