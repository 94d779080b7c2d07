package pg

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrPasswordInDSN refuses a connection string that shows its password to everybody who can list processes.
var ErrPasswordInDSN = errors.New("the connection string holds a password, which every user of this machine can read in the process list")

// PasswordHint says where a password belongs.
const PasswordHint = "put it into ~/.pgpass (or PGPASSFILE), a service file (service=NAME) or PGPASSWORD" //nolint:gosec // names of places, no password

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

// ParseDSN reads a URI, a keyword=value string, or a bare database name, as psql's first argument is read; a database flag may hold
// any of them too. Without anything in it the PG* environment counts. A password in it is refused with ErrPasswordInDSN. Errors name
// positions and known keywords and repeat nothing else: any part of a mistyped string can be part of a password.
func ParseDSN(dsn string, flags Flags) (*DSN, error) {
	given, err := settings(dsn)
	if err != nil {
		return nil, err
	}
	for key, value := range map[string]string{"host": flags.Host, "port": flags.Port, "user": flags.User} {
		if value != "" {
			given[key] = value
		}
	}
	named, err := settings(flags.Database)
	if err != nil {
		return nil, err
	}
	maps.Copy(given, named)
	if err := checkSettings(given); err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(keywords(driverSettings(given)))
	if err != nil {
		return nil, driverError(err)
	}
	if isConnectionString(config.Database) {
		return nil, errors.New("the name of the database is itself a connection string: PGDATABASE and dbname take a name alone")
	}
	requireTLS13(config, given["ssl_min_protocol_version"])
	return &DSN{Config: config, Given: given}, nil
}

// isConnectionString tells a connection string in the place of a database's name, where libpq too takes it for a name: it would be sent to the server, and
// stand in errors and logs, with the password that it may hold.
func isConnectionString(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasPrefix(lower, "postgresql://") || strings.HasPrefix(lower, "postgres://") || strings.Contains(lower, "password") && strings.Contains(lower, "=")
}

// driverError says what the driver made of settings that are well-formed, without the string that it repeats.
func driverError(err error) error {
	var parse *pgconn.ParseConfigError
	text := err.Error()
	if errors.As(err, &parse) {
		if _, why, ok := strings.Cut(text, "`: "); ok {
			text = why
		}
	}
	return fmt.Errorf("connection settings: %s", text)
}

// WithDatabase gives the same server with another database.
func (d *DSN) WithDatabase(name string) *DSN {
	given := make(map[string]string, len(d.Given)+1)
	maps.Copy(given, d.Given)
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
	database := d.Config.Database
	if database == "" { // as the server understands that
		database = d.Config.User
	}
	return fmt.Sprintf("%s:%d/%s", host, d.Config.Port, database)
}
