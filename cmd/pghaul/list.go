package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/internal/shelf"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/restore"
)

// listFlags are list's flags as given.
type listFlags struct {
	verify, asJSON bool
	jobs           int
}

func (a *app) listCommand() *cobra.Command {
	l := &listFlags{jobs: newJobFlags().jobs}
	c := &cobra.Command{
		Use:     "list DIR...",
		Short:   "list the dumps below folders: state, age, size",
		GroupID: groupLook,
		Long: "pghaul list finds the dumps in folders and below them, and shows of each when it was\n" +
			"made, of which database, how large it is, and whether it is complete: by its manifest\n" +
			"and by which files are there, unless --verify has it read every byte. The latest comes\n" +
			"last. Symbolic links below DIR are not followed.",
		Args: exactly(1, 1<<20, "the folder DIR"),
		Annotations: map[string]string{usageLines: "list [OPTION]... DIR...", exitLines: "0,1,2,3,130",
			notes: "States:\n" +
				"  complete    all files are there, each of the length that the manifest says\n" +
				"  unfinished  there is no manifest: a dump that was interrupted, or is being made\n" +
				"  damaged     the manifest can't be read, or a file is missing or of another length\n" +
				"Undamaged is what --verify says of a complete one of which it has read every byte."},
		Example: "  pghaul list /backups\n" +
			"  pghaul list --json /backups | jq -r '.dumps[] | select(.state != \"complete\") | .path'",
		RunE: func(c *cobra.Command, args []string) error { return a.list(c, l, args) },
	}
	groupOf(c, "Options", false, func(f flags) {
		f.boolean(&l.verify, "verify", "", "read every byte, as \"pghaul verify\" does")
		f.number(&l.jobs, "jobs", "j", "N", "files read at the same time\n(number of CPUs, at most 8)", 1, maxJobs)
		f.boolean(&l.asJSON, "json", "", "write one JSON document")
	})
	return c
}

// listed is a dump and what was found out about it.
type listed struct {
	shelf.Dump
	Age      float64               `json:"age_s"`
	Verified *restore.VerifyReport `json:"verified"` // null: it was not read
	OK       *bool                 `json:"ok"`       // what was read is whole and undamaged; null: it was not read
}

func (a *app) list(c *cobra.Command, l *listFlags, dirs []string) error {
	dumps, err := a.findDumps(dirs)
	if err != nil {
		return err
	}
	now, bad := time.Now(), false
	all := []listed{}
	for _, d := range dumps {
		one := listed{Dump: d, Age: now.Sub(d.Time).Round(time.Second).Seconds()}
		if l.verify && d.State != shelf.Unfinished {
			if one.Verified, err = restore.Verify(c.Context(), restore.VerifyOptions{Path: d.Path, Jobs: l.jobs}); err != nil {
				return err
			}
			ok := one.Verified.OK()
			one.OK, bad = &ok, bad || !ok
			printDamageOf(a.stderr, d.Path, one.Verified)
		}
		all = append(all, one)
	}
	if l.asJSON {
		err = writeJSON(a.stdout, map[string]any{"dumps": all})
	} else {
		_, err = io.WriteString(a.stdout, listText(all, now, l.verify))
	}
	if err == nil && bad {
		err = errFound
	}
	return err
}

// findDumps finds the dumps below folders, and warns of those that it can't look into.
func (a *app) findDumps(dirs []string) (dumps []shelf.Dump, err error) {
	for _, dir := range dirs {
		found, unreadable, err := shelf.List(dir)
		if err != nil {
			return nil, err
		}
		for _, u := range unreadable {
			fmt.Fprintf(a.stderr, "pghaul: warning: %s: %s\n", show.Text(u.Path), show.Line(u.Err.Error()))
		}
		dumps = append(dumps, found...)
	}
	shelf.Sort(dumps)
	return dumps, nil
}

// printDamageOf names what is wrong with one dump among others.
func printDamageOf(w io.Writer, path string, found *restore.VerifyReport) {
	for _, d := range found.Findings {
		fmt.Fprintf(w, "pghaul: %s: %s\n", show.Text(path), show.Line(d.String()))
		printHint(w, d.Hint)
	}
}

func listText(all []listed, now time.Time, verified bool) string {
	if len(all) == 0 {
		return "no dumps\n"
	}
	g := show.NewGrid("", "time", ">age", "state", "database", ">size", ">tables", ">rows", "path")
	size := int64(0)
	for i := range all {
		d := &all[i]
		state := string(d.State)
		switch {
		case d.OK != nil && *d.OK:
			state = "undamaged"
		case d.OK != nil:
			state = string(shelf.Damaged)
		}
		tables, rows := show.Count(int64(d.Tables)), show.Count(d.Rows)
		if d.DumpID == "" {
			tables, rows = "-", "-"
		}
		size += d.StoredBytes
		g.Row(stamp(d.Time), age(now, d.Time), state, show.Text(string(d.Database)), show.Size(d.StoredBytes), tables, rows, show.Text(d.Path))
	}
	text := g.String()
	for i := range all {
		if d := &all[i]; d.Why != "" && d.State == shelf.Damaged {
			text += fmt.Sprintf("%s: %s\n", show.Text(d.Path), show.Line(d.Why))
		}
	}
	text += fmt.Sprintf("%s, %s", show.Plural(int64(len(all)), "dump", "dumps"), show.Size(size))
	if !verified {
		text += "; whether the rows are undamaged, --verify finds out"
	}
	return text + "\n"
}

// stamp writes a moment in the time zone of the person who reads.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// age writes how long ago a moment was, in its largest unit.
func age(now, then time.Time) string {
	d := now.Sub(then)
	switch {
	case then.IsZero():
		return "-"
	case d < 0:
		return "future"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}
