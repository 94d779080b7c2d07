package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/internal/pg"
)

// connection is what psql's connection options say.
type connection struct {
	host, port, user, database string
	passwords                  passwords
}

func (k *connection) flags(c *cobra.Command) {
	groupOf(c, "Connection options", false, func(f flags) {
		f.text(&k.database, "dbname", "d", "DBNAME", "database, or a connection string")
		f.text(&k.host, "host", "h", "HOSTNAME", "server's host name or socket folder")
		f.text(&k.port, "port", "p", "PORT", "server's port")
		f.text(&k.user, "username", "U", "USERNAME", "user to connect as")
		k.passwords.flags(f)
	})
}

// source gives the database that a job reads from: the argument, the options, or the PG* environment.
func (k *connection) source(args []string) (*pg.DSN, error) {
	text := k.database
	if len(args) > 0 {
		if k.database != "" {
			return nil, usagef("the database is given twice: %q and -d", "DSN").hint("give the connection string as the argument, or -d, -h, -p and -U")
		}
		text = args[0]
	}
	dsn, err := pg.ParseDSN(text, pg.Flags{Host: k.host, Port: k.port, User: k.user})
	switch {
	case errors.Is(err, pg.ErrPasswordInDSN):
		return nil, err
	case err != nil:
		return nil, usagef("%v", err).hint("a connection string is a URI, keyword=value pairs or a database's name, as for psql")
	}
	return dsn, nil
}

// target gives the database that a job writes to, which is never left to the environment.
func (k *connection) target(args []string) (*pg.DSN, error) {
	if len(args) == 0 && k.database == "" {
		return nil, usagef("the target is not named").hint("name the database to load into: a connection string after the dump, or -d DBNAME")
	}
	return k.source(args)
}

// terminal is where questions are asked: the terminal itself, for standard input may be the dump.
func (a *app) terminal() (*os.File, error) {
	if !isTerminal(a.stdin) && !isTerminal(a.stderr) { // a stream may come from standard input
		return nil, errors.New("no terminal")
	}
	return os.OpenFile("/dev/tty", os.O_RDWR, 0)
}
