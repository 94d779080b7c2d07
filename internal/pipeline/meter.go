package pipeline

import (
	"sync"
	"sync/atomic"
	"time"
)

// state is what a source, stage or sink is doing.
type state uint8

const (
	busy    state = iota // own work
	starved              // waiting for input
	blocked              // waiting for the next stage, or for a free block
	server               // waiting for a server
	states
)

// epoch makes instants out of monotonic durations: time.Since reads one clock
// where time.Now reads two.
var epoch = time.Now()

// Meter measures one place of the pipeline (source, stage or sink) in one lane
// or in many at once. The zero Meter is ready. All methods are safe for
// concurrent use and do nothing on a nil Meter.
type Meter struct {
	bytesIn, bytesOut, raw, rows, blocks atomic.Int64

	// For each state: how many lanes are in it now, and the time spent in it.
	// A lane that enters at t adds -t, one that leaves at t adds t: spent +
	// lanes × now is the time up to now, waits that still go on included. Sums
	// that pass through the wrap of int64 come out right.
	mu     sync.Mutex
	lanes  [states]int64
	spent  [states]time.Duration
	peak   int
	frozen bool          // the clock stands
	at     time.Duration // where it stands
	lost   time.Duration // for how long it stood, in all
}

// MeterSnapshot is a meter's value at one moment. Times add up over lanes: two
// lanes that worked for one second each have been busy for two.
type MeterSnapshot struct {
	BytesIn  int64 // bytes received: for a source what it counted itself ([Meter.AddBytes])
	BytesOut int64 // bytes sent on: for a sink what it counted itself
	Raw      int64 // bytes of rows that passed, whatever form they were in
	Rows     int64
	Blocks   int64
	Busy     time.Duration // own work
	Starved  time.Duration // waiting for input
	Blocked  time.Duration // waiting for the next stage or a free block
	Server   time.Duration // waiting for a server
	Lanes    int           // lanes running at this moment
	Peak     int           // most lanes that ran at once
}

// Running is the time that lanes have run in all, in whatever state.
func (s MeterSnapshot) Running() time.Duration { return s.Busy + s.Starved + s.Blocked + s.Server }

// Sub gives what happened between t and the later s. Times never come out
// negative, although AddServer moves time from busy to server after the fact.
// Lanes and Peak are those of s.
func (s MeterSnapshot) Sub(t MeterSnapshot) MeterSnapshot {
	return MeterSnapshot{
		BytesIn: s.BytesIn - t.BytesIn, BytesOut: s.BytesOut - t.BytesOut, Raw: s.Raw - t.Raw,
		Rows: s.Rows - t.Rows, Blocks: s.Blocks - t.Blocks,
		Busy: max(s.Busy-t.Busy, 0), Starved: max(s.Starved-t.Starved, 0),
		Blocked: max(s.Blocked-t.Blocked, 0), Server: max(s.Server-t.Server, 0),
		Lanes: s.Lanes, Peak: s.Peak,
	}
}

// Add sums two meters, Lanes and Peak included.
func (s MeterSnapshot) Add(t MeterSnapshot) MeterSnapshot {
	return MeterSnapshot{
		BytesIn: s.BytesIn + t.BytesIn, BytesOut: s.BytesOut + t.BytesOut, Raw: s.Raw + t.Raw,
		Rows: s.Rows + t.Rows, Blocks: s.Blocks + t.Blocks,
		Busy: s.Busy + t.Busy, Starved: s.Starved + t.Starved,
		Blocked: s.Blocked + t.Blocked, Server: s.Server + t.Server,
		Lanes: s.Lanes + t.Lanes, Peak: s.Peak + t.Peak,
	}
}

// now is the meter's clock, which does not go while the meter is frozen. The lock is held.
func (m *Meter) now() time.Duration {
	if m.frozen {
		return m.at
	}
	return time.Since(epoch) - m.lost
}

