package restore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bytehaul/pghaul/internal/dirlock"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgtools"
)

// preData makes schemas, types, functions and empty tables, then checks before the first row that they are what the rows need.
func (j *job) preData(ctx context.Context) error {
	if err := j.section(ctx, 1); err != nil {
		return err
	}
	if !j.o.parts.rows {
		return nil
	}
	return j.preflightB(ctx)
}

// postData makes indexes, constraints, triggers, rules, policies, publications.
func (j *job) postData(ctx context.Context) error { return j.section(ctx, j.o.Jobs) }

// largeObjects makes and fills the large objects: the only data that the archive holds. Before 17 their making belongs to pre-data, which
// a restore of data only has not run.
func (j *job) largeObjects(ctx context.Context) error {
	later := j.live() && j.resumed // the archive may be of a later snapshot than the one that pre-data was made of
	if j.o.parts.pre && !later {
		return j.section(ctx, 1)
	}
	there := map[int]bool{}
	list, err := j.archive.list(func(e *entry) bool {
		there[e.DumpID] = later && e.isLargeObject()
		return e.isLargeObject()
	})
	if errors.Is(err, errNoEntries) {
		return nil
	}
	return j.restoreEntries(ctx, 1, list, there, j.filters()...)
}

// sectionNames are pg_restore's names of the phases that it does.
var sectionNames = map[string]string{PhasePreData: "pre-data", PhaseLargeObjects: "data", PhasePostData: "post-data"}

// section lets pg_restore do the present phase's section of the archive, as far as it is chosen.
func (j *job) section(ctx context.Context, jobs int) error {
	args := append([]string{"--section=" + sectionNames[j.phase]}, j.filters()...)
	noLarge := j.m.LargeObjects > 0 && !j.hasLargeObjects()
	if j.plan.choice.all() && !noLarge {
		return j.restoreEntries(ctx, jobs, "", nil, args...)
	}
	ch := j.archive.choose(j.plan.choice)
	for _, name := range ch.left {
		if j.phase == PhasePostData {
			j.warn("foreign key %s is left out: the table that it points to is not chosen", name)
		}
	}
	list, err := j.archive.list(func(e *entry) bool { return ch.entries[e.DumpID] && !(noLarge && e.isLargeObject()) })
	if errors.Is(err, errNoEntries) {
		return nil
	}
	if err != nil {
		return err
	}
	return j.restoreEntries(ctx, jobs, list, ch.support, args...)
}

// filters are the options that leave kinds of things out.
func (j *job) filters() (args []string) {
	o := &j.o
	for _, f := range []struct {
		on   bool
		flag string
	}{
		{o.NoOwner, "--no-owner"}, {o.NoPrivileges, "--no-privileges"}, {o.NoComments, "--no-comments"}, {o.NoPublications, "--no-publications"},
		{o.NoSubscriptions, "--no-subscriptions"}, {o.NoTablespaces, "--no-tablespaces"},
	} {
		if f.on {
			args = append(args, f.flag)
		}
	}
	if o.Role != "" {
		args = append(args, "--role="+o.Role)
	}
	return args
}

// restoreEntries runs pg_restore over the listed entries (all, when list is empty) and turns what fails into gaps. support are entries that may be
// there already.
func (j *job) restoreEntries(ctx context.Context, jobs int, list string, support map[int]bool, args ...string) error {
	if jobs == 1 {
		res, err := j.runRestore(ctx, j.tools, list, args)
		if err != nil {
			return err
		}
		return j.tryAgain(ctx, res, support)
	}
	// The messages of parallel workers get into each other's lines. What stays whole is the number of an entry that failed: those are
	// done once more, one after the other.
	failed := map[int]bool{}
	tools := *j.tools
	tools.Line = func(line string) {
		for _, m := range failedEntry.FindAllStringSubmatch(line, -1) {
			if id, err := strconv.Atoi(m[1]); err == nil {
				failed[id] = true
			}
		}
		j.tools.Line(line)
	}
	res, err := j.runRestore(ctx, &tools, list, append(slices.Clone(args), "--jobs="+strconv.Itoa(jobs)))
	if err != nil || res.Ignored == 0 {
		return err
	}
	again, err := j.archive.list(func(e *entry) bool { return failed[e.DumpID] })
	if err != nil {
		return fmt.Errorf("pg_restore counted %d errors and named no entry: %w", res.Ignored, err)
	}
	return j.restoreEntries(ctx, 1, again, support, args...)
}

// failedEntry is how pg_restore starts to speak of an entry whose statement failed.
var failedEntry = regexp.MustCompile(`from TOC entry (\d+); \d+ \d+ `)

