package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgtools"
)

// PhaseClean drops what is to be made anew (--clean).
const PhaseClean = "clean"

// cleans tells that there is something to drop within the database.
func (o *Options) cleans() bool { return o.Clean && !o.Create }

// checkClean says what will be dropped.
func (j *job) checkClean(ctx context.Context, f *findings) error {
	if !j.o.cleans() || j.archive == nil || j.cleaned() {
		return nil
	}
	there, missing, err := j.toDrop(ctx)
	if err != nil {
		return err
	}
	if err := j.checkPartitions(ctx, f); err != nil {
		return err
	}
	object := "database " + j.o.DSN.Config.Database
	if len(there) > 0 {
		f.warn(object, "", fmt.Sprintf("%d relations are there and will be dropped with all their rows, and made again: %s", len(there), someOf(there)), "")
	}
	extensions, err := j.droppedExtensions(ctx)
	if err != nil {
		return err
	}
	if len(extensions) > 0 {
		f.warn(object, "", fmt.Sprintf("%d extensions are there and will be dropped with all that is theirs, the rows of their tables too, and made again: %s", len(extensions), someOf(extensions)),
			"--exclude-extension leaves them as they are")
	}
	if len(missing) > 0 && !j.o.IfExists {
		f.warn(object, "", fmt.Sprintf("%d relations that are to be dropped are not there: %s", len(missing), someOf(missing)), "--if-exists says nothing of that")
	}
	return nil
}

// cleaned tells that an earlier run has dropped all there was.
func (j *job) cleaned() bool { return j.journal != nil && j.journal.phases[PhaseClean] }

// toDrop lists the chosen relations, those that are there and those that are not.
func (j *job) toDrop(ctx context.Context) (there, missing []string, err error) {
	names := j.droppedRelations()
	found, err := j.leader.Targets(ctx, names)
	for _, q := range names {
		if found[q] != nil {
			there = append(there, q.String())
		} else {
			missing = append(missing, q.String())
		}
	}
	return there, missing, err
}

func (j *job) droppedRelations() (names []pg.Qualified) {
	dropped := j.drops()
	for _, e := range j.archive.entries {
		if dropped(e) && slices.Contains(relationDescs, e.Desc) {
			names = append(names, pg.Qualified{Schema: format.Name(e.Schema), Name: format.Name(e.Name)})
		}
	}
	return names
}

// droppedExtensions are those of the chosen extensions that are there.
func (j *job) droppedExtensions(ctx context.Context) (names []string, err error) {
	installed, err := j.leader.Extensions(ctx)
	if err != nil {
		return nil, err
	}
	chosen, dropped := map[format.Name]bool{}, j.drops()
	for _, e := range j.archive.entries {
		if e.Desc == "EXTENSION" && dropped(e) {
			chosen[format.Name(e.Name)] = true
		}
	}
	for _, x := range installed {
		if chosen[x.Name] {
			names = append(names, string(x.Name))
		}
	}
	return names, nil
}

// checkPartitions refuses to drop a table that has partitions which are not among what is made again: they and their rows would go with it, for good, and
// without a CASCADE.
func (j *job) checkPartitions(ctx context.Context, f *findings) error {
	found, err := j.leader.Targets(ctx, j.droppedRelations())
	if err != nil {
		return err
	}
	var roots []uint32
	for _, t := range found {
		if t.Kind == 'p' {
			roots = append(roots, t.OID)
		}
	}
	oids, err := j.leader.WithChildren(ctx, roots)
	if err != nil || len(oids) == 0 {
		return err
	}
	all, err := j.leader.Names(ctx, oids)
	for _, q := range all {
		if found[q] == nil {
			f.bad(q.String(), "not among what is to be made again", "a partition of a table that is to be dropped: it would go too, with its rows",
				"ALTER TABLE … DETACH PARTITION, or drop it by hand; or restore into another database")
		}
	}
	return err
}

// drops tells which entries are dropped: the chosen ones, without what is only taken along because they need it.
func (j *job) drops() func(*entry) bool {
	noLarge := !j.hasLargeObjects()
	if j.plan.choice.all() {
		return func(e *entry) bool { return !(noLarge && e.isLargeObject()) }
	}
	ch := j.archive.choose(j.plan.choice)
	return func(e *entry) bool {
		return ch.entries[e.DumpID] && !ch.support[e.DumpID] && !(noLarge && e.isLargeObject())
	}
}

