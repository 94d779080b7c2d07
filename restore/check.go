package restore

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/bytehaul/pghaul/format"
)

// CheckOptions of [Check].
type CheckOptions struct {
	// Options of the restore that is asked about. Without DataOnly it is one of rows alone when any of the dump's tables is there already.
	// With DryLoad, Tracker needs the stages read, parse, convert, check; else read, parse, check.
	Options

	DryLoad  bool // send every row to the target's server, and let it write none
	Rehearse bool // make the definitions in a scratch database on the target's server
}

// CheckReport says whether a restore would begin.
type CheckReport struct {
	Files     *VerifyReport  `json:"-"`        // of the dump itself
	Target    string         `json:"name"`     // server and database, for people
	As        string         `json:"as"`       // the restore that was asked about: restore, restore --data-only …
	Findings  []Finding      `json:"findings"` // errors would refuse it
	Rehearsed bool           `json:"rehearsed"`
	DryLoad   *DryLoadReport `json:"dry_load,omitempty"` // nil: none was made
}

// OK says whether the dump is undamaged and a restore would begin.
func (r *CheckReport) OK() bool { return r.Files.OK() && !hasErrors(r.Findings) }

// Names of a check's phases.
const (
	PhaseVerify    = "verify"
	PhaseRehearsal = "rehearsal"
	PhaseDryLoad   = "dry load"
)

// Check verifies a dump as [Verify] does, and asks a server whether a restore with the same options would begin there: all of its preflight, and nothing
// written to the named database. What is wrong is in the report, never an error; the error is for what could not be looked at. When ctx ends, queries end
// on the server too, and a rehearsal's database is dropped all the same. Check returns when every goroutine and connection that it made is gone.
func Check(ctx context.Context, o CheckOptions) (_ *CheckReport, err error) {
	defer func() { o.Tracker.Finish(err) }()
	defer o.Control.Follow(o.Tracker.SetPaused)()
	if o.Create && o.DryLoad && !o.Rehearse {
		return nil, withHint(errors.New("a dry load needs the tables, which a database that is still to be made has not"), "add --rehearse")
	}
	if (o.DataOnly || o.SchemaOnly) && o.Rehearse {
		return nil, errors.New("a rehearsal makes the definitions and looks at the rows: --rehearse excludes --data-only and --schema-only")
	}
	c := &checker{CheckOptions: o, report: &CheckReport{Findings: []Finding{}}}
	if err := c.run(ctx); err != nil {
		return nil, canceled(ctx, err)
	}
	return c.report, nil
}

// checker is one run of Check.
type checker struct {
	CheckOptions
	report *CheckReport
	phases int // begun
}

func (c *checker) phase(name string) {
	of := 2
	for _, more := range []bool{c.Rehearse, c.DryLoad} {
		if more {
			of++
		}
	}
	c.phases++
	c.Tracker.StartPhase(name, c.phases, of)
}

func (c *checker) run(ctx context.Context) error {
	j, err := openJob(c.Options)
	if err != nil {
		return c.unreadable(ctx, err)
	}
	defer j.close()
	j.checking = true
	f := &findings{phase: phaseA}
	defer func() { c.report.Findings = append(c.report.Findings, f.list...) }()
	c.Tracker.SetTarget(c.DSN.String())
	if err := j.connect(ctx, f); err != nil { // before the files, which may take an hour
		return err
	}
	c.report.Target = j.o.DSN.String()
	if err := c.verify(ctx, j.m); err != nil {
		return err
	}
	j.verified = c.report.Files
	if f.refused() != nil {
		return nil // there is no database to look into
	}
	c.phase(PhasePreflight)
	if err := c.preflight(ctx, j, f); err != nil {
		return err
	}
	if c.Rehearse {
		c.phase(PhaseRehearsal)
		return j.rehearse(ctx, f, func(r *job) error {
			c.report.Rehearsed = true
			return c.dryLoad(ctx, r, f)
		})
	}
	return c.dryLoad(ctx, j, f)
}

// unreadable is for a dump whose manifest can't be read: its files are looked at alone.
func (c *checker) unreadable(ctx context.Context, why error) error {
	if errors.Is(why, os.ErrNotExist) && !errors.Is(why, format.ErrUnfinished) || c.DSN == nil {
		return why
	}
	if err := c.verify(ctx, nil); err != nil {
		return err
	}
	if c.report.Files.OK() { // it is not the dump that is wrong
		return why
	}
	return nil
}

// verify looks at the files. A dry load counts its own rows.
func (c *checker) verify(ctx context.Context, m *format.Manifest) (err error) {
	c.phase(PhaseVerify)
	o := VerifyOptions{Path: c.Dir, Jobs: c.Jobs, Tracker: c.Tracker, Control: c.Control, manifest: m}
	if c.DryLoad {
		o.Tracker = nil
	}
	if f, ok := c.Origin.(*File); ok {
		c.report.Files, err = f.verify(ctx, o)
		return err
	}
	c.report.Files, err = verify(ctx, o)
	return err
}

// preflight makes the checks of the restore that fits what is there.
func (c *checker) preflight(ctx context.Context, j *job, f *findings) error {
	if j.onTarget {
		if err := j.checkLock(ctx, f); err != nil || f.refused() != nil {
			return err // what another restore is doing to the tables would only keep the check waiting
		}
		if !j.o.DataOnly && !j.o.SchemaOnly && !c.Rehearse {
			there, err := j.existing(ctx)
			if err != nil {
				return err
			}
			if len(there) > 0 {
				j.o.DataOnly = true
				j.o.parts = parts{rows: true, sequences: true}
			}
		}
	}
	c.report.As = "restore"
	for _, o := range []struct {
		on   bool
		flag string
	}{{j.o.Create, " --create"}, {j.o.DataOnly, " --data-only"}, {j.o.SchemaOnly, " --schema-only"}} {
		if o.on {
			c.report.As += o.flag
		}
	}
	return j.examine(ctx, f)
}

// checkLock finds out whether another restore is under way. It keeps no lock: a check is in nobody's way.
func (j *job) checkLock(ctx context.Context, f *findings) error {
	err := j.takeLock(ctx)
	j.lock.close()
	j.lock = nil
	var refused *Refused
	if errors.As(err, &refused) {
		f.list = append(f.list, refused.Findings...)
		return nil
	}
	return err
}

// dryLoad loads without writing, where there is something to load into.
func (c *checker) dryLoad(ctx context.Context, j *job, f *findings) (err error) {
	if !c.DryLoad {
		return nil
	}
	c.phase(PhaseDryLoad)
	database := "database " + j.o.DSN.Config.Database
	switch {
	case j.leader.Version < dryLoadVersion:
		f.bad("server", "", fmt.Sprintf("PostgreSQL %d: a dry load needs version 12 or later", j.leader.Version/10000), "leave out --dry-load, or restore into a scratch database")
		return nil
	case !j.o.DataOnly && !c.Rehearse:
		f.bad(database, "rows for a dry load", "none of the dump's tables", "--rehearse makes them in a scratch database")
		return nil
	}
	temp, err := j.leader.MayTemp(ctx)
	if err != nil {
		return err
	}
	if !temp {
		f.once(database, "rows for a dry load", "the role may not make temporary tables", "GRANT TEMPORARY ON DATABASE")
		return nil
	}
	j.o.Tracker = c.Tracker
	c.report.DryLoad, err = j.dryLoad(ctx, f)
	return err
}
