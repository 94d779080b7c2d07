package progress

import "slices"

// changed notes that a table was added, or that its state or proof is another one.
func (t *Tracker) changed(tb *Table) { t.changes = append(t.changes, int32(tb.id)) }

// TableChanges gives the numbers of the tables that were added, or whose state or proof has changed, since the caller's last look, each
// once and in rising order, and what to ask with next time; start with 0. With [Tracker.TablesByID] an observer follows any number of
// tables at a cost that depends on what happens and on what it shows, where [Tracker.Tables] costs as much as there are tables.
func (t *Tracker) TableChanges(from int) (ids []int, next int) {
	if t == nil {
		return nil, 0
	}
	t.mu.Lock()
	news := t.changes[min(max(from, 0), len(t.changes)):] // what is written stays as it is
	next = len(t.changes)
	t.mu.Unlock()
	if len(news) == 0 {
		return nil, next
	}
	ids = make([]int, len(news))
	for i, id := range news {
		ids[i] = int(id)
	}
	slices.Sort(ids)
	return slices.Compact(ids), next
}

// TablesByID gives these tables, in this order. Numbers that no table has are left out.
func (t *Tracker) TablesByID(ids []int) []TableSnapshot {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	some := make([]TableSnapshot, 0, len(ids))
	for _, id := range ids {
		if id >= 0 && id < len(t.tables) {
			some = append(some, t.tables[id].snapshot(now))
		}
	}
	return some
}
