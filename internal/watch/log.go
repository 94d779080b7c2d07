package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
)

// LogForm is how a log's records are written.
type LogForm string

// The forms.
const (
	LogText LogForm = "text" // the time and what Plain says, a line each
	LogJSON LogForm = "json" // a JSON object a line; the names of its fields are an interface
)

// Log is where what is said is kept: a file, mostly. It is safe for concurrent use, and each record is one write. An error in writing
// sticks; Close gives it.
type Log struct {
	form    LogForm
	job     string // of what is said outside a job
	handler slog.Handler

	mu  sync.Mutex
	to  io.WriteCloser
	err error
}

// NewLog writes records to w, which it owns from now on: Close closes it. What is not said by a job of its own name goes by job, the command's name.
func NewLog(w io.WriteCloser, form LogForm, job string) *Log {
	l := &Log{form: form, job: job, to: w}
	if form == LogJSON {
		l.handler = slog.NewJSONHandler(l, &slog.HandlerOptions{ReplaceAttr: logAttr})
	}
	return l
}

// logAttr writes times and levels as the other documents of pghaul do.
func logAttr(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		return slog.String(a.Key, a.Value.Time().UTC().Format(stampFormat))
	case slog.LevelKey:
		return slog.String(a.Key, levelWord(a.Value.Any().(slog.Level)))
	}
	return a
}

func levelWord(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "error"
	case l >= slog.LevelWarn:
		return "warning"
	}
	return "info"
}

// Write implements [io.Writer]: one call is one record, or several whole lines.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	if l.form == LogJSON {
		_, l.err = l.to.Write(show.JSON(p))
	} else {
		_, l.err = l.to.Write(p)
	}
	return len(p), l.err
}

// Close closes the file and says what went wrong with it since NewLog.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.err, l.to.Close())
}

// Form is the form of the records.
func (l *Log) Form() LogForm { return l.form }

// Tell writes a line that is no job's: with the fields, in JSON alone, and the level.
func (l *Log) Tell(level slog.Level, text string, fields ...slog.Attr) {
	if l.form == LogJSON {
		l.record(time.Now(), level, l.job, text, fields...)
		return
	}
	_, _ = l.Write([]byte(time.Now().UTC().Format(stampFormat) + " " + show.Line(text) + "\n")) // Close tells of it
}

func (l *Log) record(t time.Time, level slog.Level, job, text string, fields ...slog.Attr) {
	r := slog.NewRecord(t, level, text, 0)
	r.AddAttrs(slog.String("job", job))
	r.AddAttrs(fields...)
	_ = l.handler.Handle(context.Background(), r) // an error of Write, which Close tells of
}

// view is the part of an observer that writes to the log.
func (l *Log) view() view {
	if l.form == LogJSON {
		return &logView{log: l, job: l.job}
	}
	return &plainView{out: l, dated: true}
}

// logView writes a job's events as records. The fields have the names that they have in jsonView.
type logView struct {
	log   *Log
	job   string
	phase string
	told  time.Time // when it was last said how far the job is
}

func (v *logView) look(news []progress.Event, s progress.Snapshot, r progress.Rate) {
	v.job = s.Job
	for _, e := range news {
		v.event(e, s)
	}
	switch {
	case !moving(s) || v.told.IsZero():
		v.told = s.Time
	case s.Time.Sub(v.told) >= plainEvery:
		v.told = s.Time
		v.write(s.Time, slog.LevelInfo, s.Phase.Name+": "+far(s, r), slog.Int64("rows", s.Rows), slog.Int64("bytes", s.Bytes))
	}
}

func (v *logView) say(text string) { v.write(time.Now(), slog.LevelInfo, text) }

func (v *logView) clear() {}

// write writes a record of the job, with the phase in which it is.
func (v *logView) write(t time.Time, level slog.Level, text string, fields ...slog.Attr) {
	if v.phase != "" {
		fields = append([]slog.Attr{slog.String("phase", v.phase)}, fields...)
	}
	v.log.record(t, level, v.job, text, fields...)
}

func (v *logView) event(e progress.Event, s progress.Snapshot) {
	moved := []slog.Attr{slog.String("table", e.Table), slog.Int64("rows", e.Rows), slog.Int64("bytes", e.Bytes), took(e.Took)}
	switch e.Kind {
	case progress.PhaseStart:
		v.phase = e.Phase
		v.write(e.Time, slog.LevelInfo, line(e), slog.String("state", "start"))
	case progress.PhaseEnd:
		v.write(e.Time, slog.LevelInfo, phaseName(e.Phase, e.N, e.Of)+": ended", slog.String("state", "end"), took(e.Took))
		v.phase = ""
	case progress.TableEnd:
		v.write(e.Time, slog.LevelInfo, line(e), moved...)
	case progress.TableError:
		v.write(e.Time, slog.LevelError, line(e), append(moved, SQLState(e.Err)...)...)
	case progress.Warning:
		v.write(e.Time, slog.LevelWarn, e.Message)
	case progress.GapFound:
		g := []slog.Attr{slog.String("kind", e.Gap.Kind), slog.String("name", e.Gap.Name)}
		if e.Gap.SQLState != "" {
			g = append(g, slog.String("sqlstate", e.Gap.SQLState))
		}
		v.write(e.Time, slog.LevelError, line(e), g...)
	case progress.Finished:
		v.finished(e, s)
	case progress.Paused, progress.Resumed, progress.Dropped:
		v.write(e.Time, slog.LevelInfo, line(e))
	}
}

// finished is the last record of a job. Why it has failed the program says when it ends.
func (v *logView) finished(e progress.Event, s progress.Snapshot) {
	level, word := slog.LevelInfo, "done"
	switch {
	case cancelled(e.Err):
		level, word = slog.LevelWarn, "cancelled"
	case e.Err != nil:
		level, word = slog.LevelError, "failed"
	case s.Gaps > 0:
		level, word = slog.LevelError, "incomplete"
	}
	v.phase = ""
	text := fmt.Sprintf("%s: %s, %s, %s s", word, show.Plural(s.Rows, "row", "rows"), show.Size(s.Bytes), show.Seconds(e.Took))
	v.write(e.Time, level, text, slog.Bool("ok", e.Err == nil && s.Gaps == 0), slog.Int64("rows", s.Rows), slog.Int64("bytes", s.Bytes), took(e.Took),
		slog.Int("tables", s.Tables.Total), slog.Int("tables_done", s.Tables.Done), slog.Int("tables_proven", s.Tables.Proven), slog.Int("warnings", s.Warnings), slog.Int("gaps", s.Gaps))
}

// cancelled tells whether a job was ended by its operator: by a context, or by an error that says so itself.
func cancelled(err error) bool {
	var byOperator interface{ Cancelled() bool }
	return errors.Is(err, context.Canceled) || errors.As(err, &byOperator) && byOperator.Cancelled()
}

func took(d time.Duration) slog.Attr { return slog.Float64("elapsed_s", *seconds(d)) }

// SQLState is the field that holds a server's error code, when err is of a server; else there is none.
func SQLState(err error) []slog.Attr {
	var of interface{ SQLState() string }
	if !errors.As(err, &of) || strings.TrimSpace(of.SQLState()) == "" {
		return nil
	}
	return []slog.Attr{slog.String("sqlstate", of.SQLState())}
}
