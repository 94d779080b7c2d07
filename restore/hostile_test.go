package restore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// hostileSettings are what a database can prefer and a dump or a restore must not care for.
var hostileSettings = []string{"statement_timeout = '1ms'", "lock_timeout = '1ms'", "idle_in_transaction_session_timeout = '1ms'", "idle_session_timeout = '1ms'", "default_transaction_read_only = on",
	`search_path = 'no"where', pg_temp`, "DateStyle = 'German, DMY'", "IntervalStyle = sql_standard", "array_nulls = off", "row_security = off", "bytea_output = escape", "extra_float_digits = -15", "xmloption = document",
	"default_transaction_isolation = serializable", "default_transaction_deferrable = on", "standard_conforming_strings = off", "backslash_quote = off", "quote_all_identifiers = on", "transform_null_equals = on", "client_encoding = latin1", "TimeZone = 'Asia/Kathmandu'"}

// literals has definitions that mean something else under other settings.
const literals = `CREATE TABLE shop.literals (id int PRIMARY KEY, d date DEFAULT '2009-08-10', i interval DEFAULT '-1 years -2 mons +3 days -04:05:06', a text[] DEFAULT '{a,NULL}', x xml DEFAULT 'no <b>document</b>', f float8 DEFAULT 0.1::float8 + 0.2,
 by bytea DEFAULT '\x00ff', s text DEFAULT E'\\a''b', ts timestamptz DEFAULT '2009-08-10 11:12:13+02');
INSERT INTO shop.literals SELECT g FROM generate_series(1, 100) g; CREATE INDEX ON shop.literals (d) WHERE i > '-1 mons +3 days' AND d > '2001-02-03';
CREATE VIEW shop.nulls AS SELECT id FROM shop.literals WHERE s = 'NULL' OR a = '{NULL}'; SELECT lo_from_bytea(5812, '\x00ff');`

// prefer makes a hostile database of a mild one.
func prefer(t *testing.T, dsn string, settings ...string) {
	t.Helper()
	name := parse(t, dsn).Config.Database
	var sql strings.Builder
	for _, s := range settings {
		sql.WriteString(`ALTER DATABASE "` + name + `" SET ` + s + ";\n")
	}
	pgtest.SQL(t, pgtest.Cluster(t).DSN("postgres"), sql.String())
}

// mild takes the settings away, so that the test itself can look.
func mild(t *testing.T, dsn string) {
	t.Helper()
	pgtest.SQL(t, pgtest.Cluster(t).DSN("postgres"), `ALTER DATABASE "`+parse(t, dsn).Config.Database+`" RESET ALL`)
}

// TestHostileDatabases: whatever source and target prefer for their sessions, all at once or some alone, dump and restore give the same.
func TestHostileDatabases(t *testing.T) {
	source := pgtest.DB(t, varied, literals)
	rounds := [][]string{hostileSettings}
	for _, alone := range []string{"statement_timeout", "idle_session_timeout", "IntervalStyle", "array_nulls"} { // another one could hide what they do
		i := slices.IndexFunc(hostileSettings, func(s string) bool { return strings.HasPrefix(s, alone+" ") })
		rounds = append(rounds, hostileSettings[i:i+1])
	}
	for i, settings := range rounds {
		name := "all"
		if i > 0 {
			name = settings[0]
		}
		t.Run(name, func(t *testing.T) {
			target := pgtest.DB(t)
			prefer(t, source, settings...)
			prefer(t, target, settings...)
			dir := takeDump(t, source)
			o := options(t, dir, target)
			o.StopAfter = restore.PhaseProof
			mustRestore(t, o)
			o = options(t, dir, target)
			o.Resume = true
			sum := mustRestore(t, o)
			mild(t, source)
			mild(t, target)
			if len(sum.Gaps) > 0 || len(sum.Unproven) > 0 {
				t.Errorf("gaps %+v, not proven %q", sum.Gaps, sum.Unproven)
			}
			sameState(t, source, target)
			same(t, source, target, `SELECT md5(string_agg(x::text, ',' ORDER BY id)) FROM shop.literals x`)
			same(t, source, target, `SELECT string_agg(pg_get_expr(adbin, adrelid), ', ' ORDER BY adnum) FROM pg_attrdef WHERE adrelid = 'shop.literals'::regclass`)
			same(t, source, target, `SELECT string_agg(pg_get_indexdef(indexrelid), ', ' ORDER BY indexrelid::regclass::text) FROM pg_index WHERE indrelid = 'shop.literals'::regclass`)
			same(t, source, target, `SELECT pg_get_viewdef('shop.nulls'), md5(lo_get(5812))`)
		})
	}
}
