package yardstick

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgtools"
	"github.com/bytehaul/pghaul/internal/sched"
)

// zstdMajor is the first pg_dump that can be built with zstd.
const zstdMajor = 16

// peerJobs are the other programs that are installed, at the same work with as many jobs.
func (b *bench) peerJobs(ctx context.Context) (dumps, restores []*job, err error) {
	tools, err := pgtools.Find(b.o.PgBinDir, b.admin.Version/10000)
	if err != nil {
		b.note("no peers: %v", err)
		return nil, nil, nil
	}
	tools.Thread = sched.Ordinary // as from a shell: our own threads are batch work, where the command has made them that
	b.note("peers: pg_dump and pg_restore %s", tools.Version)
	tables, err := b.admin.ToolConn(ctx, b.scratch.tables)
	if err != nil {
		return nil, nil, err
	}
	copies, err := b.admin.ToolConn(ctx, b.scratch.copies)
	if err != nil {
		return nil, nil, err
	}
	methods := []string{"0", "1"}
	if tools.Major >= zstdMajor {
		methods = append(methods, "zstd:1")
	}
	for _, method := range methods {
		dir := "pg_dump-" + strings.ReplaceAll(method, ":", "")
		dumps = append(dumps, &job{name: "pg_dump -Fd -Z" + method, floor: jobDumpFloor, database: b.scratch.tables, peer: true, prepare: b.remove(dir), do: func(ctx context.Context) (outcome, error) {
			_, err := tools.Dump(ctx, tables, "--data-only", "-Fd", "-Z"+method, fmt.Sprintf("-j%d", b.o.Jobs), "-f", filepath.Join(b.scratch.dir, dir))
			return b.storedIn(dir, err)
		}})
		restores = append(restores, &job{name: "pg_restore of -Z" + method, floor: jobRestoreFloor, database: b.scratch.copies, peer: true, writesWAL: true, prepare: b.emptyCopies, do: func(ctx context.Context) (outcome, error) {
			res, err := tools.Restore(ctx, copies, nil, "--data-only", fmt.Sprintf("-j%d", b.o.Jobs), filepath.Join(b.scratch.dir, dir))
			if err == nil && len(res.Failed) > 0 {
				err = fmt.Errorf("%d statements failed", len(res.Failed))
			}
			return outcome{}, err
		}})
	}
	if psql := besideOrInPath(tools.PgDump, "psql"); psql != "" {
		dumps = append(dumps, b.psqlJob(tools, psql, tables))
	}
	if pgcopydb := besideOrInPath(tools.PgDump, "pgcopydb"); pgcopydb != "" {
		restores = append(restores, b.pgcopydbJob(tools, pgcopydb, tables, copies))
	}
	return dumps, restores, nil
}

// pgcopydbJob copies the rows as our migrate does: into tables that are there.
func (b *bench) pgcopydbJob(tools *pgtools.Tools, pgcopydb string, tables, copies pgtools.Conn) *job {
	const dir = "pgcopydb"
	return &job{name: "pgcopydb copy table-data", floor: bothFloors, database: b.scratch.copies, peer: true, writesWAL: true, prepare: func(ctx context.Context) error {
		return errors.Join(b.remove(dir)(ctx), b.emptyCopies(ctx))
	}, do: func(ctx context.Context) (outcome, error) {
		_, err := tools.RunBetween(ctx, pgcopydb, tables, copies, "copy", "table-data", "--table-jobs", strconv.Itoa(b.o.Jobs), "--fail-fast", "--dir", filepath.Join(b.scratch.dir, dir))
		return outcome{}, err
	}}
}

// psqlJob is what a shell script would do: \copy of each table, several at a time.
func (b *bench) psqlJob(tools *pgtools.Tools, psql string, conn pgtools.Conn) *job {
	const dir = "psql"
	path := filepath.Join(b.scratch.dir, dir)
	return &job{name: `psql \copy (binary)`, floor: jobDumpFloor, database: b.scratch.tables, peer: true, prepare: func(ctx context.Context) error {
		if err := b.remove(dir)(ctx); err != nil {
			return err
		}
		return os.Mkdir(path, 0o700)
	}, do: func(ctx context.Context) (outcome, error) {
		err := b.sideBySide(ctx, func(ctx context.Context, _ *pg.Conn, s *subject) error {
			file := strings.ReplaceAll(filepath.Join(path, s.Name+".pgcopy"), "'", "''")
			_, err := tools.Run(ctx, psql, conn, "-Xq", "-v", "ON_ERROR_STOP=1", "-c", `\copy `+s.SQL()+` to '`+file+`' (format binary)`)
			return err
		})
		return b.storedIn(dir, err)
	}}
}

// besideOrInPath finds a program in the folder of another one, or in PATH; "" when it is in neither.
func besideOrInPath(program, name string) string {
	beside := filepath.Join(filepath.Dir(program), name)
	if _, err := os.Stat(beside); err == nil {
		return beside
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// storedIn adds the size of the files that a peer has written.
func (b *bench) storedIn(dir string, err error) (o outcome, _ error) {
	if err != nil {
		return o, err
	}
	err = filepath.WalkDir(filepath.Join(b.scratch.dir, dir), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			o.stored += info.Size()
		}
		return err
	})
	return o, err
}
