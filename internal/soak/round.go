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

// round is one database, dumped and restored.
type round struct {
	*soak
	seed     uint64
	rnd      *rand.Rand
	dir      string // evidence: logs of the program, the schema, the dump
	tmp      string // the program's TMPDIR
	dump     string
	database string // that the present job works on
	runs     int
	met      []string // names of the faults of this round
	want     *state
	rowsOnly bool // the target has tables already, with rows to be removed
	story    strings.Builder
}

func newRound(s *soak, seed uint64) *round {
	return &round{soak: s, seed: seed, rnd: rand.New(rand.NewPCG(seed, 4711))} // #nosec G404 -- repeatable on purpose
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
	if err := r.takeDump(ctx); err != nil {
		return err
	}
	if err := r.restoreIt(ctx); err != nil {
		return err
	}
	got, err := r.read(ctx, "target")
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
	if r.rowsOnly {
		kind = ", rows only"
	}
	fmt.Printf("seed %d: %d tables, %d rows equal after %.1f s%s; %s\n", r.seed, got.tables, got.rows, time.Since(began).Seconds(), kind, strings.Join(r.met, ", "))
	return os.RemoveAll(r.dir)
}

// fresh makes an empty database.
func (r *round) fresh(ctx context.Context, name string) error {
	c, err := pgx.Connect(ctx, r.cluster.DSN("postgres"))
	if err != nil {
		return err
	}
	defer hangUp(ctx, c)
	if _, err := c.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
		return err
	}
	_, err = c.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE template0")
	return err
}

func (r *round) makeSource(ctx context.Context) error {
	if err := r.fresh(ctx, "source"); err != nil {
		return err
	}
	c, err := pgx.Connect(ctx, r.cluster.DSN("source"))
	if err != nil {
		return err
	}
	defer hangUp(ctx, c)
	schema := randomSchema(r.rnd)
	if err := os.WriteFile(filepath.Join(r.dir, "schema.sql"), []byte(strings.Join(schema, ";\n")+";\n"), 0o600); err != nil {
		return err
	}
	for _, sql := range schema {
		if _, err := c.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	r.want, err = r.read(ctx, "source")
	return err
}

// dsn leads through the proxy.
func (r *round) dsn(db string) string {
	return fmt.Sprintf("host=127.0.0.1 port=%d user=postgres sslmode=disable dbname=%s", r.proxy.Port(), db)
}

// under runs the program while a fault is due; nil: none. hit tells that it came.
func (r *round) under(ctx context.Context, f *fault, name string, args ...string) (j *job, hit bool, err error) {
	r.proxy.SetRule(netfault.Rule{})
	if f == nil {
		r.tell("%s, undisturbed", name)
		if j, err = r.start(ctx, name, args...); err == nil {
			_, err = j.wait()
		}
		return j, false, err
	}
	r.tell("%s under: %s", name, f)
	if f.rule != nil {
		r.proxy.SetRule(*f.rule)
	}
	if j, err = r.start(ctx, name, args...); err != nil {
		return j, false, err
	}
	var serr error
	phases := restorePhases
	if name == "dump" {
		phases = dumpPhases
	}
	switch {
	case f.strike != nil && f.rule != nil:
		hit, serr = f.strike(ctx, r, j)
	case f.strike != nil && f.due(j, phases):
		hit, serr = f.strike(ctx, r, j)
	}
	_, err = j.wait()
	if f.rule != nil && f.strike == nil {
		hit = r.proxy.Hits() > 0
	}
	r.proxy.SetRule(netfault.Rule{})
	r.proxy.Resume()
	r.tell("  hit: %t, exit code %d", hit, j.code)
	if hit {
		c := r.tally.of(name + ": " + f.name)
		c.tried++
		if j.code != 0 {
			c.struck++
		}
		r.met = append(r.met, name+": "+f.name)
	}
	return j, hit, errors.Join(err, serr)
}

// takeDump dumps until it is done. What was ended in the middle must never pass for a dump.
func (r *round) takeDump(ctx context.Context) error {
	r.database = "source"
	args := []string{"dump", "--progress=json", "-j", fmt.Sprint(1 + r.rnd.IntN(4)), "-Z", []string{"none", "zstd:1", "zstd:3"}[r.rnd.IntN(3)],
		"--segment-size", []string{"64kB", "64kB", "256kB", "1MB", "0"}[r.rnd.IntN(5)], r.dsn("source"), "-f", r.dump}
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
		if whole, err := r.unfinished(ctx, j); whole || err != nil {
			return err
		}
		if err := r.sessionsEnd(ctx); err != nil {
			return err
		}
	}
	return errors.New("an undisturbed dump was never reached")
}

// unfinished looks at what a dump that failed has left. One that died behind its last step is whole, and may say so.
func (r *round) unfinished(ctx context.Context, j *job) (whole bool, err error) {
	if _, err := os.Stat(r.dump); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if j.code != -1 {
		return false, fmt.Errorf("dump ended with code %d and left %s", j.code, r.dump)
	}
	if _, err := os.Stat(filepath.Join(r.dump, "manifest.json")); err == nil {
		return true, r.verified(ctx, 0)
	}
	if err := r.verified(ctx, 3); err != nil {
		return false, err
	}
	if err := r.fresh(ctx, "target"); err != nil {
		return false, err
	}
	refused, err := r.start(ctx, "restore", "restore", "--progress=json", r.dump, r.dsn("target"))
	if err != nil {
		return false, err
	}
	if code, err := refused.wait(); err != nil || code != 3 {
		return false, errors.Join(err, refused.failed("3: an unfinished dump"))
	}
	got, err := r.read(ctx, "target")
	if err == nil && len(got.lines) > 1 {
		err = fmt.Errorf("a refused restore has made something: %q", got.lines)
	}
	return false, errors.Join(err, os.RemoveAll(r.dump))
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
