package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/demo"
	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/restore"
)

// shownDigest is how many hex digits of a digest fit beside the counts on 80 columns.
const shownDigest = 12

// demoSegment makes the largest tables of the shop come in several files.
const demoSegment = 4 << 20

func (a *app) demoCommand() *cobra.Command {
	j := newJobFlags()
	c := &cobra.Command{
		Use:     "demo",
		Short:   "show it: a throwaway server, a sample shop, dump, verify, restore",
		GroupID: groupOther,
		Long: "pghaul demo starts a throwaway PostgreSQL from the server programs on this machine,\n" +
			"fills it with a sample shop, dumps it, verifies the dump, restores it into a second\n" +
			"database, proves that both hold the same rows, and takes everything away again.",
		Args:        exactly(0, 0, ""),
		Annotations: map[string]string{exitLines: "0,1,2,130", environment: "PGHAUL_PG_BINDIR\tfolder of PostgreSQL's programs (else PATH, then the usual places)"},
		RunE:        func(c *cobra.Command, _ []string) error { return a.demo(c, j) },
	}
	groupOf(c, "Options", false, func(f flags) {
		f.number(&j.jobs, "jobs", "j", "N", "parallel connections", 1, maxJobs)
		f.choice(&j.progress, "progress", "", "how to show progress, on standard error\n(auto: bar on a terminal, else plain; tui: the screen\nof each step, which q leaves for the next)", "auto", "tui", "bar", "plain", "json", "none")
	})
	return c
}

// demoRun is a demo under way.
type demoRun struct {
	app     *app
	job     *jobFlags
	mu      sync.Mutex         // guards that cluster is set
	cluster *pgcluster.Cluster // nil until it runs
	folder  string             // of the dump
	started time.Time

	dumped     *dump.Summary
	dumpTook   time.Duration
	verifyTook time.Duration
	loadTook   time.Duration
	restored   *restore.Summary
}

func (a *app) demo(c *cobra.Command, j *jobFlags) (err error) {
	ctx := c.Context()
	if j.progress == "tui" && !isTerminal(a.stderr) {
		return errNoScreen()
	}
	d := &demoRun{app: a, job: j, started: time.Now()}
	temp, err := os.MkdirTemp("", "pghaul-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	defer a.interrupt.onSecond(func() { d.vanish(temp) })()
	// As root, the server runs as another user, who must get at its own folder below this one.
	if err := os.Chmod(temp, 0o711); err != nil { //nolint:gosec // the server's user must pass
		return err
	}
	d.folder = filepath.Join(temp, "shop.dump")
	bin, err := pgcluster.FindBinDir()
	if err != nil {
		return err
	}
	d.say("A throwaway PostgreSQL from %s: starting …", bin)
	cluster, err := demo.Start(ctx, temp)
	if err != nil {
		return err
	}
	d.own(cluster)
	defer func() {
		if stopped := d.cluster.Stop(); stopped != nil {
			err = errors.Join(err, stopped)
		} else {
			d.say("\nThe server, its folder and the dump are gone again; %s s in all.", seconds(time.Since(d.started)))
		}
	}()
	if err = d.run(ctx, c); ctx.Err() != nil {
		err = &leftOver{err: err, text: "nothing is left of the demo"}
	}
	return err
}

// own takes the server over, so that vanish knows of it.
func (d *demoRun) own(c *pgcluster.Cluster) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cluster = c
}

// vanish takes everything away at once. The program ends then: nobody is left to be told of an error.
func (d *demoRun) vanish(temp string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cluster != nil {
		_ = d.cluster.Kill()
	}
	_ = os.RemoveAll(temp)
}

func (d *demoRun) say(format string, args ...any) {
	if !d.app.quiet {
		fmt.Fprintf(d.app.stdout, format+"\n", args...)
	}
}

func (d *demoRun) run(ctx context.Context, c *cobra.Command) error {
	d.say("It runs; filling database %q with a sample shop …", demo.Source)
	version, err := demo.Fill(ctx, d.cluster)
	if err != nil {
		return err
	}
	d.say("PostgreSQL %s has %q ready after %s s.", show.Text(version), demo.Source, seconds(time.Since(d.started)))
	if err := d.dump(ctx); err != nil {
		return err
	}
	if err := d.verify(c); err != nil {
		return err
	}
	if err := d.restore(ctx); err != nil {
		return err
	}
	d.say("\n4. Count and digest every table in both databases, past pghaul's own bookkeeping\n")
	pairs, err := demo.Compare(ctx, d.cluster, d.dumped.Manifest.Tables)
	if err != nil {
		return err
	}
	return d.sum(pairs)
}

