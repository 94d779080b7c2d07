package restore

import (
	"context"
	"maps"
	"slices"

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
		owned, err := j.leader.OwnedSequences(ctx, withRoots(maps.Values(found)))
		if err != nil {
			return err
		}
		belongs := map[pg.Qualified]bool{}
		for _, q := range owned {
			belongs[q] = true
		}
		wanted = func(q pg.Qualified) bool { return belongs[j.plan.mapped.of(q)] || j.plan.choice.has(q) }
	}
	return j.setSequences(ctx, wanted)
}

func (j *job) setSequences(ctx context.Context, wanted func(pg.Qualified) bool) error {
	var list []format.Sequence
	var names []pg.Qualified
	for _, s := range j.plan.sequences {
		q, moved, err := j.sequenceName(ctx, s)
		if err != nil {
			return err
		}
		if moved || wanted(pg.Qualified{Schema: s.Schema, Name: s.Name}) {
			s.Schema, s.Name = q.Schema, q.Name
			list, names = append(list, s), append(names, q)
		}
	}
	missing, err := j.leader.MissingSequences(ctx, names)
	if err != nil {
		return err
	}
	var there []format.Sequence
	for i, s := range list {
		if missing[names[i]] {
			j.gap(0, Gap{Kind: "SEQUENCE SET", Name: names[i].String(), SQLState: pg.StateUndefinedTable, Message: "no such sequence"})
			continue
		}
		there = append(there, s)
	}
	if j.o.OnExisting == Append { // rows that stay may have taken later values
		if there, err = j.behind(ctx, there); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(there, sequenceBatch) {
		if err := j.setEach(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// behind leaves those sequences out that the target has taken further than the dump says.
func (j *job) behind(ctx context.Context, list []format.Sequence) (rest []format.Sequence, err error) {
	beyond, err := j.leader.SequencesBeyond(ctx, list)
	if err != nil {
		return nil, err
	}
	for i, s := range list {
		if beyond[i] {
			j.logf("sequence %s.%s is beyond %d on the target: it stays", s.Schema, s.Name, s.LastValue)
			continue
		}
		rest = append(rest, s)
	}
	return rest, nil
}

// sequenceBatch is the number of sequences that are set in one statement.
const sequenceBatch = 500

// setEach sets sequences together, and one by one when that fails: setting one twice does no harm.
func (j *job) setEach(ctx context.Context, list []format.Sequence) error {
	if err := j.leader.SetSequences(ctx, list); err == nil {
		return nil
	}
	for _, s := range list {
		err := j.leader.SetSequence(ctx, s)
		if err != nil && (pg.State(err) == "" || ctx.Err() != nil) {
			return err
		}
		if err != nil {
			q := pg.Qualified{Schema: s.Schema, Name: s.Name}
			j.gap(0, Gap{Kind: "SEQUENCE SET", Name: q.String(), SQLState: pg.State(err), Message: err.Error()})
		}
	}
	return nil
}

// sequenceName is a sequence's name on the target. When its table has another name there, it may have one too: then it is the one that the same column
// owns, and moved tells that.
func (j *job) sequenceName(ctx context.Context, s format.Sequence) (q pg.Qualified, moved bool, err error) {
	m := j.plan.mapped
	if s.Owner != nil {
		if _, mapped := m.tables[pg.Qualified{Schema: s.Owner.Schema, Name: s.Owner.Table}]; mapped {
			table := pg.Qualified{Schema: s.Owner.Schema, Name: s.Owner.Table}
			if q, err = j.leader.OwnedSequence(ctx, m.of(table), s.Owner.Column); err != nil || q.Name != "" {
				return q, j.plan.choice.has(table), err
			}
		}
	}
	return m.of(pg.Qualified{Schema: s.Schema, Name: s.Name}), false, nil
}

// matviews fills the materialized views that were filled at the source, each behind those that it reads.
func (j *job) matviews(ctx context.Context) error {
	return j.refresh(ctx, func(pg.Qualified) bool { return true })
}

func (j *job) refresh(ctx context.Context, wanted func(pg.Qualified) bool) (err error) {
	var names []pg.Qualified
	for _, v := range j.plan.matviews {
		if q := (pg.Qualified{Schema: v.Schema, Name: v.Name}); wanted(q) {
			names = append(names, j.plan.mapped.of(q))
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
			q := t.own
			if t.entry.Root != nil {
				if root := (pg.Qualified{Schema: t.entry.Root.Schema, Name: t.entry.Root.Name}); !j.plan.choice.byTables() || j.plan.choice.has(root) {
					q = j.plan.mapped.of(root)
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
