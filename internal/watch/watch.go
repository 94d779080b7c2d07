// Package watch tells people and programs how a job is going while it runs, without a screen of its own: a bar on a terminal, plain lines, or
// JSON lines. An [Observer] pulls from the job's tracker; the job knows nothing of it and never waits for it.
package watch

import (
	"io"
	"sync"
	"time"

	"github.com/bytehaul/pghaul/internal/progress"
)

// Mode is the form of what is said.
type Mode string

// The modes.
const (
	Bar   Mode = "bar"   // one line that is drawn again and again; finished tables stand above it
	Plain Mode = "plain" // a line per phase, per table and every ten seconds
	JSON  Mode = "json"  // a JSON object a line
	None  Mode = "none"
)

// How often an observer looks, and says how far the job is where it says so in lines.
const (
	lookEvery  = 100 * time.Millisecond
	plainEvery = 10 * time.Second
	jsonEvery  = time.Second
)

// Options of an observer.
type Options struct {
	Mode  Mode
	Out   io.Writer // standard error; errors in writing to it are not told
	Quiet bool      // Bar and Plain: warnings, gaps and errors alone
	Log   *Log      // gets what Plain says too, with times; nil: none
	Width func() int
}

// Observer is one that looks at a job. Its methods may be called from any goroutine.
type Observer struct {
	tracker *progress.Tracker
	rates   *progress.Rates
	quit    chan struct{}
	ended   chan struct{}

	mu    sync.Mutex
	seen  int
	views []view
}

// view is one form of telling. Its methods are called one at a time.
type view interface {
	// look tells what has happened since the last look, and how far the job is.
	look(news []progress.Event, s progress.Snapshot, r progress.Rate)
	// say tells one line that is not the tracker's.
	say(text string)
	// clear leaves the cursor at the start of an empty line.
	clear()
}

// Start begins to look at t, until Stop.
func Start(t *progress.Tracker, o Options) *Observer {
	ob := &Observer{tracker: t, rates: progress.NewRates(0), quit: make(chan struct{}), ended: make(chan struct{})}
	switch {
	case o.Mode == None:
	case o.Mode == JSON:
		ob.views = append(ob.views, &jsonView{out: o.Out})
	case o.Mode == Bar && !o.Quiet:
		ob.views = append(ob.views, &barView{out: o.Out, width: o.Width})
	default:
		ob.views = append(ob.views, &plainView{out: o.Out, quiet: o.Quiet})
	}
	if o.Log != nil {
		ob.views = append(ob.views, o.Log.view())
	}
	go ob.run()
	return ob
}

func (ob *Observer) run() {
	defer close(ob.ended)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			ob.look()
		case <-ob.quit:
			return
		}
	}
}

func (ob *Observer) look() {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	ob.tell()
}

// tell tells what is new. The lock is held.
func (ob *Observer) tell() {
	var news []progress.Event
	news, ob.seen = ob.tracker.Events(ob.seen)
	s := ob.tracker.Snapshot()
	r := ob.rates.Observe(s)
	for _, v := range ob.views {
		v.look(news, s, r)
	}
}

// Stop tells what is left to tell and ends the observer; call it once, after the tracker's Finish.
func (ob *Observer) Stop() {
	close(ob.quit)
	<-ob.ended
	ob.Pause(func() {})
}

// Say tells one line of the caller's among the others.
func (ob *Observer) Say(text string) {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	for _, v := range ob.views {
		v.say(text)
	}
}

// Pause tells what has happened so far and runs f while nothing is drawn, so that it can ask a question on the terminal: behind what it is about.
func (ob *Observer) Pause(f func()) {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	ob.tell()
	for _, v := range ob.views {
		v.clear()
	}
	f()
}
