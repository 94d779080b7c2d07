package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// singleTries bounds the runs that one data file takes: the last ones are undisturbed.
const singleTries = 6

// singleFiles empties a table of the restored database and brings its rows back, a data file at a time. Each goes in whole or not at all.
func (r *round) singleFiles(ctx context.Context) error {
	t, err := r.aTable(ctx)
	if t == nil || err != nil {
		return err
	}
	name := pg.QuoteName(t.Schema, t.Name)
	r.tell("%s once more, file by file", name)
	if _, err := r.count(ctx, "WITH gone AS (DELETE FROM "+name+" RETURNING 1) SELECT count(*) FROM gone"); err != nil {
		return err
	}
	for _, s := range t.Segments {
		if err := r.singleFile(ctx, name, s); err != nil {
			return fmt.Errorf("%s: %w", s.Path, err)
		}
	}
	return nil
}

// aTable picks one that is the same after its rows went and came; nil: there is none.
func (r *round) aTable(ctx context.Context) (*format.ManifestTable, error) {
	text, err := os.ReadFile(filepath.Join(r.dump, "manifest.json"))
	if err != nil {
		return nil, err
	}
	var m format.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	for _, i := range r.rnd.Perm(len(m.Tables)) {
		t := &m.Tables[i]
		if t.Kind != "table" || t.Unlogged || t.Rows == 0 || t.Root != nil || len(t.Segments) > 12 {
			continue
		}
		n, err := r.count(ctx, "SELECT count(*) FROM pg_trigger WHERE tgrelid = $1::regclass", pg.QuoteName(t.Schema, t.Name))
		if err != nil || n == 0 {
			return t, err
		}
	}
	return nil, nil
}

// singleFile restores one file until its rows are there.
func (r *round) singleFile(ctx context.Context, table string, s format.ManifestSegment) error {
	args := []string{"restore", "--progress=json", "--yes", "--on-existing=append", filepath.Join(r.dump, s.Path), r.target.dsn()}
	before, err := r.count(ctx, "SELECT count(*) FROM "+table)
	if err != nil {
		return err
	}
	for try := range singleTries {
		var f *fault
		if try < singleTries/2 && r.rnd.IntN(3) == 0 {
			f = randomFault(r.rnd, false)
			for f.name == "a second one" || f.crash { // both would come in; the unlogged tables of the whole restore, which is done, would be emptied
				f = randomFault(r.rnd, false)
			}
		}
		j, hit, err := r.under(ctx, f, "restore", args...)
		if err == nil && j.code != 0 {
			err = r.sessionsEnd(ctx)
		}
		if err != nil {
			return err
		}
		after, err := r.count(ctx, "SELECT count(*) FROM "+table)
		switch {
		case err != nil:
			return err
		case after == before+s.Rows: // its last answer may be lost
			return nil
		case after != before:
			return fmt.Errorf("%d rows before, %d after a run that ended with code %d, and the file has %d", before, after, j.code, s.Rows)
		case j.code == 0 || !hit:
			return j.failed("0, and rows: nothing was in its way")
		}
	}
	return errors.New("the file was never restored")
}

// count asks the target for a number.
func (r *round) count(ctx context.Context, sql string, args ...any) (n int64, err error) {
	c, err := pgx.Connect(ctx, r.target.direct())
	if err != nil {
		return 0, err
	}
	defer hangUp(ctx, c)
	err = c.QueryRow(ctx, sql, args...).Scan(&n)
	return n, err
}
