package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bytehaul/pghaul/internal/sched"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/internal/yardstick"
)

// plotWidth is how wide bars are where the terminal's width is unknown.
const plotWidth = 100

// benchFlags are bench's flags as given.
type benchFlags struct {
	conn   connection
	scale  string
	tables []string
	asJSON bool
	plot   bool
	o      yardstick.Options
}

func (a *app) benchCommand() *cobra.Command {
	b := &benchFlags{scale: strconv.FormatFloat(yardstick.DefaultScale, 'g', -1, 64), o: yardstick.Options{Jobs: newJobFlags().jobs, Rounds: 3, Dir: "."}}
	c := &cobra.Command{
		Use:     "bench [DSN]",
		Short:   "measure a server: scan, dump, restore by stage, batch sizes",
		GroupID: groupOther,
		Long: "pghaul bench makes test tables in a scratch database of its own on a server, and\n" +
			"measures what the server, the connection and the disk can do at best, and how near\n" +
			"dump and restore come to it. DSN is any database on the server: nothing is written\n" +
			"into it. What it makes is removed at the end, also after ctrl-c.",
		Args: exactly(0, 1, "the DSN"),
		Annotations: map[string]string{usageLines: "bench [OPTION]... [DSN]", exitLines: "0,1,2,130",
			environment: connectionEnvironment + "\nPGHAUL_PG_BINDIR\tfolder of pg_dump (as --pg-bindir)"},
		Example: "  pghaul bench \"service=prod\"\n" +
			"  pghaul bench shop --peers -j 4 --scale 1\n" +
			"  pghaul bench --tables citydata,annonces --json > bench.json",
		RunE: func(c *cobra.Command, args []string) error { return a.bench(c, b, args) },
	}
	b.flags(c)
	return c
}

func (b *benchFlags) flags(c *cobra.Command) {
	groupOf(c, "What to measure", false, func(f flags) {
		f.text(&b.scale, "scale", "", "NUMBER", "size of the tables: 1 is 24 million rows, 1.2 GB (0.1)")
		f.list(&b.tables, "tables", "", "NAME[,NAME]...", "only these of test_one_int, test_many_ints, annonces,\narchive_data, citydata")
		f.number(&b.o.Jobs, "jobs", "j", "N", "parallel connections of whole jobs\n(number of CPUs, at most 8)", 1, maxJobs)
		f.number(&b.o.Rounds, "rounds", "", "N", "interleaved rounds, of which medians are taken (3)", 1, 1000)
		f.text(&b.o.Dir, "dir", "", "DIR", "folder where dumps would go, whose disk is measured (.)")
		f.boolean(&b.o.Peers, "peers", "", "run pg_dump, pg_restore and psql beside, at the same work")
		f.text(&b.o.PgBinDir, "pg-bindir", "", "DIR", "folder of the peers (else PATH, then the usual places)")
		f.boolean(&b.o.Keep, "keep", "", "leave the scratch databases and the dumps")
	})
	groupOf(c, "Output options", false, func(f flags) {
		f.boolean(&b.asJSON, "json", "", "write the report as one JSON document")
		f.boolean(&b.plot, "plot", "", "draw bars too (on a terminal they are drawn anyway)")
	})
	b.conn.flags(c)
}

// options checks the flags and makes the benchmark's options of them.
func (b *benchFlags) options(c *cobra.Command, args []string) (o yardstick.Options, err error) {
	o = b.o
	if err := exclusive(c, "json", "plot"); err != nil {
		return o, err
	}
	if o.Scale, err = strconv.ParseFloat(b.scale, 64); err != nil || !(o.Scale > 0 && o.Scale <= yardstick.MaxScale) {
		return o, usagef("option --scale: %q is not a number above 0 and up to %d", b.scale, yardstick.MaxScale)
	}
	for _, list := range b.tables {
		for name := range strings.SplitSeq(list, ",") {
			o.Tables = append(o.Tables, strings.TrimSpace(name))
		}
	}
	if _, err := yardstick.Choose(o.Tables); err != nil {
		return o, usagef("option --tables: %v", err)
	}
	o.DSN, err = b.conn.source(args)
	o.Tool = tool()
	return o, err
}

func (a *app) bench(c *cobra.Command, b *benchFlags, args []string) error {
	o, err := b.options(c, args)
	if err != nil {
		return err
	}
	if err := a.login(c, &b.conn.passwords, o.DSN); err != nil {
		return err
	}
	o.Say = func(line string) {
		if !a.quiet {
			fmt.Fprintf(a.stderr, "pghaul: %s\n", show.Line(line))
		}
		if a.log != nil {
			a.log.Tell(slog.LevelInfo, line)
		}
	}
	if warning := sched.Batch(); warning != nil && a.verbose {
		fmt.Fprintf(a.stderr, "pghaul: not scheduled as batch work, which is slower: %v\n", warning)
	}
	forget := func() {}
	defer func() { forget() }()
	o.Named = func(databases []string, dir string) {
		forget = a.interrupt.onSecond(func() {
			fmt.Fprintf(a.stderr, "pghaul: perhaps left behind: databases %s; folder %s\n", strings.Join(databases, ", "), show.Text(dir))
		})
	}
	r, err := yardstick.Run(c.Context(), o)
	if err != nil {
		return benchError(c.Context(), err)
	}
	if b.asJSON {
		return writeJSON(a.stdout, r)
	}
	text := r.Text()
	if b.plot || isTerminal(a.stdout) {
		width, _, err := term.GetSize(int(a.stdout.Fd()))
		if err != nil {
			width = plotWidth
		}
		text += r.Plot(width)
	}
	_, err = io.WriteString(a.stdout, text)
	return err
}

// benchError says of a cancelled benchmark what is left of it.
func benchError(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	var left *yardstick.LeftBehind
	if errors.As(err, &left) {
		return &leftOver{err: err, text: left.Error() + "; " + left.Hint()}
	}
	return &leftOver{err: err, text: "nothing is left of the benchmark"}
}
