package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

func (r *round) restoreArgs(resume bool) []string {
	args := []string{"restore", "--progress=json", "-j", fmt.Sprint(1 + r.seed%4)}
	if resume {
		args = append(args, "--resume")
	}
	if r.rowsOnly {
		args = append(args, "--data-only", "--on-existing=truncate", "--yes")
	}
	return append(r.manner(args), r.dump, r.target.dsn())
}

// manner adds the options that a restore and a migrate share.
func (r *round) manner(args []string) []string {
	if r.mapped {
		args = append(args, "--map", "public=moved")
	}
	for _, name := range r.emptied {
		args = append(args, "--exclude-table-data="+name)
	}
	if r.clean {
		args = append(args, "--clean")
		if !r.isMigrate {
			args = append(args, "--yes")
		}
	}
	return args
}

// moveBack undoes a --map: the old schema must be empty, and what it held is in the new one.
func (r *round) moveBack(ctx context.Context) error {
	if !r.mapped {
		return nil
	}
	c, err := pgx.Connect(ctx, r.target.direct())
	if err != nil {
		return err
	}
	defer hangUp(ctx, c)
	var moved bool
	if err := c.QueryRow(ctx, "SELECT to_regnamespace('moved') IS NOT NULL").Scan(&moved); err != nil || !moved {
		return err
	}
	_, err = c.Exec(ctx, "DROP SCHEMA public; ALTER SCHEMA moved RENAME TO public")
	return err
}

// readTarget gives the target's state, under the source's names.
func (r *round) readTarget(ctx context.Context) (*state, error) {
	if err := r.moveBack(ctx); err != nil {
		return nil, err
	}
	return r.target.read(ctx)
}

// restoreIt restores until it is done.
func (r *round) restoreIt(ctx context.Context) error {
	if err := r.target.fresh(ctx); err != nil {
		return err
	}
	switch r.rnd.IntN(5) {
	case 0:
		r.rowsOnly = true
		r.tell("rows alone, into tables that hold some")
		if err := r.makeTables(ctx); err != nil {
			return err
		}
	case 1:
		r.mapped = true
		r.tell("into another schema")
	case 2:
		if err := r.untilDone(ctx, "restore", func() *fault { return nil }); err != nil {
			return err
		}
		r.clean = true
		r.tell("and again, in place of what is there")
	}
	if err := r.untilDone(ctx, "restore", func() *fault { return randomFault(r.rnd, false) }); err != nil || r.rowsOnly || r.mapped || r.rnd.IntN(2) > 0 {
		return err
	}
	return r.singleFiles(ctx)
}

// untilDone loads the target until it is done: under some faults, then undisturbed.
func (r *round) untilDone(ctx context.Context, name string, random func() *fault) error {
	left := 2 + r.rnd.IntN(6)
	for range left + 3 {
		var f *fault
		if left > 0 {
			f = random()
		}
		left--
		resume, _, err := r.journal(ctx)
		if err != nil {
			return err
		}
		j, hit, err := r.under(ctx, f, name, r.args(resume)...)
		if err != nil {
			return err
		}
		if j.code == 0 {
			return nil
		}
		if done, err := r.judge(ctx, j, f, hit); done || err != nil {
			return err
		}
	}
	return fmt.Errorf("the %s never came to its end", name)
}

// makeTables gives the target the source's tables, and rows that must go.
func (r *round) makeTables(ctx context.Context) error {
	bin := r.source.cluster.BinDir()
	script := filepath.Join(r.dir, "tables.sql")
	for _, cmd := range []*exec.Cmd{
		exec.CommandContext(ctx, filepath.Join(bin, "pg_dump"), "-s", "--section=pre-data", "-f", script, "-d", r.source.direct()),
		exec.CommandContext(ctx, filepath.Join(bin, "psql"), "-Xqv", "ON_ERROR_STOP=1", "-o", os.DevNull, "-f", script, "-c", "INSERT INTO public.t0 (id) SELECT g FROM generate_series(1, 10) g", "-d", r.target.direct()),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", cmd.Path, err, out)
		}
	}
	return nil
}

// judge says what to do after a restore that did not end well. done: all is there nevertheless, and will be compared.
func (r *round) judge(ctx context.Context, j *job, f *fault, hit bool) (done bool, err error) {
	underWay := j.code == 3 && j.said("another restore is under way")
	if !hit && !underWay && !j.said(lostUnlogged) {
		return r.done(ctx, j)
	}
	resumable, phase, err := r.journal(ctx)
	if err != nil {
		return false, err
	}
	if hit {
		r.tally.phases[phase]++
	}
	r.tell("  it was in phase %s", phase)
	if r.isMigrate && j.code == 3 && j.said(lostUnlogged) && r.emptied == nil {
		return false, r.leaveEmptied(ctx)
	}
	if j.code == 3 && !underWay && f.name != "a second one" {
		return false, j.failed("anything but a refusal")
	}
	if !resumable && phase == "" {
		if done, err := r.done(ctx, j); done {
			return done, err
		}
	}
	if underWay || r.rnd.IntN(2) == 0 {
		return false, r.sessionsEnd(ctx)
	}
	return false, nil // at once: what the dead run had asked of the server may still be under way
}

