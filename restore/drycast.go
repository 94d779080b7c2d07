package restore

import (
	"context"
	"sort"
	"strconv"
	"strings"

	"github.com/bytehaul/pghaul/internal/pg"
)

// castError is a value that the server's cast refuses; the server itself does not say where it stands.
type castError struct {
	row    string // from 1; empty: unknown
	column string
	Err    error
}

// Error is the server's.
func (e *castError) Error() string { return e.Err.Error() }

// Unwrap gives the server's error.
func (e *castError) Unwrap() error { return e.Err }

// checkCasts runs every cast on every staged row, in the loading transaction.
func (w *dryWorker) checkCasts(ctx context.Context, rows int64) error {
	if err := w.conn.Exec(ctx, "SAVEPOINT pghaul_casts"); err != nil {
		return err
	}
	exprs := make([]string, len(w.casts))
	for i, c := range w.casts {
		exprs[i] = "pg_catalog.count(" + c.expr + ")"
	}
	err := w.conn.Exec(ctx, "SELECT "+strings.Join(exprs, ", ")+" FROM "+stagingTable)
	if !ofValue(pg.State(err)) {
		return err
	}
	return w.locate(ctx, rows, err)
}

// locate finds the first row whose cast is refused, and its column, by trying the casts on ever smaller parts of the staging table, whose rows
// stand in the order of the file.
func (w *dryWorker) locate(ctx context.Context, rows int64, refusal error) error {
	found := &castError{Err: pg.Wrap(refusal, "cast")}
	for _, c := range w.casts {
		var broken error
		at := sort.Search(int(rows), func(n int) bool {
			if broken != nil {
				return true
			}
			refused, err := w.refuses(ctx, c, int64(n)+1)
			broken = err
			if refused != nil {
				found.Err = pg.Wrap(refused, "cast")
			}
			return refused != nil
		})
		if broken != nil {
			return broken
		}
		if at < int(rows) {
			found.row, found.column = strconv.Itoa(at+1), c.column
			return found
		}
	}
	return found
}

// refuses tries a cast on the first n rows, and gives the server's refusal.
func (w *dryWorker) refuses(ctx context.Context, c dryCast, n int64) (refusal, err error) {
	if err := w.conn.Exec(ctx, "ROLLBACK TO SAVEPOINT pghaul_casts"); err != nil {
		return nil, err
	}
	err = w.conn.Exec(ctx, "SELECT pg_catalog.count("+c.expr+") FROM (SELECT "+c.stage+" FROM "+stagingTable+" LIMIT "+strconv.FormatInt(n, 10)+") s")
	if ofValue(pg.State(err)) {
		return err, nil
	}
	return nil, err
}
