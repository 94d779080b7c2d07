package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Names of results that limits speak of.
const (
	dumpFloor, dumpNone, dumpZstd  = "dump: server floor, COPY TO '/dev/null'", "dump: pghaul -Z none", "dump: pghaul -Z zstd:1"
	dumpPeer0, dumpPeer1, dumpPeer = "dump: pg_dump -Fd -Z0", "dump: pg_dump -Fd -Z1", "dump: pg_dump -Fd (its default, gzip)"
	dumpPsql                       = `dump: psql \copy binary, one after the other`

	restoreFloor, restoreNone, restoreZstd = "restore: server floor, COPY FROM file", "restore: pghaul of -Z none, no proof, no analyze", "restore: pghaul of zstd:1, no proof, no analyze"
	restoreWhole                           = "restore: pghaul of zstd:1, whole, with proof"
	restorePeer0, restorePeer1             = "restore: pg_restore of -Z0", "restore: pg_restore of -Z1"

	migratePlain, migrateAnalyze = "migrate: pghaul, no proof, no analyze", "migrate: pghaul, no proof, with analyze"
	migrateProof                 = "migrate: pghaul, with proof and analyze"
	migratePipe, migratePeer     = "migrate: pg_dump -Fc -Z0 | pg_restore", "migrate: pgcopydb clone (with its VACUUM ANALYZE)"

	oneFloor                                      = "one table: server floor, COPY of its parts TO '/dev/null'"
	oneDumpNone, oneDumpZstd, oneRestore          = "one table: pghaul dump -Z none", "one table: pghaul dump zstd:1", "one table: pghaul restore of -Z none"
	oneDumpPeer0, oneDumpPeer1, oneRestorePeer    = "one table: pg_dump -Fd -Z0", "one table: pg_dump -Fd -Z1", "one table: pg_restore of -Z0"
	checkVerify, checkVerifyZstd, checkDry, atRun = "check: verify -j1 of -Z none", "check: verify -j1 of zstd:1", "check: verify --dry-load of -Z none", "check: pghaul --help"
)

func (b *bench) jobsArg() string { return fmt.Sprint(b.jobs) }

func (b *bench) dumps() error {
	dir, dsn, j := filepath.Join(b.work, "dump"), b.cluster.DSN("bench"), b.jobsArg()
	b.add(&result{name: dumpFloor, floor: true, inServer: func() error {
		return b.serverCopies("bench", func(t string) string { return "COPY " + t + " TO '/dev/null' (FORMAT binary)" })
	}})
	psql := `mkdir "$3" && for t in test_one_int test_many_ints annonces archive_data citydata; do "$1/psql" -Xq -d "$2" -c "\\copy $t to '$3/$t' (format binary)" || exit; done`
	b.written(dir,
		&result{name: dumpNone, measured: b.ours("dump", dsn, "-f", dir, "-j", j, "-Z", "none")},
		&result{name: dumpPeer0, measured: b.tool("pg_dump", "-Fd", "-j"+j, "-Z0", "-f", dir, "-d", dsn)},
		&result{name: dumpZstd, measured: b.ours("dump", dsn, "-f", dir, "-j", j)},
		&result{name: dumpPeer1, measured: b.tool("pg_dump", "-Fd", "-j"+j, "-Z1", "-f", dir, "-d", dsn)},
		&result{name: dumpPeer, measured: b.tool("pg_dump", "-Fd", "-j"+j, "-f", dir, "-d", dsn)},
		&result{name: dumpPsql, measured: shell(psql, b.cluster.BinDir(), dsn, dir)},
	)
	return nil
}

// written adds results that make the folder dir.
func (b *bench) written(dir string, results ...*result) {
	for _, r := range results {
		r.warm(func() error { return os.RemoveAll(dir) })
		r.afterwards = func() (err error) {
			r.stored, err = size(dir)
			return err
		}
	}
	b.add(results...)
}

// fresh makes the target database anew.
func (b *bench) fresh() error {
	for _, sql := range []string{"DROP DATABASE IF EXISTS target", "CREATE DATABASE target", "CHECKPOINT"} {
		if err := b.sql("postgres", sql); err != nil {
			return err
		}
	}
	return nil
}

// empty makes the target database anew, with the tables.
func (b *bench) empty() error {
	if err := b.fresh(); err != nil {
		return err
	}
	if err := made(shell(`"$1/pg_dump" -s -d "$2" | "$1/psql" -Xq -d "$3"`, b.cluster.BinDir(), b.cluster.DSN("bench"), b.cluster.DSN("target"))); err != nil {
		return err
	}
	return b.sql("postgres", "CHECKPOINT")
}