// dropStatements lets pg_restore write the statements that drop what is chosen, in the order that their dependencies need.
func (j *job) dropStatements(ctx context.Context) ([]string, error) {
	list, err := j.archive.list(j.drops())
	if errors.Is(err, errNoEntries) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	path, remove, err := writeList(list)
	if err != nil {
		return nil, err
	}
	defer remove()
	args := []string{"--clean", "--if-exists", "--use-list=" + path, "--file=-"}
	if j.o.parts.pre {
		args = append(args, "--section=pre-data")
	}
	if j.o.parts.post {
		args = append(args, "--section=post-data")
	}
	var out strings.Builder
	for _, f := range j.filters() {
		if !strings.HasPrefix(f, "--role=") { // the session has it
			args = append(args, f)
		}
	}
	if _, err := j.tools.Restore(ctx, pgtools.Conn{}, &out, append(args, j.archive.path)...); err != nil {
		return nil, err
	}
	return dropsOf(out.String()), nil
}

// dropsOf takes the statements out of a script that stand in front of its first entry, without settings.
func dropsOf(script string) (drops []string) {
	for _, statement := range splitStatements(script) {
		if !strings.HasPrefix(statement, "SET ") && !strings.HasPrefix(statement, "SELECT pg_catalog.set_config(") {
			drops = append(drops, statement)
		}
	}
	return drops
}

