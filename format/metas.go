package format

import (
	"encoding/json"
	"io"
	"sync"
)

// Metas reads the headers of many files of a dump. What they have alike, which is nearly all of META, is decoded once and kept once: what it gives must not be
// changed. The zero value is ready, and its methods may be called from any goroutine.
type Metas struct {
	servers alike[Server]
	columns alike[[]Column]
	types   alike[[]Type]
	samples alike[[]Samples]
}

// NewReader is the function NewReader.
func (k *Metas) NewReader(r io.Reader) (*Reader, error) { return newReader(r, k) }

// maxAlike bounds the JSON whose values are kept, in bytes: a dump that has nothing alike must not fill the memory.
const maxAlike = 16 << 20

// alike keeps the values of pieces of JSON.
type alike[T any] struct {
	mu     sync.Mutex
	values map[string]T
	kept   int
}

// decode decodes a member of META, or finds what it was decoded to before. Where there is none, to stays.
func (a *alike[T]) decode(p json.RawMessage, to *T) error {
	if p == nil {
		return nil
	}
	a.mu.Lock()
	known, ok := a.values[string(p)]
	a.mu.Unlock()
	if ok {
		*to = known
		return nil
	}
	if err := json.Unmarshal(p, to); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, ok := a.values[string(p)]; ok { // another goroutine was faster
		*to = known
		return nil
	}
	if a.kept += len(p); a.kept > maxAlike {
		return nil
	}
	if a.values == nil {
		a.values = map[string]T{}
	}
	a.values[string(p)] = *to
	return nil
}
