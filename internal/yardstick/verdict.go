package yardstick

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/internal/show"
)

// What can hold a job back.
const (
	boundScan    = "scan"    // reading the table
	boundCPU     = "cpu"     // the server's
	boundWAL     = "wal"     // writing it, and waiting for it
	boundDisk    = "disk"    // the dump's, or the server's data files
	boundNetwork = "network" // the connection
	boundClient  = "client"  // our own CPU
	boundLock    = "lock"    // of the server's sessions on each other
)

// Shares and factors from which something is the reason.
const (
	scanMostly  = 0.5 // of the servers' own COPY
	waitsMostly = 0.3 // of the server's time
	idleMostly  = 0.5 // of the server's time, waiting for the client
	waitsNamed  = 0.1 // waits below are not named
	copyTopped  = 0.9 // of the best rate
)

// judge says of each job what holds it back.
func (b *bench) judge() {
	r := b.report
	for _, j := range r.Whole {
		switch j.Name {
		case jobDumpNone, jobDumpZstd:
			r.Verdicts = append(r.Verdicts, judgeDump(r, j, b.sums.scan, float64(b.sums.rowBytes)))
		case jobRestoreNone, jobRestoreZstd, jobMigrate:
			r.Verdicts = append(r.Verdicts, judgeRestore(r, j, float64(b.sums.rowBytes)))
		}
	}
	if len(r.Batches) > 0 {
		r.Verdicts = append(r.Verdicts, judgeBatches(r))
	}
}

// part is one thing that a job needs, and how long that alone would take.
type part struct {
	bound   string
	seconds float64
	text    string
}

// judgeDump compares the time of a dump with the times that its parts take alone. scan is count(*) of all tables on one connection in seconds, bytes are of the rows.
func judgeDump(r *Report, j Job, scan, bytes float64) Bound {
	jobs := float64(min(r.Jobs, max(1, len(r.Tables))))
	server := part{boundCPU, floorOf(r, jobDumpFloor), "the server's own COPY"}
	if scan/jobs >= scanMostly*server.seconds {
		server.bound = boundScan
	}
	parts := []part{server,
		{boundClient, j.CPU / min(float64(r.Jobs), float64(max(1, r.Client.CPUs))), "our own work"},
		{boundDisk, per(float64(j.Stored)/1e6, r.Disk.WriteMBs), "the disk"},
		{boundNetwork, per(bytes/1e6, r.Network.ReceiveMBs), "the connection"},
	}
	slices.SortStableFunc(parts, func(x, y part) int { return cmp.Compare(y.seconds, x.seconds) })
	said := make([]string, len(parts))
	for i, p := range parts {
		said[i] = p.text + " " + show.Fixed(p.seconds) + " s"
	}
	return Bound{j.Name, parts[0].bound, fmt.Sprintf("%s-bound: its rows took %s s; alone, %s; the bare scan takes %s s", word(parts[0].bound), show.Fixed(cmp.Or(j.Data, j.Seconds)),
		strings.Join(said, ", "), show.Fixed(scan/jobs)) + stagesOf(j)}
}

// stagesOf says which of our own stages the job's meters name, where it ran long enough for one.
func stagesOf(j Job) string {
	if j.Sentence == "" {
		return ""
	}
	return "; by its stages, " + j.Sentence
}

func floorOf(r *Report, name string) float64 {
	for _, j := range r.Whole {
		if j.Name == name {
			return j.Seconds
		}
	}
	return 0
}

// word is a bound as it stands in a sentence.
func word(bound string) string {
	if bound == boundCPU || bound == boundWAL {
		return strings.ToUpper(bound)
	}
	return bound
}

// groupOf says what a wait event of the server speaks of; "" for what is none of ours.
func groupOf(event string) string {
	class, name, _ := strings.Cut(event, "/")
	switch {
	case event == "CPU":
		return boundCPU
	case strings.Contains(name, "WAL") || strings.HasPrefix(name, "Wal"):
		return boundWAL
	case class == "IO", strings.HasPrefix(name, "Buffer"), class == "BufferPin":
		return boundDisk
	case class == "Client":
		return boundClient
	case class == "Lock", class == "LWLock":
		return boundLock
	}
	return ""
}

