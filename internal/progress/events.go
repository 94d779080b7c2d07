package progress

import "time"

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	PhaseStart EventKind = "phase start"
	PhaseEnd   EventKind = "phase end"
	TableStart EventKind = "table start"
	TableEnd   EventKind = "table end"
	TableError EventKind = "table error"
	Warning    EventKind = "warning"
	GapFound   EventKind = "gap"
	// CheckChange says that a check has begun or ended.
	CheckChange EventKind = "check"
	Logged      EventKind = "log" // a detail, for those who want them
	Paused      EventKind = "paused"
	Resumed     EventKind = "resumed"
	Finished    EventKind = "finish"
	// Dropped stands for events that were lost to an observer which looks too
	// seldom: the log keeps the last few thousand. Warnings and gaps are in the
	// report all the same.
	Dropped EventKind = "dropped"
)

// Event is one thing that happened. Which fields are set depends on Kind.
type Event struct {
	Seq     int // position in the job's events, from 0
	Time    time.Time
	Kind    EventKind
	Phase   string // PhaseStart, PhaseEnd
	N, Of   int    // of the phase; N of Dropped is how many
	Table   string
	Rows    int64 // TableEnd, Finished
	Bytes   int64
	Took    time.Duration // PhaseEnd, TableEnd, TableError, Finished
	Message string        // Warning, GapFound, Logged
	Gap     *Gap          // GapFound; not to be changed
	Check   *Check        // CheckChange; not to be changed
	Err     error         // TableError, Finished
}

// eventLog keeps the last maxEvents events in a ring.
type eventLog struct {
	ring []Event
	next int // Seq of the next event
}

func (l *eventLog) add(e Event) {
	e.Seq = l.next
	if len(l.ring) < maxEvents {
		l.ring = append(l.ring, e)
	} else {
		l.ring[l.next%maxEvents] = e
	}
	l.next++
}

// Events gives the events from number from on, and the number to ask for next
// time; start with 0. Events that are no longer kept are stood for by one event
// of kind Dropped.
func (t *Tracker) Events(from int) ([]Event, int) {
	if t == nil {
		return nil, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.events
	from = max(from, 0)
	if from >= l.next {
		return nil, l.next
	}
	var out []Event
	if first := l.next - len(l.ring); from < first {
		oldest := l.ring[first%maxEvents]
		out = append(out, Event{Seq: from, Time: oldest.Time, Kind: Dropped, N: first - from})
		from = first
	}
	for i := from; i < l.next; i++ {
		out = append(out, l.ring[i%maxEvents])
	}
	return out, l.next
}
