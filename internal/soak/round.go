package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/internal/netfault"
)

// round is one database, dumped and restored, or migrated.
type round struct {
	*soak
	seed        uint64
	rnd         *rand.Rand
	dir         string // evidence: logs of the program, the schema, the dump
	tmp         string // the program's TMPDIR
	dump        string
	source      end
	target      end
	struck      end                        // the one that the present fault is for
	args        func(resume bool) []string // of what loads the target
	isMigrate   bool
	mayCrash    bool // a migrate's source may crash: it has no unlogged rows to lose
	struckTimes int
	killed      bool // the program was killed: it could not clean up
	runs        int
	met         []string // names of the faults of this round
	want        *state
	rowsOnly    bool     // the target has tables already, with rows to be removed
	mapped      bool     // schema public goes by another name
	emptied     []string // unlogged tables of a migrate's target whose rows a crash took, to be copied at the end
	clean       bool     // the target holds it all already, to be dropped first
	story       strings.Builder
}

func newRound(s *soak, seed uint64) *round {
	r := &round{soak: s, seed: seed, rnd: rand.New(rand.NewPCG(seed, 4711))} // #nosec G404 -- repeatable on purpose
	r.source, r.target, r.args = end{s.here, "source"}, end{s.here, "target"}, r.restoreArgs
	if r.isMigrate = s.migrates > 0 && r.rnd.IntN(s.migrates) == 0; r.isMigrate {
		r.args, r.mayCrash = r.migrateArgs, r.rnd.IntN(2) == 0
		if r.rnd.IntN(4) > 0 {
			r.target.server = s.there
		}
	}
	return r
}

func (r *round) tell(form string, args ...any) {
	text := fmt.Sprintf(form, args...)
	fmt.Fprintln(&r.story, text)
}

func (r *round) run(ctx context.Context) (err error) {
	began := time.Now()
	r.dir = filepath.Join(r.work, fmt.Sprint(r.seed))
	r.tmp, r.dump = filepath.Join(r.dir, "tmp"), filepath.Join(r.dir, "dump")
	if err := os.MkdirAll(r.tmp, 0o700); err != nil {
		return err
	}
	if err := r.makeSource(ctx); err != nil {
		return fmt.Errorf("making the source: %w", err)
	}
	if r.isMigrate {
		err = r.migrateIt(ctx)
	} else if err = r.takeDump(ctx); err == nil {
		err = r.restoreIt(ctx)
	}
	if err != nil {
		return err
	}
	got, err := r.readTarget(ctx)
	if err == nil {
		err = errors.Join(r.wanted().differs(got), r.nothingLeft(ctx))
	}
	if err != nil {
		return err
	}
	for _, name := range r.met {
		r.tally.of(name).survived++
	}
	r.tally.tables, r.tally.rows = r.tally.tables+got.tables, r.tally.rows+got.rows
	kind := ""
	for text, is := range map[string]bool{", migrated": r.isMigrate, ", rows only": r.rowsOnly, ", another schema": r.mapped, ", in place": r.clean} {
		if is {
			kind += text
		}
	}
	fmt.Printf("seed %d: %d tables, %d rows equal after %.1f s%s; %s\n", r.seed, got.tables, got.rows, time.Since(began).Seconds(), kind, strings.Join(r.met, ", "))
	return os.RemoveAll(r.dir)
}

