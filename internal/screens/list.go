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
		all = append(all, Shot{"run", size[0], size[1], restore})
	}
	return append(all,
		Shot{"run-dump", 80, 24, playing(Dump, nil, 30*time.Second, tui.Options{})},
		Shot{"run-errors", 80, 24, playing(Troubled, RestorePhases, 40*time.Second, tui.Options{})},
		Shot{"run-errors", 120, 36, playing(Troubled, RestorePhases, 40*time.Second, tui.Options{})},
		Shot{"run-many", 120, 36, playing(func() *Job { return Many(1000) }, nil, 30*time.Second, tui.Options{})},
		Shot{"run-paused", 80, 24, playing(Restore, RestorePhases, 72*time.Second, tui.Options{}, "p")},
		Shot{"run-cancel", 80, 24, playing(Restore, RestorePhases, 72*time.Second, tui.Options{}, "c")},
		Shot{"run-log", 80, 24, playing(Troubled, RestorePhases, 40*time.Second, tui.Options{}, "l")},
		Shot{"run-details", 80, 24, playing(Restore, RestorePhases, 72*time.Second, tui.Options{}, "enter")},
		Shot{"run-help", 80, 24, playing(Restore, RestorePhases, 72*time.Second, tui.Options{}, "?")},
		Shot{"run-ascii", 80, 24, playing(Restore, RestorePhases, 72*time.Second, tui.Options{ASCII: true, NoColor: true})},
	)
}