// judgeRestore goes by what the server's sessions were seen to wait for; without that, by what our own part and the connection take.
func judgeRestore(r *Report, j Job, bytes float64) Bound {
	took := cmp.Or(j.Data, j.Seconds)
	groups := map[string]float64{}
	for event, share := range j.Waits {
		groups[groupOf(event)] += share
	}
	client := j.CPU / min(float64(r.Jobs), float64(max(1, r.Client.CPUs)))
	network := per(bytes/1e6, r.Network.SendMBs)
	bound := boundCPU
	for _, g := range []string{boundWAL, boundDisk, boundLock} {
		if groups[g] >= waitsMostly && groups[g] > groups[bound] {
			bound = g
		}
	}
	if idle := groups[boundClient]; idle >= idleMostly || len(groups) == 0 && max(client, network) > took/2 {
		bound = boundClient
		if network > client {
			bound = boundNetwork
		}
	}
	sentence := fmt.Sprintf("%s-bound: its rows took %s s", word(bound), show.Fixed(took))
	if spent := spentOn(j.Waits); spent != "" {
		sentence += ", of which the server spent " + spent
	}
	sentence += fmt.Sprintf("; our own work takes %s s, the connection %s s", show.Fixed(client), show.Fixed(network))
	if j.WAL > 0 {
		sentence += fmt.Sprintf("; %s of WAL were written", show.Size(j.WAL))
	}
	return Bound{j.Name, bound, sentence + stagesOf(j)}
}

// spentOn names the largest shares of the server's time.
func spentOn(waits map[string]float64) string {
	type share struct {
		event string
		of    float64
	}
	var all []share
	for event, of := range waits {
		if of >= waitsNamed {
			all = append(all, share{event, of})
		}
	}
	slices.SortFunc(all, func(x, y share) int { return cmp.Or(cmp.Compare(y.of, x.of), cmp.Compare(x.event, y.event)) })
	var said []string
	for _, s := range all[:min(len(all), 3)] {
		said = append(said, fmt.Sprintf("%.0f %% on %s", 100*s.of, s.event))
	}
	return strings.Join(said, ", ")
}

// judgeBatches looks at commits of one row, and at where COPY tops out.
func judgeBatches(r *Report) Bound {
	first, best, topped := r.Batches[0], 0.0, 0
	for _, b := range r.Batches {
		best = max(best, b.Copy.RowsPerSec)
	}
	for i := len(r.Batches) - 1; i >= 0 && r.Batches[i].Copy.RowsPerSec >= copyTopped*best; i-- {
		topped = r.Batches[i].Rows
	}
	if topped == 0 { // the largest batches are slower than others
		topped = slices.MaxFunc(r.Batches, func(x, y Batch) int { return cmp.Compare(x.Copy.RowsPerSec, y.Copy.RowsPerSec) }).Rows
	}
	trip := r.Network.RTTMicros / 1e6 * first.Insert.RowsPerSec * float64(first.Rows) // share of a batch's time
	bound, why := boundCPU, "the statement itself takes most of the time"
	switch {
	case first.Insert.CommitShare >= idleMostly:
		bound, why = boundWAL, fmt.Sprintf("%.0f %% of the time is the wait for the WAL, %.2f ms a commit", 100*first.Insert.CommitShare, first.Insert.CommitMillis)
	case !math.IsNaN(trip) && trip >= idleMostly:
		bound, why = boundNetwork, fmt.Sprintf("%.0f %% of the time is the round trip of %.0f µs", 100*min(trip, 1), r.Network.RTTMicros)
	}
	last := r.Batches[len(r.Batches)-1]
	return Bound{"small batches", bound, fmt.Sprintf("%s-bound at %s a commit: %s; COPY comes near its best at %s a commit, and is there %s times as quick as INSERT at %s",
		word(bound), show.Plural(int64(first.Rows), "row", "rows"), why, show.Plural(int64(topped), "row", "rows"), show.Fixed(per(best, last.Insert.RowsPerSec)), show.Plural(int64(last.Rows), "row", "rows"))}
}
