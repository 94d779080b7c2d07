package pipeline

import (
	"runtime/debug"
	"sync/atomic"
)

const (
	// BlockSize is the regular capacity of a block in bytes. Sizes up to 1 MiB
	// were measured as equal, 4 MiB as clearly worse (caches).
	BlockSize = 1 << 20
	// Headroom is the free space before a fresh block's Data in bytes: there
	// the parse stage puts the cut row that the block before ended with.
	Headroom = 256 << 10
)

// hugeBuffer is the size in bytes from which a buffer is collected as soon as it is released.
const hugeBuffer = 64 << 20

// Block is a run of bytes with one owner at a time. Blocks come from a [Pool];
// the zero Block has no buffer and no pool, and serves in tests.
//
// The owner may reslice Data and append to it. A block that had to grow beyond
// its regular buffer gives the larger one to the garbage collector on Release.
type Block struct {
	Data []byte // bytes for the next stage: rows, or what a stage made of them
	Raw  int    // bytes of rows that Data stands for, kept through compression
	Rows int    // rows that Data stands for, known behind parse

	buf   []byte // regular buffer, Headroom included; kept for the block's life
	grown []byte // the larger buffer that Data lies in, or nil
	pool  *Pool
	free  atomic.Bool // in the pool: a second Release is a bug
}

// Prepend puts a copy of p before Data: into the headroom when it fits there,
// else Data moves up, or to a larger buffer. Raw and Rows are left alone.
func (b *Block) Prepend(p []byte) {
	if len(p) == 0 {
		return
	}
	need := len(p) + len(b.Data)
	if backing, off := b.backing(); off >= 0 && off+b.Room() >= len(p) {
		start := max(off-len(p), 0)
		if off < len(p) {
			copy(backing[len(p):cap(backing)], b.Data)
		}
		copy(backing[start:], p)
		b.Data = backing[start : start+need]
		return
	}
	grown := make([]byte, Headroom+need+need/4)
	copy(grown[Headroom:], p)
	copy(grown[Headroom+len(p):], b.Data)
	b.grown = grown
	b.Data = grown[Headroom : Headroom+need]
}

// Grow makes room for at least n more bytes behind Data; when it has to move
// Data it takes a quarter more than needed, so that appending stays linear
// without the peak of a doubling buffer. A negative n is taken as 0.
func (b *Block) Grow(n int) {
	if n <= b.Room() {
		return
	}
	need := len(b.Data) + n
	grown := make([]byte, Headroom+need+need/4)
	copy(grown[Headroom:], b.Data)
	b.grown = grown
	b.Data = grown[Headroom : Headroom+len(b.Data)]
}

// Room is the free capacity behind Data in bytes.
func (b *Block) Room() int { return cap(b.Data) - len(b.Data) }

// Release gives the block back to its pool; it, and every slice of its Data,
// must not be used after that. A buffer that had grown goes to the garbage
// collector, so that the pool keeps its size. A second Release panics: two
// owners are a bug that would corrupt rows.
func (b *Block) Release() {
	if b.free.Swap(true) {
		panic("pipeline: block released twice")
	}
	huge := cap(b.grown) >= hugeBuffer || cap(b.Data) >= hugeBuffer
	b.Data, b.grown = nil, nil
	if huge {
		debug.FreeOSMemory() // before the next one is made: left to itself the heap doubles, and that of the longest rows is a gigabyte
	}
	if b.pool != nil {
		b.pool.put(b)
	}
}

// reset makes a block that came from the pool ready for its next owner.
func (b *Block) reset() {
	b.free.Store(false)
	b.Data = b.buf[Headroom:Headroom]
	b.Raw, b.Rows = 0, 0
}

// backing gives the buffer that Data lies in and the offset of Data in it, or
// an offset of -1 when the owner has replaced Data by bytes from elsewhere.
// Empty Data counts as lying behind the headroom.
func (b *Block) backing() (buf []byte, off int) {
	buf = b.grown
	if buf == nil {
		buf = b.buf
	}
	if len(b.Data) == 0 && buf != nil {
		b.Data = buf[Headroom:Headroom]
	}
	off = cap(buf) - cap(b.Data)
	if cap(b.Data) == 0 || off < 0 || off >= len(buf) || &buf[off] != &b.Data[:1][0] {
		return nil, -1
	}
	return buf, off
}
