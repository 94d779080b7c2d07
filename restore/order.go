package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/internal/pg"
)

// orderTables lets tables wait for those that their foreign keys point to. Where that can't be, it says so: rows that violate a constraint
// which calls itself valid would be worse.
func (j *job) orderTables(ctx context.Context, f *findings) error {
	byOID := map[uint32][]*loadTable{}
	var oids []uint32
	for _, t := range j.plan.tables {
		t.after = nil
		if t.target != nil {
			byOID[t.target.OID] = append(byOID[t.target.OID], t)
			oids = append(oids, t.target.OID)
			if root := t.target.Root; root != 0 { // whose keys are its partitions' too
				byOID[root] = append(byOID[root], t)
				oids = append(oids, root)
			}
		}
	}
	keys, err := j.leader.ForeignKeys(ctx, oids)
	if err != nil {
		return err
	}
	told := map[[2]*loadTable]bool{} // child and parent: partitions may be thousands on both sides
	for _, k := range keys {
		for _, parent := range byOID[k.To] {
			parent.freeze = false // its TRUNCATE would be refused
		}
		if j.replica {
			continue // they are not looked at
		}
		if k.From != k.To {
			for _, child := range byOID[k.From] {
				for _, parent := range byOID[k.To] {
					// A partition has its root's key to the root itself too: that one is looked at below.
					if pair := [2]*loadTable{child, parent}; child != parent && child.target.Root != k.To && !told[pair] {
						told[pair] = true
						child.after = append(child.after, parent)
					}
				}
			}
			continue
		}
		if loads := loadsOf(byOID[k.From]); loads > 1 {
			f.bad(k.FromName.String(), fmt.Sprintf("in %d segments", loads), fmt.Sprintf("foreign key %q points to the table itself", string(k.Name)),
				"drop the constraint and add it again after the restore, or restore the definitions too")
		}
	}
	if cycle := findCycle(j.plan.tables); len(cycle) > 0 {
		names := make([]string, len(cycle))
		for i, t := range cycle {
			names[i] = t.name.String()
		}
		f.bad(names[0], "", "foreign keys go in a circle: "+strings.Join(append(names, names[0]), " → "), "drop one of them and add it again after the restore, or restore the definitions too")
	}
	if j.o.OnExisting == Truncate {
		return j.checkTruncate(ctx, f, keys)
	}
	return nil
}

func loadsOf(tables []*loadTable) (n int) {
	for _, t := range tables {
		n += len(t.entry.Segments)
	}
	return n
}

// findCycle gives tables that wait for each other, in order, or nil.
func findCycle(tables []*loadTable) []*loadTable {
	const onPath, finished = 1, 2
	state := map[*loadTable]int{}
	var path, cycle []*loadTable
	var visit func(t *loadTable) bool
	visit = func(t *loadTable) bool {
		state[t] = onPath
		path = append(path, t)
		for _, next := range t.after {
			switch {
			case state[next] == onPath:
				cycle = slices.Clone(path[slices.Index(path, next):])
				return true
			case state[next] == 0 && visit(next):
				return true
			}
		}
		state[t] = finished
		path = path[:len(path)-1]
		return false
	}
	for _, t := range tables {
		if state[t] == 0 && visit(t) {
			return cycle
		}
	}
	return nil
}

// checkTruncate refuses to empty tables that others refer to, and roots whose partitions are not all chosen.
func (j *job) checkTruncate(ctx context.Context, f *findings, keys []pg.ForeignKey) error {
	emptied, whole, err := j.emptied(ctx)
	if err != nil {
		return err
	}
	for _, t := range j.plan.tables {
		if t.target != nil && t.target.Kind == 'p' && !whole[t.target.OID] {
			f.bad(t.into.String(), "not all of its partitions are chosen", "the rows go in through it", "choose all partitions, or keep the rows with --on-existing append")
		}
	}
	all, err := j.leader.ForeignKeys(ctx, keysOf(emptied))
	if err != nil {
		return err
	}
	for _, k := range append(all, keys...) {
		if emptied[k.To] && !emptied[k.From] {
			f.bad(k.FromName.String(), "not chosen", fmt.Sprintf("its foreign key %q refers to a table that is to be emptied", string(k.Name)), "choose this table too; or load the rows beside, into a table that you make (CREATE TABLE … (LIKE …); then --map OLD=NEW), and put back in SQL what is lost")
			emptied[k.From] = true // once is enough
		}
	}
	return nil
}

