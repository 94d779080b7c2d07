package pgtools

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestConnString(t *testing.T) {
	tests := []struct {
		conn Conn
		want string
	}{
		{Conn{Host: "/tmp/x y", Port: 5433, User: `o'neill\`, Database: "d=b", Password: "secret"}, `host='/tmp/x y' port='5433' user='o\'neill\\' dbname='d=b'`},
		{Conn{Host: "db.example", SSLMode: "verify-full", Extra: map[string]string{"sslrootcert": "/c", "application_name": "pghaul"}}, `host='db.example' sslmode='verify-full' application_name='pghaul' sslrootcert='/c'`},
	}
	for _, tt := range tests {
		got, err := tt.conn.connString()
		if err != nil {
			t.Fatal(err)
		}
		if got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	for _, bad := range []Conn{
		{Host: "a,b"},
		{Host: "a", Database: "x\x00y"},
		{Host: "a", Extra: map[string]string{"password": "x"}},
		{Host: "a", Extra: map[string]string{"sslpassword": "x"}},
		{Host: "a", Extra: map[string]string{"x host": "x"}},
	} {
		if got, err := bad.connString(); err == nil {
			t.Errorf("%+v gives %q", bad, got)
		}
	}
}

func TestPassFile(t *testing.T) {
	tests := []struct {
		conn Conn
		want string
	}{
		{Conn{Host: "db", Port: 5433, User: "al:ice", Password: `p:a\ss`}, `db:5433:*:al\:ice:p\:a\\ss` + "\n"},
		{Conn{Host: "::1", Password: "x"}, `\:\:1:5432:*:*:x` + "\n"},
		{Conn{Host: "/run/pg", Port: 1, User: "u", Password: "x"}, "/run/pg:1:*:u:x\nlocalhost:1:*:u:x\n"},
		{Conn{User: "u", Password: "x"}, "localhost:5432:*:u:x\n"},
		{Conn{User: "u", Password: "x", Extra: map[string]string{"hostaddr": "10.0.0.1"}}, "10.0.0.1:5432:*:u:x\n"},
	}
	for _, tt := range tests {
		path, remove, err := tt.conn.writePassFile()
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(b) != tt.want {
			t.Errorf("got %q, want %q", b, tt.want)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("mode of the file: %v, %v", st, err)
		}
		if st, err := os.Stat(filepath.Dir(path)); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("mode of the folder: %v, %v", st, err)
		}
		if err := remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("left behind: %v", err)
		}
	}
	if _, _, err := (Conn{Password: "a\nb"}).writePassFile(); err == nil || strings.Contains(err.Error(), "a\nb") {
		t.Errorf("a password with a line end: %v", err)
	}
}

func TestChildEnv(t *testing.T) {
	got := childEnv([]string{
		"PATH=/bin", "PGHOST=evil", "PGHOSTADDR=1.2.3.4", "PGPORT=1", "PGDATABASE=x", "PGUSER=x", "PGSERVICE=s", "PGSERVICEFILE=f",
		"PGOPTIONS=-c x=y", "PGPASSWORD=p", "PGPASSFILE=f", "PGSSLPASSWORD=p", "PGCLIENTENCODING=LATIN1", "PG_COLOR=always", "PGTZ=x",
		"PGSSLROOTCERT=/c", "PGKRBSRVNAME=k", "LANG=de_DE", "LC_MESSAGES=de_DE", "LANGUAGE=de",
	}, []string{"PGPASSFILE=/ours"})
	want := []string{"PATH=/bin", "PGSSLROOTCERT=/c", "PGKRBSRVNAME=k", "LC_ALL=C", "PGPASSFILE=/ours"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
