package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/bytehaul/pghaul/internal/yardstick"
)

// limit is what a ratio shall not exceed.
type limit struct {
	what  string
	most  float64
	ratio func(b *bench) (float64, bool) // false: not measured
}

// wall is the median of a result's wall time.
func (b *bench) wall(name string) (float64, bool) {
	return b.seconds(name, func(r *result) time.Duration { return median(r.wall) })
}

// data is the median of the phase that moves rows; of what has none, of the whole.
func (b *bench) data(name string) (float64, bool) {
	return b.seconds(name, func(r *result) time.Duration {
		if len(r.data) > 0 {
			return median(r.data)
		}
		return median(r.wall)
	})
}

func (b *bench) client(name string) (float64, bool) {
	return b.seconds(name, func(r *result) time.Duration { return median(r.cpu) })
}

func (b *bench) stored(name string) (float64, bool) {
	for _, r := range b.results {
		if r.name == name && r.stored > 0 {
			return float64(r.stored), true
		}
	}
	return 0, false
}

func (b *bench) seconds(name string, of func(*result) time.Duration) (float64, bool) {
	for _, r := range b.results {
		if r.name == name {
			return of(r).Seconds(), true
		}
	}
	return 0, false
}

// quantity is one of the figures of a result.
type quantity func(b *bench, name string) (float64, bool)

// ratio compares a figure of one result with the sum of others'.
func ratio(of quantity, name string, to ...string) func(*bench) (float64, bool) {
	return func(b *bench) (float64, bool) {
		x, ok := of(b, name)
		var sum float64
		for _, other := range to {
			y, known := of(b, other)
			sum, ok = sum+y, ok && known
		}
		return x / sum, ok && sum > 0
	}
}

var limits = []limit{
	{"dump -Z none, wall, to the floor", 1.32, ratio((*bench).wall, dumpNone, dumpFloor)},
	{"dump -Z none to pg_dump -Z0", 0.80, ratio((*bench).wall, dumpNone, dumpPeer0)},
	{"dump zstd:1 to pg_dump -Z1", 0.95, ratio((*bench).wall, dumpZstd, dumpPeer1)},
	{"dump zstd:1 to pg_dump -Z1, size", 0.90, ratio((*bench).stored, dumpZstd, dumpPeer1)},
	{"dump zstd:1 to pg_dump's default gzip", 0.30, ratio((*bench).wall, dumpZstd, dumpPeer)},
	{`dump -Z none to psql \copy, client CPU`, 0.65, ratio((*bench).client, dumpNone, dumpPsql)},
	{"restore of -Z none, data phase, to the floor", 1.12, ratio((*bench).data, restoreNone, restoreFloor)},
	{"restore of -Z none, data phase, to pg_restore of -Z0", 0.74, ratio((*bench).data, restoreNone, restorePeer0)},
	{"restore of zstd:1, data phase, to the floor", 1.24, ratio((*bench).data, restoreZstd, restoreFloor)},
	{"restore of zstd:1, data phase, to pg_restore of -Z1", 0.74, ratio((*bench).data, restoreZstd, restorePeer1)},
	{"migrate, data, to pgcopydb", 0.68, ratio((*bench).data, migratePlain, migratePeer)},
	{"migrate with analyze, wall, to pgcopydb", 0.77, ratio((*bench).wall, migrateAnalyze, migratePeer)},
	{"migrate, wall, to pg_dump | pg_restore", 1.00, ratio((*bench).wall, migratePlain, migratePipe)},
	{"migrate, data, to the two floors added", 1.10, ratio((*bench).data, migratePlain, dumpFloor, restoreFloor)},
	{"one table, dump -Z none to pg_dump -Z0", 0.54, ratio((*bench).wall, oneDumpNone, oneDumpPeer0)},
	{"one table, dump zstd:1 to pg_dump -Z1", 0.80, ratio((*bench).wall, oneDumpZstd, oneDumpPeer1)},
	{"one table, restore, data phase, to pg_restore", 0.40, ratio((*bench).data, oneRestore, oneRestorePeer)},
	{"dry load to the restore's data phase", 0.52, func(b *bench) (float64, bool) {
		dry, ok := b.data(checkDry)
		restore, known := b.data(restoreNone)
		return dry / restore, ok && known
	}},
	{"verify of -Z none, s per GB on one core", 1.00, func(b *bench) (float64, bool) {
		took, ok := b.wall(checkVerify)
		stored, known := b.stored(dumpNone)
		return took / (stored / 1e9), ok && known
	}},
	{"pghaul --help, in units of 50 ms", 1.00, func(b *bench) (float64, bool) {
		took, ok := b.wall(atRun)
		return took / 0.050, ok
	}},
	{"resident memory, in units of 150 MiB", 1.00, func(b *bench) (most float64, ok bool) {
		for _, r := range b.results {
			if strings.Contains(r.name, "pghaul") || strings.Contains(r.name, "verify") {
				most, ok = max(most, float64(r.maxRSS)/(150<<20)), true
			}
		}
		return most, ok
	}},
}

