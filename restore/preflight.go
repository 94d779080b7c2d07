package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// The two preflights: before anything is written, and behind pre-data before the first row.
const (
	phaseA = "preflight A"
	phaseB = "preflight B"
)

// maintenance are the databases from which another one is made.
var maintenance = []string{"postgres", "template1"}

// preflightA checks everything that can be checked before anything is written, then makes what the phases behind it need: the database that
// --create asks for, and the journal.
func (j *job) preflightA(ctx context.Context) error {
	f := &findings{phase: phaseA, live: j.live()}
	if err := j.connect(ctx, f); err != nil {
		return err
	}
	if err := f.refused(); err != nil {
		return err
	}
	if err := j.examine(ctx, f); err != nil {
		return err
	}
	if err := f.refused(); err != nil {
		return err
	}
	if err := j.begin(ctx, f); err != nil {
		return err
	}
	if j.dropFirst {
		if err := j.dropDatabase(ctx, f); err != nil {
			return err
		}
	}
	if !j.onTarget {
		if err := j.create(ctx, f); err != nil {
			return err
		}
	}
	for _, x := range f.list {
		j.warn("%s: %s", x.Object, x.says())
	}
	for _, confirm := range []func(context.Context) error{j.confirm, j.confirmClean} {
		if err := confirm(ctx); err != nil {
			return err
		}
	}
	if j.journal != nil && !j.resumed {
		if err := j.journal.begin(ctx, j.leader, j.fingerprint()); err != nil {
			return err
		}
		if err := j.noteLargeObjects(ctx); err != nil {
			return err
		}
	}
	j.track()
	return j.journalProperties(ctx)
}

// examine makes the checks of preflight A on the connected server. It writes nothing.
func (j *job) examine(ctx context.Context, f *findings) error {
	if err := j.checkNames(ctx, f); err != nil || f.refused() != nil {
		return err // no query can be made with such names
	}
	list := []named{{"server, roles, extensions", j.checkServer, j.fineServer}, {"files", j.checkFiles, j.fineFiles}, {"definitions", j.checkArchive, j.fineArchive},
		{"headers of the tables", j.checkHeaders, j.fineTables}, {"what the role may make", j.checkOrdinary, nil}}
	if j.onTarget {
		list = append(list, named{"journal", j.checkJournal, j.fineJournal}, named{"samples of builtin types", j.checkBuiltinSamples, j.fineSamples},
			named{"triggers and keys", j.disableTriggers, nil}, named{"tables that exist", j.checkExisting, j.fineExisting}, named{"what is dropped first", j.checkClean, nil})
	}
	return j.checks(ctx, f, append(list, named{"other names", j.checkMap, nil})...)
}

// phaseProperties is what a new database got besides its tables; in the journal it is a phase of its own.
const phaseProperties = "database"

// journalProperties notes what --create could not set, and tries it again on a resumed restore.
func (j *job) journalProperties(ctx context.Context) error {
	if j.resumed && len(j.journalGaps(phaseProperties)) > 0 {
		j.databaseProperties(ctx)
	} else if !j.created {
		return nil
	}
	if j.journal == nil {
		return nil
	}
	return j.journal.finish(ctx, j.leader, phaseProperties, j.gaps)
}

// fingerprint tells restores of the same dump apart that load different parts of it, or do other things to what is there.
func (j *job) fingerprint() string {
	text := fmt.Sprintf("%s %s%s%s", j.o.parts, j.plan.choice, j.plan.mapped, j.plan.rename)
	if j.o.cleans() { // which must not drop what an interrupted run has made
		text += "--clean "
	}
	if j.o.OnExisting != Fail { // nor a truncate the rows that it has loaded
		text += fmt.Sprintf("--on-existing=%s ", j.o.OnExisting)
	}
	if j.o.DisableTriggers { // the keys are looked at behind the last row
		text += "--disable-triggers "
	}
	if j.live() { // a dump has chosen its rows already
		for _, t := range j.plan.tables {
			if t.entry.Where != "" {
				text += fmt.Sprintf("--where %s:%s ", t.name, t.entry.Where)
			}
		}
	}
	return text
}