// splitStatements splits at semicolons that stand in no quotes, up to the script's first entry. Lines of comments and of psql are left out.
func splitStatements(script string) (list []string) {
	var b strings.Builder
	quote := byte(0)
	for line := range strings.Lines(script) {
		if quote == 0 && b.Len() == 0 {
			if strings.HasPrefix(line, "-- Name: ") {
				break
			}
			if strings.HasPrefix(line, "--") || strings.HasPrefix(line, `\`) {
				continue
			}
		}
		for i := range len(line) {
			switch c := line[i]; {
			case quote != 0 && c == quote:
				quote = 0
			case quote == 0 && (c == '\'' || c == '"'):
				quote = c
			case quote == 0 && c == ';':
				list = append(list, strings.TrimSpace(b.String()))
				b.Reset()
				continue
			case b.Len() == 0 && (c == '\n' || c == ' '):
				continue
			}
			b.WriteByte(line[i])
		}
	}
	if rest := strings.TrimSpace(b.String()); rest != "" {
		list = append(list, rest)
	}
	return list
}

// clean drops in one transaction, which notes it in the journal too. Never with CASCADE: what others need stays, and then all stays.
func (j *job) clean(ctx context.Context) error {
	drops, err := j.dropStatements(ctx)
	if err != nil {
		return err
	}
	c, err := j.connectData(ctx) // the archive speaks the source's encoding
	if err != nil {
		return err
	}
	defer closeConn(c)
	f := &findings{phase: PhaseClean}
	if err := j.checkPartitions(ctx, f); err != nil { // once more: the question may have waited long for its answer
		return err
	}
	if f.refused() != nil {
		return j.notDropped(ctx, f)
	}
	if err := c.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	for _, sql := range drops {
		if err := j.drop(ctx, c, sql); err != nil {
			if pg.State(err) == "" || ctx.Err() != nil {
				return err
			}
			if e := c.Exec(ctx, "ROLLBACK"); e != nil {
				return errors.Join(err, e)
			}
			f.bad(sql, "", pg.Wrap(err, "refused").Error()+"; nothing was dropped", "drop what depends on it by hand, or choose that too; or restore into another database")
			return j.notDropped(ctx, f)
		}
	}
	end := "COMMIT"
	if j.journal != nil {
		end = j.journal.phaseSQL(c, PhaseClean) + "; COMMIT"
	}
	return pg.Wrap(c.Exec(ctx, end), "end of the drops")
}

// drop runs one statement. A schema or an extension that holds or serves other things stays, and is found there when it would be made. A constraint that belongs
// to one of a partitioned table, or of a table that is inherited from, cannot be dropped by itself: it goes with that one or with its table, which come later.
func (j *job) drop(ctx context.Context, c *pg.Conn, sql string) error {
	stays := strings.HasPrefix(sql, "DROP SCHEMA ") || strings.HasPrefix(sql, "DROP EXTENSION ")
	if !stays && !strings.HasPrefix(sql, "ALTER TABLE ") {
		return c.Exec(ctx, sql)
	}
	err := c.Exec(ctx, "SAVEPOINT one; "+sql+"; RELEASE one")
	const dependentObjects, invalidTableDefinition = "2BP01", "42P16"
	switch state := pg.State(err); {
	case stays && state == dependentObjects:
		j.warn("%s: not done, because other things are in it or depend on it", sql)
	case strings.HasPrefix(sql, "ALTER TABLE ") && state == invalidTableDefinition:
	default:
		return err
	}
	return c.Exec(ctx, "ROLLBACK TO one; RELEASE one")
}

// notDropped refuses the restore: nothing was dropped, and nothing is left of the journal that was just made.
func (j *job) notDropped(ctx context.Context, f *findings) error {
	if j.journal != nil && !j.resumed {
		if err := j.journal.drop(ctx, j.leader); err != nil {
			return errors.Join(f.refused(), err)
		}
	}
	return f.refused()
}

// confirmClean asks before anything is dropped.
func (j *job) confirmClean(ctx context.Context) error {
	if !j.o.cleans() || j.o.Confirm == nil || j.created || j.cleaned() {
		return nil
	}
	there, _, err := j.toDrop(ctx)
	if err != nil {
		return err
	}
	what := "What the dump makes"
	if len(there) > 0 {
		what = fmt.Sprintf("What the dump makes, %s among it,", someOf(there))
	}
	return j.ask(fmt.Sprintf("%s will be dropped in database %q, and made again.", what, j.o.DSN.Config.Database), "nothing was dropped")
}

// ask puts a question that is answered by the database's name.
func (j *job) ask(question, otherwise string) error {
	yes, err := j.o.Confirm(question, j.o.DSN.Config.Database)
	if err == nil && !yes {
		err = withHint(errors.New("not confirmed: "+otherwise), "type the name of the database, or give --yes")
	}
	return err
}

// Sessions that are about to end are waited for, as DROP DATABASE itself does: CountOtherDBBackends in src/backend/storage/ipc/procarray.c.
const (
	leaveTime = 5 * time.Second
	leaveLook = 100 * time.Millisecond
)

// stayIn names the sessions in a database that do not leave it.
func (j *job) stayIn(ctx context.Context, database string) ([]string, error) {
	look := time.NewTicker(leaveLook)
	defer look.Stop()
	for until := time.Now().Add(leaveTime); ; {
		others, err := j.leader.SessionsIn(ctx, database)
		if err != nil || len(others) == 0 || time.Now().After(until) {
			return others, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-look.C:
		}
	}
}

// checkDropDatabase decides whether the database can be dropped, to be made again. Nobody is thrown out of it.
func (j *job) checkDropDatabase(ctx context.Context, f *findings) error {
	name := j.o.DSN.Config.Database
	others, err := j.stayIn(ctx, name)
	if err != nil {
		return err
	}
	if len(others) > 0 {
		f.bad("database "+name, "to be dropped, and made again", fmt.Sprintf("%d others are connected: %s", len(others), someOf(others)), "let them disconnect, or end them with pg_terminate_backend")
	}
	f.warn("database "+name, "", "exists, and will be dropped with all that is in it, and made again", "")
	j.dropFirst = true
	return nil
}

// dropDatabase drops the database after the operator's word.
func (j *job) dropDatabase(ctx context.Context, f *findings) error {
	name := j.o.DSN.Config.Database
	if j.o.Confirm != nil {
		if err := j.ask(fmt.Sprintf("Database %q and all that is in it will be dropped, and made again.", name), "the database was not dropped"); err != nil {
			return err
		}
	}
	template, err := j.leader.IsTemplate(ctx, name)
	if err != nil {
		return err
	}
	if template { // as pg_restore does
		err = j.leader.Exec(ctx, "ALTER DATABASE "+pg.QuoteIdent(name)+" IS_TEMPLATE false")
	}
	if err == nil {
		err = j.leader.Exec(ctx, "DROP DATABASE IF EXISTS "+pg.QuoteIdent(name))
	}
	if err != nil && pg.State(err) != "" && ctx.Err() == nil {
		if template { // it stays what it was
			if e := j.leader.Exec(ctx, "ALTER DATABASE "+pg.QuoteIdent(name)+" IS_TEMPLATE true"); e != nil {
				return errors.Join(err, e)
			}
		}
		f.bad("database "+name, "to be dropped, and made again", pg.Wrap(err, "DROP DATABASE").Error(), "make that possible, or restore into another database")
		return f.refused()
	}
	return pg.Wrap(err, "DROP DATABASE")
}
