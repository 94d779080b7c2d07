package pgtools

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const (
	// keepStderr bounds what is kept of a program's messages.
	keepStderr = 1 << 20
	// maxLine bounds one line; the rest of a longer one is dropped.
	maxLine = 64 << 10
	// maxFailed and maxCommand bound what is kept of failed entries.
	maxFailed  = 10_000
	maxCommand = 64 << 10
)

// lineLog is the stderr of a program: it cuts it into lines, hands them on, and keeps
// the last part of them. It is used by one goroutine at a time.
type lineLog struct {
	each func(line string) // our own reader
	also func(line string) // the caller's

	partial []byte
	kept    []string
	size    int
}

// Write implements io.Writer.
func (l *lineLog) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		room := max(0, maxLine-len(l.partial))
		l.partial = append(l.partial, line[:min(room, len(line))]...)
		if ended {
			l.emit()
		}
		p = rest
	}
	return n, nil
}

// flush ends a last line without a line end.
func (l *lineLog) flush() {
	if len(l.partial) > 0 {
		l.emit()
	}
}

func (l *lineLog) emit() {
	line := strings.TrimSuffix(string(l.partial), "\r")
	l.partial = l.partial[:0]
	l.kept = append(l.kept, line)
	l.size += len(line) + 1
	for l.size > keepStderr {
		l.size -= len(l.kept[0]) + 1
		l.kept[0] = ""
		l.kept = l.kept[1:]
	}
	if l.each != nil {
		l.each(line)
	}
	if l.also != nil {
		l.also(line)
	}
}

func (l *lineLog) lines() []string { return l.kept }

func (l *lineLog) text() string { return strings.Join(l.kept, "\n") }

// meaningfulLine is the last line that names an error, else the last that is not empty.
func meaningfulLine(stderr string) string {
	last := ""
	lines := strings.Split(stderr, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.Contains(lines[i], ": error: ") || strings.Contains(lines[i], "FATAL:") {
			return lines[i]
		}
		if last == "" {
			last = strings.TrimSpace(lines[i])
		}
	}
	return last
}

// escapeControl makes control characters visible, which a server's message may hold.
func escapeControl(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			fmt.Fprintf(&b, `\x%02x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// FailedEntry is a statement of an archive that the server refused.
type FailedEntry struct {
	DumpID          int    // number of the archive's entry; 0: none, a setting at the start
	CatalogOID, OID uint32 // in the source database
	Desc            string // INDEX, FK CONSTRAINT, ACL …
	Name            string // for many kinds with its table in front: "orders orders_pkey"
	Owner           string
	Message         string // the server's, with its DETAIL, HINT and CONTEXT lines
	Command         string // the statement, if pg_restore showed it
}

// The second form is that of version 11 and older.
var (
	reStage   = regexp.MustCompile(`^pg_restore: (?:\[archiver \(db\)\] Error )?while [A-Z]+ ?[A-Z]*:$`)
	reEntry   = regexp.MustCompile(`^pg_restore: (?:\[archiver \(db\)\] Error )?from TOC entry (\d+); (\d+) (\d+) (.*)$`)
	reError   = regexp.MustCompile(`^pg_restore: (?:error:|\[archiver \(db\)\]) (?:could not execute query: )?(.*)$`)
	reQuery   = regexp.MustCompile(`^pg_restore: (?:error:|\[archiver \(db\)\]) could not execute query: `)
	reCommand = regexp.MustCompile(`^(?:    )?Command was: (.*)$`)
	reIgnored = regexp.MustCompile(`^(?:pg_restore: warning|WARNING): errors ignored on restore: (\d+)$`)
)

// restoreParser reads pg_restore's messages line by line. The lines that name entries
// are there with -v alone; without it the statements are found, but not whose they are.
type restoreParser struct {
	failed   []FailedEntry
	ignored  int
	finished bool // the closing count was there

	inStage bool        // "while PROCESSING TOC:" was there: errors are a statement's now
	entry   FailedEntry // the last that was named; holds for all errors until the next
	cur     *FailedEntry
	body    *string // where a line that belongs to the message or the command goes
}

func (p *restoreParser) line(line string) {
	if m := reCommand.FindStringSubmatch(line); m != nil && p.cur != nil && p.body == &p.cur.Message {
		p.body = &p.cur.Command
		*p.body = m[1]
		return
	}
	switch {
	case reStage.MatchString(line):
		p.flush()
		p.inStage, p.entry = true, FailedEntry{}
	case reEntry.MatchString(line):
		p.flush()
		p.inStage = true
		p.entry = parseEntry(reEntry.FindStringSubmatch(line))
	case p.inStage && reError.MatchString(line), reQuery.MatchString(line):
		p.flush()
		e := p.entry
		e.Message = reError.FindStringSubmatch(line)[1]
		p.cur, p.body = &e, &e.Message
	case reIgnored.MatchString(line):
		p.flush()
		p.finished = true
		// The pattern holds digits alone; more than fit an int stay 0.
		if n, err := strconv.Atoi(reIgnored.FindStringSubmatch(line)[1]); err == nil {
			p.ignored = n
		}
	case strings.HasPrefix(line, "pg_restore: "):
		p.flush()
	case p.body != nil && len(*p.body)+len(line) < maxCommand:
		*p.body += "\n" + line
	}
}

// flush ends the failed statement that is being read.
func (p *restoreParser) flush() {
	if p.cur == nil {
		return
	}
	p.cur.Message = strings.TrimRight(p.cur.Message, "\n")
	p.cur.Command = strings.TrimRight(p.cur.Command, "\n")
	if len(p.failed) < maxFailed {
		p.failed = append(p.failed, *p.cur)
	}
	p.cur, p.body = nil, nil
}

// parseEntry reads "desc name owner"; unlike a listing it has no schema.
func parseEntry(m []string) FailedEntry {
	e := FailedEntry{DumpID: atoi(m[1]), CatalogOID: oid(m[2]), OID: oid(m[3])}
	var rest string
	e.Desc, rest = cutDesc(m[4])
	e.Name, e.Owner = cutLast(rest)
	return e
}

// ParseRestoreErrors reads the messages of a pg_restore.
func ParseRestoreErrors(stderr string) []FailedEntry {
	var p restoreParser
	for line := range strings.Lines(stderr) {
		p.line(strings.TrimRight(line, "\r\n"))
	}
	p.flush()
	return p.failed
}
