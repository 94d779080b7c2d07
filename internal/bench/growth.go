package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// step is one point of a series: a table, and how many units of work it is.
type step struct {
	label string
	sql   string // makes the table t
	units float64
	jobs  int // 0: as many as asked for
}

// series is one way to grow.
type series struct {
	what, unit string
	steps      []step
}

// columnsOf is a column list of n int4 columns.
func columnsOf(n int, each string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(each, i+1))
	}
	return strings.Join(all, ", ")
}

// ways are the series. Each keeps something equal, so that time per unit shows whether the cost is linear.
func ways(scale float64) []series {
	n := func(rows float64) int { return max(1, int(rows*scale)) }
	jobs := series{what: "connections (4 million rows of 10 columns)", unit: "million rows"}
	for _, j := range []int{1, 2, 4, 8} {
		jobs.steps = append(jobs.steps, step{label: fmt.Sprintf("%d", j), jobs: j, units: float64(n(4e6)) / 1e6,
			sql: fmt.Sprintf("CREATE TABLE t AS SELECT %s FROM generate_series(1, %d) g", columnsOf(10, "g AS c%d"), n(4e6))})
	}
	rows := series{what: "narrow rows (two int2)", unit: "million rows"}
	for _, m := range []float64{1, 3, 10, 30, 100} {
		rows.steps = append(rows.steps, step{label: fmt.Sprintf("%.3g million", m*scale), units: float64(n(m*1e6)) / 1e6,
			sql: fmt.Sprintf("CREATE UNLOGGED TABLE t AS SELECT (g %% 1000)::int2 AS city, (g %% 100)::int2 AS temp FROM generate_series(1, %d) g", n(m*1e6))})
	}
	columns := series{what: "columns (20 million int4 in all)", unit: "million datums"}
	for _, c := range []int{1, 10, 100, 400, 1600} {
		columns.steps = append(columns.steps, step{label: fmt.Sprintf("%d", c), units: float64(n(2e7)/c*c) / 1e6,
			sql: fmt.Sprintf("CREATE TABLE t (%s); INSERT INTO t SELECT %s FROM generate_series(1, %d) g", columnsOf(c, "c%d int4"), columnsOf(c, "g + %d"), n(2e7)/c)})
	}
	fields := series{what: "size of a field (500 MB of bytea in all, which do not compress)", unit: "GB"}
	for _, kb := range []int{1, 32, 1 << 10, 32 << 10, 500_000} {
		count := max(1, n(500_000)/kb)
		fields.steps = append(fields.steps, step{label: fmt.Sprintf("%d kB", kb), units: float64(count*kb) / 1e6,
			sql: fmt.Sprintf(`CREATE TABLE t (v bytea); ALTER TABLE t ALTER v SET STORAGE EXTERNAL;
INSERT INTO t SELECT decode(repeat(md5(g::text), %d), 'hex') FROM generate_series(1, %d) g`, kb*1000/16, count)})
	}
	return []series{jobs, rows, columns, fields}
}

// grow measures how time and memory of a dump, its check and a restore grow.
func (b *bench) grow(ctx context.Context) error {
	stop, err := b.start(ctx)
	if err != nil {
		return err
	}
	err = b.growing()
	return errors.Join(err, stop())
}

func (b *bench) growing() error {
	fmt.Fprintf(b.out, "scale %g, medians of %d, PostgreSQL of %s; memory is of pghaul alone\n", b.scale, b.rounds, b.cluster.BinDir())
	for _, w := range ways(b.scale) {
		fmt.Fprintf(b.out, "\n%s: seconds (of dump and restore the data phase; of the server alone, in one session), seconds per %s, resident MiB\n", w.what, w.unit)
		fmt.Fprintf(b.out, "%14s  %17s  %24s  %24s  %24s\n", "", "COPY TO /dev/null", "dump -Z none", "verify", "restore")
		for _, s := range w.steps {
			if err := b.growStep(s); err != nil {
				return fmt.Errorf("%s: %s: %w", w.what, s.label, err)
			}
		}
	}
	return nil
}

func (b *bench) growStep(s step) error {
	for _, sql := range []string{"DROP DATABASE IF EXISTS bench", "CREATE DATABASE bench"} {
		if err := b.sql("postgres", sql); err != nil {
			return err
		}
	}
	for _, sql := range []string{s.sql, "VACUUM ANALYZE", "CHECKPOINT"} {
		if err := b.sql("bench", sql); err != nil {
			return err
		}
	}
	jobs := s.jobs
	if jobs == 0 {
		jobs = b.jobs
	}
	j, dir := fmt.Sprint(jobs), filepath.Join(b.work, "grow")
	dump := &result{name: "dump", phase: "data", measured: b.ours("dump", b.cluster.DSN("bench"), "-f", dir, "-j", j, "-Z", "none"), prepare: func() error { return os.RemoveAll(dir) }}
	verify := &result{name: "verify", measured: b.ours("verify", dir, "-j", j)}
	restore := &result{name: "restore", phase: "data", prepare: b.fresh, measured: b.ours("restore", dir, b.cluster.DSN("target"), "-j", j, "--yes", "--no-prove", "--no-analyze")}
	server := &result{name: "server", inServer: func() error { return b.sql("bench", "COPY t TO '/dev/null' (FORMAT binary)") }}
	for range b.rounds {
		for _, r := range []*result{server, dump, verify, restore} {
			if err := b.measure(r); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	alone := median(server.wall).Seconds()
	line := fmt.Sprintf("%14s  %8.2f %8.3f", s.label, alone, alone/s.units)
	for _, r := range []*result{dump, verify, restore} {
		took := median(r.wall)
		if len(r.data) > 0 {
			took = median(r.data)
		}
		line += fmt.Sprintf("  %8.2f %8.3f %6.0f", took.Seconds(), took.Seconds()/s.units, float64(r.maxRSS)/(1<<20))
	}
	fmt.Fprintln(b.out, line)
	return os.RemoveAll(dir)
}