func (b *bench) print() {
	fmt.Fprintf(b.out, "scale %g, %d jobs, %d rounds, medians, PostgreSQL of %s\n\n", b.scale, b.jobs, b.rounds, b.cluster.BinDir())
	fmt.Fprintf(b.out, "%8s  %8s  %8s  %9s  %9s  %s\n", "wall s", "data s", "× floor", "client s", "RSS MiB", "what")
	floors := map[string]float64{}
	for _, r := range b.results {
		if r.floor {
			floors[r.group()] = median(r.wall).Seconds()
		}
	}
	for _, r := range b.results {
		data, against := "-", median(r.wall)
		if len(r.data) > 0 {
			against = median(r.data)
			data = fmt.Sprintf("%.2f", against.Seconds())
		}
		times := "-"
		if floor := floors[r.group()]; floor > 0 {
			times = fmt.Sprintf("%.2f", against.Seconds()/floor)
		}
		line := fmt.Sprintf("%8.2f  %8s  %8s  %9.2f  %9.1f  %s", median(r.wall).Seconds(), data, times, median(r.cpu).Seconds(), float64(r.maxRSS)/(1<<20), r.name)
		if r.stored > 0 {
			line += fmt.Sprintf("  (%d MiB)", r.stored>>20)
		}
		fmt.Fprintln(b.out, line)
	}
	b.printLimits()
	fmt.Fprintf(b.out, "\nin the layout of pghaul bench, against pg_dump and pg_restore of -Z0:\n%s", b.layout())
}

// printLimits says which limits are kept. "client s" counts the clients alone; ratios of times are of medians.
func (b *bench) printLimits() {
	fmt.Fprintf(b.out, "\n%6s  %6s  %-4s  %s\n", "limit", "now", "kept", "ratio")
	for _, l := range limits {
		now, ok := l.ratio(b)
		switch {
		case !ok:
			fmt.Fprintf(b.out, "%6.2f  %6s  %-4s  %s\n", l.most, "-", "-", l.what)
		case now <= l.most:
			fmt.Fprintf(b.out, "%6.2f  %6.2f  %-4s  %s\n", l.most, now, "yes", l.what)
		default:
			fmt.Fprintf(b.out, "%6.2f  %6.2f  %-4s  %s\n", l.most, now, "NO", l.what)
		}
	}
}

// layout writes the medians of whole databases in the layout of 2009. The peer that speaks of the same work is the reference.
func (b *bench) layout() string {
	references := map[string]string{"dump": dumpPeer0, "restore": restorePeer0, "migrate": migratePipe}
	var lines []yardstick.Line
	for _, r := range b.results {
		name, whole := references[r.group()]
		if !whole {
			continue
		}
		reference, _ := b.wall(name)
		if r.name == name {
			reference = 0
		}
		lines = append(lines, b.load.Line(r.name, median(r.wall).Seconds(), reference))
	}
	return yardstick.Layout(lines)
}
