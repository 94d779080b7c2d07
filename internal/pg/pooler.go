package pg

import "context"

// PoolerError says that a connection string leads to a pooler that hands each transaction to another session of the server.
type PoolerError struct {
	Target string // host:port/database
}

func (e *PoolerError) Error() string {
	return e.Target + " is a connection pooler that gives every transaction to another session of the server"
}

// Hint says what to do.
func (e *PoolerError) Hint() string {
	return "connect to the server itself, or through a pool with pool_mode = session: locks, snapshots and settings belong to a session"
}

// poolerLooks is how often a session's backend is looked at.
const poolerLooks = 3

// RefusePooler returns a [*PoolerError] when c, a session of d without a transaction, is not always the same session of the server. A pooler gives itself
// away by the process that it says to be; then a second session shows whether the first one's backend is its own.
func (c *Conn) RefusePooler(ctx context.Context, d *DSN) error {
	first, err := c.backend(ctx)
	if err != nil || first == c.PID() {
		return err
	}
	other, err := Connect(ctx, d, Options{Purpose: ForCatalog})
	if err != nil {
		return err
	}
	defer other.Close()
	for range poolerLooks {
		for _, s := range []*Conn{other, c} {
			pid, err := s.backend(ctx)
			if err != nil {
				return err
			}
			if (pid == first) != (s == c) {
				return &PoolerError{Target: d.String()}
			}
		}
	}
	return nil
}

// backend asks which process serves the session.
func (c *Conn) backend(ctx context.Context) (pid uint32, err error) {
	err = c.QueryRow(ctx, "SELECT pg_catalog.pg_backend_pid()::int8").Scan(&pid)
	return pid, Wrap(err, "process of the session")
}