// Freeze stops the meter's clock: what lanes do from now on, a job that is
// paused, takes no time. Bytes and rows are counted all the same.
func (m *Meter) Freeze() {
	if m == nil {
		return
	}
	m.mu.Lock()
	m.at, m.frozen = m.now(), true
	m.mu.Unlock()
}

// Thaw lets the clock go on where it stands.
func (m *Meter) Thaw() {
	if m == nil {
		return
	}
	m.mu.Lock()
	if m.frozen {
		m.frozen = false
		m.lost = time.Since(epoch) - m.at
	}
	m.mu.Unlock()
}

// AddServer moves d from busy to server: d of the caller's own time turned out
// to be a wait for a server. It moves no more than there is, so that the sum of
// the times stays the time that lanes have run, even when a driver's reads and
// writes overlap. A wait is seen only after it has ended; [Out.ServerBegin] and
// [In.ServerBegin] show it while it lasts.
func (m *Meter) AddServer(d time.Duration) {
	if m == nil {
		return
	}
	m.mu.Lock()
	d = min(max(d, 0), m.spent[busy]+time.Duration(m.lanes[busy])*m.now())
	m.spent[busy] -= d
	m.spent[server] += d
	m.mu.Unlock()
}

// AddBytes counts bytes that the engine does not see: what a source read (in)
// and what a sink wrote (out).
func (m *Meter) AddBytes(in, out int64) {
	if m == nil {
		return
	}
	m.bytesIn.Add(in)
	m.bytesOut.Add(out)
}

// Lanes is the number of lanes that run now.
func (m *Meter) Lanes() int {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running()
}

// Snapshot is the meter's value now; waits that still go on are counted up to now.
func (m *Meter) Snapshot() MeterSnapshot {
	if m == nil {
		return MeterSnapshot{}
	}
	m.mu.Lock()
	now := m.now()
	var t [states]time.Duration
	for s := range t {
		t[s] = m.spent[s] + time.Duration(m.lanes[s])*now
	}
	lanes, peak := m.running(), m.peak
	m.mu.Unlock()
	return MeterSnapshot{
		BytesIn: m.bytesIn.Load(), BytesOut: m.bytesOut.Load(), Raw: m.raw.Load(),
		Rows: m.rows.Load(), Blocks: m.blocks.Load(),
		Busy: t[busy], Starved: t[starved], Blocked: t[blocked], Server: t[server],
		Lanes: lanes, Peak: peak,
	}
}

func (m *Meter) running() int {
	n := int64(0)
	for _, k := range m.lanes {
		n += k
	}
	return int(n)
}

// passed counts a block at the place where it is counted once: sources and
// stages count what they send, sinks what they get.
func (m *Meter) passed(b *Block) {
	m.raw.Add(int64(b.Raw))
	m.rows.Add(int64(b.Rows))
	m.blocks.Add(1)
}

// clock is one lane's part in a meter. Its fields are guarded by the meter's
// lock: a sink may call from another goroutine than the one that runs it.
type clock struct {
	m       *Meter
	now     state
	started bool
	ended   bool
}

// start lets the lane count as busy from now on.
func (c *clock) start() {
	if c.m == nil {
		return
	}
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.started, c.now = true, busy
	c.m.lanes[busy]++
	c.m.spent[busy] -= c.m.now()
	c.m.peak = max(c.m.peak, c.m.running())
}

// enter changes the state and returns the one before.
func (c *clock) enter(s state) state {
	if c.m == nil {
		return s
	}
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	before := c.now
	if !c.started || c.ended || before == s {
		return before
	}
	t := c.m.now()
	c.m.lanes[before]--
	c.m.spent[before] += t
	c.m.lanes[s]++
	c.m.spent[s] -= t
	c.now = s
	return before
}

// end takes the lane out of the meter; calls after that change nothing.
func (c *clock) end() {
	if c.m == nil {
		return
	}
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if !c.started || c.ended {
		return
	}
	c.ended = true
	c.m.lanes[c.now]--
	c.m.spent[c.now] += c.m.now()
}
