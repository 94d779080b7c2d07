package pg

import (
	"context"
	"time"
)

// ExportSnapshot begins a read-only transaction and gives its snapshot's name, for other sessions' ImportSnapshot while it lasts.
func (c *Conn) ExportSnapshot(ctx context.Context) (id string, err error) {
	if err := c.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"); err != nil {
		return "", Wrap(err, "transaction for a snapshot")
	}
	err = c.QueryRow(ctx, `SELECT pg_catalog.pg_export_snapshot()`).Scan(&id)
	return id, Wrap(err, "export of a snapshot")
}

// ImportSnapshot begins a read-only transaction that sees what the exporter sees.
func (c *Conn) ImportSnapshot(ctx context.Context, id string) error {
	return Wrap(c.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT "+QuoteLiteral(id)), "import of the snapshot %q", id)
}

// Moment tells the snapshot of a transaction from that of any other moment of the same database.
type Moment struct {
	Database uint32    // its OID
	Visible  string    // which transactions the snapshot sees; see pg_current_snapshot
	Since    time.Time // when the server was started
}

// Moment asks for that of the session's transaction.
func (c *Conn) Moment(ctx context.Context) (m Moment, err error) {
	err = c.QueryRow(ctx, `SELECT oid, pg_catalog.txid_current_snapshot()::text, pg_catalog.pg_postmaster_start_time() FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()`).
		Scan(&m.Database, &m.Visible, &m.Since)
	return m, err
}

// WALPosition gives how far the WAL is written, or replayed on a standby, and when the session's transaction began.
func (c *Conn) WALPosition(ctx context.Context) (lsn string, at time.Time, err error) {
	err = c.QueryRow(ctx, `SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_lsn() END::text,
 pg_catalog.transaction_timestamp()`).Scan(&lsn, &at)
	return lsn, at, err
}
