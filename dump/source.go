package dump

import (
	"context"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// source is one data connection, in a transaction under the leader's snapshot.
type source struct {
	conn     *pg.Conn
	backends *pg.Backends
}

// newSource opens a session and imports the snapshot.
func newSource(ctx context.Context, j *job, backends *pg.Backends) (*source, error) {
	conn, err := pg.Connect(ctx, j.options.DSN, pg.Options{Purpose: pg.ForData, Role: j.options.Role})
	if err != nil {
		return nil, err
	}
	if err := conn.ImportSnapshot(ctx, j.leader.snapshot); err != nil {
		conn.Close()
		return nil, err
	}
	backends.Add(conn.PID())
	return &source{conn: conn, backends: backends}, nil
}

func (s *source) close() {
	s.backends.Remove(s.conn.PID())
	s.conn.Close()
}

// open gives the COPY statement of a segment, in the session's encoding, with the lock of its table in front. See copyError for its errors.
func (s *source) open(ctx context.Context, seg *segment, types pg.Types) (string, error) {
	t := seg.table
	name, columns, err := s.conn.SQLNames(ctx, t.rel.OID, t.rel.Schema, t.rel.Name, columnNames(t.columns), s.conn.Encoding)
	if err != nil {
		return "", err
	}
	condition, err := s.conn.SessionText(ctx, t.condition)
	if err != nil {
		return "", err
	}
	return lockSQL(t, name) + copyOut(seg, types, name, columns, condition), nil
}

func columnNames(columns []format.Column) []format.Name {
	names := make([]format.Name, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// lockSQL takes the table's lock in the session's own transaction without waiting: behind somebody who waits for the leader's lock, it would
// wait for ever, and the server sees no cycle. It goes in one message with the COPY; for the segments behind the first it finds the lock held.
func lockSQL(t *table, name string) string {
	if t.rel.Kind == 'f' { // foreign tables take no lock
		return ""
	}
	return "LOCK TABLE ONLY " + name + " IN ACCESS SHARE MODE NOWAIT; "
}

// copyError says what went wrong with a COPY, or with the lock in front of it.
func copyError(t *table, what string, err error) error {
	if pg.State(err) == pg.StateLockNotAvailable {
		return withHint(pg.Wrap(err, "another session waits for an exclusive lock on %s", t.rel), "end that session's TRUNCATE, ALTER TABLE or VACUUM FULL, or wait until it is done; then start again")
	}
	return pg.Wrap(err, "%s", what)
}

// copyOut is the COPY statement of a segment; columns are quoted names in file order, all in the session's encoding. COPY of the table itself is cheaper for the server than COPY of
// a query; both leave out the rows of children and give the same bytes.
func copyOut(s *segment, types pg.Types, name string, columns []string, condition string) string {
	list := make([]string, len(columns))
	asText := false
	for i, c := range s.table.columns {
		list[i] = columns[i]
		if c.Carried == format.CarriedText {
			asText = true
			list[i] = pg.OutSQL(columns[i], c.Cast, types.IsArray(c.OID))
		}
	}
	whole := s.pages == nil && condition == "" && !asText && s.table.rel.Kind != 'f'
	switch {
	case whole && len(list) == 0:
		return "COPY " + name + " TO STDOUT (FORMAT binary)"
	case whole:
		return "COPY " + name + " (" + strings.Join(list, ", ") + ") TO STDOUT (FORMAT binary)"
	}
	var where []string
	if s.pages != nil {
		where = append(where, pg.PagesSQL(s.pages.From, s.pages.To))
	}
	if condition != "" {
		where = append(where, "("+condition+"\n)") // a comment in it ends with the line
	}
	sql := "COPY (SELECT " + strings.Join(list, ", ") + " FROM ONLY " + name
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	return sql + ") TO STDOUT (FORMAT binary)"
}
