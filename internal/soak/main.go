// Command soak tries to make pghaul lose a row, or load one twice. On throwaway servers it makes random databases, dumps and restores them, or migrates them to a second one,
// with the built program, and meanwhile kills, cuts and delays whatever takes part; after each round the target must equal the source.
//
//	go run ./internal/soak -pghaul bin/pghaul [-seed N] [-for 10m] [-migrates 3] [-keep DIR]
//
// The seed decides the databases, the options, the faults and when they are due; when exactly they strike is up to the machine. The first thing that is not as it should be
// ends the run with exit code 1, and what is needed to look into it is kept.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	s := &soak{tally: newTally()}
	flag.StringVar(&s.pghaul, "pghaul", "bin/pghaul", "the program to try")
	flag.Uint64Var(&s.seed, "seed", 0, "seed of the first round; 0: one of the clock")
	flag.DurationVar(&s.limit, "for", 10*time.Minute, "no round begins after this time")
	flag.IntVar(&s.rounds, "rounds", 0, "how many rounds; 0: as many as fit into the time")
	flag.IntVar(&s.migrates, "migrates", 3, "one round in so many migrates, the others dump and restore; 0: none")
	flag.StringVar(&s.keep, "keep", "", "where evidence goes (a folder of the temporary one)")
	flag.Parse()
	if s.seed == 0 {
		s.seed = uint64(time.Now().UnixNano()) % 1e9 // #nosec G115 -- a time behind 1970
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := s.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// soak is one run of the program.
type soak struct {
	pghaul string
	seed   uint64
	limit  time.Duration
	rounds int
	keep   string

	migrates int

	here, there *server // the second is where most migrates go
	work        string
	tally       *tally
}

func (s *soak) run(ctx context.Context) (err error) {
	if s.pghaul, err = filepath.Abs(s.pghaul); err != nil {
		return err
	}
	if s.keep == "" {
		s.keep = filepath.Join(os.TempDir(), fmt.Sprintf("pghaul-soak-%d", s.seed))
	}
	fmt.Printf("seed %d, for %s\n", s.seed, s.limit)
	for _, at := range []**server{&s.here, &s.there} {
		if *at, err = startServer(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, (*at).stop()) }()
	}
	if s.work, err = os.MkdirTemp("", "pghaul-soak."); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.work)) }()
	return s.loop(ctx)
}

func (s *soak) loop(ctx context.Context) error {
	began := time.Now()
	var failure error
	n := 0
	for ; failure == nil && ctx.Err() == nil && time.Since(began) < s.limit && (s.rounds == 0 || n < s.rounds); n++ {
		r := newRound(s, s.seed+uint64(n)) // #nosec G115 -- not negative
		if err := r.run(ctx); err != nil {
			failure = errors.Join(fmt.Errorf("round %d (-seed %d -migrates %d -rounds 1): %w", n+1, r.seed, s.migrates, err), r.evidence())
		}
	}
	if failure == nil && ctx.Err() != nil {
		failure = context.Cause(ctx)
	}
	s.tally.print(os.Stdout, s.seed, n, time.Since(began), failure == nil)
	return failure
}
