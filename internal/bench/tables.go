package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bytehaul/pghaul/internal/pgcluster"
)

// shapes is how many makes of tables there are: columns of other names.
const shapes = 100

// makeTables makes tables of five columns with a primary key, every tenth with ten rows. Commits in between keep the server's lock table small.
const makeTables = `CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE PROCEDURE make(n int) LANGUAGE plpgsql AS $$
BEGIN
 FOR i IN 1..n LOOP
  EXECUTE format('CREATE TABLE t%%s (id int PRIMARY KEY, name%%s text NOT NULL, at timestamptz, amount numeric(12,2), m mood)', i, i %% %d);
  IF i %% 10 = 0 THEN EXECUTE format('INSERT INTO t%%s SELECT g, ''name '' || g, now(), g, ''ok'' FROM generate_series(1, 10) g', i); END IF;
  IF i %% 1000 = 0 THEN COMMIT; END IF;
 END LOOP;
END $$;`

// manyTables measures how time and memory grow with the number of tables.
func (b *bench) manyTables(ctx context.Context, numbers string) (err error) {
	var counts []int
	for field := range strings.SplitSeq(numbers, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 {
			return fmt.Errorf("-tables: %q is no number of tables", field)
		}
		counts = append(counts, n)
	}
	if b.pghaul, err = filepath.Abs(b.pghaul); err != nil {
		return err
	}
	b.cluster, err = pgcluster.Start(ctx, pgcluster.Options{Parent: b.dir, Settings: map[string]string{
		"max_locks_per_transaction": "8192", "max_wal_size": "8GB", "checkpoint_timeout": "1h", "fsync": "off", "autovacuum": "off"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.cluster.Stop()) }()
	if b.work, err = os.MkdirTemp(b.dir, "pghaul-tables."); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.work)) }()
	fmt.Fprintf(b.out, "%d jobs, PostgreSQL of %s; memory is of pghaul alone, the programs it starts aside\n\n", b.jobs, b.cluster.BinDir())
	fmt.Fprintf(b.out, "%8s  %-8s  %7s  %7s  %9s  %9s  %s\n", "tables", "command", "wall s", "data s", "data ms/t", "peak MiB", "phases, s")
	for _, n := range counts {
		if err := b.tablesOf(n); err != nil {
			return fmt.Errorf("%d tables: %w", n, err)
		}
	}
	return nil
}

// tablesOf measures a dump of so many tables, its verification and its restore.
func (b *bench) tablesOf(n int) error {
	source, target, dir := fmt.Sprintf("source%d", n), fmt.Sprintf("target%d", n), filepath.Join(b.work, strconv.Itoa(n))
	fmt.Fprintf(os.Stderr, "making %d tables\n", n)
	for _, do := range [][2]string{{"postgres", "CREATE DATABASE " + source}, {"postgres", "CREATE DATABASE " + target}, {source, fmt.Sprintf(makeTables, shapes)}, {source, fmt.Sprintf("CALL make(%d)", n)},
		{source, "DROP PROCEDURE make"}, {source, "VACUUM ANALYZE pg_catalog.pg_class"}, {source, "VACUUM ANALYZE pg_catalog.pg_attribute"}} {
		if err := b.sql(do[0], do[1]); err != nil {
			return err
		}
	}
	jobs := "-j" + strconv.Itoa(b.jobs)
	for _, args := range [][]string{{"dump", b.cluster.DSN(source), "-f", dir, jobs}, {"verify", dir, jobs}, {"restore", dir, b.cluster.DSN(target), jobs}} {
		if err := b.commandOn(n, args); err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
	}
	for _, db := range []string{source, target} {
		if err := b.sql("postgres", "DROP DATABASE "+db); err != nil {
			return err
		}
	}
	return os.RemoveAll(dir)
}

// commandOn runs one command and prints its line.
func (b *bench) commandOn(n int, args []string) error {
	cmd := exec.Command(b.pghaul, append(args, "--progress", "none", "--json")...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	peak := watchPeak(cmd.Process.Pid)
	err := cmd.Wait()
	wall := time.Since(begin)
	memory := peak()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	var report struct {
		Phases []struct {
			Phase   string
			Seconds float64
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		return err
	}
	data, phases := 0.0, []string{}
	for _, p := range report.Phases {
		if p.Phase == "data" {
			data = p.Seconds
		}
		phases = append(phases, fmt.Sprintf("%s %.1f", p.Phase, p.Seconds))
	}
	fmt.Fprintf(b.out, "%8d  %-8s  %7.1f  %7.1f  %9.2f  %9.0f  %s\n", n, args[0], wall.Seconds(), data, data*1000/float64(n), float64(memory)/(1<<20), strings.Join(phases, ", "))
	return nil
}

// watchPeak looks at a process's largest resident memory until the function that it gives is called, which tells it in bytes. What wait tells
// is of no use: it counts the programs that the process has started.
func watchPeak(pid int) (end func() int64) {
	done, result := make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		var peak int64
		for {
			peak = max(peak, peakOf(pid))
			select {
			case <-done:
				result <- peak
				return
			case <-tick.C:
			}
		}
	}()
	return func() int64 { close(done); return <-result }
}

// peakOf reads VmHWM in bytes; 0 where there is none.
func peakOf(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
}
