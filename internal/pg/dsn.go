package pg

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// ErrPasswordInDSN refuses a connection string that shows its password to everybody who can list processes.
var ErrPasswordInDSN = errors.New("the connection string holds a password, which every user of this machine can read in the process list")

// PasswordHint says where a password belongs.
const PasswordHint = "put it into ~/.pgpass (or PGPASSFILE), a service file (service=NAME) or PGPASSWORD"

// DSN is a parsed connection string: the settings that stood in it, and pgx's resolved configuration
// (PG* variables, service file and password file applied).
type DSN struct {
	Config *pgx.ConnConfig
	Given  map[string]string // keywords that the string itself held
}

// Flags are the connection flags of PostgreSQL's own tools; empty ones do not count.
type Flags struct {
	Host, Port, User, Database string
}

// ParseDSN reads a URI, a keyword=value string, or a bare database name, as psql's first argument is read.
// Without anything in it the PG* environment counts. A password in it is refused with ErrPasswordInDSN.
func ParseDSN(dsn string, flags Flags) (*DSN, error) {
	given, err := settings(dsn)
	if err != nil {
		return nil, err
	}
	if _, ok := given["password"]; ok {
		return nil, ErrPasswordInDSN
	}
	for key, value := range map[string]string{"host": flags.Host, "port": flags.Port, "user": flags.User, "dbname": flags.Database} {
		if value != "" {
			given[key] = value
		}
	}
	config, err := pgx.ParseConfig(keywords(given))
	if err != nil {
		return nil, err // pgconn's own error has any password redacted
	}
	return &DSN{Config: config, Given: given}, nil
}

// WithDatabase gives the same server with another database.
func (d *DSN) WithDatabase(name string) *DSN {
	given := make(map[string]string, len(d.Given)+1)
	for k, v := range d.Given {
		given[k] = v
	}
	given["dbname"] = name
	config := d.Config.Copy()
	config.Database = name
	return &DSN{Config: config, Given: given}
}

// String names server and database for people: never with a password.
func (d *DSN) String() string {
	host := d.Config.Host
	if strings.HasPrefix(host, "/") {
		host = "[local]"
	}
	return fmt.Sprintf("%s:%d/%s", host, d.Config.Port, d.Config.Database)
}

// settings takes a connection string apart into libpq's keywords.
func settings(dsn string) (map[string]string, error) {
	switch {
	case dsn == "":
		return map[string]string{}, nil
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		return uriSettings(dsn)
	case strings.Contains(dsn, "="):
		return keywordSettings(dsn)
	}
	return map[string]string{"dbname": dsn}, nil
}

func uriSettings(dsn string) (map[string]string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err // url.Error repeats the whole string, password and all
		}
		return nil, fmt.Errorf("connection URI: %w", err)
	}
	given := map[string]string{}
	set := func(key, value string) {
		if value != "" {
			given[key] = value
		}
	}
	if u.User != nil {
		set("user", u.User.Username())
		if password, ok := u.User.Password(); ok {
			given["password"] = password
		}
	}
	var hosts, ports []string
	for part := range strings.SplitSeq(u.Host, ",") {
		host, port := part, ""
		if i := strings.LastIndexByte(part, ':'); i >= 0 && !strings.HasSuffix(part, "]") {
			host, port = part[:i], part[i+1:]
		}
		hosts = append(hosts, strings.Trim(host, "[]"))
		ports = append(ports, port)
	}
	set("host", strings.Trim(strings.Join(hosts, ","), ","))
	set("port", strings.Trim(strings.Join(ports, ","), ","))
	set("dbname", strings.TrimPrefix(u.Path, "/"))
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("connection URI: %w", err)
	}
	for key, values := range query {
		given[key] = values[len(values)-1]
	}
	return given, nil
}

// keywordSettings reads keyword=value pairs by the rules of conninfo_parse in src/interfaces/libpq/fe-connect.c.
func keywordSettings(dsn string) (map[string]string, error) {
	given := map[string]string{}
	rest := strings.TrimLeft(dsn, " \t\r\n")
	for rest != "" {
		eq := strings.IndexByte(rest, '=')
		if eq < 0 {
			return nil, fmt.Errorf("connection string: missing \"=\" after %q", strings.TrimSpace(rest))
		}
		key := strings.TrimSpace(rest[:eq])
		if key == "" || strings.ContainsAny(key, " \t\r\n") {
			return nil, fmt.Errorf("connection string: bad keyword %q", key)
		}
		value, after, err := keywordValue(strings.TrimLeft(rest[eq+1:], " \t\r\n"))
		if err != nil {
			return nil, fmt.Errorf("connection string: keyword %q: %w", key, err)
		}
		given[key] = value
		rest = strings.TrimLeft(after, " \t\r\n")
	}
	return given, nil
}

func keywordValue(s string) (value, rest string, err error) {
	quoted := strings.HasPrefix(s, "'")
	i := 0
	if quoted {
		i = 1
	}
	var b strings.Builder
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case quoted && c == '\'':
			return b.String(), s[i+1:], nil
		case !quoted && strings.IndexByte(" \t\r\n", c) >= 0:
			return b.String(), s[i:], nil
		default:
			b.WriteByte(c)
		}
	}
	if quoted {
		return "", "", errors.New("unterminated quoted string")
	}
	return b.String(), "", nil
}

// keywords writes settings as a keyword=value string.
func keywords(given map[string]string) string {
	escape := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	var b strings.Builder
	for key, value := range given {
		fmt.Fprintf(&b, "%s='%s' ", key, escape.Replace(value))
	}
	return b.String()
}
