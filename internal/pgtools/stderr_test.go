package pgtools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// verbose15 is what pg_restore 15 -v says of an archive whose target holds duplicate
// rows and some of the objects already.
const verbose15 = `pg_restore: connecting to database for restore
pg_restore: creating FUNCTION "public.f(integer, text)"
pg_restore: while PROCESSING TOC:
pg_restore: from TOC entry 219; 1255 16411 FUNCTION f(integer, text) postgres
pg_restore: error: could not execute query: ERROR:  function "f" already exists with same argument types
Command was: CREATE FUNCTION public.f(a integer, b text) RETURNS integer
    LANGUAGE plpgsql
    AS $$
begin
  -- Command was: odd
  return 1;
end $$;


pg_restore: creating CONSTRAINT "public.orders orders_pkey"
pg_restore: from TOC entry 3215; 2606 16401 CONSTRAINT orders orders_pkey alice
pg_restore: error: could not execute query: ERROR:  could not create unique index "orders_pkey"
DETAIL:  Key (id)=(1) is duplicated.
Command was: ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);


pg_restore: creating INDEX "public.orders_idx"
pg_restore: creating FK CONSTRAINT "public.odd name; x odd name; x_id_fkey"
pg_restore: from TOC entry 3216; 2606 16405 FK CONSTRAINT odd name; x odd name; x_id_fkey postgres
pg_restore: error: could not execute query: ERROR:  there is no unique constraint matching given keys for referenced table "orders"
Command was: ALTER TABLE ONLY public."odd name; x"
    ADD CONSTRAINT "odd name; x_id_fkey" FOREIGN KEY (id) REFERENCES public.orders(id);


pg_restore: creating PUBLICATION "p"
WARNING:  wal_level is insufficient to publish logical changes
HINT:  Set wal_level to "logical" before creating subscriptions.
pg_restore: warning: errors ignored on restore: 3
`

var failed15 = []FailedEntry{
	{
		DumpID: 219, CatalogOID: 1255, OID: 16411, Desc: "FUNCTION", Name: "f(integer, text)", Owner: "postgres",
		Message: `ERROR:  function "f" already exists with same argument types`,
		Command: "CREATE FUNCTION public.f(a integer, b text) RETURNS integer\n    LANGUAGE plpgsql\n    AS $$\nbegin\n  -- Command was: odd\n  return 1;\nend $$;",
	},
	{
		DumpID: 3215, CatalogOID: 2606, OID: 16401, Desc: "CONSTRAINT", Name: "orders orders_pkey", Owner: "alice",
		Message: "ERROR:  could not create unique index \"orders_pkey\"\nDETAIL:  Key (id)=(1) is duplicated.",
		Command: "ALTER TABLE ONLY public.orders\n    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);",
	},
	{
		DumpID: 3216, CatalogOID: 2606, OID: 16405, Desc: "FK CONSTRAINT", Name: "odd name; x odd name; x_id_fkey", Owner: "postgres",
		Message: `ERROR:  there is no unique constraint matching given keys for referenced table "orders"`,
		Command: "ALTER TABLE ONLY public.\"odd name; x\"\n    ADD CONSTRAINT \"odd name; x_id_fkey\" FOREIGN KEY (id) REFERENCES public.orders(id);",
	},
}

