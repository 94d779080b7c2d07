package progress

import (
	"fmt"
	"strings"
	"time"
)

// Verdict is what holds the job back.
type Verdict struct {
	Bottleneck string // name of a stage, or empty: none stands out, or too early
	Sentence   string // for people; empty when too early
}

const (
	judgeAfter = 200 * time.Millisecond // of the lanes' time: before it, nothing is said
	loadBound  = 0.80                   // a stage with this load is the limit
	loadMostly = 0.55                   // and with this one, if its neighbours wait on it
	waitWorth  = 0.10                   // wait events below are not named
)

// Judge names the stage with a load near 1 whose neighbours wait on it. Stages
// are in the order of the lane; their meters may be of the whole job or of a
// window. A server's time counts to the source or sink that waits for it.
func Judge(stages []StageSnapshot, waits []ServerWaits, cpus CPUs) Verdict {
	best, load := -1, 0.0
	var run time.Duration
	for i := range stages {
		run = max(run, stages[i].MeterSnapshot.Running())
		if l := pull(stages, i); best < 0 || l > load {
			best, load = i, l
		}
	}
	if best < 0 || run < judgeAfter {
		return Verdict{}
	}
	st := stages[best]
	own := st.share(st.Busy + st.Server)
	switch {
	case own >= loadBound:
	case own >= loadMostly && neighboursWait(stages, best) >= loadMostly:
	default:
		return Verdict{Sentence: balanced(stages)}
	}
	why := ownWork(st, cpus, best == 0 || best == len(stages)-1)
	if st.Server > st.Busy {
		side, n := Target, cpus.Target
		if best == 0 {
			side, n = Source, cpus.Source
		}
		why = serverWork(side, sharesOf(waits, side), n, st.Peak)
		if sharesOf(waits, Source) != nil && sharesOf(waits, Target) != nil { // of two servers it matters which
			return Verdict{Bottleneck: st.Name, Sentence: side + "-bound: " + strings.Replace(why, "the server", "the target server", 1)}
		}
	}
	return Verdict{Bottleneck: st.Name, Sentence: st.Name + "-bound: " + why}
}

// pull ranks a stage: its load, and a little of how much its neighbours wait
// on it, which decides between two that are both near 1.
func pull(stages []StageSnapshot, i int) float64 {
	st := stages[i]
	return st.share(st.Busy+st.Server) + 0.25*neighboursWait(stages, i)
}

// neighboursWait is the larger of how blocked the stage before is and how
// starved the one behind.
func neighboursWait(stages []StageSnapshot, i int) float64 {
	w := 0.0
	if i > 0 {
		w = stages[i-1].share(stages[i-1].Blocked)
	}
	if i+1 < len(stages) {
		w = max(w, stages[i+1].share(stages[i+1].Starved))
	}
	return w
}

// balanced speaks of a job that no stage holds back.
func balanced(stages []StageSnapshot) string {
	var parts []string
	for _, st := range stages {
		parts = append(parts, fmt.Sprintf("%s %s", st.Name, percent(st.share(st.Busy+st.Server))))
	}
	return "no stage is the limit: " + strings.Join(parts, ", ")
}

// ownWork speaks of a stage that is busy itself. Files are read and written by
// sources and sinks, so theirs may be the disk's time.
func ownWork(st StageSnapshot, cpus CPUs, end bool) string {
	s := fmt.Sprintf("its own work takes %s of its time", percent(st.share(st.Busy)))
	if end {
		s = fmt.Sprintf("files and its own work take %s of its time", percent(st.share(st.Busy)))
	}
	switch {
	case cpus.Client <= 0 || st.Peak == 0:
		return s
	case st.Peak >= cpus.Client:
		return s + "; more jobs will not help on " + cores(cpus.Client)
	case end:
		return s
	}
	return s + fmt.Sprintf("; more jobs may help: %d on %s", st.Peak, cores(cpus.Client))
}

// serverWork speaks of a stage that waits for its server.
func serverWork(side string, shares []WaitShare, n, lanes int) string {
	spent := spentOn(shares)
	if spent == "" {
		return fmt.Sprintf("waiting for the %s server", side)
	}
	s := "the server spent " + spent
	if side == Source {
		s = "waiting for the source server, which spent " + spent
	}
	cpu := 0.0
	for _, w := range shares {
		if w.Event == "CPU" {
			cpu = w.Share
		}
	}
	switch {
	case n <= 0 || lanes == 0 || cpu < 0.5:
		return s
	case lanes >= n:
		return s + "; more jobs will not help on " + cores(n)
	}
	return s + fmt.Sprintf("; more jobs may help: %d on %s", lanes, cores(n))
}

// spentOn names the two largest waits that are the server's own: waits for the
// client say nothing about the server.
func spentOn(shares []WaitShare) string {
	var parts []string
	for _, w := range shares {
		if w.Share < waitWorth || strings.HasPrefix(w.Event, "Client/") || len(parts) == 2 {
			continue
		}
		name := w.Event
		if _, event, ok := strings.Cut(w.Event, "/"); ok {
			name = event
		}
		parts = append(parts, percent(w.Share)+" on "+name)
	}
	return strings.Join(parts, " and ")
}

func sharesOf(waits []ServerWaits, server string) []WaitShare {
	for _, w := range waits {
		if w.Server == server {
			return w.Shares
		}
	}
	return nil
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

func cores(n int) string {
	if n == 1 {
		return "1 core"
	}
	return fmt.Sprintf("%d cores", n)
}
