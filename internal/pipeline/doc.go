// Package pipeline is the engine of every job: it moves blocks of whole rows
// from a source through stages to a sink, one goroutine each, and measures
// where the time goes.
//
// # The life of a block
//
// The source takes a [Block] from the lane's [Pool] ([Out.Get]), fills it and
// sends it on ([Out.Send]). Every receiver owns the block that it got until it
// sends it on or releases it; nobody touches a block that is no longer his. The
// sink releases it, which puts it back into the pool. The pool has a fixed
// number of blocks, which is the memory budget of the job: when all are under
// way the source waits. Between two neighbours stands a bounded queue.
//
// # Ends
//
// A source that returns nil ends the lane cleanly: every stage finishes in
// turn and the sink reads io.EOF. Any error ends the lane at once: the context
// that the source and the sink got is cancelled with the error as its cause,
// every wait in Get, Send and Next returns that cause, and [Run] returns it
// after all goroutines have ended and all queued blocks are back in their
// pools. An upstream failure never looks like io.EOF.
//
// # Meters
//
// A [Meter] counts bytes, rows and blocks and the four things that a stage can
// be doing: own work (busy), waiting for input (starved), waiting for the next
// stage or for a free block (blocked), waiting for a server (server). The clock
// is read only when a stage begins or ends a wait, at most a few times per
// block. A meter may be shared by any number of lanes; observers pull
// [Meter.Snapshot], in which a wait that is still going on counts up to now.
package pipeline
