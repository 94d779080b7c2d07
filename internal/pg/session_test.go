package pg_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

func TestMain(m *testing.M) { pgtest.Run(m) }

func parse(t testing.TB, dsn string) *pg.DSN {
	t.Helper()
	d, err := pg.ParseDSN(dsn, pg.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func connect(t testing.TB, dsn string, o pg.Options) *pg.Conn {
	t.Helper()
	c, err := pg.Connect(context.Background(), parse(t, dsn), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// encodedDB makes a database of another encoding on the shared cluster.
func encodedDB(t testing.TB, name, encoding string) string {
	t.Helper()
	c := pgtest.Cluster(t)
	pgtest.SQL(t, c.DSN("postgres"), `CREATE DATABASE `+name+` TEMPLATE template0 ENCODING '`+encoding+`' LC_COLLATE 'C' LC_CTYPE 'C'`)
	t.Cleanup(func() { pgtest.SQL(t, c.DSN("postgres"), `DROP DATABASE `+name+` WITH (FORCE)`) })
	return c.DSN(name)
}

func TestSessionSettings(t *testing.T) {
	dsn := pgtest.DB(t)
	d := parse(t, dsn)
	for _, set := range []string{
		"default_transaction_read_only = on", "default_transaction_isolation = serializable", "default_transaction_deferrable = on", "search_path = nowhere, public", "DateStyle = 'German'",
		"IntervalStyle = sql_standard", "TimeZone = 'Asia/Kathmandu'", "array_nulls = off", "row_security = on", "bytea_output = escape", "xmloption = document", "extra_float_digits = -15",
		"standard_conforming_strings = off", "quote_all_identifiers = on", "synchronize_seqscans = on", "max_parallel_workers_per_gather = 8", "client_encoding = latin1", "lock_timeout = '1ms'",
		"idle_in_transaction_session_timeout = '1ms'", "idle_session_timeout = '1h'", "client_min_messages = debug5", "statement_timeout = '1ms'",
	} {
		pgtest.SQL(t, pgtest.Cluster(t).DSN("postgres"), `ALTER DATABASE "`+d.Config.Database+`" SET `+set)
	}
	for range 20 { // a timeout that comes now and then must never come
		c := connect(t, dsn, pg.Options{Purpose: pg.ForData})
		for name, want := range map[string]string{
			"statement_timeout": "0", "lock_timeout": "0", "idle_in_transaction_session_timeout": "0", "idle_session_timeout": "0", "tcp_user_timeout": "0", "default_transaction_read_only": "off",
			"default_transaction_isolation": "read committed", "default_transaction_deferrable": "off", "search_path": `""`, "DateStyle": "ISO, DMY", "IntervalStyle": "postgres", "TimeZone": "UTC", "array_nulls": "on",
			"row_security": "off", "bytea_output": "hex", "xmloption": "content", "extra_float_digits": "3", "standard_conforming_strings": "on", "quote_all_identifiers": "off",
			"synchronize_seqscans": "off", "max_parallel_workers_per_gather": "0", "client_encoding": "UTF8", "client_min_messages": "warning", "application_name": "pghaul",
		} {
			var got string
			if err := c.QueryRow(context.Background(), "SHOW "+name).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		c.Close()
	}
}

func TestConnectRefused(t *testing.T) {
	dsn := pgtest.DB(t)
	d := parse(t, dsn)
	for what, c := range map[string]struct {
		dsn   string
		o     pg.Options
		state string
	}{
		"no such database": {dsn: strings.Replace(dsn, "/"+d.Config.Database, "/nosuch", 1), state: pg.StateUndefinedDatabase},
		"no such role":     {dsn: dsn + "&user=nosuch", state: "28000"},
		"no such SET ROLE": {dsn: dsn, o: pg.Options{Role: `no"such`}, state: "22023"},
		"no such server":   {dsn: "host=127.0.0.1 port=1 dbname=x user=x"},
		"no such name":     {dsn: "host=nosuch.invalid dbname=x user=x"},
		"no such socket":   {dsn: "host=/nosuch dbname=x user=x"},
	} {
		conn, err := pg.Connect(context.Background(), parse(t, c.dsn), c.o)
		if err == nil {
			conn.Close()
			t.Errorf("%s: connected", what)
			continue
		}
		if got := pg.State(err); got != c.state {
			t.Errorf("%s: SQLSTATE %q, want %q: %v", what, got, c.state, err)
		}
		if c.state == "" && !pg.ConnectionLost(err) {
			t.Errorf("%s: %v is not counted as a lost connection", what, err)
		}
	}
}

func TestConnectionLostForReal(t *testing.T) {
	dsn := pgtest.DB(t)
	c, other := connect(t, dsn, pg.Options{}), connect(t, dsn, pg.Options{})
	if err := other.QueryRow(context.Background(), "SELECT pg_terminate_backend($1)", int32(c.PID())).Scan(new(bool)); err != nil {
		t.Fatal(err)
	}
	err := c.Exec(context.Background(), "SELECT pg_sleep(60)")
	if !pg.ConnectionLost(err) {
		t.Errorf("terminated: %v", err)
	}
	if err = c.Exec(context.Background(), "SELECT 1"); !pg.ConnectionLost(err) {
		t.Errorf("the session after that: %v", err)
	}
	if err = other.Exec(context.Background(), "SELECT * FROM nosuch"); pg.ConnectionLost(err) || pg.State(err) != pg.StateUndefinedTable {
		t.Errorf("an ordinary error: %v", err)
	}
}

// TestCancelReachesServer: a context's end ends the statement at the server.
func TestCancelReachesServer(t *testing.T) {
	dsn := pgtest.DB(t)
	c, other := connect(t, dsn, pg.Options{}), connect(t, dsn, pg.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Exec(ctx, "SELECT pg_sleep(600)") }()
	waitFor(t, other, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep')", int32(c.PID()))
	cancel()
	if err := <-done; err == nil {
		t.Error("pg_sleep came to its end")
	}
	waitFor(t, other, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND state = 'active')", int32(c.PID()))
}

// waitFor asks until the answer is yes. The test's own deadline ends a wait for nothing.
func waitFor(t testing.TB, c *pg.Conn, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	for {
		var yes bool
		if err := c.QueryRow(ctx, sql, args...).Scan(&yes); err != nil {
			t.Fatalf("wait for %s: %v", sql, err)
		}
		if yes {
			return
		}
	}
}

// TestPin: of several servers in a connection string the one that answered is kept, for us and for pg_dump.
func TestPin(t *testing.T) {
	dsn := pgtest.DB(t)
	d := parse(t, dsn)
	socket := d.Config.Host
	for _, c := range []struct{ hosts, ports string }{{"/nosuch," + socket, "1,5432"}, {"127.0.0.1," + socket, "1,5432"}, {socket + ",/nosuch", "5432,1"}} {
		several := parse(t, "user=postgres dbname="+d.Config.Database+" host="+c.hosts+" port="+c.ports)
		conn, err := pg.Connect(context.Background(), several, pg.Options{})
		if err != nil {
			t.Fatal(err)
		}
		pinned := several.Pin(conn)
		if pinned.Config.Host != socket || len(pinned.Config.Fallbacks) != 0 || pinned.ToolConn().Host != socket || pinned.ToolConn().Port != int(d.Config.Port) {
			t.Errorf("%s: pinned to %s:%d, tools to %+v", c.hosts, pinned.Config.Host, pinned.Config.Port, pinned.ToolConn())
		}
		conn.Close()
	}
	conn := connect(t, dsn, pg.Options{})
	if got := d.Pin(conn); got != d {
		t.Errorf("a single server is pinned: %v", got)
	}
}

// TestServerErrorText: a data session speaks the database's encoding, and so do its errors.
func TestServerErrorText(t *testing.T) {
	c := connect(t, encodedDB(t, "pg_error_latin1", "LATIN1"), pg.Options{Purpose: pg.ForData})
	err := c.Exec(context.Background(), "SELECT * FROM \"caf\xe9\"")
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		t.Fatal(err)
	}
	if got := pg.Wrap(err, "x").Error(); !strings.Contains(got, `caf\xe9`) {
		t.Errorf("%q", got)
	}
}

// TestMatchTables compares what a pattern chooses with what pg_dump -t of the same pattern dumps.
func TestMatchTables(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE SCHEMA s; CREATE SCHEMA "S.t"; CREATE SCHEMA hidden;
CREATE TABLE orders (a int); CREATE TABLE "Orders" (a int); CREATE TABLE s.orders (a int); CREATE TABLE "S.t".orders (a int); CREATE TABLE hidden.secret (a int);
CREATE TABLE "a.b" (a int); CREATE TABLE "a|b" (a int); CREATE TABLE "int[]" (a int); CREATE TABLE "cash$" (a int); CREATE TABLE "q""q" (a int); CREATE TABLE "ÄÖ" (a int); CREATE TABLE "x+" (a int); CREATE TABLE xx (a int);
CREATE VIEW v AS SELECT 1 AS a; CREATE SEQUENCE sq; CREATE MATERIALIZED VIEW mv AS SELECT 1 AS a; CREATE TABLE parted (a int) PARTITION BY LIST (a); CREATE TABLE parted1 PARTITION OF parted FOR VALUES IN (1);`)
	d := parse(t, dsn)
	pgtest.SQL(t, dsn, `ALTER DATABASE "`+d.Config.Database+`" SET search_path = s, public`)
	c := connect(t, dsn, pg.Options{})
	for _, pattern := range []string{
		"orders", "ORDERS", `"Orders"`, "public.orders", "s.orders", `"S.t".orders`, "s*.orders", "*.orders", "*.o*", "o*", "o?ders", `"o?ders"`, `"o*"`, "a.b", `"a.b"`, "a|b", `"a|b"`, "xx|orders",
		"int[]", `"int[]"`, "cash$", `"cash$"`, `"q""q"`, "ÄÖ", `"ÄÖ"`, "äö", "x+", `"x+"`, "v", "sq", "mv", "parted", "parted*", "secret", "hidden.*", "[ox]*", `Order"S"`, "*", "*.*", "nosuch", "nosuch.nosuch",
		`"orders`, "(orders|xx)", ".orders", "public.", "x\\+",
	} {
		p, err := pg.ParseTablePattern(pattern)
		if err != nil {
			if pattern != `"orders` {
				t.Errorf("%s: %v", pattern, err)
			}
			continue
		}
		oids, unmatched, err := c.MatchTables(context.Background(), []pg.Pattern{p})
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		got := names(t, c, oids)
		want := pgDump(t, dsn, pattern)
		if !slices.Equal(got, want) {
			t.Errorf("-t %s chooses %q, pg_dump %q", pattern, got, want)
		}
		if (len(unmatched) == 1) != (len(want) == 0) {
			t.Errorf("-t %s: unmatched %q, pg_dump takes %q", pattern, unmatched, want)
		}
	}
	var path string
	if err := c.QueryRow(context.Background(), "SHOW search_path").Scan(&path); err != nil || path != `""` {
		t.Errorf("search_path is left as %q, %v", path, err)
	}
}

// names gives schema.name of user relations that the test's patterns can mean.
func names(t *testing.T, c *pg.Conn, oids []uint32) []string {
	t.Helper()
	rows, err := c.Query(context.Background(), `SELECT DISTINCT n.nspname || ' ' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.oid = ANY ($1) AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'`, oids)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}
