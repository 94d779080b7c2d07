package pipeline

import (
	"context"
	"sync"
)

// Pool holds a fixed number of blocks of one size: the memory budget of the
// lanes that share it. Buffers are allocated when first needed and the one
// released last is handed out first, so that a job which never needs all of
// them never pays for all of them, and works on cached memory.
//
// A pool may be shared by several lanes. Each needs at least one block for
// every stage that keeps one back between calls, plus one to move.
type Pool struct {
	blocks, size int
	tokens       chan struct{} // one per block that may still be taken

	mu   sync.Mutex
	idle []*Block
	made int
}

// PoolStats says where a pool's blocks are.
type PoolStats struct {
	Blocks      int // the budget
	Allocated   int // blocks whose buffer exists
	Outstanding int // blocks that have an owner now; 0 when every job has ended
}

// NewPool makes a pool of the given number of blocks (at least 1) of size bytes
// each (BlockSize when 0 or less), headroom not counted.
func NewPool(blocks, size int) *Pool {
	blocks = max(blocks, 1)
	if size <= 0 {
		size = BlockSize
	}
	p := &Pool{blocks: blocks, size: size, tokens: make(chan struct{}, blocks), idle: make([]*Block, 0, blocks)}
	for range blocks {
		p.tokens <- struct{}{}
	}
	return p
}

// Get waits for a free block and makes the caller its owner. When ctx ends
// first it returns the context's cause.
func (p *Pool) Get(ctx context.Context) (*Block, error) {
	if b := p.tryGet(); b != nil {
		return b, nil
	}
	select {
	case <-p.tokens:
		return p.take(), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Stats tells where the blocks are at this moment.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return PoolStats{Blocks: p.blocks, Allocated: p.made, Outstanding: p.made - len(p.idle)}
}

// tryGet returns nil when no block is free at once.
func (p *Pool) tryGet() *Block {
	select {
	case <-p.tokens:
		return p.take()
	default:
		return nil
	}
}

// take hands out a block to a caller that holds a token.
func (p *Pool) take() *Block {
	p.mu.Lock()
	var b *Block
	if n := len(p.idle); n > 0 {
		b = p.idle[n-1]
		p.idle = p.idle[:n-1]
	} else {
		p.made++
	}
	p.mu.Unlock()
	if b == nil {
		b = &Block{buf: make([]byte, Headroom+p.size), pool: p}
	}
	b.reset()
	return b
}

// put takes back a block that its owner has released.
func (p *Pool) put(b *Block) {
	p.mu.Lock()
	p.idle = append(p.idle, b)
	p.mu.Unlock()
	p.tokens <- struct{}{}
}
