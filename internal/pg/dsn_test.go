package pg_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/pg"
)

// clearEnv takes away what would fill in a connection string.
func clearEnv(t *testing.T) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "PG") {
			t.Setenv(name, "") // restored at the end
			os.Unsetenv(name)
		}
	}
	t.Setenv("PGPASSFILE", filepath.Join(t.TempDir(), "none"))
}

func TestParseDSN(t *testing.T) {
	clearEnv(t)
	for _, c := range []struct {
		dsn  string
		want map[string]string
	}{
		{"", map[string]string{}},
		{"shop", map[string]string{"dbname": "shop"}},
		{"my shop", map[string]string{"dbname": "my shop"}},
		{"postgresql://", map[string]string{}},
		{"postgres://h", map[string]string{"host": "h"}},
		{"postgresql:///shop", map[string]string{"dbname": "shop"}},
		{"postgresql://h:5433/shop", map[string]string{"host": "h", "port": "5433", "dbname": "shop"}},
		{"postgresql://anna@h/shop?sslmode=disable", map[string]string{"user": "anna", "host": "h", "dbname": "shop", "sslmode": "disable"}},
		{"postgresql://an%40na@h/sh%2Fop%20x", map[string]string{"user": "an@na", "host": "h", "dbname": "sh/op x"}},
		{"postgresql://[2001:db8::1]:5433/shop", map[string]string{"host": "2001:db8::1", "port": "5433", "dbname": "shop"}},
		{"postgresql://[::1]/", map[string]string{"host": "::1"}},
		{"postgresql://h1:1,h2:2,h3/x", map[string]string{"host": "h1,h2,h3", "port": "1,2,", "dbname": "x"}},
		{"postgresql://h1,h2:5433/x", map[string]string{"host": "h1,h2", "port": ",5433", "dbname": "x"}},
		{"postgresql://[::1]:1,[::2]:2/x", map[string]string{"host": "::1,::2", "port": "1,2", "dbname": "x"}},
		{"postgresql://%2Fvar%2Frun/shop", map[string]string{"host": "/var/run", "dbname": "shop"}},
		{"postgresql:///shop?host=/var/run&port=5433", map[string]string{"host": "/var/run", "port": "5433", "dbname": "shop"}},
		{"postgresql:///shop?options=-c%20geqo%3Doff", map[string]string{"dbname": "shop", "options": "-c geqo=off"}},
		{"postgresql:///a+b", map[string]string{"dbname": "a+b"}}, // libpq decodes no plus
		{"postgresql:///x?application_name=a+b", map[string]string{"dbname": "x", "application_name": "a+b"}},
		{"postgresql://h/x?ssl=true", map[string]string{"host": "h", "dbname": "x", "sslmode": "require"}},
		{"postgresql:///x?dbname=y", map[string]string{"dbname": "y"}},
		{"host=h dbname=shop", map[string]string{"host": "h", "dbname": "shop"}},
		{"  host = h\tdbname =\n'my shop' ", map[string]string{"host": "h", "dbname": "my shop"}},
		{`dbname='it\'s \\ x' user=a\ b`, map[string]string{"dbname": `it's \ x`, "user": "a b"}},
		{`dbname='' user=anna`, map[string]string{"user": "anna"}},
		{`dbname='a=b'user=anna`, map[string]string{"dbname": "a=b", "user": "anna"}}, // libpq needs no space there
		{`user=anna\`, map[string]string{"user": "anna"}},
		{"host=h1,h2 port=1,2", map[string]string{"host": "h1,h2", "port": "1,2"}},
		{"host=/tmp port=5433", map[string]string{"host": "/tmp", "port": "5433"}},
	} {
		d, err := pg.ParseDSN(c.dsn, pg.Flags{})
		if err != nil {
			t.Errorf("%q: %v", c.dsn, err)
			continue
		}
		if !maps.Equal(d.Given, c.want) {
			t.Errorf("%q: %v, want %v", c.dsn, d.Given, c.want)
		}
		want := func(key, got string) {
			if w := c.want[key]; w != "" && !strings.Contains(w, ",") && got != w {
				t.Errorf("%q: the driver's %s is %q, want %q", c.dsn, key, got, w)
			}
		}
		want("host", d.Config.Host)
		want("dbname", d.Config.Database)
		want("user", d.Config.User)
	}
}

// TestParseDSNHosts: each host has its own port, and an empty one is the default.
func TestParseDSNHosts(t *testing.T) {
	clearEnv(t)
	d, err := pg.ParseDSN("postgresql://h1,h2:5433,[::1]:5434/x?sslmode=disable", pg.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{d.Config.Host}
	ports := []uint16{d.Config.Port}
	for _, f := range d.Config.Fallbacks {
		got, ports = append(got, f.Host), append(ports, f.Port)
	}
	if strings.Join(got, " ") != "h1 h2 ::1" || len(ports) != 3 || ports[0] != 5432 || ports[1] != 5433 || ports[2] != 5434 {
		t.Errorf("hosts %q, ports %v", got, ports)
	}
}

func TestParseDSNFlags(t *testing.T) {
	clearEnv(t)
	d, err := pg.ParseDSN("host=h dbname=a", pg.Flags{Port: "5433", User: "anna", Database: "b c"})
	if err != nil {
		t.Fatal(err)
	}
	if c := d.Config; c.Host != "h" || c.Port != 5433 || c.User != "anna" || c.Database != "b c" {
		t.Errorf("%s %d %s %q", c.Host, c.Port, c.User, c.Database)
	}
	// -d takes a connection string too, as psql's does
	d, err = pg.ParseDSN("", pg.Flags{Host: "h1", Database: "postgresql://anna@h2/shop"})
	if err != nil || d.Config.Host != "h2" || d.Config.Database != "shop" {
		t.Errorf("-d with a URI: %v, %v", d, err)
	}
	if _, err = pg.ParseDSN("", pg.Flags{Database: "dbname=x password=geheim"}); !errors.Is(err, pg.ErrPasswordInDSN) {
		t.Errorf("-d with a password: %v", err)
	}
}

func TestParseDSNPassword(t *testing.T) {
	clearEnv(t)
	for _, dsn := range []string{
		"postgresql://anna:geheim@h/x", "postgres://anna:geheim@h", "postgresql://:geheim@h/x", "postgresql://anna:@h/x", "postgresql://anna:ge%68eim@h/x",
		"postgresql://anna:ge?heim@h/x", "postgresql://anna:geheim@[::1]:5432/x", "postgresql://anna:geheim@/x",
		"postgresql:///x?password=geheim", "postgresql:///x?user=anna&password=geheim&sslmode=disable", "postgresql:///x?p%61ssword=geheim", "postgresql:///x?sslpassword=geheim",
		"postgresql:///x?PASSWORD=geheim", "postgresql:///x?password=", "password=geheim", "host=h password=geheim", "host=h password = 'geheim'", "host=h password='ge heim' dbname=x",
		"host=h sslpassword=geheim", "Password=geheim", "host=h password=", `host='a\'b'password=geheim`,
	} {
		_, err := pg.ParseDSN(dsn, pg.Flags{})
		if !errors.Is(err, pg.ErrPasswordInDSN) {
			t.Errorf("%q: %v", dsn, err)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: the password is in the error %v", dsn, err)
		}
	}
}

// TestParseDSNSaysNothing: strings whose author meant a password, and mistyped it. Refused, and no part of it is repeated.
func TestParseDSNSaysNothing(t *testing.T) {
	clearEnv(t)
	for _, dsn := range []string{
		"postgresql://anna:geheim/geheim@h/x", "postgresql://anna:12345/geheim@h/x", "postgresql://anna:geheim", "postgresql://anna:geheim/x", "postgresql://anna:geheim%@h/x%zz",
		"postgresql://anna@h:geheim/x", "postgresql://h/x?geheim", "postgresql://h/x?a=geheim=b", "postgresql://h/x?geheim=b", "postgresql://h/x?a%3D1%20password=geheim",
		"postgresql://h/%gheim", "postgresql://h/x?user=%geheim", "postgresql://[geheim/x", "postgresql://[::1]geheim/x", "postgresql://h/geheim%00",
		"Postgresql://anna:geheim@h/x", "mysql://anna:geheim@h/x", "postgresql:anna:geheim@h/x", "anna:geheim@h/x", "dbname='postgresql://anna:geheim@h/x'",
		"user=anna secret geheim host=h", "user=anna geheim", "user=anna pasword=geheim", "user=anna passwd=geheim", "user=my geheim=x", "user='geheim", "=geheim", "a\x00geheim=x",
		"host=h port=geheim", "host=h port=5432,geheim", "host=h port=99999999999", "host=h replication=geheim", "host=h sslcrl=geheim",
	} {
		_, err := pg.ParseDSN(dsn, pg.Flags{})
		if err == nil {
			t.Errorf("%q is accepted", dsn)
			continue
		}
		if strings.Contains(err.Error(), "heim") || strings.Contains(err.Error(), "12345") {
			t.Errorf("%q: %v repeats the string", dsn, err)
		}
	}
}

// TestDSNString: what people see names no password, wherever it came from.
func TestDSNString(t *testing.T) {
	clearEnv(t)
	t.Setenv("PGPASSWORD", "geheim")
	for dsn, want := range map[string]string{"postgresql://anna@h:5433/shop": "h:5433/shop", "host=/tmp dbname=shop": "[local]:5432/shop"} {
		d, err := pg.ParseDSN(dsn, pg.Flags{})
		if err != nil {
			t.Fatal(err)
		}
		if d.String() != want || d.Config.Password != "geheim" {
			t.Errorf("%q: %s, want %s", dsn, d, want)
		}
		if tool := d.ToolConn(); tool.Password != "geheim" || tool.Database != "shop" {
			t.Errorf("%q: tools get %+v", dsn, tool)
		}
		if other := d.WithDatabase("b"); other.Config.Database != "b" || d.Config.Database != "shop" || other.Given["dbname"] != "b" {
			t.Errorf("another database: %s, then %s", other, d)
		}
	}
}

// TestToolConnTLS: pg_dump must check the server as strictly as we do, also when a service file or the environment says how.
func TestToolConnTLS(t *testing.T) {
	clearEnv(t)
	file := filepath.Join(t.TempDir(), "services")
	if err := os.WriteFile(file, []byte("[strict]\nhost=h\nuser=u\nsslmode=verify-full\n[lax]\nhost=h\nsslmode=allow\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGSERVICEFILE", file)
	for dsn, want := range map[string]string{
		"service=strict dbname=x": "verify-full", "service=lax": "allow", "host=h": "prefer", "host=h sslmode=disable": "disable", "host=h sslmode=require": "require",
		"host=h sslmode=verify-ca": "verify-ca", "host=/tmp": "",
	} {
		d, err := pg.ParseDSN(dsn, pg.Flags{})
		if err != nil {
			t.Fatalf("%q: %v", dsn, err)
		}
		if got := d.ToolConn().SSLMode; got != want {
			t.Errorf("%q: sslmode %q, want %q", dsn, got, want)
		}
	}
}

func FuzzParseDSN(f *testing.F) {
	for _, s := range []string{"postgresql://anna:%s@h/x", "host=h password='%s' x=y", "postgres://%s", "user=%s", "%s", "postgresql:///x?password=%s", "dbname='%s", "postgresql://a:b%s@h:1,h2/x?y=%s"} {
		f.Add(strings.ReplaceAll(s, "%s", "Zg5Qx"))
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		d, err := pg.ParseDSN(dsn, pg.Flags{})
		if err != nil {
			// A marker stands for the password. What the driver refuses has been taken apart by then.
			if strings.Contains(err.Error(), "Zg5Qx") && !strings.HasPrefix(err.Error(), "connection settings: ") {
				t.Errorf("%q: error %q repeats it", dsn, err)
			}
			return
		}
		if _, ok := d.Given["password"]; ok || d.Config.Password != "" && os.Getenv("PGPASSWORD") == "" {
			t.Errorf("%q: accepted with a password", dsn)
		}
		for key := range d.Config.RuntimeParams {
			if key != "options" && key != "application_name" {
				t.Errorf("%q: run-time parameter %q goes to the server", dsn, key)
			}
		}
		if tool := d.ToolConn(); tool.Password != d.Config.Password {
			t.Errorf("%q: tools get another password", dsn)
		}
	})
}

func TestParseDSNDriverError(t *testing.T) {
	clearEnv(t)
	t.Setenv("PGPASSWORD", "geheim")
	for _, dsn := range []string{"host=h connect_timeout=x", "service=nosuch", "host=h target_session_attrs=odd", "host=a,b port=1,2,3"} {
		_, err := pg.ParseDSN(dsn, pg.Flags{})
		if err == nil || !strings.HasPrefix(err.Error(), "connection settings: ") || strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "host='h'") {
			t.Errorf("%q: %v", dsn, err)
		}
	}
}

// TestDatabaseIsNoConnectionString: the environment's database is a name for libpq, whatever stands in it; one that looks like more is not sent to a server.
func TestDatabaseIsNoConnectionString(t *testing.T) {
	for _, name := range []string{"postgresql://u:hunter2@h/d", "postgres://h", "host=h password=hunter2", "PASSWORD = hunter2"} {
		t.Setenv("PGDATABASE", name)
		if d, err := pg.ParseDSN("", pg.Flags{}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, %v", name, d, err)
		}
	}
	t.Setenv("PGDATABASE", "a=b c")
	if d, err := pg.ParseDSN("", pg.Flags{}); err != nil || d.Config.Database != "a=b c" {
		t.Errorf("%v, %v", d, err)
	}
}