// track makes the tables known, and takes out what an earlier run has loaded.
func (j *job) track() {
	if !j.o.parts.rows {
		return
	}
	j.plan.track(j.o.Tracker)
	for _, t := range j.plan.tables {
		var left []int
		for i := range t.entry.Segments {
			seg := &t.entry.Segments[i]
			if !j.journal.done(t, seg) {
				left = append(left, i)
				continue
			}
			j.loaded.Add(1)
			t.progress.Part(i).AlreadyDone(seg.Rows, seg.RawBytes)
		}
		t.left = left
	}
	j.plan.segments = loadsOf(j.plan.tables)
	j.complete = int(j.loaded.Load()) == j.plan.segments
}

// connect opens the leader: to the target, with the restore's lock, or to a maintenance database when the target is still to be made.
func (j *job) connect(ctx context.Context, f *findings) error {
	name := j.o.DSN.Config.Database
	if j.o.Create {
		c, err := j.connectMaintenance(ctx)
		if err != nil {
			return err
		}
		exists, err := c.DatabaseExists(ctx, name)
		if err == nil && (!exists || j.o.Clean && !j.o.Resume) {
			if j.leader = c; exists {
				return j.checkDropDatabase(ctx, f)
			}
			return nil
		}
		closeConn(c)
		if err != nil {
			return err
		}
		if !j.o.Resume {
			f.bad("database "+name, "", "exists already", "leave out --create to restore into it, drop it (--clean does), or go on with an interrupted restore by --resume")
			return nil
		}
	}
	return j.connectTarget(ctx)
}

func (j *job) connectMaintenance(ctx context.Context) (*pg.Conn, error) {
	return connectMaintenance(ctx, j.o.DSN, j.o.Role)
}

// TargetVersion asks a target for its server_version_num, by way of another database when create says that the named one is still to be made.
func TargetVersion(ctx context.Context, dsn *pg.DSN, create bool) (int, error) {
	c, err := pg.Connect(ctx, dsn, pg.Options{Purpose: pg.ForCatalog, AppName: appName})
	if create && pg.State(err) == pg.StateUndefinedDatabase {
		c, err = connectMaintenance(ctx, dsn, "")
	}
	if pg.State(err) == pg.StateUndefinedDatabase {
		return 0, withHint(err, "--create makes the database")
	}
	if err != nil {
		return 0, err
	}
	defer closeConn(c)
	return c.Version, nil
}

