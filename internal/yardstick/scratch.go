package yardstick

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/pg"
)

const (
	databasePrefix = "pghaul_bench_"
	folderPrefix   = "pghaul-bench-"
	databaseNote   = "scratch database of pghaul bench: drop it when no benchmark is under way"
	dropTime       = time.Minute // bounds the end of the scratch databases
)

// LeftBehind is the error of a benchmark that could not remove what it made.
type LeftBehind struct {
	What string // database "…" or folder "…"
	How  string // to remove it
	Err  error
}

// Error says what is left.
func (l *LeftBehind) Error() string { return fmt.Sprintf("%s is left behind: %v", l.What, l.Err) }

// Hint says how to remove it.
func (l *LeftBehind) Hint() string { return l.How }

// Unwrap gives the cause.
func (l *LeftBehind) Unwrap() error { return l.Err }

// scratch is what a benchmark makes and removes.
type scratch struct {
	tables, copies *pg.DSN // databases: with the tables, and where they are restored to
	names          [2]string
	dir            string
	made           []string // databases
	madeDir        bool
}

// connect opens a session in a database that is there, and refuses servers that cannot be measured.
func (b *bench) connect(ctx context.Context) (err error) {
	if b.admin, err = connectSomewhere(ctx, b.o.DSN); err != nil {
		return err
	}
	if err := b.refuse(ctx); err != nil {
		b.admin.Close()
		return err
	}
	return nil
}

// connectSomewhere connects to the database of a DSN, or to one that every server has: it is only needed to make others.
func connectSomewhere(ctx context.Context, dsn *pg.DSN) (c *pg.Conn, err error) {
	for _, d := range []*pg.DSN{dsn, dsn.WithDatabase("postgres"), dsn.WithDatabase("template1")} {
		c, err = pg.Connect(ctx, d, pg.Options{Purpose: pg.ForCatalog})
		if err == nil || pg.State(err) != pg.StateUndefinedDatabase {
			break
		}
	}
	return c, err
}

func (b *bench) refuse(ctx context.Context) error {
	if err := b.admin.RefusePooler(ctx, b.o.DSN); err != nil {
		return err
	}
	capacity, err := b.admin.Capacity(ctx)
	if err != nil {
		return err
	}
	if capacity.InRecovery {
		return hint.With(fmt.Errorf("%s is a standby, which takes no writes", b.o.DSN), "run the benchmark on the primary, or on a server restored from a base backup")
	}
	rights, err := b.admin.Rights(ctx)
	if err != nil {
		return err
	}
	if !rights.CreateDB {
		return hint.With(errors.New("the role may not create databases, and the benchmark works in a scratch database of its own"), "use a role that has CREATEDB")
	}
	b.report.Server = Server{Name: b.o.DSN.String(), Version: capacity.Version, Settings: capacity.Settings}
	b.report.Discards = discarded(capacity.ServerFiles)
	if !capacity.ServerFiles {
		b.note("the role may not let the server write files (pg_write_server_files): the server's COPY goes to us, who throw it away, in place of /dev/null")
	}
	if capacity.Settings["fsync"] == "off" {
		b.note("fsync is off on the server: no number of writes holds for a server that must not lose data")
	}
	return b.space(capacity)
}

func discarded(serverFiles bool) string {
	if serverFiles {
		return "/dev/null"
	}
	return "STDOUT"
}

// name chooses the names of all that will be made.
func (b *bench) name() error {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails: see crypto/rand
	id := fmt.Sprintf("%x", random)
	dir, err := filepath.Abs(filepath.Join(b.o.Dir, folderPrefix+id))
	if err != nil {
		return err
	}
	names := [2]string{databasePrefix + id, databasePrefix + id + "_copy"}
	dsn := b.o.DSN.Pin(b.admin)
	b.scratch = &scratch{tables: dsn.WithDatabase(names[0]), copies: dsn.WithDatabase(names[1]), names: names, dir: dir}
	if b.o.Named != nil {
		b.o.Named(names[:], dir)
	}
	return nil
}

// make makes the folder and the databases, and opens a session in the first one.
func (b *bench) make(ctx context.Context) (err error) {
	s := b.scratch
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return hint.With(err, "--dir names a folder that is there and that you may write into")
	}
	s.madeDir = true
	for _, name := range s.names {
		s.made = append(s.made, name) // an answer that is lost with the connection may have been yes
		if err := b.admin.Exec(ctx, "CREATE DATABASE "+pg.QuoteIdent(name)+" TEMPLATE template0"); err != nil {
			return pg.Wrap(err, "scratch database")
		}
		if err := b.admin.Exec(ctx, "COMMENT ON DATABASE "+pg.QuoteIdent(name)+" IS "+pg.QuoteLiteral(databaseNote)); err != nil {
			return pg.Wrap(err, "comment on the scratch database")
		}
	}
	if b.conn, err = pg.Connect(ctx, s.tables, pg.Options{Purpose: pg.ForData}); err != nil {
		return err
	}
	return b.emptyCopies(ctx)
}

// clean removes everything, without the context of the benchmark, which may have ended.
func (b *bench) clean() error {
	s := b.scratch
	if s == nil {
		return nil
	}
	if b.conn != nil {
		b.conn.Close()
	}
	if b.o.Keep && len(s.made) == len(s.names) {
		b.report.Kept = []string{`database "` + s.names[0] + `"`, `database "` + s.names[1] + `"`, "folder " + s.dir}
		return nil
	}
	var errs []error
	if len(s.made) > 0 {
		errs = append(errs, b.drop(s.made))
	}
	if s.madeDir {
		if err := os.RemoveAll(s.dir); err != nil {
			errs = append(errs, &LeftBehind{What: fmt.Sprintf("folder %q", s.dir), How: "remove it: rm -r", Err: err})
		}
	}
	return errors.Join(errs...)
}

// drop drops databases in a session of its own: the other one may be broken.
func (b *bench) drop(names []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), dropTime)
	defer cancel()
	c, err := connectSomewhere(ctx, b.o.DSN)
	if err == nil {
		defer c.Close()
	}
	var errs []error
	for _, name := range names {
		e := err
		if e == nil {
			e = c.DropDatabase(ctx, name)
		}
		if e != nil {
			errs = append(errs, &LeftBehind{What: fmt.Sprintf("database %q", name), How: "DROP DATABASE " + pg.QuoteIdent(name), Err: e})
		}
	}
	return errors.Join(errs...)
}

// emptyCopies makes the empty tables that are restored into.
func (b *bench) emptyCopies(ctx context.Context) error {
	c, err := pg.Connect(ctx, b.scratch.copies, pg.Options{Purpose: pg.ForCatalog})
	if err != nil {
		return err
	}
	defer c.Close()
	var sql strings.Builder
	for _, s := range b.subjects {
		sql.WriteString("DROP TABLE IF EXISTS " + s.SQL() + ";" + s.emptySQL(s.SQL()) + ";")
	}
	return pg.Wrap(c.Exec(ctx, sql.String()+"DROP SCHEMA IF EXISTS pghaul_journal CASCADE"), "empty tables")
}
