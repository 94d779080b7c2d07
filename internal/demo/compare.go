package demo

import (
	"context"
	"fmt"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster"
)

// copyHeader is the length of the header that a server puts before binary rows: signature, flags, length of an empty extension.
const copyHeader = 19

// Side is a table in one of the two databases.
type Side struct {
	Rows   int64 // what count(*) says
	Digest format.RowDigest
}

// Pair is a table in both.
type Pair struct {
	Table          string
	Source, Target Side
}

// Equal says whether both sides hold the same rows.
func (p Pair) Equal() bool { return p.Source == p.Target }

// Compare asks both databases for count(*) and for all rows of these tables, and digests the rows as they come from the server.
func Compare(ctx context.Context, c *pgcluster.Cluster, tables []format.ManifestTable) ([]Pair, error) {
	pairs := make([]Pair, len(tables))
	for _, database := range []string{Source, Target} {
		conn, err := connect(ctx, c, database)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		for i := range tables {
			side, err := look(ctx, conn, &tables[i])
			if err != nil {
				return nil, pg.Wrap(err, "database %s, table %s.%s", database, tables[i].Schema, tables[i].Name)
			}
			pairs[i].Table = string(tables[i].Schema + "." + tables[i].Name)
			if database == Source {
				pairs[i].Source = side
			} else {
				pairs[i].Target = side
			}
		}
	}
	return pairs, nil
}

func look(ctx context.Context, conn *pg.Conn, t *format.ManifestTable) (s Side, err error) {
	table := pg.QuoteName(t.Schema, t.Name)
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM ONLY "+table).Scan(&s.Rows); err != nil {
		return s, err
	}
	d := digester{walker: format.NewWalker(len(t.Columns)), skip: copyHeader}
	if _, err := conn.PgConn().CopyTo(ctx, &d, "COPY "+table+" TO STDOUT (FORMAT binary)"); err != nil {
		return s, err
	}
	if err := d.walker.Close(); err != nil {
		return s, err
	}
	if n := d.walker.Totals().Rows; n != s.Rows {
		return s, fmt.Errorf("count(*) says %d, COPY gives %d rows", s.Rows, n)
	}
	s.Digest = d.walker.Totals().Digest
	return s, nil
}

// digester digests the rows that are written to it.
type digester struct {
	walker *format.Walker
	skip   int
	rest   []byte
}

func (d *digester) Write(p []byte) (int, error) {
	n := len(p)
	cut := min(d.skip, len(p))
	d.skip -= cut
	d.rest = append(d.rest, p[cut:]...)
	used, err := d.walker.Walk(d.rest)
	d.rest = d.rest[:copy(d.rest, d.rest[used:])]
	return n, err
}
