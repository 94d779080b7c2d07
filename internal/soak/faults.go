package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/internal/netfault"
)

// fault is something that goes wrong while a job runs.
type fault struct {
	name   string
	phase  string        // when it is due: so long
	delay  time.Duration // after this phase has begun
	rule   *netfault.Rule
	strike func(ctx context.Context, r *round, j *job) (bool, error) // nil: the rule does it; false: there was nothing to hit
	crash  bool                                                      // it takes the server down
	source bool                                                      // a migrate's source is struck, not its target
}

// due waits until it is time: its phase has begun, or a later one when the job has no such. false: the job has ended before.
func (f *fault) due(j *job, phases []string) bool {
	for phase := range j.phases {
		if slices.Index(phases, phase) < slices.Index(phases, f.phase) {
			continue
		}
		t := time.NewTimer(f.delay)
		defer t.Stop()
		select {
		case <-t.C:
			return true
		case <-j.ended:
			return false
		}
	}
	return false
}

// Phases that faults wait for.
var (
	dumpPhases    = []string{"plan", "data", "finish"}
	migratePhases = append([]string{"plan"}, restorePhases...)
	restorePhases = []string{"preflight", "pre-data", "data", "data", "data", "data", "large-objects", "sequences", "proof", "post-data", "matviews", "analyze"}
)

// kinds are the faults by name; a dump meets the first ones only, since a crash empties the source's unlogged tables.
var kinds = []fault{
	{name: "kill -9 pghaul", strike: signaled(syscall.SIGKILL)},
	{name: "SIGINT to pghaul", strike: signaled(syscall.SIGINT)},
	{name: "kill -9 pg_dump or pg_restore", strike: killTool},
	{name: "pg_terminate_backend", strike: terminate},
	{name: "network: all connections cut", strike: cutAll},
	{name: "network: cut", rule: &netfault.Rule{Then: netfault.Cut}},
	{name: "network: reset", rule: &netfault.Rule{Then: netfault.Reset}},
	{name: "network: silence, then on", rule: &netfault.Rule{Then: netfault.Stall}, strike: silence(false)},
	{name: "network: silence, then cut", rule: &netfault.Rule{Then: netfault.Stall}, strike: silence(true)},
	{name: "network: late", rule: &netfault.Rule{Delay: 500 * time.Microsecond}},
	{name: "network: a few bytes at a time", rule: &netfault.Rule{Piece: 3}},
	{name: "kill -9 a server's backend", crash: true, strike: killBackend},
	{name: "kill -9 the server", crash: true, strike: killServer},
	{name: "a second one", strike: second},
}

// dumpKinds is how many kinds are for a dump.
const dumpKinds = 11

// matches are what a client says when a rule of the network is armed.
var (
	dumpMatches    = []string{"", "COPY ", "NOWAIT", "LOCK TABLE", "pg_export_snapshot", "pg_dump", "SELECT 1"}
	restoreMatches = []string{"", "COPY ", "COMMIT", "INSERT INTO", "CREATE ", "lo_", "setval", "REFRESH", "ANALYZE", "ALTER TABLE", "DROP SCHEMA", "TRUNCATE", "pg_advisory"}
)

// randomFault picks one for a dump or a restore.
func randomFault(rnd *rand.Rand, ofDump bool) *fault {
	phases, matches, n, reach := restorePhases, restoreMatches, len(kinds), 2000
	if ofDump {
		phases, matches, n, reach = dumpPhases, dumpMatches, dumpKinds, 2<<20
	}
	f := kinds[rnd.IntN(n)]
	f.phase = phases[rnd.IntN(len(phases))]
	f.delay = time.Duration(rnd.IntN([]int{2, 20, 100, 300}[rnd.IntN(4)])) * time.Millisecond
	if f.rule != nil {
		rule := *f.rule
		rule.Match = matches[rnd.IntN(len(matches))]
		rule.Times = 1 + rnd.IntN(3)
		if rule.Then != netfault.None && rnd.IntN(3) > 0 { // else the very answer is lost
			rule.After = int64(rnd.IntN(1 + rnd.IntN(reach)))
		}
		f.rule = &rule
	}
	return &f
}

// randomFaultOfMigrate picks one for either end of a migrate. mayCrash: the source may.
func randomFaultOfMigrate(rnd *rand.Rand, mayCrash, oneServer bool) *fault {
	source := rnd.IntN(2) == 0
	for {
		f := randomFault(rnd, source)
		if source && rnd.IntN(6) == 0 {
			crash := kinds[dumpKinds+rnd.IntN(2)]
			crash.phase, crash.delay = f.phase, f.delay
			f = &crash
		}
		if f.crash && !mayCrash && (source || oneServer) {
			continue
		}
		if f.phase == "finish" {
			f.phase = "data"
		}
		f.source = source && f.onNetwork() || source && f.crash || source && f.name == "pg_terminate_backend"
		return f
	}
}

// onNetwork tells whether a connection is struck.
func (f *fault) onNetwork() bool { return strings.HasPrefix(f.name, "network") }

// title names the fault in the table of a run.
func (f *fault) title(job string) string {
	switch {
	case job != "migrate" || !f.crash && !f.onNetwork() && f.name != "pg_terminate_backend":
		return job + ": " + f.name
	case f.source:
		return job + ": source: " + f.name
	}
	return job + ": target: " + f.name
}