func connectMaintenance(ctx context.Context, dsn *pg.DSN, role string) (*pg.Conn, error) {
	var failures []error
	for _, name := range maintenance {
		c, err := pg.Connect(ctx, dsn.WithDatabase(name), pg.Options{Purpose: pg.ForCatalog, AppName: appName, Role: role})
		if err == nil {
			return c, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

func (j *job) connectTarget(ctx context.Context) error {
	c, err := pg.Connect(ctx, j.o.DSN, pg.Options{Purpose: pg.ForCatalog, AppName: appName, Role: j.o.Role})
	if err != nil {
		if pg.State(err) == pg.StateUndefinedDatabase && !j.o.DataOnly {
			return withHint(err, "--create makes the database")
		}
		return err
	}
	j.leader, j.onTarget = c, true
	j.o.DSN = j.o.DSN.Pin(c)
	if err := c.RefusePooler(ctx, j.o.DSN); err != nil {
		return err
	}
	j.watchBlocked(ctx)
	if j.checking {
		return nil
	}
	return j.takeLock(ctx)
}

// checkServer compares the servers: versions, encodings, roles, extensions, privileges.
func (j *job) checkServer(ctx context.Context, f *findings) error {
	source := j.m.Source.Server
	from, to := source.VersionNum/10000, j.leader.Version/10000
	if to < from && j.o.parts.definitions() {
		f.bad("server", fmt.Sprintf("taken from PostgreSQL %d", from), fmt.Sprintf("PostgreSQL %d", to), "definitions do not go down to an earlier version: make the tables by hand and restore with --data-only")
	}
	if !j.o.Create {
		j.checkEncoding(ctx, f)
	}
	if err := j.checkRoles(ctx, f); err != nil {
		return err
	}
	if j.o.parts.pre {
		var names []format.Name
		for _, e := range j.m.Extensions {
			if j.plan.choice.hasExtension(e.Name) {
				names = append(names, e.Name)
			}
		}
		missing, err := j.leader.MissingExtensions(ctx, names)
		if err != nil {
			return err
		}
		for _, name := range missing {
			f.bad("extension "+string(name), "installed", "not available", "install the extension's files on the target server")
		}
	}
	return j.checkRights(ctx, f)
}

// checkEncoding asks whether the rows' encoding can become the target's.
func (j *job) checkEncoding(ctx context.Context, f *findings) {
	from, to := j.m.Source.Server.Encoding, j.leader.Encoding
	object := "database " + j.o.DSN.Config.Database
	switch {
	case from == to:
	case from == "SQL_ASCII":
		f.bad(object, "encoding SQL_ASCII: bytes of any encoding", "encoding "+to, "restore into a database made with ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0 (--create makes it)")
	case to == "SQL_ASCII":
		f.warn(object, "encoding "+from, "encoding SQL_ASCII: texts keep the bytes of "+from, "")
	case to != "UTF8":
		f.warn(object, "encoding "+from, "encoding "+to+": characters that it lacks will be refused when their row comes", "")
	}
	if j.m.Source.Server.Collate != "" && from == to {
		if s, err := j.leader.Server(ctx); err == nil && (s.Collate != j.m.Source.Server.Collate || s.Provider != j.m.Source.Server.Provider) {
			f.warn(object, "collation "+j.m.Source.Server.Collate+" of "+j.m.Source.Server.Provider, "collation "+s.Collate+" of "+s.Provider+": texts sort in another order", "")
		}
	}
}

func (j *job) checkRoles(ctx context.Context, f *findings) error {
	if !j.o.parts.definitions() || j.o.NoOwner && j.o.NoPrivileges {
		return nil
	}
	roles := slices.Clone(j.m.Roles)
	if j.o.Create {
		roles = append(roles, j.databaseRoles()...)
	}
	missing, err := j.leader.MissingRoles(ctx, roles)
	for _, role := range missing {
		f.warn("role "+string(role), "owns or is granted something", "no such role", "create it first: pg_dumpall --globals-only of the source has the roles; or leave owners and grants out with --no-owner and --no-privileges; else what needs it will be named as missing")
	}
	return err
}

// databaseRoles are those that the properties of the database name.
func (j *job) databaseRoles() []format.Name {
	source := &j.m.Source
	roles := []format.Name{source.Owner}
	for _, g := range source.ACL {
		roles = append(roles, g.Grantee)
	}
	for _, s := range source.Settings {
		roles = append(roles, s.Role)
	}
	slices.Sort(roles)
	return slices.DeleteFunc(slices.Compact(roles), func(role format.Name) bool { return role == "" || slices.Contains(j.m.Roles, role) })
}

func (j *job) checkRights(ctx context.Context, f *findings) error {
	rights, err := j.leader.Rights(ctx)
	if err != nil {
		return err
	}
	object := "database " + j.o.DSN.Config.Database
	switch {
	case !j.onTarget && !rights.CreateDB:
		f.bad(object, "", "the role may not create databases", "let somebody create it who may")
	case !j.onTarget:
	case j.journal != nil && !rights.Create:
		f.bad(object, "", "the role may not create schemas, which the journal needs", "GRANT CREATE ON DATABASE, or restore with --no-journal")
	case j.o.parts.pre && !rights.Create:
		f.warn(object, "", "the role may not create schemas", "GRANT CREATE ON DATABASE")
	}
	return nil
}

// kindOf tells a dump's ID from that of a live source, which names a server and a database.
func kindOf(id string) string {
	if strings.Contains(id, "/") {
		return "source"
	}
	return "dump"
}

// checkJournal looks for the traces of an earlier restore.
func (j *job) checkJournal(ctx context.Context, f *findings) error {
	if j.journal == nil {
		return nil
	}
	name := j.journal.schema
	object := "schema " + name
	state, other, err := j.journal.read(ctx, j.leader)
	if err != nil {
		return err
	}
	what := kindOf(j.m.DumpID)
	drop := "or remove the journal: DROP SCHEMA " + pg.QuoteIdent(name) + " CASCADE"
	switch {
	case state == journalForeign:
		f.bad(object, "", "exists and is no journal of a restore", "name another one with --journal-schema")
	case state == journalOther:
		f.bad(object, what+" "+j.m.DumpID, "an unfinished restore of "+kindOf(other)+" "+other, "finish that one with --resume, "+drop)
	case state == journalOurs && !j.o.Resume:
		f.bad(object, "", "an unfinished restore of this "+what, "go on with it by --resume, "+drop)
	case state == journalNone && j.o.Resume:
		return j.nothingToResume(ctx, f, object)
	case state == journalOurs && j.journal.choice != j.fingerprint():
		f.bad(object, "the unfinished restore was started with "+j.journal.choice, "this one with "+j.fingerprint(), "go on with the options that it was started with")
	case state == journalOurs:
		j.resumed = true
		return j.takeOver(ctx, f)
	}
	return nil
}

// nothingToResume tells a restore that came to its end, whose journal goes last, from one that never began: the answer to the last statement can be lost.
func (j *job) nothingToResume(ctx context.Context, f *findings, object string) error {
	there, err := j.existing(ctx)
	if err != nil {
		return err
	}
	found, err := j.leader.Targets(ctx, there)
	if err != nil {
		return err
	}
	full := slices.ContainsFunc(there, func(q pg.Qualified) bool {
		t := found[q]
		if t == nil || !strings.ContainsRune("rpf", rune(t.Kind)) {
			return false
		}
		has, err := j.leader.HasRows(ctx, t)
		return err == nil && has // a table that can't be read tells nothing
	})
	const none = "there is no journal, so nothing to resume"
	switch {
	case len(there) == 0:
		f.bad(object, "", none+": none of the dump's tables is there", "no restore has begun here: leave out --resume")
	case !full:
		f.bad(object, "", none+": the dump's tables hold no rows", "leave out --resume; for tables that exist, add --data-only")
	default:
		f.bad(object, "", none+", and the dump's tables hold rows",
			"an earlier restore came to its end, which removes the journal: its work is done, even if its last answer was lost; or the rows are somebody else's")
	}
	return nil
}

// confirm asks before rows are destroyed.
func (j *job) confirm(ctx context.Context) error {
	if j.o.OnExisting != Truncate || j.o.Confirm == nil || j.journal != nil && j.journal.phases[phaseTruncate] {
		return nil
	}
	holding, closed, err := j.leader.WithRows(ctx, j.targets())
	if err != nil {
		return err
	}
	full := len(closed) // to be on the safe side
	for _, has := range holding {
		if has {
			full++
		}
	}
	if full == 0 {
		return nil
	}
	database := j.o.DSN.Config.Database
	yes, err := j.o.Confirm(fmt.Sprintf("All rows in %s of database %q will be deleted.", number(full, "table", "tables"), database), database)
	if err == nil && !yes {
		err = withHint(errors.New("not confirmed: nothing was deleted"), "type the name of the database, or give --yes")
	}
	return err
}
