package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/report"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/restore"
)

func (a *app) verifyCommand() *cobra.Command {
	v := &againstFlags{job: newJobFlags(), onExisting: string(restore.Fail)}
	c := &cobra.Command{
		Use:     "verify DIR|FILE|-",
		Short:   "check that a dump is whole and undamaged, or would load",
		GroupID: groupJobs,
		Long: "pghaul verify reads every byte of a dump, a data file or a stream, without a server:\n" +
			"manifest, checksums, framing of every row, counts and digests. It names every damaged\n" +
			"file with the place and the kind of the damage. With --against (or -d) it also asks a\n" +
			"server whether a restore would begin there, and writes nothing to that database.",
		Args: exactly(1, 1, "the DIR or FILE (\"-\": standard input)"),
		Annotations: map[string]string{usageLines: "verify [OPTION]... DIR|FILE|-\nverify [OPTION]... DIR|FILE|- --against DSN", exitLines: "0,1,2,3,130",
			environment: connectionEnvironment + "\nPGHAUL_PG_BINDIR\tfolder of pg_restore (as --pg-bindir)"},
		Example: "  pghaul verify shop-2026-11-30\n  pghaul verify - < orders.pgcopy.zst\n" +
			"  pghaul verify shop-2026-11-30 --against \"service=standby dbname=shop\" --data-only --dry-load\n" +
			"  pghaul verify shop-2026-11-30 --against shop_copy --rehearse",
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkInput(args[0]); err != nil {
				return err
			}
			if v.asked(c) {
				return a.check(c, v, args[0])
			}
			return a.verify(c, v.job, restore.VerifyOptions{Path: args[0], Stdin: a.stdin, Jobs: v.job.jobs})
		},
	}
	v.flags(c)
	return c
}

func (a *app) verify(c *cobra.Command, j *jobFlags, o restore.VerifyOptions) error {
	found, tracker, err := a.runVerify(c, j, o)
	if err != nil {
		return err
	}
	printDamages(a, found)
	if err := a.report(j, verifyReport(tracker, found)); err != nil {
		return err
	}
	if !found.OK() {
		return errFound
	}
	return nil
}

// runVerify is a check under an observer; demo shares it.
func (a *app) runVerify(c *cobra.Command, j *jobFlags, o restore.VerifyOptions) (found *restore.VerifyReport, t *progress.Tracker, err error) {
	k := a.verifyTask(o, &found)
	err = a.work(c.Context(), j, k)
	return found, k.tracker, err
}

// verifyTask is a check of files whose report goes to found.
func (a *app) verifyTask(o restore.VerifyOptions, found **restore.VerifyReport) *task {
	t := progress.New("verify", "read", "parse", "check")
	o.Tracker = t
	return &task{tracker: t, jobs: o.Jobs, cancel: "nothing was changed",
		do: func(s *session) (err error) {
			o.Control = s.control()
			*found, err = restore.Verify(s.ctx, o)
			return err
		},
		ended: func(err error) *report.Report {
			if err != nil {
				return nil
			}
			return verifyReport(t, *found)
		},
		next: func() []string { return damageLines(*found) },
	}
}

// damageLines is what is wrong, for the terminal UI.
func damageLines(found *restore.VerifyReport) (lines []string) {
	for _, d := range found.Warnings {
		lines = append(lines, "warning: "+d.String())
	}
	for _, d := range found.Findings {
		lines = append(lines, d.String()+" ("+d.Hint+")")
	}
	return lines
}

// printDamages names on standard error what is wrong, a line each.
func printDamages(a *app, found *restore.VerifyReport) {
	printDamage(a.stderr, "warning: ", found, found.Warnings)
	printDamage(a.stderr, "", found, found.Findings)
}

// printDamage writes a line for each damage, with a path that other commands take, and a hint behind those that it is for.
func printDamage(w io.Writer, word string, found *restore.VerifyReport, list []restore.Damage) {
	in := ""
	if found.What == "dump" {
		in = strings.TrimRight(found.Path, "/") + "/"
	}
	for i, d := range list {
		fmt.Fprintf(w, "pghaul: %s%s\n", word, show.Line(in+d.String()))
		if i+1 == len(list) || list[i+1].Hint != d.Hint {
			printHint(w, d.Hint)
		}
	}
}

func verifyReport(t *progress.Tracker, found *restore.VerifyReport) *report.Report {
	r := &report.Report{Progress: t.Report()}
	r.Facts = []report.Fact{
		{Key: "path", Value: found.Path}, {Key: "what", Value: found.What}, {Key: "dump_id", Value: found.DumpID},
		{Key: "files", Value: found.Files}, {Key: "stored_bytes", Value: found.StoredBytes},
		{Key: "findings", Value: append([]restore.Damage{}, found.Findings...)}, {Key: "findings_warnings", Value: append([]restore.Damage{}, found.Warnings...)},
		{Key: "ok", Value: found.OK()},
	}
	checked := fmt.Sprintf("%s in %s, %s stored, %s s", show.Plural(found.Rows, "row", "rows"), show.Plural(int64(found.Files), "file", "files"), show.Size(found.StoredBytes),
		seconds(r.Progress.Elapsed))
	r.Outcome = "whole and undamaged: " + checked
	if !found.OK() {
		r.Outcome = fmt.Sprintf("damaged: %s; undamaged: %s", show.Plural(int64(len(found.Findings)), "problem", "problems"), checked)
	}
	return r
}
