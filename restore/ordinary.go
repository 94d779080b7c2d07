package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// superuserDescs are kinds of entries that only a superuser can make, on all servers or on most.
var superuserDescs = []string{"ACCESS METHOD", "EVENT TRIGGER", "FOREIGN DATA WRAPPER", "OPERATOR CLASS", "OPERATOR FAMILY", "PUBLICATION TABLES IN SCHEMA", "SUBSCRIPTION",
	"TEXT SEARCH PARSER", "TEXT SEARCH TEMPLATE"}

// checkOrdinary says before the start what a role that is no superuser will not be able to make.
func (j *job) checkOrdinary(ctx context.Context, f *findings) error {
	if !j.o.parts.definitions() || j.archive == nil {
		return nil
	}
	if super, err := j.leader.Superuser(ctx); err != nil || super {
		return err
	}
	wanted := func(*entry) bool { return true }
	if !j.plan.choice.all() {
		ch := j.archive.choose(j.plan.choice)
		wanted = func(e *entry) bool { return ch.entries[e.DumpID] }
	}
	kinds := map[string][]string{}
	owners := map[format.Name]bool{}
	var extensions []format.Name
	for _, e := range j.archive.entries {
		switch {
		case !wanted(e) || j.leftOut(e):
			continue
		case slices.Contains(superuserDescs, e.Desc):
			kinds[e.Desc] = append(kinds[e.Desc], e.name())
		case e.Desc == "EXTENSION":
			extensions = append(extensions, format.Name(e.Name))
		}
		if e.Owner != "" && e.Desc != "ACL" && e.Desc != "COMMENT" {
			owners[format.Name(e.Owner)] = true
		}
	}
	for _, kind := range superuserDescs {
		if names := kinds[kind]; len(names) > 0 {
			f.warn(strings.ToLower(kind)+" "+someOf(names), "to be made", "only a superuser may", "restore as one, or go on as one with --resume")
		}
	}
	untrusted, err := j.leader.UntrustedExtensions(ctx, extensions, j.onTarget)
	if err != nil {
		return err
	}
	for _, name := range untrusted {
		f.bad("extension "+string(name), "installed", "only a superuser may create it", "let a superuser create it in the target, or restore as one")
	}
	if j.o.NoOwner {
		return nil
	}
	return j.checkOwners(ctx, f, owners)
}

// leftOut tells entries that the options leave out.
func (j *job) leftOut(e *entry) bool {
	return j.o.NoSubscriptions && e.Desc == "SUBSCRIPTION" || j.o.NoPublications && strings.HasPrefix(e.Desc, "PUBLICATION") || !j.o.parts.rows && e.isLargeObject()
}

// checkOwners warns of owners to whom the role can give nothing.
func (j *job) checkOwners(ctx context.Context, f *findings, owners map[format.Name]bool) error {
	names := make([]format.Name, 0, len(owners))
	for name := range owners {
		names = append(names, name)
	}
	foreign, err := j.leader.ForeignRoles(ctx, names)
	for _, name := range foreign {
		f.warn("role "+string(name), "owns something", fmt.Sprintf("role %s is no member of it, and may give it nothing", j.o.DSN.Config.User), "GRANT "+pg.QuoteIdent(name)+", or restore with --no-owner")
	}
	return err
}

// someOf lists the first few names.
func someOf(names []string) string {
	const shown = 3
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}
