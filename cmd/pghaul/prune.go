package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/internal/shelf"
	"github.com/bytehaul/pghaul/internal/show"
)

// maxKeep bounds the numbers of a policy.
const maxKeep = 100000

// pruneFlags are prune's flags as given.
type pruneFlags struct {
	policy              shelf.Policy
	dry, yes, asJSON    bool
	now                 func() time.Time
	groups              []shelf.Group
	remove, kept, freed int64
}

func (a *app) pruneCommand() *cobra.Command {
	p := &pruneFlags{policy: shelf.Policy{Location: time.Local}, now: time.Now}
	c := &cobra.Command{
		Use:     "prune DIR",
		Short:   "remove dumps that a retention policy does not keep",
		GroupID: groupOther,
		Long: "pghaul prune removes the dumps in a folder, and below it, that no --keep option keeps.\n" +
			"It first shows what it keeps and why, and what it removes. The last complete dump of\n" +
			"each database is never removed, nor is a damaged one. Nothing is removed but the files\n" +
			"that a dump's manifest names; others stay where they are, and are named.",
		Args: exactly(1, 1, "the folder DIR"),
		Annotations: map[string]string{usageLines: "prune [OPTION]... DIR", exitLines: "0,1,2,4,130",
			notes: "A dump is kept if any option keeps it. Days, weeks (from Monday) and months are those of\n" +
				"the local time zone (TZ), and of each the last dump counts. Dumps are of one database when its name\n" +
				"and the server's system identifier are the same; those of a part of it (-t, --schema-only, …) are\n" +
				"judged apart, part by part, and take no place of one of the whole."},
		Example: "  pghaul prune /backups --keep-last 3 --keep-daily 7 --keep-weekly 5 --keep-monthly 12 --dry-run\n" +
			"  pghaul prune /backups --keep-daily 14 --unfinished --yes",
		RunE: func(c *cobra.Command, args []string) error { return a.prune(c, p, args[0]) },
	}
	groupOf(c, "What to keep", false, func(f flags) {
		f.number(&p.policy.Last, "keep-last", "", "N", "the last N dumps of each database", 0, maxKeep)
		f.number(&p.policy.Daily, "keep-daily", "", "N", "the last dump of each of the last N days that have one", 0, maxKeep)
		f.number(&p.policy.Weekly, "keep-weekly", "", "N", "the same for weeks", 0, maxKeep)
		f.number(&p.policy.Monthly, "keep-monthly", "", "N", "the same for months", 0, maxKeep)
	})
	groupOf(c, "Options", false, func(f flags) {
		f.boolean(&p.policy.Unfinished, "unfinished", "", "remove unfinished dumps too, in which nothing has changed\nfor a day")
		f.boolean(&p.dry, "dry-run", "", "show what would be removed, and remove nothing")
		f.boolean(&p.yes, "yes", "", "ask no questions")
		f.boolean(&p.asJSON, "json", "", "write one JSON document")
	})
	return c
}

// pruned is the document of a prune.
type pruned struct {
	Path    string        `json:"path"`
	DryRun  bool          `json:"dry_run"`
	Groups  []shelf.Group `json:"groups"`
	Removed []removed     `json:"removed"`
	Freed   int64         `json:"freed_bytes"`
}

// removed is a dump that is gone, or of which something is left.
type removed struct {
	Path  string   `json:"path"`
	Left  []string `json:"left"` // files that are not the dump's
	Error string   `json:"error,omitempty"`
}

