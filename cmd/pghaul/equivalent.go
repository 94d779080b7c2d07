package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/restore"
	"github.com/bytehaul/pghaul/tui"
)

// equivalent is the command line that does what the home screen is about to start: to learn from, and for cron.
func equivalent(o tui.JobOptions) string {
	words := []string{"pghaul", o.Kind}
	flag := func(on bool, flags ...string) {
		if on {
			words = append(words, flags...)
		}
	}
	from, to := &o.From, &o.To
	jobs := to.Jobs
	switch o.Kind {
	case "dump":
		jobs = from.Jobs
		if dsn := dsnWord(from.DSN); dsn != "" {
			words = append(words, dsn)
		}
		words = append(words, "-f", from.Dir)
		words = append(words, tableWords(from.Tables, from.ExcludeTables)...)
		flag(from.Compression != format.Compression{Level: 1}, "-Z", from.Compression.String())
	case "restore":
		words = append(words, to.Dir, targetWord(to.DSN))
		words = append(words, tableWords(to.Tables, to.ExcludeTables)...)
	case "migrate":
		words = append(words, targetWord(from.DSN), targetWord(to.DSN))
		words = append(words, tableWords(to.Tables, to.ExcludeTables)...)
		flag(!o.Gates, "--yes")
	}
	words = append(words, "-j", strconv.Itoa(jobs))
	if o.Kind != "restore" {
		flag(asksForSize(from), "--segment-size", formatSize(from.SegmentSize))
	}
	flag(to.Create, "--create")
	flag(to.Resume, "--resume")
	flag(to.DataOnly, "--data-only")
	flag(to.OnExisting != "" && to.OnExisting != restore.Fail, "--on-existing", string(to.OnExisting))
	flag(to.NoProve, "--no-prove")
	flag(to.NoAnalyze, "--no-analyze")
	flag(to.NoOwner, "--no-owner")
	for i := range words {
		words[i] = shellWord(words[i])
	}
	return strings.Join(words, " ")
}

// tableWords are the options that choose tables.
func tableWords(in, out []string) (words []string) {
	for _, t := range in {
		words = append(words, "-t", t)
	}
	for _, t := range out {
		words = append(words, "-T", t)
	}
	return words
}

// targetWord names a database that cannot be left to the environment.
func targetWord(d *pg.DSN) string {
	if word := dsnWord(d); word != "" {
		return word
	}
	return d.Config.Database
}

// dsnWord is a connection string of what was given, never with a password; "" when that was nothing.
func dsnWord(d *pg.DSN) string {
	if d == nil {
		return ""
	}
	var parts []string
	for key, value := range d.Given {
		if key == "password" || key == "passfile" && value == "" {
			continue
		}
		if len(d.Given) == 1 && key == "dbname" && value != "" && !strings.ContainsAny(value, "=:/") && !strings.HasPrefix(value, "-") {
			return value
		}
		if value == "" || strings.ContainsAny(value, ` '\`) {
			value = "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
		}
		parts = append(parts, key+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// habits are the defaults of jobs from the home screen, by the commands' names: those of the settings file and the environment, as for the command line.
func (a *app) habits(root *cobra.Command) (map[string]*jobFlags, func(*tui.JobOptions), error) {
	all := map[string]*jobFlags{}
	d := &dumpFlags{job: newJobFlags()}
	for _, c := range root.Commands() {
		kind := c.Name()
		if !slices.Contains([]string{"dump", "verify", "restore", "migrate"}, kind) {
			continue
		}
		if err := a.applySettings(c); err != nil {
			return nil, nil, err
		}
		value := func(name string) string { return c.Flags().Lookup(name).Value.String() }
		j := newJobFlags()
		j.notify = value("notify")
		var err error
		if j.jobs, err = strconv.Atoi(value("jobs")); err != nil {
			return nil, nil, err
		}
		if j.notifyTimeout, err = parseDuration(value("notify-timeout")); err != nil {
			return nil, nil, err
		}
		all[kind] = j
		if kind == "dump" {
			if d.o.SegmentSize, err = parseSize(value("segment-size")); err != nil {
				return nil, nil, err
			}
			if d.o.Compression, err = format.ParseCompression(value("compress")); err != nil {
				return nil, nil, usagef("option --compress: %v", err)
			}
		}
	}
	return all, func(o *tui.JobOptions) {
		o.From.Jobs, o.To.Jobs = all[o.Kind].jobs, all[o.Kind].jobs
		if o.Kind == "dump" {
			o.From.SegmentSize, o.From.Compression = d.o.SegmentSize, d.o.Compression
		}
	}, nil
}
