package pgtools

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bytehaul/pghaul/internal/dirlock"
)

// Conn says which database a program connects to. The zero value: to none, which is
// what pg_restore needs to write a script or to list an archive.
type Conn struct {
	Host     string // name, address, or the folder of a unix socket; one, not a list
	Port     int    // 0: libpq's default
	User     string
	Database string
	Password string // goes into a password file
	SSLMode  string
	// Extra are further connection parameters of libpq (sslrootcert, options …).
	// Those that hold or lead to a password are refused.
	Extra map[string]string
}

// isZero reports whether nothing is said about where to connect to.
func (c Conn) isZero() bool { return c.Host == "" && c.Database == "" && c.User == "" && c.Port == 0 }

// refusedParams would put a secret into argv, or replace what Conn says.
var refusedParams = []string{"password", "sslpassword", "passfile", "service", "servicefile", "oauth_client_secret",
	"host", "port", "user", "dbname", "sslmode", "scram_client_key", "scram_server_key"}

// connString renders the connection as libpq's key = 'value' string, without the password.
func (c Conn) connString() (string, error) {
	if strings.Contains(c.Host, ",") {
		// libpq would try one after the other, and a snapshot lives on one server.
		return "", fmt.Errorf("host %q: a list of hosts", c.Host)
	}
	params := []struct{ key, value string }{
		{"host", c.Host}, {"port", ""}, {"user", c.User}, {"dbname", c.Database}, {"sslmode", c.SSLMode},
	}
	if c.Port != 0 {
		params[1].value = strconv.Itoa(c.Port)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Extra)) {
		if slices.Contains(refusedParams, key) {
			return "", fmt.Errorf("connection parameter %q cannot be passed on", key)
		}
		if strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_") != "" {
			return "", fmt.Errorf("connection parameter %q: not a name", key)
		}
		params = append(params, struct{ key, value string }{key, c.Extra[key]})
	}
	var b strings.Builder
	for _, p := range params {
		if strings.ContainsRune(p.value, 0) {
			return "", fmt.Errorf("connection parameter %s: %q holds a zero byte", p.key, p.value)
		}
		if p.value == "" && c.Extra[p.key] == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(p.key + "='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(p.value) + "'")
	}
	return b.String(), nil
}

// passLines renders the password file. libpq looks a unix socket up by its folder, but
// by "localhost" when that is the folder it was compiled with, which we cannot know
// (passwordFromFile in src/interfaces/libpq/fe-connect.c): hence two lines. The database
// is left open: pg_restore --create connects to two.
func (c Conn) passLines() (string, error) {
	if strings.ContainsAny(c.Password, "\n\r\x00") {
		return "", errors.New("a password with a line end or a zero byte cannot be written into a password file")
	}
	hosts := []string{c.Host}
	switch {
	case c.Host == "":
		if addr := c.Extra["hostaddr"]; addr != "" {
			hosts = []string{addr}
		} else {
			hosts = []string{"localhost"}
		}
	case isSocket(c.Host):
		hosts = append(hosts, "localhost")
	}
	port := "5432"
	if c.Port != 0 {
		port = strconv.Itoa(c.Port)
	}
	user := "*"
	if c.User != "" {
		user = passEscape(c.User)
	}
	var b strings.Builder
	for _, host := range hosts {
		fmt.Fprintf(&b, "%s:%s:*:%s:%s\n", passEscape(host), port, user, passEscape(c.Password))
	}
	return b.String(), nil
}

// isSocket is libpq's is_unixsock_path: a folder, or with "@" an abstract socket.
func isSocket(host string) bool { return strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") }

// passEscape escapes a field of a password file.
func passEscape(s string) string { return strings.NewReplacer(`\`, `\\`, `:`, `\:`).Replace(s) }

// writePassFile writes the password file, when there is a password, into a new folder
// that only we can enter. remove deletes both, and is never nil.
func (c Conn) writePassFile() (path string, remove func() error, err error) {
	remove = func() error { return nil }
	if c.Password == "" {
		return "", remove, nil
	}
	lines, err := c.passLines()
	if err != nil {
		return "", remove, err
	}
	temp, err := dirlock.NewTemp("pass")
	if err != nil {
		return "", remove, err
	}
	path = filepath.Join(temp.Path(), "pgpass")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		return "", remove, errors.Join(err, temp.Close())
	}
	return path, temp.Close, nil
}

// keptVariables of libpq say how to authenticate and encrypt, not where to go. All
// other variables that start with PG are taken from the programs: PGHOST, PGSERVICE,
// PGOPTIONS …, and PG_COLOR, which would colour the messages that we read.
var keptVariables = []string{"PGSSL", "PGGSS", "PGKRBSRVNAME", "PGCHANNELBINDING", "PGREQUIREAUTH",
	"PGREQUIREPEER", "PGREQUIRESSL", "PGCONNECT_TIMEOUT", "PGMINPROTOCOLVERSION", "PGMAXPROTOCOLVERSION"}

// childEnv is env without what would redirect or translate a program, and more behind it.
func childEnv(env, more []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "LC_") || name == "LANG" || name == "LANGUAGE" {
			return true
		}
		// A password here could be read from /proc or ps by the same user's processes.
		if name == "PGSSLPASSWORD" {
			return true
		}
		return strings.HasPrefix(name, "PG") && !slices.ContainsFunc(keptVariables, func(kept string) bool {
			return strings.HasPrefix(name, kept)
		})
	})
	return append(append(env, "LC_ALL=C"), more...)
}