// kept makes a dump that several results read, unless it is there.
func (b *bench) kept(name string, make func(dir string) func() (*exec.Cmd, error)) (string, error) {
	dir := filepath.Join(b.work, name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, made(make(dir))
}

func (b *bench) keptOurs(name string, flags ...string) (string, error) {
	return b.kept(name, func(dir string) func() (*exec.Cmd, error) {
		return b.ours(append([]string{"dump", b.cluster.DSN("bench"), "-f", dir, "-j", b.jobsArg()}, flags...)...)
	})
}

func (b *bench) keptTheirs(name string, flags ...string) (string, error) {
	return b.kept(name, func(dir string) func() (*exec.Cmd, error) {
		return b.tool("pg_dump", append([]string{"-Fd", "-j" + b.jobsArg(), "-f", dir, "-d", b.cluster.DSN("bench")}, flags...)...)
	})
}

// loadFloor adds what the servers alone can load.
func (b *bench) loadFloor() error {
	raw := filepath.Join(b.cluster.Dir(), "raw")
	if err := b.serverCopies("bench", func(t string) string { return "COPY " + t + " TO '" + raw + "." + t + "' (FORMAT binary)" }); err != nil {
		return err
	}
	b.add(&result{name: restoreFloor, floor: true, prepare: b.empty, inServer: func() error {
		return b.serverCopies("target", func(t string) string {
			return "BEGIN; TRUNCATE " + t + "; COPY " + t + " FROM '" + raw + "." + t + "' (FORMAT binary); COMMIT"
		})
	}})
	return nil
}

func (b *bench) restores() error {
	none, err := b.keptOurs("ours", "-Z", "none")
	if err != nil {
		return err
	}
	zstd, err := b.keptOurs("zstd")
	if err != nil {
		return err
	}
	theirs, err := b.keptTheirs("theirs", "-Z0")
	if err != nil {
		return err
	}
	theirsZ1, err := b.keptTheirs("theirs-z1", "-Z1")
	if err != nil {
		return err
	}
	if err := b.loadFloor(); err != nil {
		return err
	}
	dsn, j := b.cluster.DSN("target"), b.jobsArg()
	b.add(
		&result{name: restoreNone, phase: "data", prepare: b.fresh, measured: b.ours("restore", none, dsn, "-j", j, "--yes", "--no-prove", "--no-analyze")},
		&result{name: restorePeer0, prepare: b.fresh, measured: b.tool("pg_restore", "-j"+j, "-d", dsn, theirs)},
		&result{name: restoreZstd, phase: "data", prepare: b.fresh, measured: b.ours("restore", zstd, dsn, "-j", j, "--yes", "--no-prove", "--no-analyze")},
		&result{name: restorePeer1, prepare: b.fresh, measured: b.tool("pg_restore", "-j"+j, "-d", dsn, theirsZ1)},
		&result{name: restoreWhole, phase: "data", prepare: b.fresh, measured: b.ours("restore", zstd, dsn, "-j", j, "--yes")},
	)
	return nil
}

func (b *bench) migrates() error {
	from, to, j := b.cluster.DSN("bench"), b.cluster.DSN("target"), b.jobsArg()
	b.add(
		&result{name: migratePlain, phase: "data", prepare: b.fresh, measured: b.ours("migrate", from, to, "-j", j, "--yes", "--no-prove", "--no-analyze")},
		&result{name: migrateAnalyze, phase: "data", prepare: b.fresh, measured: b.ours("migrate", from, to, "-j", j, "--yes", "--no-prove")},
		&result{name: migrateProof, phase: "data", prepare: b.fresh, measured: b.ours("migrate", from, to, "-j", j, "--yes")},
		&result{name: migratePipe, prepare: b.fresh, measured: shell(`"$1/pg_dump" -Fc -Z0 -d "$2" | "$1/pg_restore" -d "$3"`, b.cluster.BinDir(), from, to)},
	)
	if path, err := exec.LookPath("pgcopydb"); err == nil {
		dir := filepath.Join(b.work, "pgcopydb")
		clone := shell(`PATH="$1:$PATH" exec "$2" clone --source "$3" --target "$4" --table-jobs "$5" --index-jobs "$5" --dir "$6"`, b.cluster.BinDir(), path, from, to, j, dir)
		b.add(&result{name: migratePeer, measured: clone, prepare: func() error {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			return b.fresh()
		}})
	}
	return nil
}

// oneTable measures a database of which one large table is all.
func (b *bench) oneTable() error {
	const table = "archive_data"
	dir, from, to, j := filepath.Join(b.work, "one"), b.cluster.DSN("bench"), b.cluster.DSN("target"), b.jobsArg()
	b.add(&result{name: oneFloor, inServer: func() error { return b.copyParts("bench", table) }})
	b.written(dir,
		&result{name: oneDumpNone, measured: b.ours("dump", from, "-t", table, "-f", dir, "-j", j, "-Z", "none")},
		&result{name: oneDumpPeer0, measured: b.tool("pg_dump", "-t", table, "-Fd", "-j"+j, "-Z0", "-f", dir, "-d", from)},
		&result{name: oneDumpZstd, measured: b.ours("dump", from, "-t", table, "-f", dir, "-j", j)},
		&result{name: oneDumpPeer1, measured: b.tool("pg_dump", "-t", table, "-Fd", "-j"+j, "-Z1", "-f", dir, "-d", from)},
	)
	ours, err := b.keptOurs("one-ours", "-Z", "none", "-t", table)
	if err != nil {
		return err
	}
	theirs, err := b.keptTheirs("one-theirs", "-Z0", "-t", table)
	if err != nil {
		return err
	}
	b.add(
		&result{name: oneRestore, phase: "data", prepare: b.fresh, measured: b.ours("restore", ours, to, "-j", j, "--yes", "--no-prove", "--no-analyze")},
		&result{name: oneRestorePeer, prepare: b.fresh, measured: b.tool("pg_restore", "-j"+j, "-d", to, theirs)},
	)
	return nil
}

func (b *bench) checks() error {
	none, err := b.keptOurs("ours", "-Z", "none")
	if err != nil {
		return err
	}
	zstd, err := b.keptOurs("zstd")
	if err != nil {
		return err
	}
	b.add(
		&result{name: checkVerify, measured: b.ours("verify", none, "-j", "1")},
		&result{name: checkVerifyZstd, measured: b.ours("verify", zstd, "-j", "1")},
		&result{name: checkDry, phase: "dry load", prepare: b.empty, measured: b.ours("verify", none, "--against", b.cluster.DSN("target"), "--data-only", "--dry-load", "-j", b.jobsArg())},
		&result{name: atRun, measured: command(b.pghaul, "--help")},
	)
	return nil
}
