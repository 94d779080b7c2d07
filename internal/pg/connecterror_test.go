package pg_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

func TestConnectError(t *testing.T) {
	server := pgtest.DB(t)
	for name, c := range map[string]struct{ dsn, text, hint string }{
		"refused":     {"host=127.0.0.1 port=1 user=u dbname=d", `^connect to 127\.0\.0\.1:1/d as u: dial tcp 127\.0\.0\.1:1: connect: connection refused$`, "running"},
		"socket":      {"host=/nosuch user=u", `^connect to \[local\]:5432/u as u: dial unix /nosuch/\.s\.PGSQL\.5432: connect: no such file or directory$`, "running"},
		"two hosts":   {"host=127.0.0.1,127.0.0.1 port=1,2 user=u", `^connect to 127\.0\.0\.1:1/u as u: 127\.0\.0\.1:1 .*refused; 127\.0\.0\.1:2 .*refused$`, "running"},
		"no such":     {"host=nosuch.invalid user=u", `^connect to nosuch\.invalid:5432/u as u: lookup nosuch\.invalid`, "check host"},
		"no database": {strings.Replace(server, "?", "x?", 1), `^connect to .*/t\S+x as postgres: FATAL: database "t\S+x" does not exist \(SQLSTATE 3D000\)$`, "psql -l"},
		"no role":     {server + "&user=nosuch_role", `^connect to .* as nosuch_role: FATAL: role "nosuch_role" does not exist \(SQLSTATE 28000\)$`, "-U"},
	} {
		t.Run(name, func(t *testing.T) {
			clearEnv(t)
			dsn, err := pg.ParseDSN(c.dsn, pg.Flags{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = pg.Connect(context.Background(), dsn, pg.Options{})
			if err == nil || !regexp.MustCompile(c.text).MatchString(err.Error()) {
				t.Errorf("error %q, want %s", err, c.text)
			}
			if h := hint.Of(err); !strings.Contains(h, c.hint) {
				t.Errorf("hint %q, want %q", h, c.hint)
			}
			var driver *pgconn.ConnectError
			if !errors.As(err, &driver) {
				t.Error("the driver's error is lost")
			}
		})
	}
}

// A host that holds a password must not be repeated.
func TestHostThatLooksLikeAURI(t *testing.T) {
	clearEnv(t)
	for _, flags := range []pg.Flags{{Host: "u:hunter2@h"}, {Host: "postgresql://u:hunter2@h/d"}} {
		if _, err := pg.ParseDSN("", flags); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
	if _, err := pg.ParseDSN("host=@abstract user=u", pg.Flags{}); err != nil {
		t.Errorf("an abstract socket: %v", err)
	}
	if _, err := pg.ParseDSN("host=h sslmode=perhaps", pg.Flags{}); err == nil || !strings.Contains(err.Error(), "verify-full") {
		t.Errorf("sslmode: %v", err)
	}
}
