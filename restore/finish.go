package restore

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// sequences puts the chosen sequences into the state that they had at the source.
func (j *job) sequences(ctx context.Context) error {
	wanted := func(pg.Qualified) bool { return true }
	if j.plan.choice.byTables() {
		found, err := j.leader.Targets(ctx, j.plan.names())
		if err != nil {
			return err
		}
		var oids []uint32
		for _, t := range found {
			oids = append(oids, t.OID)
			if t.Root != 0 {
				oids = append(oids, t.Root)
			}
		}
		owned, err := j.leader.OwnedSequences(ctx, oids)
		if err != nil {
			return err
		}
		belongs := map[pg.Qualified]bool{}
		for _, q := range owned {
			belongs[q] = true
		}
		wanted = func(q pg.Qualified) bool { return belongs[q] || j.plan.choice.has(q) }
	}
	return j.setSequences(ctx, wanted)
}

func (j *job) setSequences(ctx context.Context, wanted func(pg.Qualified) bool) error {
	var list []format.Sequence
	var names []pg.Qualified
	for _, s := range j.plan.sequences {
		if q := (pg.Qualified{Schema: s.Schema, Name: s.Name}); wanted(q) {
			list, names = append(list, s), append(names, q)
		}
	}
	missing, err := j.leader.MissingSequences(ctx, names)
	if err != nil {
		return err
	}
	for i, s := range list {
		if missing[names[i]] {
			j.gap(0, Gap{Kind: "SEQUENCE SET", Name: names[i].String(), SQLState: pg.StateUndefinedTable, Message: "no such sequence"})
			continue
		}
		err := j.leader.SetSequence(ctx, s)
		if err != nil && (pg.State(err) == "" || ctx.Err() != nil) {
			return err
		}
		if err != nil {
			j.gap(0, Gap{Kind: "SEQUENCE SET", Name: names[i].String(), SQLState: pg.State(err), Message: err.Error()})
		}
	}
	return nil
}

// matviews fills the materialized views that were filled at the source, each behind those that it reads.
func (j *job) matviews(ctx context.Context) error {
	return j.refresh(ctx, func(pg.Qualified) bool { return true })
}

func (j *job) refresh(ctx context.Context, wanted func(pg.Qualified) bool) (err error) {
	var names []pg.Qualified
	for _, v := range j.plan.matviews {
		if q := (pg.Qualified{Schema: v.Schema, Name: v.Name}); wanted(q) {
			names = append(names, q)
		}
	}
	found, err := j.leader.Targets(ctx, names)
	if err != nil {
		return err
	}
	if err := j.useSearchPath(ctx, j.leader); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			err = j.leader.Exec(ctx, "SET search_path = ''")
		}
	}()
	for _, q := range names {
		if j.o.DataOnly && found[q] == nil {
			j.logf("materialized view %s is not on the target", q)
			continue
		}
		err := j.leader.Exec(ctx, "REFRESH MATERIALIZED VIEW "+q.SQL())
		if err != nil && (pg.State(err) == "" || ctx.Err() != nil) {
			return err
		}
		if err != nil {
			j.gap(0, Gap{Kind: "MATERIALIZED VIEW DATA", Name: q.String(), SQLState: pg.State(err), Message: pg.Wrap(err, "REFRESH").Error()})
		}
	}
	return nil
}

// analyze gathers statistics of the restored tables. A partitioned table's ANALYZE does its partitions too.
func (j *job) analyze(ctx context.Context) error {
	names := make(chan pg.Qualified)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(names)
		seen := map[pg.Qualified]bool{}
		for _, t := range j.plan.tables {
			q := t.name
			if t.entry.Root != nil {
				if root := (pg.Qualified{Schema: t.entry.Root.Schema, Name: t.entry.Root.Name}); !j.plan.choice.byTables() || j.plan.choice.has(root) {
					q = root
				}
			}
			if seen[q] {
				continue
			}
			seen[q] = true
			select {
			case names <- q:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range j.o.Jobs {
		group.Go(func() error {
			c, err := pg.Connect(ctx, j.o.DSN, pg.Options{Purpose: pg.ForCatalog, AppName: appName, Role: j.o.Role})
			if err != nil {
				return err
			}
			defer closeConn(c)
			for q := range names {
				err := c.Exec(ctx, "ANALYZE "+q.SQL())
				if err != nil && (pg.State(err) == "" || ctx.Err() != nil) {
					return err
				}
				if err != nil {
					j.logf("ANALYZE %s: %v", q, err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}
