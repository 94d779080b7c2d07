package pg

import (
	"maps"
	"slices"
	"sync"
)

// Backends are the server processes of a job's data connections, for a monitor to look at. The zero value is empty. Its methods may be called
// from several goroutines.
type Backends struct {
	mu   sync.Mutex
	pids map[uint32]bool
}

// Add takes a backend in.
func (b *Backends) Add(pid uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pids == nil {
		b.pids = map[uint32]bool{}
	}
	b.pids[pid] = true
}

// Remove forgets a backend, before its connection is closed.
func (b *Backends) Remove(pid uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pids, pid)
}

func (b *Backends) list() []uint32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.pids))
}