func (a *app) prune(c *cobra.Command, p *pruneFlags, dir string) error {
	switch {
	case p.policy.Empty():
		return usagef("prune: nothing says what to keep").hint("give one of --keep-last, --keep-daily, --keep-weekly and --keep-monthly a number")
	case p.asJSON && !p.dry && !p.yes:
		return usagef("prune: with --json nothing is shown before the question").hint("add --yes or --dry-run")
	}
	dumps, err := a.findDumps([]string{dir})
	if err != nil {
		return err
	}
	for _, d := range dumps {
		if d.IsNamed() {
			return usagef("%s is a dump itself", dir).hint("name the folder that holds the dumps")
		}
	}
	p.groups = p.policy.Decide(dumps, p.now())
	p.count()
	doc := &pruned{Path: dir, DryRun: p.dry, Groups: append([]shelf.Group{}, p.groups...), Removed: []removed{}}
	if !p.asJSON {
		if _, err := io.WriteString(a.stdout, p.text()); err != nil {
			return err
		}
	}
	if err := a.removeAll(c, p, doc, dir); err != nil {
		return err
	}
	if p.asJSON {
		if err := writeJSON(a.stdout, doc); err != nil {
			return err
		}
	}
	for _, r := range doc.Removed {
		if r.Error != "" {
			return errIncomplete
		}
	}
	return nil
}

// count adds up what is kept, and what is not.
func (p *pruneFlags) count() {
	for _, g := range p.groups {
		for i := range g.Dumps {
			if g.Dumps[i].Keep {
				p.kept++
				continue
			}
			p.remove++
			p.freed += g.Dumps[i].StoredBytes
		}
	}
}

// text says what is kept and why, and what is not.
func (p *pruneFlags) text() string {
	var b strings.Builder
	now := p.now()
	for _, g := range p.groups {
		name := "database " + show.Text(string(g.Database))
		switch {
		case g.Database == "" && g.SystemIdentifier == "":
			name = "of no known database"
		case g.SystemIdentifier != "":
			name += ", server " + show.Text(g.SystemIdentifier)
		}
		if g.Choice != "" {
			name += ", only " + show.Line(g.Choice)
		}
		b.WriteString(name + "\n")
		grid := show.NewGrid("  ", "", "time", ">age", ">size", "path", "why")
		for i := range g.Dumps {
			d := &g.Dumps[i]
			word := "keep"
			if !d.Keep {
				word = "remove"
			}
			grid.Row(word, stamp(d.Time), age(now, d.Time), show.Size(d.StoredBytes), show.Text(d.Path), show.Line(strings.Join(d.Reasons, ", ")))
		}
		b.WriteString(grid.String() + "\n")
	}
	if len(p.groups) == 0 {
		return "no dumps\n"
	}
	fmt.Fprintf(&b, "keep %s, remove %d (%s)\n", show.Plural(p.kept, "dump", "dumps"), p.remove, show.Size(p.freed))
	return b.String()
}

// removeAll removes what is not kept, after a question.
func (a *app) removeAll(c *cobra.Command, p *pruneFlags, doc *pruned, dir string) error {
	if p.dry || p.remove == 0 {
		return nil
	}
	if !p.yes {
		question := fmt.Sprintf("Remove %s, %s, from %s?", show.Plural(p.remove, "dump", "dumps"), show.Size(p.freed), dir)
		switch answer, err := a.ask(c.Context(), question, asksFor(question, "remove")); {
		case err != nil:
			return err
		case answer != "remove":
			return errors.New("nothing was removed")
		}
	}
	for i := range p.groups {
		for j := range p.groups[i].Dumps {
			d := &p.groups[i].Dumps[j]
			switch {
			case d.Keep:
				continue
			case c.Context().Err() != nil:
				return c.Context().Err()
			}
			a.removeOne(doc, d)
		}
	}
	return nil
}

func (a *app) removeOne(doc *pruned, d *shelf.Decision) {
	left, err := d.Remove()
	r := removed{Path: d.Path, Left: append([]string{}, left...)}
	if err != nil {
		r.Error = err.Error()
		fmt.Fprintf(a.stderr, "pghaul: %s: not removed, or not all of it: %s\n", show.Text(d.Path), show.Line(r.Error))
	} else {
		doc.Freed += d.StoredBytes
	}
	for _, l := range left {
		fmt.Fprintf(a.stderr, "pghaul: warning: %s: left where it is: %s is no file of the dump\n", show.Text(d.Path), show.Text(l))
	}
	doc.Removed = append(doc.Removed, r)
}
