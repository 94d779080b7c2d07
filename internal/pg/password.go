package pg

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

// stateInvalidPassword is what a server says to a wrong password, and to none.
const stateInvalidPassword = "28P01"

// NeedsPassword connects to find out whether the server asks for a password and none is known. What else keeps a connection from being made, the next one
// will tell.
func (d *DSN) NeedsPassword(ctx context.Context) bool {
	if d.Config.Password != "" {
		return false
	}
	c, err := pgconn.ConnectConfig(ctx, &d.Config.Copy().Config)
	if err != nil {
		return State(err) == stateInvalidPassword
	}
	_ = c.Close(ctx) // nothing was done
	return false
}

// UsePassword takes a password for all connections to come; it goes into no file but the private one of child processes.
func (d *DSN) UsePassword(password string) { d.Config.Password = password }