func (f *fault) String() string {
	if f.rule != nil {
		return fmt.Sprintf("%s (at %q, %d bytes later, %d times)", f.name, f.rule.Match, f.rule.After, f.rule.Times)
	}
	return fmt.Sprintf("%s (%s after %s has begun)", f.name, f.delay, f.phase)
}

func signaled(sig syscall.Signal) func(context.Context, *round, *job) (bool, error) {
	return func(_ context.Context, _ *round, j *job) (bool, error) {
		return j.cmd.Process.Signal(sig) == nil, nil // an error: it has ended
	}
}

func cutAll(_ context.Context, r *round, _ *job) (bool, error) {
	r.struck.proxy.CutAll()
	return true, nil
}

// silenceTime is how long the network stands still.
const silenceTime = 300 * time.Millisecond

// silence ends a Stall, when there is one.
func silence(cut bool) func(context.Context, *round, *job) (bool, error) {
	return func(ctx context.Context, r *round, j *job) (bool, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			select {
			case <-j.ended:
				cancel()
			case <-ctx.Done():
			}
		}()
		if r.struck.proxy.WaitHits(ctx, 1) != nil {
			return false, nil // it ended without
		}
		t := time.NewTimer(silenceTime)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		r.struck.proxy.SetRule(netfault.Rule{})
		if cut {
			r.struck.proxy.CutAll()
		}
		r.struck.proxy.Resume()
		return true, nil
	}
}

// ours are the sessions of a job in pg_stat_activity.
const ours = `datname = $1 AND (application_name LIKE 'pghaul%' OR application_name IN ('pg_dump', 'pg_restore'))`

// oneBackend gives a backend of the job, or 0.
func oneBackend(ctx context.Context, r *round) (pid int, err error) {
	c, err := pgx.Connect(ctx, r.struck.cluster.DSN("postgres"))
	if err != nil {
		return 0, err
	}
	defer hangUp(ctx, c)
	err = c.QueryRow(ctx, `SELECT coalesce((SELECT pid FROM pg_stat_activity WHERE `+ours+` ORDER BY random() LIMIT 1), 0)`, r.struck.database).Scan(&pid)
	return pid, err
}

func terminate(ctx context.Context, r *round, _ *job) (hit bool, err error) {
	c, err := pgx.Connect(ctx, r.struck.cluster.DSN("postgres"))
	if err != nil {
		return false, err
	}
	defer hangUp(ctx, c)
	err = c.QueryRow(ctx, `SELECT coalesce((SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE `+ours+` ORDER BY random() LIMIT 1), false)`, r.struck.database).Scan(&hit)
	return hit, err
}

// killBackend makes the postmaster end all sessions and recover.
func killBackend(ctx context.Context, r *round, _ *job) (bool, error) {
	pid, err := oneBackend(ctx, r)
	if err != nil || pid == 0 {
		return false, err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return false, nil // it has ended
	}
	return true, r.awaitServer(ctx)
}

// awaitServer waits until a server that recovers takes connections again.
func (r *round) awaitServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	good := 0
	for good < 3 { // it may not have noticed yet
		c, err := pgx.Connect(ctx, r.struck.cluster.DSN("postgres"))
		switch {
		case err == nil:
			good++
			_ = c.Close(ctx) // it was only looked at
		case ctx.Err() != nil:
			return fmt.Errorf("the server does not come back: %w", err)
		default:
			good = 0
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

func killServer(ctx context.Context, r *round, _ *job) (bool, error) {
	if err := r.struck.cluster.Kill(); err != nil {
		return false, err
	}
	return true, r.struck.cluster.Restart(ctx)
}

// killTool kills the child process of a job.
func killTool(_ context.Context, _ *round, j *job) (bool, error) {
	for _, p := range processes() {
		if p.parent == j.cmd.Process.Pid && (p.name == "pg_dump" || p.name == "pg_restore") {
			return syscall.Kill(p.pid, syscall.SIGKILL) == nil, nil
		}
	}
	return false, nil
}

// second starts the same restore or migrate beside one that runs: one of the two must be refused.
func second(ctx context.Context, r *round, j *job) (bool, error) {
	other, err := r.start(ctx, "second", r.args(true)...)
	if err != nil {
		return false, err
	}
	code, err := other.wait()
	if err != nil {
		return true, err
	}
	if code == 3 {
		return true, nil
	}
	<-j.ended
	if code == 0 && j.code == 0 {
		return true, fmt.Errorf("two of them at a time both ended well")
	}
	return true, nil
}

// process is a line of the process table.
type process struct {
	pid, parent int
	name, args  string
}

// processes lists what runs.
func processes() (list []process) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // gone
		}
		args, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline") // empty for one that has ended
		open, end := strings.IndexByte(string(stat), '('), strings.LastIndexByte(string(stat), ')')
		if open < 0 || end < open {
			continue
		}
		fields := strings.Fields(string(stat)[end+1:])
		if len(fields) < 2 || fields[0] == "Z" {
			continue
		}
		parent, _ := strconv.Atoi(fields[1]) // a number
		list = append(list, process{pid, parent, string(stat)[open+1 : end], strings.ReplaceAll(string(args), "\x00", " ")})
	}
	return list
}