// runRestore runs pg_restore on the target.
func (j *job) runRestore(ctx context.Context, tools *pgtools.Tools, list string, args []string) (*pgtools.Result, error) {
	conn, err := j.leader.ToolConn(ctx, j.o.DSN)
	if err != nil {
		return nil, err
	}
	if list != "" {
		path, remove, err := writeList(list)
		if err != nil {
			return nil, err
		}
		defer remove()
		args = append(slices.Clone(args), "--use-list="+path)
	}
	return tools.Restore(ctx, conn, nil, append(slices.Clone(args), j.archive.path)...)
}

// writeList writes a list of entries for pg_restore -L.
func writeList(list string) (path string, remove func(), err error) {
	temp, err := dirlock.NewTemp("list")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = temp.Close() } // what is left of it the next run sweeps
	path = filepath.Join(temp.Path(), "list")
	if err := os.WriteFile(path, []byte(list), 0o600); err != nil {
		remove()
		return "", nil, err
	}
	return path, remove, nil
}

// duplicateStates say of a CREATE that the thing is there: on a resumed restore, and for what was only taken along, that is no failure.
var duplicateStates = []string{"42710", "42P07", "42P06", "42723"}

// tryAgain runs each statement that failed once more by itself: for its SQLSTATE, which pg_restore does not show, and because what it
// needed may be there by now. What fails again is a gap.
func (j *job) tryAgain(ctx context.Context, res *pgtools.Result, support map[int]bool) error {
	if len(res.Failed) == 0 && res.Ignored == 0 {
		return nil
	}
	c, err := j.connectData(ctx) // an archive speaks the source's encoding, as the rows do
	if err != nil {
		return err
	}
	defer closeConn(c)
	if err := c.Exec(ctx, "SET check_function_bodies = off"); err != nil {
		return err
	}
	if err := j.useSearchPath(ctx, c); err != nil {
		return err
	}
	if err := j.wholeKeys(ctx, c, res.Failed); err != nil {
		return err
	}
	statements := map[int]int{} // that failed, by entry
	for _, failed := range res.Failed {
		statements[failed.DumpID]++
	}
	missing := map[int]bool{}   // whose first statement, the CREATE, has failed: the ones behind it can only fail too
	strangers := map[int]bool{} // that were there before the restore began
	for _, g := range j.journalGaps(j.phase) {
		strangers[g.Entry] = strangers[g.Entry] || slices.Contains(duplicateStates, g.SQLState)
	}
	for _, failed := range res.Failed {
		if isHarmless(failed) {
			j.logf("not counted as a failure: %s", failed.Message)
			continue
		}
		err := j.runAlone(ctx, c, failed)
		if ctx.Err() != nil || err != nil && pg.ConnectionLost(err) {
			return err
		}
		// An entry whose second statement fails (its owner, say) may have been made by the first in the round before.
		tolerant := j.journal != nil && j.journal.begun[j.phase] && !strangers[failed.DumpID] || support[failed.DumpID] || statements[failed.DumpID] > 1 ||
			j.o.Clean && (failed.Desc == "SCHEMA" || failed.Desc == "EXTENSION") // which stayed, for what else is in it
		if err == nil || tolerant && isThere(failed, err) {
			continue
		}
		if failed.Desc == "COMMENT" && strings.HasPrefix(failed.Name, "EXTENSION ") && pg.State(err) == pg.StateInsufficientPrivilege {
			j.warn("the comment on %s stays as it is: the extension belongs to another role", strings.ToLower(failed.Name))
			continue
		}
		if missing[failed.DumpID] {
			j.logf("not counted, because it could not be made: %s", err)
			continue
		}
		missing[failed.DumpID] = failed.DumpID != 0 && strings.HasPrefix(failed.Command, "CREATE ")
		j.gap(failed.DumpID, j.gapOf(failed, err))
	}
	if more := res.Ignored - len(res.Failed); more > 0 {
		j.gap(0, Gap{Kind: "unknown", Name: strconv.Itoa(more) + " statements", Message: "pg_restore counted more errors than it named; -v shows its messages"})
	}
	return nil
}

// isHarmless tells of settings at the start of a script that an earlier server does not know.
func isHarmless(e pgtools.FailedEntry) bool {
	return e.DumpID == 0 && strings.Contains(e.Message, "unrecognized configuration parameter")
}

// isThere tells of statements whose work has been done before. A violated unique index has a state of its own, which must not be taken for that.
func isThere(e pgtools.FailedEntry, err error) bool {
	state := pg.State(err)
	return slices.Contains(duplicateStates, state) ||
		state == "42P16" && e.Desc == "CONSTRAINT" || // multiple primary keys
		state == "42809" && e.Desc == "TABLE ATTACH" || // is already a partition
		state == "55000" && e.Desc == "SEQUENCE" || // is already an identity column
		state == pg.StateUniqueViolation && strings.HasPrefix(e.Desc, "BLOB")
}

