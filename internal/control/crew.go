package control

import (
	"context"
	"sync"
)

// Place is what a worker of a crew is told about itself.
type Place struct {
	crew    *crew
	ready   bool
	added   bool
	leaving bool
}

// Ready says that the worker has connected: from now on an error of its is the job's. Before, an error of a worker that the operator has added only
// takes the addition back.
func (p *Place) Ready() {
	p.crew.mu.Lock()
	defer p.crew.mu.Unlock()
	p.ready = true
}

// Added tells a worker that the operator has added while the job runs.
func (p *Place) Added() bool { return p.added }

// Stay is asked between two segments. False: the crew is smaller now, the worker ends its connection and returns nil.
func (p *Place) Stay() bool {
	c := p.crew
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.staying <= c.target {
		return true
	}
	c.staying--
	p.leaving = true
	return false
}

// Worker works until there is nothing left or Stay says no, and then returns nil.
type Worker func(ctx context.Context, place *Place) error

// Crew runs as many workers as are wanted, at most limit (the pieces of work, say), and returns when all have ended. The first error cancels the
// others and is what Crew returns; a worker that was added while the job runs and could not even begin is no error: warn is told (nil: nobody), and the
// number wanted falls back. jobs is the number to begin with where the operator has asked for none. A worker that returns nil although it might stay has found
// no more work: none is added after that.
func (c *Control) Crew(ctx context.Context, jobs, limit int, worker Worker, warn func(error)) error {
	if limit <= 0 {
		return nil
	}
	if warn == nil {
		warn = func(error) {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &crew{control: c, ctx: ctx, cancel: cancel, worker: worker, warn: warn, limit: limit}
	w.begin(jobs)
	w.all.Wait()
	c.leave(w)
	return w.err
}

// leave ends what begin began.
func (c *Control) leave(w *crew) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crew == w {
		c.crew = nil
	}
}

// crew is one run of Crew. Its lock is taken inside the control's, never around it.
type crew struct {
	control *Control
	ctx     context.Context
	cancel  context.CancelCauseFunc
	worker  Worker
	warn    func(error)
	limit   int
	all     sync.WaitGroup

	mu      sync.Mutex
	target  int  // workers wanted
	staying int  // workers that have not been told to go
	working int  // goroutines
	idle    bool // somebody has found no more work
	err     error
}

func (w *crew) begin(jobs int) {
	c := w.control
	if c == nil {
		w.target = max(jobs, 1)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fill(false)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jobs == 0 {
		c.jobs = max(jobs, 1)
		c.most = max(c.most, c.jobs)
	}
	c.crew = w
	w.target = c.jobs
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fill(false)
	c.active = w.working
}

// change takes over what the control wants. The control's lock is held.
func (w *crew) change() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.target = w.control.jobs
	w.fill(true)
	w.control.active = w.working
}

// fill starts workers up to the target. All is not waited for yet, or some worker still runs, so that adding to it is right.
func (w *crew) fill(added bool) {
	for w.staying < min(w.target, w.limit) && !w.idle && w.err == nil && w.ctx.Err() == nil && (w.working > 0 || !added) {
		w.staying++
		w.working++
		p := &Place{crew: w, added: added}
		w.all.Go(func() { w.ended(p, w.worker(w.ctx, p)) })
	}
}

// ended takes a worker out of the crew.
func (w *crew) ended(p *Place, err error) {
	var refused error
	c := w.control
	if c != nil {
		c.mu.Lock()
	}
	w.mu.Lock()
	w.working--
	switch {
	case err == nil && p.leaving:
	case err == nil:
		w.staying--
		w.idle = true
	case p.added && !p.ready && w.ctx.Err() == nil && w.working > 0:
		w.staying--
		w.target = max(w.staying, 1)
		refused = err
	case w.err == nil:
		w.err = err
		w.cancel(err)
	}
	if c != nil {
		c.active = w.working
		if refused != nil {
			c.jobs = w.target
		}
	}
	w.mu.Unlock()
	if c != nil {
		c.mu.Unlock()
	}
	if refused != nil {
		w.warn(refused)
	}
}
