package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/watch"
)

// openLog opens the file that --log-file names, before anything else is done.
func (a *app) openLog(c *cobra.Command) error {
	if a.logFile == "" {
		if c.Flags().Changed("log-format") {
			return usagef("option --log-format says how a log file is written, and there is none").hint("name it with --log-file FILE")
		}
		return nil
	}
	f, err := os.OpenFile(a.logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return hint.With(fmt.Errorf("log file: %w", err), "--log-file (or PGHAUL_LOG_FILE, or log-file in pghaul.toml) names a file in a folder that is there, which you may write to")
	}
	a.log = watch.NewLog(f, watch.LogForm(a.logFormat), c.Name())
	return nil
}

// endLog writes what the program has said at its end into the log, closes it and returns the exit code: a log that is not whole is a failure.
func (a *app) endLog(code int, err error, said string) int {
	if a.log == nil {
		return code
	}
	if a.log.Form() == watch.LogJSON {
		for _, r := range endRecords(code, said, err) {
			a.log.Tell(r.level, r.text, r.fields...)
		}
	} else {
		a.tellLines(said)
	}
	if err := a.log.Close(); err != nil {
		fmt.Fprintf(a.stderr, "pghaul: log file: not all is in it: %v\n", err)
		return max(code, exitFailed)
	}
	return code
}

// logFailed writes why a job has failed that does not end the program.
func (a *app) logFailed(job string, err error) {
	var stopped errInterrupted
	if a.log == nil || err == nil || errors.Is(err, context.Canceled) || errors.As(err, &stopped) {
		return
	}
	var b strings.Builder
	printError(&b, err)
	if a.log.Form() != watch.LogJSON {
		a.tellLines(b.String())
		return
	}
	for _, r := range endRecords(exitFailed, b.String(), err) {
		a.log.Tell(r.level, job+": "+r.text, r.fields...)
	}
}

// tellLines writes lines into a log of lines.
func (a *app) tellLines(said string) {
	for line := range strings.Lines(said) {
		a.log.Tell(slog.LevelInfo, strings.TrimSuffix(line, "\n"))
	}
}

// endRecord is a line of the program's last words, with the hint below it.
type endRecord struct {
	level  slog.Level
	text   string
	fields []slog.Attr
}

// endRecords cuts the last words into records. The SQLSTATE of err is the failure's, not that of a warning in front of it.
func endRecords(code int, said string, err error) (all []endRecord) {
	for line := range strings.Lines(said) {
		line = strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "pghaul: ")
		if tip, ok := strings.CutPrefix(line, "hint: "); ok && len(all) > 0 {
			last := &all[len(all)-1]
			last.fields = append(last.fields, slog.String("hint", tip))
			continue
		}
		r := endRecord{level: slog.LevelError, text: line, fields: append([]slog.Attr{slog.Int("exit_code", code)}, watch.SQLState(err)...)}
		if text, ok := strings.CutPrefix(line, "warning: "); ok {
			r = endRecord{level: slog.LevelWarn, text: text}
		} else if code == exitCancelled {
			r.level = slog.LevelWarn
		}
		all = append(all, r)
	}
	return all
}
