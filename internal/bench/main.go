// Command bench measures pghaul beside the servers' own floor and beside the peers that are installed, on a throwaway cluster, in one interleaved run.
//
//	go run ./internal/bench -pghaul bin/pghaul [-scale 1] [-rounds 3] [-jobs 2] [-only dump,restore,migrate,one,check,screen]
//	go run ./internal/bench -pghaul bin/pghaul -growth
//	go run ./internal/bench -pghaul bin/pghaul -tables 1000,10000,100000
//
// With -write FILE each puts what it printed into a text, in the place of the last run's.
//
// It prints medians and ratios, and which limits are kept. Absolute times mean nothing beyond this machine and this run.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/yardstick"
)

func main() {
	var b bench
	flag.StringVar(&b.pghaul, "pghaul", "bin/pghaul", "the program to measure")
	flag.Float64Var(&b.scale, "scale", 1, "size of the tables: 1 is 24 million rows, 1.16 GiB")
	flag.IntVar(&b.rounds, "rounds", 3, "interleaved rounds")
	flag.IntVar(&b.jobs, "jobs", 2, "parallel connections")
	flag.StringVar(&b.dir, "dir", "/var/tmp", "where the cluster and the dumps go")
	only := flag.String("only", "", "some of "+strings.Join(groupNames(), ",")+": measure only that")
	tables := flag.String("tables", "", "instead of all that: how a dump, its check and its restore grow with the number of tables, as in 1000,10000,100000")
	write := flag.String("write", "", "put what is printed into this text too, in the place of the last run's")
	growth := flag.Bool("growth", false, "instead of all that: how time and memory grow with connections, rows, columns and the size of fields")
	flag.Parse()
	if *only != "" {
		b.only = strings.Split(*only, ",")
	}
	run, target := b.run, "bench"
	switch {
	case *tables != "":
		run, target = func(ctx context.Context) error { return b.manyTables(ctx, *tables) }, "scale"
	case *growth:
		run, target = b.grow, "growth"
	}
	b.began, b.out = time.Now(), io.MultiWriter(os.Stdout, &b.said)
	if err := b.record(run, *write, target); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct {
	pghaul, dir  string
	only         []string
	scale        float64
	rounds, jobs int

	began time.Time
	out   io.Writer    // the terminal, and
	said  bytes.Buffer // what is kept for a text

	cluster *pgcluster.Cluster
	work    string
	load    yardstick.Load // all tables
	results []*result
}

// group is a part of the measurements that can be asked for alone.
type group struct {
	name string
	plan func(*bench) error // appends to results
}

var groups = []group{
	{"dump", (*bench).dumps}, {"restore", (*bench).restores}, {"migrate", (*bench).migrates}, {"one", (*bench).oneTable}, {"check", (*bench).checks},
}

func groupNames() []string {
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.name
	}
	return append(names, screenGroup)
}

func (b *bench) run(ctx context.Context) (err error) {
	for _, name := range b.only {
		if !slices.Contains(groupNames(), name) {
			return fmt.Errorf("-only: %q is none of %s", name, strings.Join(groupNames(), ", "))
		}
	}
	stop, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := b.seed(); err != nil {
		return err
	}
	for _, g := range groups {
		if len(b.only) == 0 || slices.Contains(b.only, g.name) {
			if err := g.plan(b); err != nil {
				return fmt.Errorf("%s: %w", g.name, err)
			}
		}
	}
	for round := range b.rounds {
		for _, r := range b.results {
			fmt.Fprintf(os.Stderr, "round %d: %s\n", round+1, r.name)
			if err := b.measure(r); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	if len(b.results) > 0 {
		b.print()
	}
	if len(b.only) == 0 || slices.Contains(b.only, screenGroup) {
		return b.screens()
	}
	return nil
}

// start makes the throwaway cluster and the folder to work in. stop ends and removes both.
func (b *bench) start(ctx context.Context) (stop func() error, err error) {
	if b.pghaul, err = filepath.Abs(b.pghaul); err != nil {
		return nil, err
	}
	b.cluster, err = pgcluster.Start(ctx, pgcluster.Options{Parent: b.dir, Settings: map[string]string{
		"shared_buffers": "2GB", "max_wal_size": "16GB", "checkpoint_timeout": "1h", "fsync": "off", "autovacuum": "off", "max_parallel_workers_per_gather": "0"}})
	if err != nil {
		return nil, err
	}
	if b.work, err = os.MkdirTemp(b.dir, "pghaul-bench."); err != nil {
		return nil, errors.Join(err, b.cluster.Stop())
	}
	return func() error { return errors.Join(b.cluster.Stop(), os.RemoveAll(b.work)) }, nil
}

func (b *bench) sql(db, sql string) error {
	_, err := b.ask(db, sql)
	return err
}

// ask gives what psql prints.
func (b *bench) ask(db, sql string) (string, error) {
	cmd := exec.Command(filepath.Join(b.cluster.BinDir(), "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", b.cluster.DSN(db), "-c", sql)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return string(bytes.TrimSpace(out)), nil
}

// seed makes the tables that were measured in the mailing-list threads about COPY.
func (b *bench) seed() error {
	fmt.Fprintln(os.Stderr, "making the tables")
	if err := b.sql("postgres", "CREATE DATABASE bench"); err != nil {
		return err
	}
	for _, t := range yardstick.Tables() {
		if err := b.sql("bench", t.CreateSQL(b.scale)); err != nil {
			return err
		}
		b.load.Rows += t.Rows(b.scale)
		b.load.Datums += t.Rows(b.scale) * int64(t.Columns)
	}
	for _, sql := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		if err := b.sql("bench", sql); err != nil {
			return err
		}
	}
	size, err := b.ask("bench", "SELECT sum(pg_table_size(oid)) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'")
	if err != nil {
		return err
	}
	if b.load.TableBytes, err = strconv.ParseInt(size, 10, 64); err != nil {
		return err
	}
	return nil
}

// serverCopies runs one COPY per table in as many sessions as there are jobs: what the servers alone can do.
func (b *bench) serverCopies(db string, statement func(table string) string) error {
	var statements []string
	for _, t := range []string{"archive_data", "test_one_int", "citydata", "annonces", "test_many_ints"} { // largest first
		statements = append(statements, statement(t))
	}
	return b.inSessions(db, statements)
}

// copyParts reads a table in as many sessions as there are jobs, each a part of its pages: what the server can do with one large table.
func (b *bench) copyParts(db, table string) error {
	statements := make([]string, b.jobs)
	for i := range statements {
		statements[i] = fmt.Sprintf(`DO $do$ DECLARE n int8 := pg_relation_size('%[1]s') / current_setting('block_size')::int8; BEGIN
EXECUTE format($sql$COPY (SELECT * FROM %[1]s WHERE ctid >= '(%%s,0)' AND ctid < '(%%s,0)') TO '/dev/null' (FORMAT binary)$sql$, n * %[2]d / %[3]d, n * (%[2]d + 1) / %[3]d); END $do$`,
			table, i, b.jobs)
	}
	return b.inSessions(db, statements)
}

// inSessions runs statements in as many sessions at a time as there are jobs.
func (b *bench) inSessions(db string, statements []string) error {
	queue := make(chan string, len(statements))
	for _, s := range statements {
		queue <- s
	}
	close(queue)
	errs := make([]error, b.jobs)
	var wg sync.WaitGroup
	for i := range b.jobs {
		wg.Go(func() {
			for s := range queue {
				if err := b.sql(db, s); err != nil {
					errs[i] = err
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
