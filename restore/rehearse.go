package restore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/bytehaul/pghaul/internal/pg"
)

// rehearsalPrefix starts the names of scratch databases.
const rehearsalPrefix = "pghaul_rehearsal_"

// rehearsalNote tells whoever finds a scratch database what it is.
const rehearsalNote = "scratch database of a check by pghaul (--rehearse): drop it when no check is under way"

// dropTime bounds the end of a scratch database.
const dropTime = time.Minute

// rehearse makes the definitions in a scratch database beside the target's, checks there what needs them, calls then, and drops the database
// whatever comes. then gets a job of the scratch database.
func (j *job) rehearse(ctx context.Context, f *findings, then func(*job) error) (err error) {
	if j.archive == nil {
		return nil // it is said already why there are no definitions
	}
	admin, err := j.connectMaintenance(ctx)
	if err != nil {
		return err
	}
	defer closeConn(admin)
	rights, err := admin.Rights(ctx)
	if err != nil {
		return err
	}
	if !rights.CreateDB {
		f.bad("rehearsal", "", "the role may not create databases", "let a role that has CREATEDB make the check, or leave out --rehearse")
		return nil
	}
	name := rehearsalPrefix + randomName()
	defer func() { err = errors.Join(err, j.dropScratch(name)) }()
	j.o.DSN = j.o.DSN.Pin(admin)
	r, err := j.scratch(j.o.DSN.WithDatabase(name))
	if err != nil {
		return err
	}
	r.leader = admin
	if made, err := r.createDatabase(ctx, f, name); err != nil || !made {
		return err
	}
	if err := admin.Exec(ctx, "COMMENT ON DATABASE "+pg.QuoteIdent(name)+" IS "+pg.QuoteLiteral(rehearsalNote)); err != nil {
		return pg.Wrap(err, "comment on the scratch database")
	}
	if err := r.connectTarget(ctx); err != nil {
		return err
	}
	defer func() { // before the database is dropped
		r.blocked.close()
		closeConn(r.leader)
	}()
	if err := r.makeDefinitions(ctx, f); err != nil {
		return err
	}
	return then(r)
}

// randomName is unlike any other.
func randomName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: see crypto/rand
	return fmt.Sprintf("%x", b)
}

// scratch is a restore of the same choice into a scratch database. It shares the dump's folder and archive with j, which closes them.
func (j *job) scratch(dsn *pg.DSN) (*job, error) {
	r := &job{o: j.o, origin: j.origin, folder: j.folder, m: j.m, sum: &Summary{Manifest: j.m}, tools: j.tools, archive: j.archive, damaged: j.damaged, checking: true}
	r.o.DSN, r.o.Create, r.o.Resume, r.o.NoJournal, r.o.Tracker = dsn, false, false, true, nil
	var err error
	r.plan, err = newPlan(&r.o, j.m)
	return r, err
}

// makeDefinitions runs pre-data, and then the checks that need it. What could not be made is an error, for a restore would end without it.
func (j *job) makeDefinitions(ctx context.Context, f *findings) error {
	j.phase = PhasePreData
	if err := j.section(ctx, 1); err != nil {
		return err
	}
	for _, g := range j.gaps {
		f.bad(g.Kind+" "+g.Name, "to be made", g.Message, "a restore would go on without it, and call itself incomplete")
	}
	again := &findings{} // headers that can't be read are known already
	if err := j.checkHeaders(ctx, again); err != nil {
		return err
	}
	b := &findings{phase: phaseB}
	err := j.checkTablesAndTypes(ctx, b)
	f.list = append(f.list, b.list...)
	return err
}

// dropScratch drops a scratch database, with the sessions in it: a pg_restore that was killed may have left one. It works without the check's
// context, which may have ended, and in a session of its own, for the same reason.
func (j *job) dropScratch(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), dropTime)
	defer cancel()
	admin, err := j.connectMaintenance(ctx)
	if err == nil {
		defer closeConn(admin)
		err = admin.DropDatabase(ctx, name)
	}
	if err != nil {
		return withHint(fmt.Errorf("scratch database %q is left behind: %w", name, err), "DROP DATABASE "+pg.QuoteIdent(name))
	}
	return nil
}
