package screens

import (
	"time"

	"github.com/bytehaul/pghaul/tui"
)

// Shot is one picture: a scene and when it is taken.
type Shot struct {
	Name          string
	Width, Height int
	Play          func(width, height int) *Scene
	Light         bool // on a light terminal too
}

// RunOf is the run screen of a job.
func RunOf(j *Job, phases []string) tui.RunOptions {
	return tui.RunOptions{View: j, Control: j, Phases: phases, Details: Details, Leaving: "The job goes on; its progress is shown as a line",
		CancelMeans: "What was loaded stays, and --resume goes on from there"}
}

// playing is the run screen of a job after some time.
func playing(job func() *Job, phases []string, after time.Duration, o tui.Options, keys ...string) func(int, int) *Scene {
	return func(width, height int) *Scene {
		j := job()
		o := o
		o.Screen = tui.NewRun(RunOf(j, phases))
		s := Play(o, j, width, height)
		s.Wait(after)
		s.Press(keys...)
		s.Wait(time.Second)
		return s
	}
}

// Shots are all pictures, in no order that matters.
func Shots() []Shot {
	restore := playing(Restore, RestorePhases, 72*time.Second, tui.Options{})
	var all []Shot
	for _, size := range [][2]int{{80, 24}, {100, 24}, {120, 36}, {40, 10}} {
		all = append(all, Shot{"run", size[0], size[1], restore, true})
	}
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		all = append(all,
			Shot{"run-errors", size[0], size[1], playing(Troubled, RestorePhases, 40*time.Second, tui.Options{}), false},
			Shot{"run-gate", size[0], size[1], playing(AtGate, MigratePhases, time.Second, tui.Options{}), false},
			Shot{"run-checks", size[0], size[1], playing(Preflight, RestorePhases, time.Second, tui.Options{}), false},
			Shot{"report", size[0], size[1], reporting(func() tui.Ended { return EndOf(played(Restore(), 200*time.Second), 0) }), false},
		)
	}
	all = append(all, chosen()...)
	return append(all,
		Shot{"run-dump", 80, 24, playing(Dump, nil, 30*time.Second, tui.Options{}), false},
		Shot{"run-many", 120, 36, playing(func() *Job { return Many(1000) }, nil, 30*time.Second, tui.Options{}), false},
		Shot{"run-paused", 80, 24, playing(Restore, RestorePhases, 72*time.Second, tui.Options{}, "p"), false},
		Shot{"run-cancel", 80, 24, playing(Restore, RestorePhases, 72*time.Second, tui.Options{}, "c"), false},
		Shot{"run-cancelling", 80, 24, playing(Restore, RestorePhases, 72*time.Second, tui.Options{}, "ctrl+c"), false},
		Shot{"run-log", 80, 24, playing(Troubled, RestorePhases, 40*time.Second, tui.Options{}, "l"), false},
		Shot{"run-details", 80, 24, playing(Restore, RestorePhases, 72*time.Second, tui.Options{}, "enter"), false},
		Shot{"run-details", 40, 10, playing(Restore, RestorePhases, 72*time.Second, tui.Options{}, "enter"), false},
		Shot{"run-filter", 80, 24, playing(Restore, RestorePhases, 72*time.Second, tui.Options{}, "/", "e", "v", "e", "n"), false},
		Shot{"run-help", 80, 24, playing(Restore, RestorePhases, 72*time.Second, tui.Options{}, "?"), false},
		Shot{"run-help", 40, 10, playing(Restore, RestorePhases, 72*time.Second, tui.Options{}, "?"), false},
		Shot{"run-ascii", 80, 24, playing(Restore, RestorePhases, 72*time.Second, tui.Options{ASCII: true, NoColor: true}), false},
		Shot{"run-high-contrast", 80, 24, playing(Restore, RestorePhases, 72*time.Second, tui.Options{Theme: tui.HighContrast}), false},
		Shot{"run-mono", 80, 24, playing(Restore, RestorePhases, 72*time.Second, tui.Options{Theme: tui.Mono}), false},
		Shot{"report-gaps", 80, 24, reporting(func() tui.Ended { return EndOf(played(Restore(), 200*time.Second), 3) }), false},
		Shot{"report-failed", 80, 24, reporting(func() tui.Ended { return failed(played(Troubled(), 30*time.Second)) }), false},
		Shot{"report", 40, 10, reporting(func() tui.Ended { return EndOf(played(Restore(), 200*time.Second), 0) }), false},
	)
}

// reporting is the report's screen.
func reporting(end func() tui.Ended) func(int, int) *Scene {
	return func(width, height int) *Scene {
		return Play(tui.Options{Screen: tui.NewReport(end())}, nil, width, height)
	}
}
