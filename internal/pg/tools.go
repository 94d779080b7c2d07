package pg

import (
	"net"
	"strconv"
	"strings"

	"github.com/bytehaul/pghaul/internal/pgtools"
)

// tlsParameters are the connection keywords that a child process needs to reach the same server in the same way.
var tlsParameters = []string{"sslrootcert", "sslcert", "sslkey", "sslcrl", "ssl_min_protocol_version", "target_session_attrs", "krbsrvname", "channel_binding"}

// ToolConn says how pg_dump and pg_restore reach the database of d. The password goes along for their password file, never for their arguments.
func (d *DSN) ToolConn() pgtools.Conn {
	conn := pgtools.Conn{Host: d.Config.Host, Port: int(d.Config.Port), User: d.Config.User, Database: d.Config.Database,
		Password: d.Config.Password, SSLMode: d.Given["sslmode"], Extra: map[string]string{}}
	for _, key := range tlsParameters {
		if value := d.Given[key]; value != "" {
			conn.Extra[key] = value
		}
	}
	return conn
}

// Pin gives the connection string of the server that c reached, where d names several: a snapshot lives on one.
func (d *DSN) Pin(c *Conn) *DSN {
	if !strings.Contains(d.Given["host"], ",") {
		return d
	}
	host, port, err := net.SplitHostPort(c.PgConn().Conn().RemoteAddr().String())
	if err != nil {
		return d // a unix socket
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return d
	}
	pinned := d.WithDatabase(d.Config.Database)
	pinned.Given["host"], pinned.Given["port"] = host, port
	pinned.Config.Host, pinned.Config.Port = host, uint16(number)
	pinned.Config.Fallbacks = nil
	return pinned
}