// wholeCommand bounds the statements that pg_restore's message is sure to show whole.
const wholeCommand = 32 << 10

// runAlone runs a failed statement again: as pg_restore showed it, or else its entry as the archive gives it.
func (j *job) runAlone(ctx context.Context, c *pg.Conn, failed pgtools.FailedEntry) error {
	sql := failed.Command
	if sql == "" || len(sql) > wholeCommand {
		e := j.archive.byID[failed.DumpID]
		if e == nil {
			return errors.New(failed.Message)
		}
		script, err := j.script(ctx, e)
		if err != nil {
			return err
		}
		sql = script
	}
	err := c.Exec(ctx, sql)
	if err != nil && !c.IsClosed() && c.PgConn().TxStatus() != 'I' {
		if e := c.Exec(ctx, "ROLLBACK"); e != nil {
			return e
		}
	}
	return err
}

// script takes one entry out of the archive as SQL.
func (j *job) script(ctx context.Context, e *entry) (string, error) {
	path, remove, err := writeList(e.Line + "\n")
	if err != nil {
		return "", err
	}
	defer remove()
	var out strings.Builder
	if _, err := j.tools.Restore(ctx, pgtools.Conn{}, &out, append(j.filters(), "--use-list="+path, "--file=-", j.archive.path)...); err != nil {
		return "", err
	}
	return statementsOf(out.String()), nil
}

// statementsOf leaves out of a script what is for psql (\restrict) and the settings in front of the first entry, but for those that belong to it.
func statementsOf(script string) string {
	var b strings.Builder
	body, last := false, "" // a body may have any other line
	for line := range strings.Lines(script) {
		switch {
		case strings.HasPrefix(line, "-- Name: "):
			body = true
		case !body && strings.HasPrefix(line, `\restrict `):
			last = `\un` + line[1:]
			continue
		case last != "" && line == last:
			continue
		case !body && !strings.HasPrefix(line, "SET default_"):
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

func (j *job) gapOf(failed pgtools.FailedEntry, err error) Gap {
	g := Gap{Kind: failed.Desc, Name: failed.Name, SQLState: pg.State(err), Message: err.Error()}
	if e := j.archive.byID[failed.DumpID]; e != nil {
		g.Kind, g.Name = e.Desc, e.name()
	}
	if g.Kind == "" {
		g.Kind, g.Name = "SET", firstLine(failed.Command)
	}
	return g
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// again is a phase that an earlier run has finished: only what it could not make is tried once more.
func (j *job) again(ctx context.Context, phase string) error {
	gaps := j.journalGaps(phase)
	switch phase {
	case PhasePreData:
		if err := j.entriesAgain(ctx, gaps); err != nil || !j.live() || !j.o.parts.rows || j.finished(PhaseData) {
			return err
		}
		return j.preflightB(ctx) // definitions at the source may have changed since
	case PhasePostData, PhaseLargeObjects:
		return j.entriesAgain(ctx, gaps)
	case PhaseData:
		return j.dataAgain(ctx, gaps)
	case PhaseSequences:
		return j.sequencesAgain(ctx, gaps)
	case PhaseMatViews:
		return j.refresh(ctx, namedBy(gaps))
	case PhaseRename:
		if len(gaps) > 0 {
			return j.renameAll(ctx)
		}
		return j.publicAgain(ctx)
	case PhaseProof:
		j.provenBefore()
	}
	return nil
}

func (j *job) entriesAgain(ctx context.Context, gaps []journalGap) error {
	wanted := map[int]bool{}
	named := map[[2]string]bool{} // in the archive of another snapshot the numbers may be others
	for _, g := range gaps {
		wanted[g.Entry] = true
		named[[2]string{g.Kind, g.Name}] = true
	}
	list, err := j.archive.list(func(e *entry) bool {
		if j.live() {
			return named[[2]string{e.Desc, e.name()}]
		}
		return wanted[e.DumpID]
	})
	if errors.Is(err, errNoEntries) {
		return nil
	}
	if err != nil {
		return err
	}
	return j.restoreEntries(ctx, 1, list, nil, j.filters()...)
}

// journalGaps are the gaps that an earlier run has left in a phase.
func (j *job) journalGaps(phase string) (gaps []journalGap) {
	if j.journal == nil {
		return nil
	}
	for _, g := range j.journal.gaps {
		if g.Phase == phase {
			gaps = append(gaps, g)
		}
	}
	return gaps
}

func namedBy(gaps []journalGap) func(pg.Qualified) bool {
	names := map[string]bool{}
	for _, g := range gaps {
		names[g.Name] = true
	}
	return func(q pg.Qualified) bool { return names[q.String()] }
}