func (r *round) makeSource(ctx context.Context) error {
	if err := r.source.fresh(ctx); err != nil {
		return err
	}
	c, err := pgx.Connect(ctx, r.source.direct())
	if err != nil {
		return err
	}
	defer hangUp(ctx, c)
	rows := dumpRows
	if r.isMigrate {
		rows = migrateRows
	}
	schema := randomSchema(r.rnd, rows)
	if r.mayCrash {
		for i := range schema {
			schema[i] = strings.ReplaceAll(schema[i], "UNLOGGED ", "")
		}
	}
	if r.isMigrate {
		schema = append(schema, writerSchema)
	}
	schema = append(schema, "CHECKPOINT") // a crash behind it leaves the sequences where they are
	if err := os.WriteFile(filepath.Join(r.dir, "schema.sql"), []byte(strings.Join(schema, ";\n")+";\n"), 0o600); err != nil {
		return err
	}
	for _, sql := range schema {
		if _, err := c.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	r.want, err = r.source.read(ctx)
	return err
}

// drag is what a slow network adds to each answer.
const drag = 300 * time.Microsecond

// under runs the program while a fault is due; nil: none. hit tells that it came.
func (r *round) under(ctx context.Context, f *fault, name string, args ...string) (j *job, hit bool, err error) {
	r.struck = r.target
	if name == "dump" || f != nil && f.source {
		r.struck = r.source
	}
	r.struck.proxy.SetRule(netfault.Rule{})
	if f == nil {
		r.tell("%s, undisturbed", name)
		if j, err = r.start(ctx, name, args...); err == nil {
			_, err = j.wait()
		}
		return j, false, err
	}
	r.tell("%s under: %s", name, f)
	switch {
	case f.rule != nil:
		r.struck.proxy.SetRule(*f.rule)
	case r.isMigrate:
		r.struck.proxy.SetRule(netfault.Rule{Delay: drag}) // so that there is something to strike
	}
	if j, err = r.start(ctx, name, args...); err != nil {
		return j, false, err
	}
	var serr error
	phases := restorePhases
	switch name {
	case "dump":
		phases = dumpPhases
	case "migrate":
		phases = migratePhases
	}
	switch {
	case f.strike != nil && f.rule != nil:
		hit, serr = f.strike(ctx, r, j)
	case f.strike != nil && f.due(j, phases):
		hit, serr = f.strike(ctx, r, j)
	}
	_, err = j.wait()
	if f.rule != nil && f.strike == nil {
		hit = r.struck.proxy.Hits() > 0
	}
	r.struck.proxy.SetRule(netfault.Rule{})
	r.struck.proxy.Resume()
	r.tell("  hit: %t, exit code %d", hit, j.code)
	if hit {
		c := r.tally.of(f.title(name))
		c.tried++
		if j.code != 0 {
			c.struck++
			r.struckTimes++
		}
		r.met = append(r.met, f.title(name))
	}
	r.killed = r.killed || j.code == -1
	return j, hit, errors.Join(err, serr)
}

// takeDump dumps until it is done. What was ended in the middle must never pass for a dump.
func (r *round) takeDump(ctx context.Context) error {
	args := []string{"dump", "--progress=json", "-j", fmt.Sprint(1 + r.rnd.IntN(4)), "-Z", []string{"none", "zstd:1", "zstd:3"}[r.rnd.IntN(3)],
		"--segment-size", []string{"64kB", "64kB", "256kB", "1MB", "0"}[r.rnd.IntN(5)], r.source.dsn(), "-f", r.dump}
	over := false
	for try := range 4 {
		var f *fault
		if try < 3 && r.rnd.IntN(5) > 0 {
			f = randomFault(r.rnd, true)
		}
		j, hit, err := r.under(ctx, f, "dump", args...)
		if err != nil {
			return err
		}
		if j.code == 0 {
			return r.verified(ctx, 0)
		}
		if !hit {
			return j.failed("0: nothing was in its way")
		}
		if whole, err := r.unfinished(ctx, j, over); whole || err != nil {
			return err
		}
		if err := r.sessionsEnd(ctx); err != nil {
			return err
		}
		if _, err := os.Stat(r.dump); err == nil {
			if r.rnd.IntN(2) > 0 {
				if err := os.RemoveAll(r.dump); err != nil {
					return err
				}
			} else if !over {
				r.tell("what is left of it is for pghaul to remove")
				over, args = true, append(args, "--overwrite-unfinished")
			}
		}
	}
	return errors.New("an undisturbed dump was never reached")
}

// unfinished looks at what a dump that failed has left. One that died behind its last step is whole, and may say so.
// over: an earlier one had left something, which it may not have come to remove.
func (r *round) unfinished(ctx context.Context, j *job, over bool) (whole bool, err error) {
	if _, err := os.Stat(r.dump); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if j.code != -1 && !over {
		return false, fmt.Errorf("dump ended with code %d and left %s", j.code, r.dump)
	}
	if _, err := os.Stat(filepath.Join(r.dump, "manifest.json")); err == nil {
		return true, r.verified(ctx, 0)
	}
	if err := r.verified(ctx, 3); err != nil {
		return false, err
	}
	if err := r.target.fresh(ctx); err != nil {
		return false, err
	}
	refused, err := r.start(ctx, "restore", "restore", "--progress=json", r.dump, r.target.dsn())
	if err != nil {
		return false, err
	}
	if code, err := refused.wait(); err != nil || code != 3 {
		return false, errors.Join(err, refused.failed("3: an unfinished dump"))
	}
	got, err := r.target.read(ctx)
	if err == nil && len(got.lines) > 1 {
		err = fmt.Errorf("a refused restore has made something: %q", got.lines)
	}
	return false, err
}

// wanted is what the target must hold.
func (r *round) wanted() *state {
	if r.rowsOnly {
		return r.want.rowsAlone()
	}
	return r.want
}

func (r *round) verified(ctx context.Context, want int) error {
	j, err := r.start(ctx, "verify", "verify", "--progress=json", r.dump)
	if err != nil {
		return err
	}
	if code, err := j.wait(); err != nil || code != want {
		return errors.Join(err, j.failed(fmt.Sprint(want)))
	}
	return nil
}