func (d *demoRun) dump(ctx context.Context) error {
	d.say("\n1. pghaul dump %s -f shop.dump -j %d --segment-size 4MB\n", demo.Source, d.job.jobs)
	dsn, err := demo.DSN(d.cluster, demo.Source)
	if err != nil {
		return err
	}
	var t *progress.Tracker
	d.dumped, t, err = d.app.runDump(ctx, d.job, dump.Options{DSN: dsn, Dir: d.folder, Jobs: d.job.jobs, Compression: format.Compression{Level: 1}, SegmentSize: demoSegment,
		PgBinDir: d.cluster.BinDir(), Tool: tool()})
	if err != nil {
		return err
	}
	d.dumpTook = t.Snapshot().Elapsed // without the time that a screen is looked at
	d.say("   %s, %s in %s: %s s, %s", show.Plural(d.dumped.Rows, "row", "rows"), show.Size(d.dumped.RawBytes), show.Plural(int64(d.dumped.Files), "file", "files"),
		seconds(d.dumpTook), rate(d.dumped.RawBytes, d.dumpTook))
	return nil
}

func (d *demoRun) verify(c *cobra.Command) error {
	d.say("\n2. pghaul verify shop.dump\n")
	found, t, err := d.app.runVerify(c, d.job, restore.VerifyOptions{Path: d.folder, Jobs: d.job.jobs})
	if err != nil {
		return err
	}
	d.verifyTook = t.Snapshot().Elapsed
	printDamages(d.app, found)
	if !found.OK() {
		return errFound
	}
	d.say("   whole and undamaged: %s, %s stored: %s s, %s", show.Plural(found.Rows, "row", "rows"), show.Size(found.StoredBytes), seconds(d.verifyTook), rate(found.Bytes, d.verifyTook))
	return nil
}

func (d *demoRun) restore(ctx context.Context) error {
	d.say("\n3. pghaul restore --create shop.dump %s -j %d\n", demo.Target, d.job.jobs)
	dsn, err := demo.DSN(d.cluster, demo.Target)
	if err != nil {
		return err
	}
	var t *progress.Tracker
	d.restored, t, err = d.app.runRestore(ctx, d.job, restore.Options{Dir: d.folder, DSN: dsn, Create: true, Jobs: d.job.jobs, PgBinDir: d.cluster.BinDir(), Tool: tool()}, true)
	if err != nil {
		return err
	}
	d.loadTook = t.Snapshot().Elapsed
	if n := len(d.restored.Gaps); n > 0 {
		return fmt.Errorf("%d objects could not be made, the first: %s %s: %s", n, d.restored.Gaps[0].Kind, d.restored.Gaps[0].Name, d.restored.Gaps[0].Message)
	}
	d.say("   %s, every row proven in %s: %s s, %s", show.Plural(d.restored.Rows, "row", "rows"), show.Plural(int64(d.restored.Proven), "table", "tables"),
		seconds(d.loadTook), rate(d.restored.Bytes, d.loadTook))
	return nil
}

func rate(bytes int64, took time.Duration) string {
	return show.Rate(float64(bytes) / max(took.Seconds(), 1e-9))
}

// sum closes the show: both databases side by side.
func (d *demoRun) sum(pairs []demo.Pair) error {
	g := show.NewGrid("   ", "table", ">count(*) "+demo.Source, ">"+demo.Target, "digest of both", "")
	var rows int64
	different := 0
	for i, p := range pairs {
		verdict := "equal"
		if !p.Equal() || p.Source.Digest.String() != d.dumped.Manifest.Tables[i].RowDigest {
			verdict = "DIFFERENT: " + p.Target.Digest.String()
			different++
		}
		rows += p.Target.Rows
		g.Row(show.Text(p.Table), show.Count(p.Source.Rows), show.Count(p.Target.Rows), p.Source.Digest.String()[:shownDigest]+"…", verdict)
	}
	d.say("%s", g.String())
	if different > 0 {
		return fmt.Errorf("%d of %d tables differ between the databases", different, len(pairs))
	}
	d.say("%s in %s went out and came back the same: dump %s, verify %s, restore with proof and indexes %s.", show.Plural(rows, "row", "rows"),
		show.Plural(int64(len(pairs)), "table", "tables"), took(d.dumpTook), took(d.verifyTook), took(d.loadTook))
	return nil
}

func took(d time.Duration) string { return show.Seconds(d) + " s" }
