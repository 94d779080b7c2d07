// Command bench measures pghaul beside the servers' own floor and beside pg_dump and pg_restore, on a throwaway cluster, in one interleaved run.
//
//	go run ./internal/bench -pghaul bin/pghaul [-scale 1] [-rounds 3] [-jobs 2]
//	go run ./internal/bench -pghaul bin/pghaul -tables 1000,10000,100000
//
// It prints medians and ratios; the floor is compared with the data phase alone, the peers with the whole. Absolute times mean nothing beyond this machine and this run.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
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
	flag.StringVar(&b.only, "only", "", "dump or restore: measure only that")
	tables := flag.String("tables", "", "instead of all that: how a dump, its check and its restore grow with the number of tables, as in 1000,10000,100000")
	flag.Parse()
	run := b.run
	if *tables != "" {
		run = func(ctx context.Context) error { return b.manyTables(ctx, *tables) }
	}
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct {
	pghaul, dir, only string
	scale             float64
	rounds, jobs      int

	cluster *pgcluster.Cluster
	work    string
	load    yardstick.Load // all tables
	results []*result
}

// result is one thing measured, a sample per round.
type result struct {
	name       string
	wall, cpu  []time.Duration // cpu: of the client process
	data       []time.Duration // the data phase alone, where the program tells
	maxRSS     int64           // bytes, the largest of all rounds
	stored     int64           // bytes written
	prepare    func() error
	measured   func() (*exec.Cmd, error) // a client process, or
	inServer   func() error              // work of the server alone
	afterwards func() error
}