func TestParseRestoreErrors(t *testing.T) {
	tests := []struct {
		name, stderr string
		want         []FailedEntry
	}{
		{"version 15, verbose", verbose15, failed15},
		{"nothing", "", nil},
		{"fatal", "pg_restore: error: connection to server failed: FATAL:  database \"nodb\" does not exist\n", nil},
		{
			"without -v", "pg_restore: error: could not execute query: ERROR:  schema \"shop\" already exists\nCommand was: CREATE SCHEMA shop;\n\n\n",
			[]FailedEntry{{Message: `ERROR:  schema "shop" already exists`, Command: "CREATE SCHEMA shop;"}},
		},
		{
			"version 11", `pg_restore: [archiver (db)] Error while PROCESSING TOC:
pg_restore: [archiver (db)] Error from TOC entry 197; 1259 16386 TABLE a postgres
pg_restore: [archiver (db)] could not execute query: ERROR:  relation "a" already exists
    Command was: CREATE TABLE public.a (
    i integer
);


WARNING: errors ignored on restore: 1
`,
			[]FailedEntry{{
				DumpID: 197, CatalogOID: 1259, OID: 16386, Desc: "TABLE", Name: "a", Owner: "postgres",
				Message: `ERROR:  relation "a" already exists`, Command: "CREATE TABLE public.a (\n    i integer\n);",
			}},
		},
		{
			"a setting, then two statements of one entry", `pg_restore: while INITIALIZING:
pg_restore: error: could not execute query: ERROR:  unrecognized configuration parameter "transaction_timeout"
Command was: SET transaction_timeout = 0;
pg_restore: while PROCESSING TOC:
pg_restore: from TOC entry 215; 1259 16395 TABLE orders alice
pg_restore: error: could not execute query: ERROR:  relation "orders" already exists
Command was: CREATE TABLE public.orders ();
pg_restore: error: could not execute query: ERROR:  role "alice" does not exist
Command was: ALTER TABLE public.orders OWNER TO alice;
pg_restore: error: COPY failed for table "orders": ERROR:  invalid input syntax`,
			[]FailedEntry{
				{Message: `ERROR:  unrecognized configuration parameter "transaction_timeout"`, Command: "SET transaction_timeout = 0;"},
				{
					DumpID: 215, CatalogOID: 1259, OID: 16395, Desc: "TABLE", Name: "orders", Owner: "alice",
					Message: `ERROR:  relation "orders" already exists`, Command: "CREATE TABLE public.orders ();",
				},
				{
					DumpID: 215, CatalogOID: 1259, OID: 16395, Desc: "TABLE", Name: "orders", Owner: "alice",
					Message: `ERROR:  role "alice" does not exist`, Command: "ALTER TABLE public.orders OWNER TO alice;",
				},
				{
					DumpID: 215, CatalogOID: 1259, OID: 16395, Desc: "TABLE", Name: "orders", Owner: "alice",
					Message: `COPY failed for table "orders": ERROR:  invalid input syntax`,
				},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ParseRestoreErrors(tt.stderr)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Property: whatever the program says, in whatever pieces, what is kept stays within
// its bounds, and the pieces make no difference.
func FuzzLineLog(f *testing.F) {
	f.Add([]byte(verbose15), 7)
	f.Add([]byte("pg_restore: error: could not execute query: x\nCommand was: y"), 1)
	f.Add([]byte("\r\n\n\x00pg_restore: from TOC entry 99999999999999999999; 1 2 A b"), 3)
	f.Fuzz(func(t *testing.T, data []byte, piece int) {
		read := func(piece int) (*lineLog, *restoreParser) {
			var p restoreParser
			l := lineLog{each: p.line}
			for rest := data; len(rest) > 0; {
				n := min(piece, len(rest))
				if _, err := l.Write(rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			l.flush()
			p.flush()
			return &l, &p
		}
		whole, p1 := read(len(data))
		pieces, p2 := read(max(1, piece%100))
		if whole.text() != pieces.text() {
			t.Errorf("in pieces: %q, whole: %q", pieces.text(), whole.text())
		}
		if diff := cmp.Diff(p1.failed, p2.failed); diff != "" {
			t.Error(diff)
		}
		if whole.size > keepStderr || len(p1.failed) > maxFailed {
			t.Errorf("kept %d bytes, %d entries", whole.size, len(p1.failed))
		}
	})
}

func TestLineLogBounds(t *testing.T) {
	var l lineLog
	var seen int
	l.also = func(string) { seen++ }
	write := func(format string, args ...any) {
		if _, err := fmt.Fprintf(&l, format, args...); err != nil {
			t.Fatal(err)
		}
	}
	write("%s\n", strings.Repeat("x", 3*maxLine))
	if n := len(l.lines()[0]); n != maxLine {
		t.Errorf("a long line has %d bytes, want %d", n, maxLine)
	}
	const lines = 50_000
	for i := range lines {
		write("line %d %s\n", i, strings.Repeat("y", 90))
	}
	if l.size > keepStderr {
		t.Errorf("keeps %d bytes", l.size)
	}
	if last := l.lines()[len(l.lines())-1]; !strings.HasPrefix(last, fmt.Sprintf("line %d ", lines-1)) {
		t.Errorf("last line is %q", last)
	}
	if seen != lines+1 {
		t.Errorf("callback saw %d lines, want %d", seen, lines+1)
	}
}

func TestErrorMessage(t *testing.T) {
	for _, tt := range []struct{ stderr, want string }{
		{"pg_dump: error: query failed: ERROR:  permission denied for table x\npg_dump: detail: Query was: LOCK TABLE x\n", "pg_dump: query failed: ERROR:  permission denied for table x"},
		{"pg_dump: error: no matching tables were found", "pg_dump: no matching tables were found"},
		{"something\n\n", "pg_dump: something"},
		{"", "pg_dump: exit status 1"},
		{"pg_dump: error: table \x1b[31m", `pg_dump: table \x1b[31m`},
	} {
		e := &Error{Tool: "pg_dump", ExitCode: 1, Stderr: tt.stderr, Err: fmt.Errorf("exit status 1")}
		if got := e.Error(); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.stderr, got, tt.want)
		}
	}
}