// emptied gives the relations that a TRUNCATE of the chosen tables touches, and the partitioned ones whose partitions are all among them.
func (j *job) emptied(ctx context.Context) (oids, whole map[uint32]bool, err error) {
	oids, whole = map[uint32]bool{}, map[uint32]bool{}
	names := map[uint32]bool{}
	var roots []uint32
	for _, t := range j.plan.tables {
		if t.target == nil || t.config() {
			continue
		}
		oids[t.target.OID] = true
		switch {
		case t.target.Kind == 'p':
			roots = append(roots, t.target.OID)
		case t.target.Root != 0:
			roots = append(roots, t.target.Root)
		}
	}
	own, err := j.leader.Targets(ctx, j.ownNames())
	if err != nil {
		return nil, nil, err
	}
	for _, t := range own {
		names[t.OID] = true
	}
	slices.Sort(roots)
	roots = slices.Compact(roots) // each partition has named its own
	leaves, err := j.leader.Leaves(ctx, roots)
	if err != nil {
		return nil, nil, err
	}
	for _, root := range roots {
		chosen := true
		for _, leaf := range leaves[root] {
			chosen = chosen && (names[leaf] || names[root]) // a table of the dump can be a partitioned one here
		}
		if !chosen {
			continue
		}
		whole[root], oids[root] = true, true
		for _, leaf := range leaves[root] {
			oids[leaf] = true
		}
	}
	return oids, whole, nil
}

// ownNames are the names of the chosen tables themselves, whatever way their rows go.
func (j *job) ownNames() []pg.Qualified {
	names := make([]pg.Qualified, len(j.plan.tables))
	for i, t := range j.plan.tables {
		names[i] = t.own
	}
	return names
}

func keysOf(set map[uint32]bool) []uint32 {
	list := make([]uint32, 0, len(set))
	for k := range set {
		list = append(list, k)
	}
	return list
}

// truncate empties the chosen tables in one statement, never with CASCADE, and notes it in the same transaction.
func (j *job) truncate(ctx context.Context) error {
	if j.o.OnExisting != Truncate || j.single() != nil || j.journal != nil && j.journal.phases[phaseTruncate] {
		return nil
	}
	list, err := j.truncateList(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	sql := "BEGIN; TRUNCATE " + strings.Join(list, ", ")
	if j.journal != nil {
		sql += "; " + j.journal.phaseSQL(j.leader, phaseTruncate)
	}
	if err := j.leader.Exec(ctx, sql+"; COMMIT"); err != nil {
		_ = j.leader.Exec(ctx, "ROLLBACK") // the first error is the one to tell
		return pg.Wrap(err, "TRUNCATE of the chosen tables")
	}
	if j.journal != nil {
		j.journal.phases[phaseTruncate] = true
	}
	return nil
}

// truncateList names the chosen tables for a TRUNCATE.
func (j *job) truncateList(ctx context.Context) (list []string, err error) {
	_, whole, err := j.emptied(ctx)
	if err != nil {
		return nil, err
	}
	names, err := j.leader.Names(ctx, keysOf(whole))
	if err != nil {
		return nil, err
	}
	for _, q := range names {
		list = append(list, q.SQL())
	}
	for _, t := range j.targets() {
		if !whole[t.OID] && !whole[t.Root] {
			list = append(list, "ONLY "+t.SQL())
		}
	}
	return list, nil
}