func (b *bench) run(ctx context.Context) (err error) {
	b.pghaul, err = filepath.Abs(b.pghaul)
	if err != nil {
		return err
	}
	b.cluster, err = pgcluster.Start(ctx, pgcluster.Options{Parent: b.dir, Settings: map[string]string{
		"shared_buffers": "2GB", "max_wal_size": "16GB", "checkpoint_timeout": "1h", "fsync": "off", "autovacuum": "off", "max_parallel_workers_per_gather": "0"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.cluster.Stop()) }()
	if b.work, err = os.MkdirTemp(b.dir, "pghaul-bench."); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.work)) }()
	if err := b.seed(); err != nil {
		return err
	}
	if b.only != "restore" {
		b.dumps()
	}
	if b.only != "dump" {
		if err := b.restores(); err != nil {
			return err
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
	b.print()
	return nil
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
	queue := make(chan string, len(yardstick.Tables()))
	for _, t := range []string{"archive_data", "test_one_int", "citydata", "annonces", "test_many_ints"} { // largest first
		queue <- t
	}
	close(queue)
	errs := make([]error, b.jobs)
	var wg sync.WaitGroup
	for i := range b.jobs {
		wg.Go(func() {
			for t := range queue {
				if err := b.sql(db, statement(t)); err != nil {
					errs[i] = err
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) tool(name string, args ...string) func() (*exec.Cmd, error) {
	return func() (*exec.Cmd, error) { return exec.Command(filepath.Join(b.cluster.BinDir(), name), args...), nil }
}

func (b *bench) ours(args ...string) func() (*exec.Cmd, error) {
	return func() (*exec.Cmd, error) { return exec.Command(b.pghaul, args...), nil }
}

func (b *bench) dumps() {
	dir, dsn, j := filepath.Join(b.work, "dump"), b.cluster.DSN("bench"), fmt.Sprint(b.jobs)
	clean := func() error { return os.RemoveAll(dir) }
	b.results = append(b.results,
		&result{name: "dump: server floor, COPY TO '/dev/null'", inServer: func() error {
			return b.serverCopies("bench", func(t string) string { return "COPY " + t + " TO '/dev/null' (FORMAT binary)" })
		}},
		&result{name: "dump: pghaul -Z none", measured: b.ours("dump", dsn, "-f", dir, "-j", j, "-Z", "none", "--progress", "none", "-q")},
		&result{name: "dump: pg_dump -Fd -Z0", measured: b.tool("pg_dump", "-Fd", "-j"+j, "-Z0", "-f", dir, "-d", dsn)},
		&result{name: "dump: pghaul -Z zstd:1", measured: b.ours("dump", dsn, "-f", dir, "-j", j, "--progress", "none", "-q")},
		&result{name: "dump: pg_dump -Fd -Z1", measured: b.tool("pg_dump", "-Fd", "-j"+j, "-Z1", "-f", dir, "-d", dsn)},
	)
	for _, r := range b.results[len(b.results)-4:] {
		r.prepare = func() error { return errors.Join(clean(), b.untimed(r), clean()) }
		r.afterwards = func() (err error) {
			r.stored, err = size(dir)
			return err
		}
	}
}

// untimed runs what is measured once before. Whoever writes first into memory that the host of a virtual machine has taken back pays for it: with the same
// files written and removed just before, everybody finds the memory there, and the order of rounds does not decide.
func (b *bench) untimed(r *result) error {
	cmd, err := r.measured()
	if err != nil {
		return err
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

func (b *bench) restores() error {
	j := fmt.Sprint(b.jobs)
	ours, zstd, theirs, theirsZ1, raw := filepath.Join(b.work, "ours"), filepath.Join(b.work, "zstd"), filepath.Join(b.work, "theirs"), filepath.Join(b.work, "theirs-z1"), filepath.Join(b.cluster.Dir(), "raw")
	for _, make := range []func() (*exec.Cmd, error){
		b.ours("dump", b.cluster.DSN("bench"), "-f", ours, "-j", j, "-Z", "none", "-q"),
		b.ours("dump", b.cluster.DSN("bench"), "-f", zstd, "-j", j, "-q"),
		b.tool("pg_dump", "-Fd", "-j"+j, "-Z0", "-f", theirs, "-d", b.cluster.DSN("bench")),
		b.tool("pg_dump", "-Fd", "-j"+j, "-Z1", "-f", theirsZ1, "-d", b.cluster.DSN("bench")),
	} {
		cmd, err := make()
		if err != nil {
			return err
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	if err := b.serverCopies("bench", func(t string) string { return "COPY " + t + " TO '" + raw + "." + t + "' (FORMAT binary)" }); err != nil {
		return err
	}
	fresh := func() error {
		for _, sql := range []string{"DROP DATABASE IF EXISTS target", "CREATE DATABASE target", "CHECKPOINT"} {
			if err := b.sql("postgres", sql); err != nil {
				return err
			}
		}
		return nil
	}
	empty := func() error {
		if err := fresh(); err != nil {
			return err
		}
		script := exec.Command("sh", "-c", `"$1/pg_dump" -s -d "$2" | "$1/psql" -Xq -d "$3"`, "sh", b.cluster.BinDir(), b.cluster.DSN("bench"), b.cluster.DSN("target"))
		out, err := script.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return b.sql("postgres", "CHECKPOINT")
	}
	dsn := b.cluster.DSN("target")
	b.results = append(b.results,
		&result{name: "restore: server floor, COPY FROM file", prepare: empty, inServer: func() error {
			return b.serverCopies("target", func(t string) string {
				return "BEGIN; TRUNCATE " + t + "; COPY " + t + " FROM '" + raw + "." + t + "' (FORMAT binary); COMMIT"
			})
		}},
		&result{name: "restore: pghaul of -Z none, no proof, no analyze", prepare: fresh, measured: b.ours("restore", ours, dsn, "-j", j, "--yes", "--no-prove", "--no-analyze", "--progress", "none", "--json")},
		&result{name: "restore: pghaul of zstd:1, no proof, no analyze", prepare: fresh, measured: b.ours("restore", zstd, dsn, "-j", j, "--yes", "--no-prove", "--no-analyze", "--progress", "none", "--json")},
		&result{name: "restore: pghaul of zstd:1, whole, with proof", prepare: fresh, measured: b.ours("restore", zstd, dsn, "-j", j, "--yes", "--progress", "none", "--json")},
		&result{name: "restore: pg_restore of -Z0", prepare: fresh, measured: b.tool("pg_restore", "-j"+j, "-d", dsn, theirs)},
		&result{name: "restore: pg_restore of -Z1", prepare: fresh, measured: b.tool("pg_restore", "-j"+j, "-d", dsn, theirsZ1)},
	)
	return nil
}

func (b *bench) measure(r *result) error {
	if r.prepare != nil {
		if err := r.prepare(); err != nil {
			return err
		}
	}
	start := time.Now()
	if r.inServer != nil {
		if err := r.inServer(); err != nil {
			return err
		}
		r.wall = append(r.wall, time.Since(start))
		return nil
	}
	cmd, err := r.measured()
	if err != nil {
		return err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	r.wall = append(r.wall, time.Since(start))
	var report struct {
		Phases []struct {
			Phase   string
			Seconds float64
		}
	}
	if json.Unmarshal(stdout.Bytes(), &report) == nil { // the peers print no JSON
		for _, p := range report.Phases {
			if p.Phase == "data" {
				r.data = append(r.data, time.Duration(p.Seconds*float64(time.Second)))
			}
		}
	}
	r.cpu = append(r.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.maxRSS = max(r.maxRSS, u.Maxrss<<10)
	}
	if r.afterwards != nil {
		return r.afterwards()
	}
	return nil
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	return s[len(s)/2]
}

func (b *bench) print() {
	fmt.Printf("scale %g, %d jobs, %d rounds, PostgreSQL of %s\n\n", b.scale, b.jobs, b.rounds, b.cluster.BinDir())
	fmt.Printf("%8s  %8s  %8s  %8s  %9s  %9s  %s\n", "wall s", "data s", "× floor", "× peer", "client s", "RSS MiB", "what")
	var floor time.Duration
	peers := map[string]time.Duration{}
	for _, r := range b.results {
		if strings.Contains(r.name, "pg_dump -Fd -Z0") {
			peers["dump: pghaul -Z none"] = median(r.wall)
		}
		if strings.Contains(r.name, "pg_dump -Fd -Z1") {
			peers["dump: pghaul -Z zstd:1"] = median(r.wall)
		}
		switch r.name {
		case "restore: pg_restore of -Z0":
			peers["restore: pghaul of -Z none, no proof, no analyze"] = median(r.wall)
		case "restore: pg_restore of -Z1":
			peers["restore: pghaul of zstd:1, no proof, no analyze"] = median(r.wall)
			peers["restore: pghaul of zstd:1, whole, with proof"] = median(r.wall)
		}
	}
	for _, r := range b.results {
		m := median(r.wall)
		if r.inServer != nil {
			floor = m
		}
		peer := "-"
		if p := peers[r.name]; p > 0 {
			peer = fmt.Sprintf("%.2f", m.Seconds()/p.Seconds())
		}
		data, against := "-", m // the floor moves rows and nothing else
		if len(r.data) > 0 {
			against = median(r.data)
			data = fmt.Sprintf("%.2f", against.Seconds())
		}
		line := fmt.Sprintf("%8.2f  %8s  %8.2f  %8s  %9.2f  %9.1f  %s", m.Seconds(), data, against.Seconds()/floor.Seconds(), peer, median(r.cpu).Seconds(), float64(r.maxRSS)/(1<<20), r.name)
		if r.stored > 0 {
			line += fmt.Sprintf("  (%d MiB)", r.stored>>20)
		}
		fmt.Println(line)
	}
	fmt.Printf("\nin the layout of pghaul bench, against pg_dump and pg_restore of -Z0:\n%s", b.layout())
}

// layout writes the same medians in the layout of 2009. The peer that speaks of the same work is the reference.
func (b *bench) layout() string {
	references := map[string]float64{}
	for _, r := range b.results {
		if strings.HasSuffix(r.name, "-Z0") {
			job, _, _ := strings.Cut(r.name, ":")
			references[job] = median(r.wall).Seconds()
		}
	}
	var lines []yardstick.Line
	for _, r := range b.results {
		job, _, _ := strings.Cut(r.name, ":")
		reference := references[job]
		if strings.HasSuffix(r.name, "-Z0") {
			reference = 0
		}
		lines = append(lines, b.load.Line(r.name, median(r.wall).Seconds(), reference))
	}
	return yardstick.Layout(lines)
}

// size is the sum of the files below a folder in bytes.
func size(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}
