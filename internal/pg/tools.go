package pg

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bytehaul/pghaul/internal/pgtools"
)

// tlsParameters are the connection keywords that a child process needs to reach the same server in the same way.
var tlsParameters = []string{"sslrootcert", "sslcert", "sslkey", "ssl_min_protocol_version", "target_session_attrs", "krbsrvname", "channel_binding", "sslnegotiation", "sslsni", "sslcertmode", "require_auth", "gssencmode", "connect_timeout"}

// ToolConn says how pg_dump and pg_restore reach the database of d. The password goes along for their password file, never for their arguments.
func (d *DSN) ToolConn() pgtools.Conn {
	conn := pgtools.Conn{Host: d.Config.Host, Port: int(d.Config.Port), User: d.Config.User, Database: d.Config.Database,
		Password: d.Config.Password, SSLMode: cmp.Or(d.Given["sslmode"], d.sslMode()), Extra: map[string]string{}}
	for _, key := range tlsParameters {
		if value := d.Given[key]; value != "" {
			conn.Extra[key] = value
		}
	}
	return conn
}

// toolSettings are what definitions must be read and written under. pg_dump and pg_restore set some of them, but only after they have connected, which a short timeout
// does not let them; those that decide what a literal or an expression means they leave as they are.
var toolSettings = []struct{ name, value string }{
	{"statement_timeout", "0"}, {"lock_timeout", "0"}, {"idle_in_transaction_session_timeout", "0"}, {"idle_session_timeout", "0"}, {"transaction_timeout", "0"},
	{"default_transaction_read_only", "off"}, {"default_transaction_isolation", "read committed"}, {"default_transaction_deferrable", "off"},
	{"DateStyle", "ISO"}, {"IntervalStyle", "postgres"}, {"array_nulls", "on"}, {"transform_null_equals", "off"}, {"xmloption", "content"}, {"standard_conforming_strings", "on"},
}

// ToolConn says how pg_dump and pg_restore reach the database of d, which is c's, and takes from them what the database or the role prefers and would harm. An ordinary
// database gets no such options, since poolers refuse them.
func (c *Conn) ToolConn(ctx context.Context, d *DSN) (pgtools.Conn, error) {
	conn := d.ToolConn()
	names := make([]string, len(toolSettings))
	for i, s := range toolSettings {
		names[i] = s.name
	}
	rows, err := c.Query(ctx, `SELECT name, reset_val FROM pg_catalog.pg_settings WHERE name = ANY($1)`, names)
	preferred := map[string]string{}
	var name, value string
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error { preferred[name] = value; return nil })
	}
	if err != nil {
		return conn, Wrap(err, "settings of the database")
	}
	var options []string
	for _, s := range toolSettings {
		// DateStyle holds the order of day and month too, which no output of ISO depends on.
		now, known := preferred[s.name]
		same := now == s.value && !(c.lifted && strings.HasSuffix(s.name, "_timeout")) || s.name == "DateStyle" && strings.HasPrefix(now, s.value+",")
		if known && !same {
			options = append(options, "-c "+s.name+"="+strings.ReplaceAll(s.value, " ", `\ `))
		}
	}
	if len(options) > 0 {
		conn.Extra["options"] = strings.Join(options, " ")
	}
	return conn, nil
}

// sslMode is what sslmode the driver resolved, where a service file or the environment named it: the child must not trust more than we do.
func (d *DSN) sslMode() string {
	first := d.Config.TLSConfig
	other := slices.ContainsFunc(d.Config.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.Host == d.Config.Host && f.Port == d.Config.Port && (f.TLSConfig == nil) != (first == nil)
	})
	switch network, _ := pgconn.NetworkAddress(d.Config.Host, d.Config.Port); {
	case network == "unix":
		return ""
	case first == nil && other:
		return "allow"
	case first == nil:
		return "disable"
	case other:
		return "prefer"
	case !first.InsecureSkipVerify:
		return "verify-full"
	case first.VerifyPeerCertificate != nil || first.VerifyConnection != nil:
		return "verify-ca"
	}
	return "require"
}

// Pin gives the connection string of the server that c reached, where d names several: a snapshot lives on one.
func (d *DSN) Pin(c *Conn) *DSN {
	entries := d.servers()
	if len(entries) < 2 {
		return d
	}
	at := c.PgConn().Conn().RemoteAddr()
	chosen := pgconn.FallbackConfig{}
	for _, e := range entries {
		if reached(at, e) {
			chosen = *e
			break
		}
	}
	if chosen.Host == "" { // a name that is not looked up to the same address any more
		host, port, err := net.SplitHostPort(at.String())
		if err != nil {
			return d
		}
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return d
		}
		chosen = pgconn.FallbackConfig{Host: host, Port: uint16(number), TLSConfig: d.Config.TLSConfig}
	}
	pinned := d.WithDatabase(d.Config.Database)
	delete(pinned.Given, "hostaddr")
	pinned.Given["host"], pinned.Given["port"] = chosen.Host, strconv.Itoa(int(chosen.Port))
	config := pinned.Config
	all := config.Fallbacks
	config.Host, config.Port, config.TLSConfig, config.Fallbacks = chosen.Host, chosen.Port, chosen.TLSConfig, nil
	for _, f := range all { // sslmode=prefer and allow try a server with TLS and without
		if f.Host == chosen.Host && f.Port == chosen.Port && f.TLSConfig != chosen.TLSConfig {
			config.Fallbacks = append(config.Fallbacks, f)
		}
	}
	return pinned
}

// servers are the different servers of a connection string, each with the settings of its first try.
func (d *DSN) servers() (list []*pgconn.FallbackConfig) {
	all := append([]*pgconn.FallbackConfig{{Host: d.Config.Host, Port: d.Config.Port, TLSConfig: d.Config.TLSConfig}}, d.Config.Fallbacks...)
	for _, f := range all {
		if !slices.ContainsFunc(list, func(e *pgconn.FallbackConfig) bool { return e.Host == f.Host && e.Port == f.Port }) {
			list = append(list, f)
		}
	}
	return list
}

// reached tells whether an address is that of a server.
func reached(at net.Addr, server *pgconn.FallbackConfig) bool {
	if _, address := pgconn.NetworkAddress(server.Host, server.Port); address == at.String() {
		return true
	}
	host, port, err := net.SplitHostPort(at.String())
	if err != nil || port != strconv.Itoa(int(server.Port)) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	found, err := net.DefaultResolver.LookupHost(ctx, server.Host)
	return err == nil && slices.Contains(found, host)
}