// done tells a restore whose last answer was lost from one that failed without a reason.
func (r *round) done(ctx context.Context, j *job) (bool, error) {
	resumable, _, err := r.journal(ctx)
	if err != nil {
		return false, err
	}
	if resumable {
		return false, j.failed("0: nothing was in its way")
	}
	got, err := r.readTarget(ctx)
	if err != nil {
		return false, err
	}
	if r.wanted().differs(got) == nil {
		r.tell("  it was done already")
		return true, nil
	}
	return false, j.failed("0: nothing was in its way")
}

// journal tells whether there is something to resume, and the phase that was begun last.
func (r *round) journal(ctx context.Context) (there bool, phase string, err error) {
	c, err := pgx.Connect(ctx, r.target.direct())
	if err != nil {
		return false, "", err
	}
	defer hangUp(ctx, c)
	if err := c.QueryRow(ctx, `SELECT to_regclass('pghaul_journal.phase') IS NOT NULL`).Scan(&there); err != nil || !there {
		return false, "", err
	}
	err = c.QueryRow(ctx, `SELECT coalesce((SELECT name || CASE WHEN finished IS NULL THEN '' ELSE ' (done)' END FROM pghaul_journal.phase ORDER BY ctid DESC LIMIT 1), 'preflight')`).Scan(&phase)
	return true, phase, err
}

// endLimit is how long sessions and processes of a job that has ended may take to be gone.
const endLimit = 30 * time.Second

// sessionsEnd waits until no session and no process of a job is left.
func (r *round) sessionsEnd(ctx context.Context) error {
	for _, e := range []end{r.source, r.target} {
		if err := e.sessionsEnd(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (e end) sessionsEnd(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	c, err := pgx.Connect(ctx, e.cluster.DSN("postgres"))
	if err != nil {
		return err
	}
	defer hangUp(ctx, c)
	for {
		var list string
		if err := c.QueryRow(ctx, `SELECT coalesce(string_agg(application_name || ': ' || state || ': ' || query, E'\n'), '') FROM pg_stat_activity WHERE `+ours, e.database).Scan(&list); err != nil {
			return err
		}
		for _, p := range processes() {
			if (p.name == "pg_dump" || p.name == "pg_restore" || p.name == "pghaul") && strings.Contains(p.args, fmt.Sprint(e.proxy.Port())) {
				list += "\nprocess " + p.args
			}
		}
		if list == "" {
			return nil
		}
		t := time.NewTimer(20 * time.Millisecond)
		select {
		case <-t.C:
		case <-ctx.Done():
			return fmt.Errorf("left %s after the job's end:\n%s", endLimit, indent(list))
		}
	}
}

// nothingLeft looks for what a restore that came to its end must not leave.
func (r *round) nothingLeft(ctx context.Context) error {
	there, _, err := r.journal(ctx)
	if err == nil && there {
		err = errors.New("the journal is left after a restore that succeeded")
	}
	return errors.Join(err, r.sessionsEnd(ctx), r.noFilesLeft())
}

// noFilesLeft looks into the program's folder of temporary files. One that was killed leaves some.
func (r *round) noFilesLeft() error {
	entries, err := os.ReadDir(r.tmp)
	if err == nil && len(entries) > 0 && !r.killed {
		err = fmt.Errorf("%s is left among the temporary files", entries[0].Name())
	}
	return err
}

// evidence keeps what is needed to look into a failure.
func (r *round) evidence() error {
	fmt.Print(r.story.String())
	if err := os.WriteFile(filepath.Join(r.dir, "story.txt"), []byte(r.story.String()), 0o600); err != nil {
		return err
	}
	for _, e := range []end{r.source, r.target} {
		if err := os.WriteFile(filepath.Join(r.dir, e.database+"-server.log"), []byte(e.cluster.LogTail(500)), 0o600); err != nil {
			return err
		}
		cmd := exec.Command(filepath.Join(e.cluster.BinDir(), "pg_dump"), "-Fc", "-f", filepath.Join(r.dir, e.database+".pgdump"), "-d", e.direct())
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Printf("evidence: pg_dump of the %s: %v: %s\n", e.database, err, out)
		}
	}
	to := filepath.Join(r.keep, fmt.Sprint(r.seed))
	if err := errors.Join(os.RemoveAll(to), os.MkdirAll(r.keep, 0o700), os.Rename(r.dir, to)); err != nil {
		return err
	}
	fmt.Println("evidence:", to)
	return nil
}
