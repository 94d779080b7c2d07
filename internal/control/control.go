// Package control is how an operator steers a job that runs: pause and resume it, and change how many data connections it has.
//
// The job asks, the operator's side says; neither waits for the other. A job is paused at a block boundary: sources take no further block and workers
// begin no further segment, connections and transactions stay as they are, and what keeps them alive (a dump's leader, a restore's lock) goes on.
// A change of the number of connections is carried out by [Crew]: a worker that is one too many ends after its segment, a new one connects.
//
// Every method of a nil *Control is safe: the job runs as if nobody steered it.
package control

import (
	"context"
	"sync"
	"sync/atomic"
)

// Control steers one job. Its methods may be called from any goroutine.
type Control struct {
	stopped atomic.Bool // paused, for the way of a block

	mu      sync.Mutex
	resumed chan struct{} // closed by Resume; nil while the job is not paused
	told    func(paused bool)
	crew    *crew // the one that works now
	active  int   // workers of the last or the present crew
	jobs    int   // that the operator wants; 0: as many as the job begins with
	most    int
}

// New makes a control for a job of up to so many connections (at least 1).
func New(most int) *Control { return &Control{most: max(most, 1)} }

// Pause lets the job stop at the next block boundary. It returns at once.
func (c *Control) Pause() { c.setPaused(true) }

// Resume lets a paused job go on.
func (c *Control) Resume() { c.setPaused(false) }

// Paused tells whether the job is to stand still.
func (c *Control) Paused() bool { return c != nil && c.stopped.Load() }

func (c *Control) setPaused(paused bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if paused == c.stopped.Load() {
		return
	}
	if paused {
		c.resumed = make(chan struct{})
	} else {
		close(c.resumed)
		c.resumed = nil
	}
	c.stopped.Store(paused)
	if c.told != nil {
		c.told(paused)
	}
}

// Follow lets f know of each pause (true) and resumption (false) from now on, the present state included, until stop is called. One follower at a time:
// the job, which passes it on to its observers. f must not call the control.
func (c *Control) Follow(f func(paused bool)) (stop func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = f
	if c.stopped.Load() {
		f(true)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.told = nil
	}
}

// Wait returns at once, or when a paused job is resumed: nil; or when ctx ends: its cause. It is called once per block and costs an atomic load.
func (c *Control) Wait(ctx context.Context) error {
	for c.Paused() {
		c.mu.Lock()
		resumed := c.resumed
		c.mu.Unlock()
		if resumed == nil {
			continue
		}
		select {
		case <-resumed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// SetJobs asks for n data connections, between 1 and the most that New was told, and gives the number that it became.
func (c *Control) SetJobs(n int) int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.jobs = min(max(n, 1), c.most)
	if c.crew != nil {
		c.crew.change()
	}
	return c.jobs
}

// AddJobs is SetJobs by a difference to what is wanted now.
func (c *Control) AddJobs(by int) int { return c.SetJobs(c.Jobs() + by) }

// Jobs is the number of connections that are wanted; 0 before the job has said with how many it begins.
func (c *Control) Jobs() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.jobs
}

// Active is the number of workers now: less than Jobs when there is less work than that, more while some finish their last segment.
func (c *Control) Active() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active
}

// Most is the upper bound of SetJobs.
func (c *Control) Most() int {
	if c == nil {
		return 0
	}
	return c.most
}
